package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"

	"ratchet/internal/llm"
	"ratchet/internal/llm/wire"
)

// Check asks /health, where there is one, and the list of models.
func (b *backend) Check(ctx context.Context) (llm.ModelInfo, error) {
	w := wire.NewCheck(ctx, b.Config.Endpoint)
	defer w.Stop()
	err := b.health(w.Context())
	if err == nil {
		var info llm.ModelInfo
		if info, err = b.model(w.Context()); err == nil {
			return info, nil
		}
	}
	return llm.ModelInfo{}, b.Call("check", w).Fail(err)
}

// health asks vLLM whether its engine lives. Other servers have no such route, or
// guard it: only a failure counts.
func (b *backend) health(ctx context.Context) error {
	u := *b.base
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/v1") + "/health"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	res, err := b.http.Do(req)
	if err == nil {
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16))
		return err
	}
	var refusal *wire.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	if refusal.Status < 500 || refusal.Status == http.StatusNotImplemented {
		return nil
	}
	if refusal.Status == http.StatusServiceUnavailable {
		// The engine is dead or still loading: not the load that 503 means elsewhere.
		refusal.Kind = llm.ErrUnavailable
	}
	return refusal
}

// model finds the endpoint's model in the server's list. A server without a list
// is believed to have it.
func (b *backend) model(ctx context.Context) (llm.ModelInfo, error) {
	name := b.Config.Endpoint.Model
	page, err := b.models.List(ctx)
	var refusal *wire.Refusal
	if errors.As(err, &refusal) && (refusal.Status == http.StatusNotFound || refusal.Status == http.StatusMethodNotAllowed) {
		return llm.ModelInfo{Model: name}, nil
	}
	if err != nil {
		return llm.ModelInfo{}, err
	}
	if page == nil {
		return llm.ModelInfo{}, fmt.Errorf("the list of models holds nothing: %w", llm.ErrMalformed)
	}
	for _, m := range page.Data {
		if m.ID == name || m.ID == name+":latest" { // Ollama's way to say a name without a tag
			return llm.ModelInfo{Model: wire.Line(b.Scrub, m.ID), Context: window(m)}, nil
		}
	}
	return llm.ModelInfo{}, b.missing(page.Data)
}

func (b *backend) missing(models []openai.Model) *llm.Error {
	var names []string
	for _, m := range models[:min(len(models), 5)] {
		names = append(names, m.ID)
	}
	return &llm.Error{
		Op: "check", Endpoint: b.Config.Endpoint.Name, Kind: llm.ErrNoModel,
		Detail: fmt.Sprintf("%q is not among the server's %d models", b.Config.Endpoint.Model, len(models)),
		Hint:   wire.Line(b.Scrub, "it has "+strings.Join(names, ", ")),
	}
}

// maxContext is more than any model's: a larger number is a mistake.
const maxContext = 1 << 27

// window reads vLLM's max_model_len.
func window(m openai.Model) int {
	var n float64
	if json.Unmarshal([]byte(m.JSON.ExtraFields["max_model_len"].Raw()), &n) != nil || n < 1 || n > maxContext {
		return 0
	}
	return int(n)
}
