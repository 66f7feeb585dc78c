package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"ratchet/internal/llm"
	"ratchet/internal/llm/openai"
)

const end = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

func text(s string) string {
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", s)
}

func serve(t *testing.T, h http.HandlerFunc, change ...func(*llm.Endpoint)) (llm.Backend, *llm.Learned) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	learned, e := &llm.Learned{}, llm.Endpoint{Name: "here", URL: s.URL + "/v1", Model: "m"}
	for _, c := range change {
		c(&e)
	}
	b, err := openai.New(llm.BackendConfig{Endpoint: e, Learned: learned})
	if err != nil {
		t.Fatal(err)
	}
	return b, learned
}

func question() llm.Request {
	return llm.Request{
		Messages:  []llm.Message{{Role: llm.RoleSystem, Text: "s"}, {Role: llm.RoleUser, Text: "u"}, {Role: llm.RoleAssistant, Text: "a"}, {Role: llm.RoleUser, Text: "v"}},
		MaxTokens: 64, Seed: 9,
		Schema: &llm.Schema{Name: "edits", JSON: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":false}`)},
	}
}

func body(t *testing.T, r *http.Request) map[string]any {
	t.Helper()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Errorf("%s: %v", raw, err)
	}
	return m
}

func TestRequest(t *testing.T) {
	var got map[string]any
	b, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = body(t, r)
		_, _ = io.WriteString(w, text("x")+end)
	})
	a, err := b.Complete(t.Context(), question(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !a.Usage.Guessed || a.Usage.Input <= 0 || a.Usage.Output <= 0 || a.Model != "m" {
		t.Errorf("without usage: %+v", a)
	}
	var want map[string]any
	_ = json.Unmarshal([]byte(`{"model":"m","max_tokens":64,"seed":9,"temperature":0,"stream":true,"stream_options":{"include_usage":true},
		"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"user","content":"v"}],
		"response_format":{"type":"json_schema","json_schema":{"name":"edits","strict":true,"schema":{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":false}}}}`), &want)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("request\n%v, want\n%v", got, want)
	}
}

// formatOf names the format of a request.
func formatOf(m map[string]any) string {
	f, _ := m["response_format"].(map[string]any)
	if f == nil {
		return "none"
	}
	return fmt.Sprint(f["type"])
}

func TestServersThatKnowLess(t *testing.T) {
	for name, c := range map[string]struct {
		refuse func(map[string]any) string // the message, empty for none
		want   []string                    // of each call: format, other keys
		keys   []string                    // that the last request must not have
		has    []string
	}{
		"no JSON schema": {
			func(m map[string]any) string {
				if formatOf(m) == "json_schema" {
					return "response_format type json_schema is not supported"
				}
				return ""
			}, []string{"json_schema", "json_object"}, nil, nil,
		},
		"no format": {
			func(m map[string]any) string {
				if formatOf(m) != "none" {
					return `[{'type': 'extra_forbidden', 'loc': ('body', 'response_format'), 'msg': 'Extra inputs are not permitted'}]`
				}
				return ""
			}, []string{"json_schema", "json_object", "none"}, nil, nil,
		},
		"other name for the bound": {
			func(m map[string]any) string {
				if m["max_tokens"] != nil {
					return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
				}
				return ""
			}, []string{"json_schema", "json_schema"}, []string{"max_tokens"}, []string{"max_completion_tokens"},
		},
		"no options": {
			func(m map[string]any) string {
				for _, k := range []string{"stream_options", "seed", "temperature"} {
					if m[k] != nil {
						return "Unrecognized request argument supplied: " + k
					}
				}
				return ""
			}, []string{"json_schema", "json_schema", "json_schema", "json_schema"}, []string{"stream_options", "seed", "temperature"}, []string{"max_tokens"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var formats []string
			var last map[string]any
			b, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				last = body(t, r)
				formats = append(formats, formatOf(last))
				if message := c.refuse(last); message != "" {
					w.WriteHeader(400)
					_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": message}})
					return
				}
				_, _ = io.WriteString(w, text("x")+end)
			})
			if _, err := b.Complete(t.Context(), question(), nil); err != nil || !slices.Equal(formats, c.want) {
				t.Fatalf("formats %v, want %v; error %v", formats, c.want, err)
			}
			for _, k := range c.keys {
				if last[k] != nil {
					t.Errorf("the request still has %s", k)
				}
			}
			for _, k := range c.has {
				if last[k] == nil {
					t.Errorf("the request lacks %s", k)
				}
			}
			if _, err := b.Complete(t.Context(), question(), nil); err != nil || len(formats) != len(c.want)+1 {
				t.Errorf("%d calls, want %d: it was not remembered; error %v", len(formats), len(c.want)+1, err)
			}
		})
	}
}

