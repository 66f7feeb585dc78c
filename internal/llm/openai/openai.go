// Package openai speaks the chat completions protocol of OpenAI, as vLLM, Ollama
// and most other model servers do.
package openai

import (
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

// attempt reads the events itself: the library's stream takes each chunk that has an
// error field for a failure, and some servers put an empty one into good chunks.
func (b *backend) attempt(call *wire.Call, r llm.Request, f wire.Forms) (llm.Answer, error) {
	var res *http.Response
	stream := b.chat.NewStreaming(call.Watch.Context(), b.params(r, f), option.WithResponseInto(&res))
	defer stream.Close()
	if err := stream.Err(); err != nil {
		return llm.Answer{}, err
	}
	call.Stream = true
	return read(call, ssestream.NewDecoder(res))
}
