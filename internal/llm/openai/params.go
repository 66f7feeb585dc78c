package openai

import (
	"encoding/json"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"ratchet/internal/llm"
	"ratchet/internal/llm/wire"
)

// Features of a request of which servers may know another form or none.
const (
	featureFormat      = "response_format" // 0 JSON schema, 1 JSON, 2 none
	featureMaxTokens   = "max_tokens"      // 0 max_tokens, 1 max_completion_tokens
	featureUsage       = "stream_options"  // 0 with usage, 1 without
	featureSeed        = "seed"            // 0 with, 1 without
	featureTemperature = "temperature"     // 0 with, 1 without
)

// features in the order in which they are blamed.
var features = []wire.Feature{
	{Name: featureMaxTokens, Last: 1}, {Name: featureFormat, Last: 2, Schema: true}, {Name: featureUsage, Last: 1},
	{Name: featureSeed, Last: 1}, {Name: featureTemperature, Last: 1},
}

// blames says whether a fault is that a feature is not taken. Any complaint about
// a format counts: a schema that a server cannot hold a model to is one it lacks.
func blames(f wire.Fault, feature string) bool {
	switch feature {
	case featureFormat:
		return f.Names("response_format") || f.Names("json_schema") || f.Names("json_object") || f.Names("guided") || f.Names("grammar")
	case featureMaxTokens:
		return f.Unsupported("max_tokens") || f.Names("max_completion_tokens") && f.Names("max_tokens")
	}
	return f.Unsupported(feature)
}

func (b *backend) params(r llm.Request, f wire.Forms) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: b.Config.Endpoint.Model, Messages: messages(r.Messages), ResponseFormat: format(r.Schema, f[featureFormat])}
	if f[featureMaxTokens] == 0 {
		p.MaxTokens = openai.Int(int64(r.MaxTokens))
	} else {
		p.MaxCompletionTokens = openai.Int(int64(r.MaxTokens))
	}
	if f[featureUsage] == 0 {
		p.StreamOptions.IncludeUsage = openai.Bool(true)
	}
	if f[featureSeed] == 0 {
		p.Seed = openai.Int(r.Seed)
	}
	if f[featureTemperature] == 0 {
		p.Temperature = openai.Float(r.Temperature)
	}
	return p
}

func messages(in []llm.Message) []openai.ChatCompletionMessageParamUnion {
	out := make([]openai.ChatCompletionMessageParamUnion, 0, len(in))
	for _, m := range in {
		switch m.Role {
		case llm.RoleSystem:
			out = append(out, openai.SystemMessage(m.Text))
		case llm.RoleAssistant:
			out = append(out, openai.AssistantMessage(m.Text))
		default:
			out = append(out, openai.UserMessage(m.Text))
		}
	}
	return out
}

func format(s *llm.Schema, form int) (out openai.ChatCompletionNewParamsResponseFormatUnion) {
	switch form {
	case 0:
		out.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: s.Name, Schema: json.RawMessage(s.JSON), Strict: openai.Bool(true),
		}}
	case 1:
		out.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	}
	return out
}
