package openai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"ratchet/internal/llm"
)

// chunk is an event with the fields of a choice, and finish one that ends it.
func chunk(choice string) string {
	return `data: {"choices":[{"index":0,` + choice + `}]}` + "\n\n"
}

func finish(reason string) string { return chunk(`"delta":{},"finish_reason":"` + reason + `"`) }

func answer(t *testing.T, stream string) (llm.Answer, error) {
	t.Helper()
	b, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, stream) })
	return b.Complete(t.Context(), question(), nil)
}

func TestFormsOfAnswers(t *testing.T) {
	for name, c := range map[string]struct{ stream, want string }{
		"parts":                    {chunk(`"delta":{"content":[{"type":"text","text":"one "},{"type":"text","text":"two"}]}`), "one two"},
		"parts, then pieces":       {chunk(`"delta":{"content":[{"type":"text","text":"one "}]}`) + text("two"), "one two"},
		"thoughts and text":        {chunk(`"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"one"}]}`), "one"},
		"thoughts alone":           {chunk(`"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`), ""},
		"one part":                 {chunk(`"delta":{"content":{"type":"text","text":"one"}}`), "one"},
		"words as parts":           {chunk(`"delta":{"content":["one ","two"]}`), "one two"},
		"text that looks like one": {text(`[{"type":"text","text":"x"}]`), `[{"type":"text","text":"x"}]`},
		"no parts":                 {chunk(`"delta":{"content":[]}`) + text("one"), "one"},
		"reasoning beside":         {chunk(`"delta":{"thinking":"hm","reasoning":"hm","reasoning_content":"hm"}`) + text("one"), "one"},
		"arguments of a tool": {
			chunk(`"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"edits","arguments":"{\"x\":"}}]}`) +
				chunk(`"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"y\"}"}}]}`), `{"x":"y"}`,
		},
		"arguments of two tools": {
			chunk(`"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}},{"index":1,"function":{"arguments":"{\"x\":2}"}}]}`), `{"x":1}`,
		},
		"arguments of a function":    {chunk(`"delta":{"function_call":{"name":"edits","arguments":"{\"x\":1}"}}`), `{"x":1}`},
		"a blank and arguments":      {text("\n") + chunk(`"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`), `{}`},
		"text and arguments":         {text("one") + chunk(`"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`), "one"},
		"a message":                  {chunk(`"message":{"role":"assistant","content":"one"}`), "one"},
		"a message of parts":         {chunk(`"message":{"content":[{"type":"text","text":"one"}]}`), "one"},
		"a message that calls tools": {chunk(`"message":{"content":null,"tool_calls":[{"function":{"arguments":"{\"x\":1}"}},{"function":{"arguments":"{}"}}]}`), `{"x":1}`},
		"a message that grows":       {chunk(`"message":{"content":"one"}`) + chunk(`"message":{"content":"one two"}`), "one two"},
		"a message in pieces":        {chunk(`"message":{"content":"one "}`) + chunk(`"message":{"content":"two"}`), "one two"},
		"a message beside deltas":    {chunk(`"delta":{"content":"one "},"message":{"content":"one "}`) + chunk(`"delta":{"content":"two"},"message":{"content":"one two"}`), "one two"},
		"a message after deltas":     {text("one") + chunk(`"message":{"content":"one"}`), "one"},
		"no message":                 {chunk(`"message":null,"delta":null`) + text("one"), "one"},
		"events that hold nothing":   {"data: \n\n" + text("one") + "data:\n\n", "one"},
		"an error that is null":      {`data: {"error":null,"choices":[{"index":0,"delta":{"content":"one"}}]}` + "\n\n", "one"},
		"an error without words":     {`data: {"error":"","choices":[{"index":0,"delta":{"content":"one"}}]}` + "\n\n", "one"},
		"an error of nothing":        {`data: {"error":{},"choices":[{"index":0,"delta":{"content":"one"},"error":null}]}` + "\n\n", "one"},
		"an error of nothings":       {`data: {"error":{"message":"","code":0,"param":null},"choices":[{"index":0,"delta":{"content":"one"}}]}` + "\n\n", "one"},
		"words about an error":       {text(`the "error" is here`), `the "error" is here`},
	} {
		if a, err := answer(t, c.stream+end); err != nil || a.Text != c.want || a.Cut {
			t.Errorf("%s: answer %+v, error %v, want %q", name, a, err, c.want)
		}
	}
}