func TestRefusalsThatTeachNothing(t *testing.T) {
	for _, message := range []string{
		"max_tokens must be at most 32", "the seed must not be negative", "maximum context length is 10, and response_format is not supported", "temperature is out of range",
	} {
		calls := 0
		b, learned := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			calls++
			http.Error(w, message, 400)
		})
		_, err := b.Complete(t.Context(), question(), nil)
		if err == nil || calls != 1 {
			t.Errorf("%s: %d calls, error %v", message, calls, err)
		}
		for _, f := range []string{"response_format", "max_tokens", "seed", "temperature"} {
			if learned.Form(f) != 0 {
				t.Errorf("%s: %s was given up", message, f)
			}
		}
	}
}

func TestRefusalOfTheModelIsText(t *testing.T) {
	b, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"refusal":"I can't help."}},{"index":1,"delta":{"content":"other"}}]}`+"\n\n"+end)
	})
	if a, err := b.Complete(t.Context(), question(), nil); err != nil || a.Text != "I can't help." {
		t.Errorf("answer %q, error %v", a.Text, err)
	}
}

func TestCheck(t *testing.T) {
	const list = `{"object":"list","data":[{"id":"other"},{"id":"m","max_model_len":32768}]}`
	for name, c := range map[string]struct {
		health int
		status int
		models string
		want   llm.ModelInfo
		err    error
	}{
		"vLLM":              {200, 200, list, llm.ModelInfo{Model: "m", Context: 32768}, nil},
		"no health":         {404, 200, list, llm.ModelInfo{Model: "m", Context: 32768}, nil},
		"Ollama":            {404, 200, `{"data":[{"id":"m:latest"}]}`, llm.ModelInfo{Model: "m:latest"}, nil},
		"dead engine":       {503, 200, list, llm.ModelInfo{}, llm.ErrUnavailable},
		"no list":           {404, 404, ``, llm.ModelInfo{Model: "m"}, nil},
		"bad key":           {200, 401, `{"error":"no"}`, llm.ModelInfo{}, llm.ErrAuth},
		"no such model":     {200, 200, `{"data":[{"id":"other"}]}`, llm.ModelInfo{}, llm.ErrNoModel},
		"absurd context":    {200, 200, `{"data":[{"id":"m","max_model_len":1e30}]}`, llm.ModelInfo{Model: "m"}, nil},
		"context of a text": {200, 200, `{"data":[{"id":"m","max_model_len":"big"}]}`, llm.ModelInfo{Model: "m"}, nil},
		"not JSON":          {200, 200, `{"data":`, llm.ModelInfo{}, llm.ErrMalformed},
		"null":              {200, 200, `null`, llm.ModelInfo{}, llm.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/health":
					w.WriteHeader(c.health)
				case "/v1/models":
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.models)
				default:
					t.Errorf("path %s", r.URL.Path)
				}
			})
			got, err := b.Check(t.Context())
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("%+v, error %v, want %+v, %v", got, err, c.want, c.err)
			}
			if e := (*llm.Error)(nil); c.err == llm.ErrNoModel && (!errors.As(err, &e) || !strings.Contains(e.Hint, "other")) {
				t.Errorf("error %v does not say which models there are", err)
			}
		})
	}
}
