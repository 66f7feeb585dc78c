// Package anthropic speaks the Messages protocol of Anthropic.
package anthropic

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"ratchet/internal/llm"
	"ratchet/internal/llm/wire"
)

// DefaultURL is the server of an endpoint that names none.
const DefaultURL = "https://api.anthropic.com"

type backend struct {
	wire.Dialect
	messages anthropic.MessageService
	models   anthropic.ModelService
}

// New returns the backend of an endpoint. The services are made one by one and not
// through the library's client, which would look for credentials in ANTHROPIC_*
// variables and profiles and send them to whichever server the endpoint names.
func New(cfg llm.BackendConfig) (llm.Backend, error) {
	cfg = cfg.WithDefaults()
	if cfg.Endpoint.URL == "" {
		cfg.Endpoint.URL = DefaultURL
	}
	// The library's routes begin with v1.
	base, err := url.Parse(strings.TrimSuffix(strings.TrimRight(cfg.Endpoint.URL, "/"), "/v1") + "/")
	if err != nil {
		return nil, fmt.Errorf("anthropic endpoint %s: %w", cfg.Endpoint.Name, err)
	}
	b := &backend{}
	b.Dialect = wire.Dialect{Config: cfg, Scrub: cfg.Key.Scrubber(), Features: features, Blames: blames, Attempt: b.attempt}
	client := wire.Client(cfg, base, func(h http.Header) {
		if !cfg.Key.Empty() {
			h.Set("X-Api-Key", cfg.Key.Reveal())
		}
	})
	opts := []option.RequestOption{
		option.WithBaseURL(base.String()), option.WithHTTPClient(client), option.WithMaxRetries(0), option.WithoutOpenTelemetry(),
	}
	b.messages, b.models = anthropic.NewMessageService(opts...), anthropic.NewModelService(opts...)
	return b, nil
}

func (b *backend) attempt(call *wire.Call, r llm.Request, f wire.Forms) (llm.Answer, error) {
	params, err := b.params(r, f)
	if err != nil {
		return llm.Answer{}, err
	}
	stream := b.messages.NewStreaming(call.Watch.Context(), params)
	if err := stream.Err(); err != nil {
		return llm.Answer{}, err
	}
	defer stream.Close()
	call.Stream = true
	return read(call, stream)
}

// read takes in a stream. What breaks after the stop reason does not matter: the
// answer is whole.
func read(call *wire.Call, stream *ssestream.Stream[anthropic.MessageStreamEventUnion]) (llm.Answer, error) {
	var a answer
	for !a.done && stream.Next() {
		if err := a.add(call, stream.Current()); err != nil {
			return llm.Answer{}, err
		}
	}
	err := stream.Err()
	if event := (*anthropic.Error)(nil); errors.As(err, &event) {
		return llm.Answer{}, &wire.Event{Fault: wire.ReadFault([]byte(event.RawJSON()))}
	}
	switch {
	case a.stop != "":
		return llm.Answer{Text: a.answerText(), Model: a.model, Cut: !whole(a.stop)}, nil
	case err != nil:
		return llm.Answer{}, err
	}
	return llm.Answer{}, wire.ErrNoEnd
}

// whole says whether a stop reason means that the model had said everything. Beside
// the limits there are refusal and pause_turn, which stop it anywhere.
func whole(reason anthropic.StopReason) bool {
	switch reason {
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence, anthropic.StopReasonToolUse:
		return true
	}
	return false
}

// answer is what has come of one.
type answer struct {
	text, tool strings.Builder
	block      block // the one that is under way
	model      string
	stop       anthropic.StopReason
	usage      llm.Usage
	done       bool
}

// answerText is the tool's input, which has the form of the schema, else the text.
func (a *answer) answerText() string {
	a.close()
	if a.tool.Len() > 0 {
		return a.tool.String()
	}
	return a.text.String()
}

func (a *answer) add(call *wire.Call, e anthropic.MessageStreamEventUnion) error {
	switch e.Type {
	case "message_start":
		a.model = string(e.Message.Model)
		u := e.Message.Usage
		a.know(call, u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens, true)
	case "content_block_start":
		a.close()
		return a.open(call, e.ContentBlock)
	case "content_block_delta":
		return a.take(call, e.Delta)
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.stop = e.Delta.StopReason
			call.Watch.Finished()
		}
		u := e.Usage
		a.know(call, u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens, u.OutputTokens == 0)
	case "message_stop":
		a.done = true
	}
	return nil
}

// take adds a delta. Thinking is a sign of life and no text.
func (a *answer) take(call *wire.Call, d anthropic.MessageStreamEventUnionDelta) error {
	a.block.said.WriteString(d.Text)
	a.block.given.WriteString(d.PartialJSON)
	return count(call, d.Text, d.PartialJSON, d.Thinking, d.Signature)
}

func count(call *wire.Call, pieces ...string) error {
	for _, piece := range pieces {
		if err := call.Take(piece); err != nil {
			return err
		}
	}
	return nil
}

// know takes what the server says of the usage. Its numbers are sums so far, and
// later events may leave the input out. Cached input is counted beside the other,
// read from the cache or written into it.
func (a *answer) know(call *wire.Call, input, read, written, output int64, partial bool) {
	if input+read+written > 0 {
		a.usage.Input, a.usage.Cached = input+read+written, read
	}
	a.usage.Output = max(a.usage.Output, output)
	call.Know(a.usage, partial)
}
