package anthropic_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"ratchet/internal/llm"
	"ratchet/internal/llm/anthropic"
)

func begin(block string) string {
	return event("content_block_start", `"index":0,"content_block":`+block)
}

func words(s string) string {
	return event("content_block_delta", fmt.Sprintf(`"index":0,"delta":{"type":"text_delta","text":%q}`, s))
}

// Some servers put an answer, or a part of it, into what begins a block.
func TestBlocksThatBeginWithSomething(t *testing.T) {
	const given, none = `{"type":"tool_use","id":"a","name":"edits","input":{"x":"y"}}`, `{"type":"tool_use","id":"a","name":"edits","input":{}}`
	stop := event("content_block_stop", `"index":0`)
	for name, c := range map[string]struct{ stream, want string }{
		"text":                       {begin(`{"type":"text","text":"one"}`) + stop, "one"},
		"text, without a stop":       {begin(`{"type":"text","text":"one"}`), "one"},
		"text that goes on":          {begin(`{"type":"text","text":"one "}`) + words("two") + words(" three") + stop, "one two three"},
		"text that is repeated":      {begin(`{"type":"text","text":"one two"}`) + words("one ") + words("two") + stop, "one two"},
		"text in two blocks":         {begin(`{"type":"text","text":"one "}`) + stop + begin(`{"type":"text","text":""}`) + words("two") + stop, "one two"},
		"input":                      {begin(given) + stop, `{"x":"y"}`},
		"input that is repeated":     {begin(given) + partial(`{"x":`) + partial(`"y"}`) + stop, `{"x":"y"}`},
		"input and an empty delta":   {begin(given) + partial("") + stop, `{"x":"y"}`},
		"input and a delta of none":  {begin(given) + partial("{}") + stop, `{"x":"y"}`},
		"no input before deltas":     {begin(none) + partial(`{"x":"y"}`) + stop, `{"x":"y"}`},
		"null before deltas":         {begin(`{"type":"tool_use","input":null}`) + partial(`{"x":"y"}`) + stop, `{"x":"y"}`},
		"a delta of none":            {begin(none) + partial("{}") + stop, `{}`},
		"text, then input":           {begin(`{"type":"text","text":"I call it."}`) + stop + begin(given) + stop, `{"x":"y"}`},
		"thoughts, then text":        {begin(`{"type":"thinking","thinking":"hm"}`) + stop + begin(`{"type":"text","text":"one"}`) + stop, "one"},
		"deltas without a beginning": {words("one"), "one"},
	} {
		b := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, start(12)+c.stream+end(`{"output_tokens":5}`))
		})
		if a, err := b.Complete(t.Context(), question(), nil); err != nil || a.Text != c.want {
			t.Errorf("%s: answer %q, error %v, want %q", name, a.Text, err, c.want)
		}
	}
}

// A server that gives a stop reason and does not end its stream is not waited for
// until the stall.
func TestAnswersDoNotWaitForAnEndMark(t *testing.T) {
	s := serveAt(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, start(12)+words("one")+event("message_delta", `"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}`))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	b, err := anthropic.New(llm.BackendConfig{Endpoint: llm.Endpoint{Name: "here", URL: s, Model: "m", FirstToken: time.Hour, Stall: time.Hour, Total: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	a, err := b.Complete(ctx, question(), nil)
	if err != nil || ctx.Err() != nil || a.Text != "one" || a.Usage != (llm.Usage{Input: 12, Output: 5}) {
		t.Errorf("answer %+v, error %v, waited for too long: %v", a, err, ctx.Err())
	}
}
