package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go"

	"ratchet/internal/llm"
	"ratchet/internal/llm/wire"
)

// Features of a request that some models do not take.
const (
	featureTool        = "tool_choice" // 0 the answer is a forced tool call, 1 free text
	featureTemperature = "temperature" // 0 with, 1 without
)

// features in the order in which they are blamed.
var features = []wire.Feature{{Name: featureTool, Last: 1, Schema: true}, {Name: featureTemperature, Last: 1}}

// blames says whether a fault is that a feature is not taken.
func blames(f wire.Fault, feature string) bool {
	if feature == featureTool {
		return f.Names(featureTool) || f.Names("tools") || f.Names("input_schema")
	}
	return f.Unsupported(feature)
}

// params builds the request. An answer in the form of a schema is asked for as the
// call of a tool that must be called: every model and every compatible server can
// do that, while only newer ones know output formats. The protocol has no seed, and
// its temperature ends at 1.
func (b *backend) params(r llm.Request, f wire.Forms) (anthropic.MessageNewParams, error) {
	p := anthropic.MessageNewParams{Model: b.Config.Endpoint.Model, MaxTokens: int64(r.MaxTokens)}
	for _, m := range r.Messages {
		block := anthropic.NewTextBlock(m.Text)
		switch m.Role {
		case llm.RoleSystem:
			p.System = append(p.System, anthropic.TextBlockParam{Text: m.Text})
		case llm.RoleAssistant:
			p.Messages = append(p.Messages, anthropic.NewAssistantMessage(block))
		default:
			p.Messages = append(p.Messages, anthropic.NewUserMessage(block))
		}
	}
	if f[featureTemperature] == 0 {
		p.Temperature = anthropic.Float(min(r.Temperature, 1))
	}
	if f[featureTool] == 0 {
		return forced(p, r.Schema)
	}
	return p, nil
}

// forced has the model answer by calling a tool whose input has the schema's form.
func forced(p anthropic.MessageNewParams, s *llm.Schema) (anthropic.MessageNewParams, error) {
	var fields map[string]any
	if err := json.Unmarshal(s.JSON, &fields); err != nil {
		return p, fmt.Errorf("schema %s: %w", s.Name, err)
	}
	delete(fields, "type") // the parameter's own type is object
	p.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
		Name: s.Name, Description: anthropic.String("Gives the answer."), InputSchema: anthropic.ToolInputSchemaParam{ExtraFields: fields},
	}}}
	p.ToolChoice = anthropic.ToolChoiceUnionParam{OfTool: &anthropic.ToolChoiceToolParam{Name: s.Name, DisableParallelToolUse: anthropic.Bool(true)}}
	return p, nil
}

// Check asks for the endpoint's model. A server that has no such route, as some
// that only speak the protocol, is believed to have it.
func (b *backend) Check(ctx context.Context) (llm.ModelInfo, error) {
	w := wire.NewCheck(ctx, b.Config.Endpoint)
	defer w.Stop()
	name := b.Config.Endpoint.Model
	m, err := b.models.Get(w.Context(), name, anthropic.ModelGetParams{})
	var refusal *wire.Refusal
	if errors.As(err, &refusal) && (refusal.Status == 404 && refusal.Fault.Type != "not_found_error" || refusal.Status == 405) {
		return llm.ModelInfo{Model: name}, nil
	}
	if err != nil {
		return llm.ModelInfo{}, b.Call("check", w).Fail(err)
	}
	return llm.ModelInfo{Model: wire.Line(b.Scrub, m.ID), Context: window(m.MaxInputTokens)}, nil
}

// maxContext is more than any model's: a larger number is a mistake.
const maxContext = 1 << 27

func window(tokens int64) int {
	if tokens < 0 || tokens > maxContext {
		return 0
	}
	return int(tokens)
}
