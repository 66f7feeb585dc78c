package backends_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"ratchet/internal/llm"
	"ratchet/internal/llm/backends"
)

// dialect is how a server says things in one protocol.
type dialect struct {
	name   string
	path   string // of completions
	header string // that carries the key
	start  string // what comes before the first token
	text   func(string) string
	think  func(string) string
	end    string // by itself, with 7 tokens of output
	cut    string // at the most tokens
	ping   string // a sign of life without a token
	fault  func(kind, message string) string
}

// usage that the servers of these tests report.
var usage = llm.Usage{Input: 40, Cached: 30, Output: 7}

func quote(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

func openaiDelta(field string) func(string) string {
	return func(s string) string {
		return `data: {"model":"served","choices":[{"index":0,"delta":{"` + field + `":` + quote(s) + `}}]}` + "\n\n"
	}
}

func anthropicEvent(kind, rest string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, rest)
}

var openaiEnd = func(reason string) string {
	return `data: {"model":"served","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}` + "\n\n" +
		`data: {"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":30}}}` + "\n\n" +
		"data: [DONE]\n\n"
}

var anthropicEnd = func(reason string) string {
	return anthropicEvent("message_delta", `"delta":{"stop_reason":"`+reason+`"},"usage":{"output_tokens":7}`) + anthropicEvent("message_stop", `"x":1`)
}

func dialects() []dialect {
	return []dialect{
		{
			name: "openai", path: "/v1/chat/completions", header: "Authorization",
			start: openaiDelta("role")("assistant"), text: openaiDelta("content"), think: openaiDelta("reasoning_content"),
			end: openaiEnd("stop"), cut: openaiEnd("length"), ping: ": keep-alive\n\n" + openaiDelta("content")(""),
			fault: func(kind, message string) string {
				return `data: {"error":{"type":` + quote(kind) + `,"message":` + quote(message) + `}}` + "\n\n"
			},
		},
		{
			name: "anthropic", path: "/v1/messages", header: "X-Api-Key",
			start: anthropicEvent("message_start", `"message":{"model":"served","usage":{"input_tokens":6,"cache_read_input_tokens":30,"cache_creation_input_tokens":4,"output_tokens":1}}`) +
				anthropicEvent("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`),
			text: func(s string) string {
				return anthropicEvent("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":`+quote(s)+`}`)
			},
			think: func(s string) string {
				return anthropicEvent("content_block_delta", `"index":0,"delta":{"type":"thinking_delta","thinking":`+quote(s)+`}`)
			},
			end: anthropicEnd("end_turn"), cut: anthropicEnd("max_tokens"), ping: ": hold\n\n" + anthropicEvent("ping", `"x":1`),
			fault: func(kind, message string) string {
				return anthropicEvent("error", `"error":{"type":`+quote(kind)+`,"message":`+quote(message)+`}`)
			},
		},
	}
}

// each runs a test in every protocol.
func each(t *testing.T, f func(*testing.T, dialect)) {
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) { f(t, d) })
	}
}

// serve starts a server and returns the backend of an endpoint at it.
func (d dialect) serve(t *testing.T, h http.HandlerFunc, change ...func(*llm.BackendConfig)) llm.Backend {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return d.backend(t, s.URL, change...)
}

func (d dialect) backend(t *testing.T, url string, change ...func(*llm.BackendConfig)) llm.Backend {
	t.Helper()
	own := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(own.CloseIdleConnections)
	cfg := llm.BackendConfig{Transport: own, Endpoint: llm.Endpoint{
		Name: "here", Protocol: d.name, URL: url + "/v1", Model: "m",
		FirstToken: 20 * time.Second, Stall: 20 * time.Second, Total: 30 * time.Second,
	}}
	for _, c := range change {
		c(&cfg)
	}
	b, err := backends.All()[d.name](cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stream answers with events, each sent as it is written.
func stream(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		_, _ = io.WriteString(w, e)
		w.(http.Flusher).Flush()
	}
}

func question() llm.Request {
	return llm.Request{MaxTokens: 100, Temperature: 0.5, Seed: 3, Messages: []llm.Message{
		{Role: llm.RoleSystem, Text: "You fix programs."}, {Role: llm.RoleUser, Text: "What is wrong here, and where?"},
	}}
}
