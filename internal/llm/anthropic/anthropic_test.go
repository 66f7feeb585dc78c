package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"ratchet/internal/llm"
	"ratchet/internal/llm/anthropic"
)

func event(kind, rest string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, rest)
}

func start(input int) string {
	return event("message_start", fmt.Sprintf(`"message":{"model":"m","usage":{"input_tokens":%d,"output_tokens":1}}`, input))
}

func end(usage string) string {
	return event("message_delta", `"delta":{"stop_reason":"tool_use"},"usage":`+usage) + event("message_stop", `"x":1`)
}

func partial(s string) string {
	return event("content_block_delta", fmt.Sprintf(`"index":0,"delta":{"type":"input_json_delta","partial_json":%q}`, s))
}

func serve(t *testing.T, h http.HandlerFunc) llm.Backend {
	t.Helper()
	b, err := anthropic.New(llm.BackendConfig{Endpoint: llm.Endpoint{Name: "here", URL: serveAt(t, h), Model: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// serveAt starts a server and returns its address.
func serveAt(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func question() llm.Request {
	return llm.Request{
		Messages:  []llm.Message{{Role: llm.RoleSystem, Text: "s"}, {Role: llm.RoleUser, Text: "u"}},
		MaxTokens: 64, Temperature: 1.5,
		Schema: &llm.Schema{Name: "edits", JSON: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false}`)},
	}
}

func decode(t *testing.T, r *http.Request) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		t.Error(err)
	}
	return m
}

func TestAnswerInTheFormOfASchema(t *testing.T) {
	var got map[string]any
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = decode(t, r)
		talk := event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"I call the tool."}`)
		_, _ = io.WriteString(w, start(12)+talk+partial(`{"x":`)+partial(`"y"}`)+end(`{"output_tokens":5}`))
	})
	a, err := b.Complete(t.Context(), question(), nil)
	if err != nil || a.Text != `{"x":"y"}` || a.Usage != (llm.Usage{Input: 12, Output: 5}) || a.Cut {
		t.Errorf("answer %+v, error %v", a, err)
	}
	var want map[string]any
	_ = json.Unmarshal([]byte(`{"model":"m","max_tokens":64,"temperature":1,"stream":true,"system":[{"type":"text","text":"s"}],
		"messages":[{"role":"user","content":[{"type":"text","text":"u"}]}],
		"tools":[{"name":"edits","description":"Gives the answer.","input_schema":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false}}],
		"tool_choice":{"type":"tool","name":"edits","disable_parallel_tool_use":true}}`), &want)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("request\n%v, want\n%v", got, want)
	}
}

func TestModelsThatTakeLess(t *testing.T) {
	for key, message := range map[string]string{
		"temperature": "`temperature` is deprecated for this model.",
		"tool_choice": "tool_choice: thinking may not be enabled when tool_choice forces tool use.",
	} {
		calls := 0
		b := serve(t, func(w http.ResponseWriter, r *http.Request) {
			calls++
			if decode(t, r)[key] != nil {
				w.WriteHeader(400)
				_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]string{"type": "invalid_request_error", "message": message}})
				return
			}
			_, _ = io.WriteString(w, start(1)+end(`{"output_tokens":5}`))
		})
		for range 2 {
			if _, err := b.Complete(t.Context(), question(), nil); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
		if calls != 3 {
			t.Errorf("%s: %d calls for two answers, want 3", key, calls)
		}
	}
}

func TestUsageThatIsNotWholeIsGuessed(t *testing.T) {
	b := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, start(12)+partial(`{"x":"some words"}`)+end(`{}`))
	})
	a, err := b.Complete(t.Context(), question(), nil)
	if err != nil || a.Usage.Input != 12 || a.Usage.Output < 2 || !a.Usage.Guessed {
		t.Errorf("usage %+v, error %v", a.Usage, err)
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   llm.ModelInfo
		err    error
	}{
		"there":         {200, `{"id":"m","max_input_tokens":200000}`, llm.ModelInfo{Model: "m", Context: 200000}, nil},
		"no such model": {404, `{"type":"error","error":{"type":"not_found_error","message":"model: m"}}`, llm.ModelInfo{}, llm.ErrNoModel},
		"no such route": {404, `{"detail":"Not Found"}`, llm.ModelInfo{Model: "m"}, nil},
		"bad key":       {401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, llm.ModelInfo{}, llm.ErrAuth},
		"overloaded":    {529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.ModelInfo{}, llm.ErrOverloaded},
	} {
		b := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models/m" {
				t.Errorf("path %s", r.URL.Path)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		if got, err := b.Check(t.Context()); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, error %v", name, got, err)
		}
	}
}
