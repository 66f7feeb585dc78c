package llmtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

// protocol is how answers and errors look on the wire.
type protocol interface {
	frames(a answer) []frame // of a stream
	body(a answer) any       // of a response that is not streamed
	refuse(code int, message string) any
	failure(message string) []frame // an error in a stream
	event(data string) []byte       // one event of a stream
	keepAlive() []byte
	models(names []string, context int) any
	model(name string, context int) any
}

// created is when all answers and models were made: replies do not depend on the clock.
var created = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// openAI speaks as vLLM's OpenAI-compatible server does.
type openAI struct {
	flat bool // errors of vLLM before 0.10, and of some servers that copied them
}

type object = map[string]any

func (openAI) event(data string) []byte { return []byte("data: " + data + "\n\n") }

func (openAI) keepAlive() []byte { return []byte(": keep-alive\n\n") }

func (o openAI) frames(a answer) []frame {
	var out []frame
	add := func(p part, choices []object, more object) {
		out = append(out, frame{part: p, data: o.event(string(encode(o.chunk(a, choices, more))))})
	}
	if a.choice {
		add(role, choice(object{"role": "assistant", "content": ""}, ""), nil)
		for _, c := range a.chunks {
			add(token, choice(object{a.field(): raw(c)}, ""), nil)
		}
	} else {
		add(role, []object{}, nil)
	}
	if a.choice && a.finish != "" {
		add(finish, choice(object{"content": ""}, a.finish), nil)
	}
	if a.usage {
		add(usage, []object{}, object{"usage": o.usage(a)})
	}
	return append(out, frame{part: closing, data: o.event("[DONE]")})
}

func (openAI) chunk(a answer, choices []object, more object) object {
	c := object{"id": a.id, "object": "chat.completion.chunk", "created": created.Unix(), "model": a.model, "choices": choices}
	for k, v := range more {
		c[k] = v
	}
	return c
}

// choice is the only choice of a chunk; finish is empty before the end.
func choice(delta object, finish string) []object {
	return []object{{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": orNull(finish)}}
}

// field is where OpenAI puts the text.
func (a answer) field() string {
	if a.refusal {
		return "refusal"
	}
	return "content"
}

func (openAI) usage(a answer) object {
	return object{
		"prompt_tokens": a.prompt, "completion_tokens": a.output, "total_tokens": a.prompt + a.output,
		"prompt_tokens_details": object{"cached_tokens": a.cached},
	}
}

func (o openAI) body(a answer) any {
	message := object{"role": "assistant", "content": nil, "refusal": nil}
	message[a.field()] = raw(a.text)
	choices := []object{{"index": 0, "message": message, "logprobs": nil, "finish_reason": orNull(a.finish)}}
	if !a.choice {
		choices = []object{}
	}
	out := object{"id": a.id, "object": "chat.completion", "created": created.Unix(), "model": a.model, "choices": choices}
	if a.usage {
		out["usage"] = o.usage(a)
	}
	return out
}

func (o openAI) refuse(code int, message string) any {
	e := object{"message": message, "type": openAIType(code), "param": nil, "code": code}
	if code == http.StatusUnauthorized {
		e["code"] = "invalid_api_key"
	}
	if o.flat {
		e["object"] = "error"
		return e
	}
	return object{"error": e}
}

// openAIType is vLLM's name of a status.
func openAIType(code int) string {
	switch code {
	case http.StatusBadRequest:
		return "BadRequestError"
	case http.StatusUnauthorized:
		return "invalid_request_error"
	case http.StatusForbidden:
		return "PermissionDeniedError"
	case http.StatusNotFound:
		return "NotFoundError"
	case http.StatusTooManyRequests:
		return "RateLimitError"
	case http.StatusServiceUnavailable:
		return "ServiceUnavailableError"
	}
	return "InternalServerError"
}

// failure is always nested: vLLM's streams were so when its bodies were still flat.
func (o openAI) failure(message string) []frame {
	e := openAI{}.refuse(http.StatusInternalServerError, message)
	return []frame{{data: o.event(string(encode(e)))}, {part: closing, data: o.event("[DONE]")}}
}

func (o openAI) models(names []string, context int) any {
	data := make([]any, len(names))
	for i, n := range names {
		data[i] = o.model(n, context)
	}
	return object{"object": "list", "data": data}
}

func (openAI) model(name string, context int) any {
	return object{
		"id": name, "object": "model", "created": created.Unix(), "owned_by": "vllm", "root": name, "parent": nil, "max_model_len": context,
	}
}

// encode is JSON without HTML's escapes. What the server encodes is its own.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// raw is a text of which bytes that are no UTF-8 are sent as they are.
type raw string

// MarshalJSON quotes the text.
func (r raw) MarshalJSON() ([]byte, error) {
	out := []byte{'"'}
	for _, c := range []byte(r) {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < 0x20:
			out = append(out, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"'), nil
}
