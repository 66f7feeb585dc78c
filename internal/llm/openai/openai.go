// Package openai speaks the chat completions protocol of OpenAI, as vLLM, Ollama
// and most other model servers do.
package openai

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"ratchet/internal/llm"
	"ratchet/internal/llm/wire"
)

// DefaultURL is the server of an endpoint that names none.
const DefaultURL = "https://api.openai.com/v1"

type backend struct {
	wire.Dialect
	base   *url.URL
	http   *http.Client
	chat   openai.ChatCompletionService
	models openai.ModelService
}

// New returns the backend of an endpoint. The services are made one by one and not
// through the library's client, which would read OPENAI_* variables and send what
// it finds, key and organisation, to whichever server the endpoint names.
func New(cfg llm.BackendConfig) (llm.Backend, error) {
	cfg = cfg.WithDefaults()
	if cfg.Endpoint.URL == "" {
		cfg.Endpoint.URL = DefaultURL
	}
	base, err := url.Parse(strings.TrimRight(cfg.Endpoint.URL, "/") + "/")
	if err != nil {
		return nil, fmt.Errorf("openai endpoint %s: %w", cfg.Endpoint.Name, err)
	}
	b := &backend{base: base}
	b.Dialect = wire.Dialect{Config: cfg, Scrub: cfg.Key.Scrubber(), Features: features, Blames: blames, Attempt: b.attempt}
	b.http = wire.Client(cfg, base, func(h http.Header) {
		if !cfg.Key.Empty() {
			h.Set("Authorization", "Bearer "+cfg.Key.Reveal())
		}
	})
	opts := []option.RequestOption{option.WithBaseURL(base.String()), option.WithHTTPClient(b.http), option.WithMaxRetries(0)}
	b.chat, b.models = openai.NewChatCompletionService(opts...), openai.NewModelService(opts...)
	return b, nil
}

func (b *backend) attempt(call *wire.Call, r llm.Request, f wire.Forms) (llm.Answer, error) {
	stream := b.chat.NewStreaming(call.Watch.Context(), b.params(r, f))
	defer stream.Close()
	if err := stream.Err(); err != nil {
		return llm.Answer{}, err
	}
	call.Stream = true
	return read(call, stream)
}

// read takes in a stream. What breaks after the end mark does not matter: the
// answer is whole, and only its usage may be missing.
func read(call *wire.Call, stream *ssestream.Stream[openai.ChatCompletionChunk]) (llm.Answer, error) {
	var a answer
	for stream.Next() {
		if err := a.add(call, stream.Current()); err != nil {
			return llm.Answer{}, err
		}
	}
	err := stream.Err()
	if event := (*ssestream.StreamError)(nil); errors.As(err, &event) {
		return llm.Answer{}, &wire.Event{Fault: wire.ReadFault(event.Event.Data)}
	}
	switch {
	case a.end != "":
		return llm.Answer{Text: a.text.String(), Model: a.model, Cut: !whole(a.end)}, nil
	case err != nil:
		return llm.Answer{}, err
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
	text  strings.Builder
	model string
	end   string // finish reason
}

func (a *answer) add(call *wire.Call, chunk openai.ChatCompletionChunk) error {
	if chunk.Model != "" {
		a.model = chunk.Model
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		if err := a.take(call, choice.Delta); err != nil {
			return err
		}
		if choice.FinishReason != "" {
			a.end = choice.FinishReason
		}
	}
	if chunk.JSON.Usage.Valid() {
		call.Know(llm.Usage{
			Input: chunk.Usage.PromptTokens, Output: chunk.Usage.CompletionTokens,
			Cached: chunk.Usage.PromptTokensDetails.CachedTokens,
		}, a.end == "")
	}
	return nil
}

// take adds the pieces of a delta. A refusal is text: whoever reads the answer
// sees why. Reasoning and calls of tools are signs of life and no text.
func (a *answer) take(call *wire.Call, d openai.ChatCompletionChunkChoiceDelta) error {
	a.text.WriteString(d.Content)
	a.text.WriteString(d.Refusal)
	pieces := []string{d.Content, d.Refusal, extra(d, "reasoning_content"), extra(d, "reasoning")}
	for _, t := range d.ToolCalls {
		pieces = append(pieces, t.Function.Arguments)
	}
	for _, p := range pieces {
		if err := call.Take(p); err != nil {
			return err
		}
	}
	return nil
}

// extra is the raw value of a field that the library does not know, empty when it
// holds nothing.
func extra(d openai.ChatCompletionChunkChoiceDelta, field string) string {
	raw := d.JSON.ExtraFields[field].Raw()
	if raw == "null" || raw == `""` {
		return ""
	}
	return raw
}