// The forms in which servers say within a stream that something is wrong.
func TestErrorsInStreams(t *testing.T) {
	for name, c := range map[string]struct {
		event  string
		want   error
		detail string
	}{
		"vLLM":       {`data: {"error":{"message":"engine died","type":"InternalServerError","param":null,"code":500}}`, llm.ErrTruncated, "engine died"},
		"older vLLM": {`data: {"object":"error","message":"maximum context length is 10","type":"BadRequestError","code":400}`, llm.ErrContext, "maximum context length is 10"},
		"Ollama":     {`data: {"error":"model runner has stopped"}`, llm.ErrTruncated, "model runner has stopped"},
		"llama.cpp":  {`data: {"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, llm.ErrContext, "the request exceeds the available context size"},
		"OpenAI":     {`data: {"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded"}}`, llm.ErrOverloaded, "slow down"},
		"OpenRouter": {
			`data: {"id":"gen-1","object":"chat.completion.chunk","error":{"code":429,"message":"provider is busy"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`,
			llm.ErrOverloaded, "provider is busy",
		},
		"of a choice":          {`data: {"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"code":429,"message":"provider is busy"}}]}`, llm.ErrOverloaded, "provider is busy"},
		"by its type":          {"event: error\ndata: {\"message\":\"it broke\"}", llm.ErrTruncated, "it broke"},
		"by its type, in text": {"event: error\ndata: it broke", llm.ErrTruncated, "it broke"},
		"in a list":            {`data: [{"error":{"code":429,"message":"busy","status":"RESOURCE_EXHAUSTED"}}]`, llm.ErrOverloaded, "busy"},
		"a code alone":         {`data: {"error":{"code":429}}`, llm.ErrOverloaded, `{"error":{"code":429}}`},
		"a flag":               {`data: {"error":true,"message":"it broke"}`, llm.ErrTruncated, "it broke"},
	} {
		_, err := answer(t, text("half")+c.event+"\n\n"+end)
		if e := (*llm.Error)(nil); !errors.Is(err, c.want) || !errors.As(err, &e) || e.Detail != c.detail {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}

// An answer that was cut stays one, whatever is said of the stream after that.
func TestFinishReasons(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		cut    bool
	}{
		"stop":            {finish("stop"), false},
		"length":          {finish("length"), true},
		"length and stop": {finish("length") + finish("stop"), true},
		"stop and length": {finish("stop") + finish("length"), true},
		"null and stop":   {finish("null") + finish("stop"), false},
		"nothing, stop":   {finish("") + finish("stop"), false},
		"a broken end":    {finish("stop") + "data: {broken\n\n", false},
	} {
		if a, err := answer(t, text("one")+c.stream+"data: [DONE]\n\n"); err != nil || a.Cut != c.cut || a.Text != "one" {
			t.Errorf("%s: answer %+v, error %v", name, a, err)
		}
	}
	if _, err := answer(t, text("one")+finish("null")+"data: [DONE]\n\n"); !errors.Is(err, llm.ErrTruncated) {
		t.Errorf("no reason at all: error %v", err)
	}
}

// Whatever a model thinks is progress, under whichever name, and once for each event.
func TestThoughtsAreHeard(t *testing.T) {
	for _, field := range []string{`"thinking":"hm"`, `"reasoning":"hm"`, `"reasoning_content":"hm"`, `"reasoning":"hm","reasoning_content":"hm"`,
		`"reasoning_details":[{"text":"hm"}]`, `"content":[{"type":"thinking","thinking":"hm"}]`} {
		b, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, chunk(`"delta":{`+field+`}`)+chunk(`"delta":{"content":"","thinking":"","reasoning":null,"reasoning_details":[]}`)+end)
		})
		heard := 0
		if a, err := b.Complete(t.Context(), question(), func() { heard++ }); err != nil || a.Text != "" || heard != 1 {
			t.Errorf("%s: heard %d times, answer %+v, error %v", field, heard, a, err)
		}
	}
}

// A server that ends an answer and not its stream is not waited for until the stall.
func TestAnswersDoNotWaitForAnEndMark(t *testing.T) {
	const usage = `data: {"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":7}}` + "\n\n"
	b, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for _, e := range []string{text("one"), finish("stop"), usage} {
			_, _ = io.WriteString(w, e)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}, func(e *llm.Endpoint) { e.FirstToken, e.Stall, e.Total = time.Hour, time.Hour, time.Hour })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	a, err := b.Complete(ctx, question(), nil)
	if err != nil || ctx.Err() != nil || a.Text != "one" || a.Usage != (llm.Usage{Input: 40, Output: 7}) {
		t.Errorf("answer %+v, error %v, waited for too long: %v", a, err, ctx.Err())
	}
}
