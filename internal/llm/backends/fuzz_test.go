package backends_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"ratchet/internal/llm"
	"ratchet/internal/llm/backends"
)

// canned answers every request with the same bytes.
type canned struct {
	status int
	kind   string
	body   []byte
}

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(bytes.NewReader(c.body)), Request: req,
	}, nil
}

// FuzzServers has servers say anything: there is an answer or an error of a kind,
// and no key in either.
func FuzzServers(f *testing.F) {
	for _, d := range dialects() {
		f.Add(200, "text/event-stream", []byte(d.start+d.text("one")+d.end))
		f.Add(200, "", []byte(d.start+d.think("hm")+d.fault("overloaded_error", canary)))
		f.Add(200, "text/event-stream", []byte(d.text(canary)+d.cut))
	}
	f.Add(400, "application/json", []byte(`{"error":{"message":"max_tokens is not supported, use max_completion_tokens"}}`))
	f.Add(200, "application/json", []byte(`{"data":[{"id":"m","max_model_len":-1}]}`))
	f.Add(200, "text/event-stream", []byte("data: {\"choices\":[{\"index\":0,\"delta\":null}],\"usage\":{\"prompt_tokens\":-1}}\n\n"))
	for _, choice := range []string{
		`"delta":{"content":[{"type":"text","text":"x"},{"type":"thinking","thinking":"y"}]}`, `"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`,
		`"message":{"content":"x"},"finish_reason":"stop"`, `"error":{"message":"x"}`,
	} {
		f.Add(200, "text/event-stream", []byte(`data: {"error":null,"choices":[{"index":0,`+choice+`}]}`+"\n\n"))
	}
	f.Add(200, "text/event-stream", []byte(anthropicEvent("content_block_start", `"index":0,"content_block":{"type":"tool_use","input":{"x":1}}`)+anthropicEnd("tool_use")))
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		for _, d := range dialects() {
			b, err := backends.All()[d.name](llm.BackendConfig{
				Endpoint: llm.Endpoint{Name: "here", Protocol: d.name, URL: "http://here/v1", Model: "m", FirstToken: time.Minute, Stall: time.Minute, Total: time.Minute},
				Key:      llm.NewSecret(canary), Transport: canned{status, kind, body},
			})
			if err != nil {
				t.Fatal(err)
			}
			r := question()
			r.Schema = &llm.Schema{Name: "x", JSON: []byte(`{"type":"object"}`)}
			a, err := b.Complete(t.Context(), r, nil)
			known(t, err)
			info, checked := b.Check(t.Context())
			known(t, checked)
			if a.Usage.Input < a.Usage.Cached || a.Usage.Output < 0 || info.Context < 0 {
				t.Errorf("answer %+v, model %+v", a, info)
			}
			for _, text := range []string{a.Text, a.Model, info.Model} {
				if strings.Contains(text, canary) {
					t.Errorf("the key shows in %q", text)
				}
			}
		}
	})
}

func known(t *testing.T, err error) {
	t.Helper()
	var e *llm.Error
	if err != nil && (!errors.As(err, &e) || e.Kind == nil || strings.Contains(err.Error(), canary)) {
		t.Errorf("error %v", err)
	}
}
