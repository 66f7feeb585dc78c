// Package backends names the protocols that there are.
package backends

import (
	"ratchet/internal/llm"
	"ratchet/internal/llm/anthropic"
	"ratchet/internal/llm/openai"
)

// All returns what makes the backend of an endpoint, by its protocol.
func All() map[string]llm.NewBackend {
	return map[string]llm.NewBackend{"openai": openai.New, "anthropic": anthropic.New}
}
