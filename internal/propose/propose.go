// Package propose defines what writes candidates. A proposer sees a brief and a
// tree without its held-out problems, and returns patches as hypotheses.
package propose

import (
	"context"

	"ratchet/internal/diagnose"
	"ratchet/internal/model"
)

// Proposer writes candidates. It is safe for concurrent use and deterministic
// for equal requests unless its documentation says otherwise.
type Proposer interface {
	Name() string
	// Propose returns at most r.N candidates, best first, none for which r.Skip
	// is true. Fewer, or none, mean that the proposer has no other ideas for this tree.
	Propose(ctx context.Context, r Request) ([]model.Candidate, error)
}

// Request is what a proposer may know.
type Request struct {
	Brief   diagnose.Brief
	Tree    model.Tree             // the parent, without the source of held-out problems
	Allowed func(path string) bool // paths that a candidate may touch
	Skip    func(key string) bool  // candidates already tried on this tree
	N       int
	Seed    int64
}
