// Package llm is the proposer that asks a model for edits: it writes the prompt
// from the brief, reads the answer however it is written, and has it repaired once.
//
// The parts: proposer.go, sample.go, judge.go and collect.go hold the conversations
// and what comes of them; prompt.go, rules.go, focus.go and sections.go write the
// prompt; suspicion.go, source.go, tests.go, choose.go and listing.go pick what of
// the repository it shows; fence.go, clean.go and size.go keep data apart from
// instructions and within bounds; reflect.go asks what a generation taught.
package llm

import (
	"context"

	"ratchet/internal/llm"
)

// Caller makes model calls and accounts for them. It is safe for concurrent use.
type Caller interface {
	// Call asks a question. key names it within the generation: a question that was
	// answered before under the key is answered by the same words again, without a
	// call. Errors wrap the kinds of internal/llm, llm.ErrBudget among them.
	Call(ctx context.Context, key string, r llm.Request) (llm.Answer, error)
	// Window is how many tokens prompt and answer may have together, at the
	// smallest of the endpoints that are likely to be asked.
	Window(ctx context.Context) (int, error)
}
