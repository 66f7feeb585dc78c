package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"ratchet/internal/llm"
	"ratchet/internal/llm/wire"
)

// read takes in a stream. What breaks after the finish reason does not matter: the
// answer is whole, and only its usage may be missing.
func read(call *wire.Call, events ssestream.Decoder) (llm.Answer, error) {
	var a answer
	for !a.done && events.Next() {
		if err := a.event(call, events.Event()); err != nil {
			return llm.Answer{}, err
		}
	}
	switch {
	case a.end != "":
		return llm.Answer{Text: a.said(), Model: a.model, Cut: !whole(a.end)}, nil
	case events.Err() != nil:
		return llm.Answer{}, events.Err()
	}
	return llm.Answer{}, wire.ErrNoEnd
}

// whole says whether a finish reason means that the model had said everything.
// Beside length there are content_filter, abort and others that stop it anywhere.
func whole(reason string) bool {
	switch strings.ToLower(reason) {
	case "stop", "end_turn", "tool_calls", "function_call", "eos", "eos_token", "stop_sequence":
		return true
	}
	return false
}

// answer is what has come of one.
type answer struct {
	text    strings.Builder
	args    strings.Builder // of the first tool that is called
	tool    *int64          // its index
	message string          // what came whole, and not in pieces
	model   string
	end     string // finish reason
	done    bool   // nothing follows
}

// said is the text. Some servers hold a model to a schema by having it call a tool,
// and some send their answer whole, or once more at the end.
func (a *answer) said() string {
	for _, s := range []string{a.text.String(), a.args.String(), a.message} {
		if strings.TrimSpace(s) != "" {
			return s
		}
	}
	return a.text.String()
}

func (a *answer) event(call *wire.Call, e ssestream.Event) error {
	data := bytes.TrimSpace(e.Data)
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		a.done = true
		return nil
	}
	if fault, failed := wire.EventFault(e.Type, data); failed {
		return &wire.Event{Fault: fault}
	}
	if len(data) == 0 {
		return nil
	}
	var chunk openai.ChatCompletionChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		if a.done = a.end != ""; a.done {
			return nil
		}
		return err
	}
	return a.add(call, chunk)
}

func (a *answer) add(call *wire.Call, chunk openai.ChatCompletionChunk) error {
	if chunk.Model != "" {
		a.model = chunk.Model
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		for _, piece := range append(a.take(choice.Delta), a.takeWhole(choice.JSON.ExtraFields["message"].Raw())) {
			if err := call.Take(piece); err != nil {
				return err
			}
		}
		a.finish(call, choice.FinishReason)
	}
	if chunk.JSON.Usage.Valid() {
		call.Know(llm.Usage{
			Input: chunk.Usage.PromptTokens, Output: chunk.Usage.CompletionTokens,
			Cached: chunk.Usage.PromptTokensDetails.CachedTokens,
		}, a.end == "")
	}
	return nil
}

// finish takes a finish reason, which some servers send again at the end of the
// stream: an answer that was cut stays one.
func (a *answer) finish(call *wire.Call, reason string) {
	if reason == "" || reason == "null" {
		return
	}
	if a.end == "" {
		call.Watch.Finished()
	}
	if a.end == "" || whole(a.end) {
		a.end = reason
	}
}

// take adds a delta, and returns the pieces that came. A refusal is text: whoever
// reads the answer sees why. Reasoning is a sign of life and no text.
func (a *answer) take(d openai.ChatCompletionChunkChoiceDelta) []string {
	text, thoughts := content(d)
	a.text.WriteString(text)
	a.text.WriteString(d.Refusal)
	// The older form of a tool's call, which the library warns of, but servers use.
	var function struct{ Arguments string }
	_ = json.Unmarshal([]byte(d.JSON.FunctionCall.Raw()), &function)
	a.args.WriteString(function.Arguments)
	pieces := []string{text, d.Refusal, thoughts, reasoning(d), function.Arguments}
	for _, t := range d.ToolCalls {
		if a.tool == nil {
			a.tool = &t.Index
		}
		if *a.tool == t.Index {
			a.args.WriteString(t.Function.Arguments)
		}
		pieces = append(pieces, t.Function.Arguments)
	}
	return pieces
}

// takeWhole takes a message that stands in a chunk, beside the delta or in its
// place, and returns what is new in it. It may grow from chunk to chunk.
func (a *answer) takeWhole(raw string) string {
	var d openai.ChatCompletionChunkChoiceDelta
	if raw == "" || a.text.Len()+a.args.Len() > 0 || json.Unmarshal([]byte(raw), &d) != nil {
		return ""
	}
	for i := range d.ToolCalls { // where they have no index
		d.ToolCalls[i].Index = int64(i)
	}
	var m answer
	m.take(d)
	more, grown := strings.CutPrefix(m.said(), a.message)
	if !grown {
		more = m.said()
	}
	a.message += more
	return more
}

// content is the text of a delta, and the rest of it as JSON. Servers of models that
// think send a list of parts, of which those of text are the answer.
func content(d openai.ChatCompletionChunkChoiceDelta) (text, rest string) {
	raw := d.JSON.Content.Raw()
	if !strings.HasPrefix(raw, "[") && !strings.HasPrefix(raw, "{") {
		return d.Content, ""
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(raw), &list) != nil {
		list = []json.RawMessage{json.RawMessage(raw)}
	}
	for _, part := range list {
		if said, ok := partText(part); ok {
			text += said
		} else {
			rest += string(part)
		}
	}
	return text, rest
}

func partText(raw json.RawMessage) (text string, ok bool) {
	if json.Unmarshal(raw, &text) == nil {
		return text, true
	}
	var part struct{ Type, Text, Refusal string }
	if json.Unmarshal(raw, &part) != nil {
		return "", false
	}
	switch part.Type {
	case "", "text", "output_text", "refusal":
		return part.Text + part.Refusal, true
	}
	return "", false
}

// reasoning is the raw value of what a model thinks, empty when there is nothing.
// Some servers send the same under two names.
func reasoning(d openai.ChatCompletionChunkChoiceDelta) string {
	for _, field := range []string{"reasoning_content", "reasoning", "thinking", "reasoning_details"} {
		switch raw := d.JSON.ExtraFields[field].Raw(); raw {
		case "", "null", `""`, "[]", "{}":
		default:
			return raw
		}
	}
	return ""
}
