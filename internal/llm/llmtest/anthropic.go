package llmtest

import (
	"encoding/json"
	"net/http"
	"time"
)

// anthropic speaks as Anthropic's Messages API does.
type anthropic struct{}

func (anthropic) event(data string) []byte {
	return []byte("event: content_block_delta\ndata: " + data + "\n\n")
}

func (anthropic) keepAlive() []byte { return typed("ping", object{}) }

// typed is an event whose name is repeated as its type.
func typed(name string, data object) []byte {
	data["type"] = name
	return []byte("event: " + name + "\ndata: " + string(encode(data)) + "\n\n")
}

func (p anthropic) frames(a answer) []frame {
	start := p.message(a, []object{}, nil, false)
	out := []frame{
		{part: opening, data: typed("message_start", object{"message": start})},
		{part: opening, data: p.keepAlive()},
	}
	if a.choice {
		out = append(out, p.block(a)...)
	}
	end := object{"delta": object{"stop_reason": orNull(stopReason(a)), "stop_sequence": nil}}
	if a.usage {
		end["usage"] = object{"output_tokens": a.output}
	}
	return append(out,
		frame{part: finish, data: typed("message_delta", end)},
		frame{part: closing, data: typed("message_stop", object{})})
}

// block is the one block of content, token by token: text, or a tool's input.
func (anthropic) block(a answer) []frame {
	start, kind, field := object{"type": "text", "text": ""}, "text_delta", "text"
	if a.tool != "" {
		start = object{"type": "tool_use", "id": "toolu_" + a.id, "name": a.tool, "input": object{}}
		kind, field = "input_json_delta", "partial_json"
	}
	out := []frame{{part: role, data: typed("content_block_start", object{"index": 0, "content_block": start})}}
	for _, c := range a.chunks {
		out = append(out, frame{part: token, data: typed("content_block_delta", object{"index": 0, "delta": object{"type": kind, field: raw(c)}})})
	}
	// The block's end is no token, and goes where the finish goes.
	return append(out, frame{part: finish, data: typed("content_block_stop", object{"index": 0})})
}

// message is the message as a whole, or, without content and reason, at its start.
func (anthropic) message(a answer, content []object, reason any, whole bool) object {
	m := object{
		"id": a.id, "type": "message", "role": "assistant", "model": a.model,
		"content": content, "stop_reason": reason, "stop_sequence": nil,
	}
	if a.usage {
		u := object{"input_tokens": a.prompt - a.cached, "cache_creation_input_tokens": 0, "cache_read_input_tokens": a.cached, "output_tokens": 1}
		if whole {
			u["output_tokens"] = a.output
		}
		m["usage"] = u
	}
	return m
}

func (p anthropic) body(a answer) any {
	content := []object{{"type": "text", "text": raw(a.text)}}
	switch {
	case !a.choice:
		content = []object{}
	case a.tool != "" && isObject(a.text): // cut short it is no object any more
		content = []object{{"type": "tool_use", "id": "toolu_" + a.id, "name": a.tool, "input": json.RawMessage(a.text)}}
	}
	return p.message(a, content, orNull(stopReason(a)), true)
}

// stopReason has Anthropic's word for why the answer ends; empty for none.
func stopReason(a answer) string {
	switch {
	case a.finish == "":
		return ""
	case a.refusal || a.finish == "content_filter":
		return "refusal"
	case a.finish == "stop" && a.tool != "":
		return "tool_use"
	case a.finish == "stop":
		return "end_turn"
	case a.finish == "length":
		return "max_tokens"
	}
	return a.finish
}

func (anthropic) refuse(code int, message string) any {
	return object{"type": "error", "error": object{"type": anthropicType(code), "message": message}, "request_id": nil}
}

// anthropicType is Anthropic's name of a status.
func anthropicType(code int) string {
	switch code {
	case http.StatusBadRequest:
		return "invalid_request_error"
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusServiceUnavailable, 529:
		return "overloaded_error"
	}
	return "api_error"
}

func (p anthropic) failure(message string) []frame {
	return []frame{{data: typed("error", object{"error": object{"type": "overloaded_error", "message": message}})}}
}

func (p anthropic) models(names []string, context int) any {
	data := make([]any, len(names))
	for i, n := range names {
		data[i] = p.model(n, context)
	}
	return object{"data": data, "has_more": false, "first_id": names[0], "last_id": names[len(names)-1]}
}

func (anthropic) model(name string, context int) any {
	return object{
		"id": name, "type": "model", "display_name": name, "created_at": created.Format(time.RFC3339), "max_input_tokens": context, "max_tokens": context,
	}
}
