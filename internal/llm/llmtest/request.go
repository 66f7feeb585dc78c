package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// The protocols that the server speaks.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
)

// Message is one turn of a conversation.
type Message struct {
	Role string // system, user or assistant
	Text string
}

// Request is a call as the server received it. Cached is known once the call has a
// slot, Reply once the script has decided: a script sees neither.
type Request struct {
	N        int    // index of the call at this server, from 0
	Protocol string // OpenAI or Anthropic
	Model    string
	Messages []Message // Anthropic's system prompt is the first of them

	Temperature *float64 // nil when not sent
	Seed        *int64   // nil when not sent
	MaxTokens   int      // 0 when not sent
	Stream      bool
	Usage       bool            // usage was asked for in the stream; always so with Anthropic
	Schema      json.RawMessage // JSON Schema that the answer should have; nil for none
	Format      json.RawMessage // response_format, or output_config.format of Anthropic
	Tool        string          // tool that Anthropic's protocol forces the model to call; Schema is its input's

	Prompt int // tokens of the prompt
	Cached int // of these, how many the prefix cache held

	Header http.Header
	Body   []byte

	// Reply names what was answered: "answer", a fault's name, or "refused by the
	// server: …" when the script was not asked.
	Reply string
}

// Text is the whole conversation.
func (r Request) Text() string {
	var b strings.Builder
	for _, m := range r.Messages {
		b.WriteString(m.Text + "\n")
	}
	return b.String()
}

// Last is the text of the last message.
func (r Request) Last() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Text
}

// Contains says whether each of the texts stands in the conversation.
func (r Request) Contains(texts ...string) bool {
	all := r.Text()
	for _, t := range texts {
		if !strings.Contains(all, t) {
			return false
		}
	}
	return true
}

// Sends says whether the body has a parameter, such as "seed".
func (r Request) Sends(parameter string) bool {
	var body map[string]json.RawMessage
	if json.Unmarshal(r.Body, &body) != nil {
		return false
	}
	_, ok := body[parameter]
	return ok
}

// Key is the API key that was sent, in the header of either protocol.
func (r Request) Key() string { return sentKey(r.Header) }

func sentKey(h http.Header) string {
	if key := h.Get("X-Api-Key"); key != "" {
		return key
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

// wire is the body of a request of either protocol.
type wire struct {
	Model               string          `json:"model"`
	System              json.RawMessage `json:"system"`
	Messages            []wireMessage   `json:"messages"`
	Temperature         *float64        `json:"temperature"`
	Seed                *int64          `json:"seed"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	Stream              bool            `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ResponseFormat json.RawMessage `json:"response_format"`
	OutputConfig   struct {
		Format json.RawMessage `json:"format"`
	} `json:"output_config"`
	Tools []struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"` // OpenAI's may be a text
}

type wireMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// parse reads the body of a call.
func parse(protocol string, header http.Header, body []byte) (Request, error) {
	r := Request{Protocol: protocol, Header: header.Clone(), Body: body}
	var w wire
	if err := json.Unmarshal(body, &w); err != nil {
		return r, fmt.Errorf("the body is not a request: %w", err)
	}
	r.Model, r.Temperature, r.Seed, r.Stream = w.Model, w.Temperature, w.Seed, w.Stream
	r.MaxTokens = max(w.MaxTokens, w.MaxCompletionTokens)
	r.Usage = protocol == Anthropic || w.StreamOptions.IncludeUsage
	r.Format = w.ResponseFormat
	if protocol == Anthropic {
		r.Format = w.OutputConfig.Format
	}
	r.Schema = schema(r.Format)
	if protocol == Anthropic {
		r.force(w)
	}
	return r, r.converse(w)
}

// force takes over the tool that the model has to call.
func (r *Request) force(w wire) {
	var choice struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	if json.Unmarshal(w.ToolChoice, &choice) != nil || choice.Type != "tool" {
		return
	}
	for _, t := range w.Tools {
		if t.Name == choice.Name {
			r.Tool, r.Schema = t.Name, t.InputSchema
		}
	}
}

// converse takes the messages over, and checks what the protocols demand.
func (r *Request) converse(w wire) error {
	if len(w.Messages) == 0 {
		return errors.New("messages: Field required")
	}
	if r.Protocol == Anthropic && r.MaxTokens == 0 {
		return errors.New("max_tokens: Field required")
	}
	messages := w.Messages
	if len(w.System) > 0 {
		messages = append([]wireMessage{{Role: "system", Content: w.System}}, messages...)
	}
	for i, m := range messages {
		text, err := plain(m.Content)
		if err != nil {
			return fmt.Errorf("messages.%d.content: %w", i, err)
		}
		r.Messages = append(r.Messages, Message{Role: m.Role, Text: text})
	}
	r.Prompt = PromptTokens(r.Messages)
	return nil
}

// plain is the text of a message: a string, or a list of parts of type text.
func plain(content json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return "", errors.New("neither a text nor a list of parts")
	}
	for _, p := range parts {
		if p.Type != "text" {
			return "", fmt.Errorf("a part of type %q; this server reads text only", p.Type)
		}
		text += p.Text
	}
	return text, nil
}

// schema finds the JSON Schema in the form that a request asks for: OpenAI has it
// one level deeper than Anthropic.
func schema(format json.RawMessage) json.RawMessage {
	var f struct {
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
		Schema json.RawMessage `json:"schema"`
	}
	if len(format) == 0 || bytes.Equal(format, []byte("null")) || json.Unmarshal(format, &f) != nil {
		return nil
	}
	if f.Schema != nil {
		return f.Schema
	}
	return f.JSONSchema.Schema
}
