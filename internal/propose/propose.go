// Package propose defines what writes candidates. A proposer sees a brief and a
// tree without its held-out problems, and returns patches as hypotheses.
package propose

import (
	"context"

	"ratchet/internal/diagnose"
	"ratchet/internal/model"
	"ratchet/internal/patch"
)

// Proposer writes candidates. It is safe for concurrent use and deterministic
// for equal requests unless its documentation says otherwise.
type Proposer interface {
	Name() string
	// Propose returns at most r.N candidates, best first, none for which r.Skip
	// is true. Fewer, or none, mean that the proposer has no other ideas for this tree.
	Propose(ctx context.Context, r Request) (Proposal, error)
}

// Request is what a proposer may know.
type Request struct {
	Brief   diagnose.Brief
	Tree    model.Tree             // the parent, without the source of held-out problems
	Allowed func(path string) bool // paths that a candidate may touch
	Skip    func(key string) bool  // candidates already tried on this tree
	// Gate says what the gates would refuse a candidate for, or nil; a proposer
	// that can mend its answer asks before it hands it in.
	Gate func(model.Candidate) *patch.Refusal
	N    int
	Seed int64
}

// Proposal is what a proposer came up with.
type Proposal struct {
	Candidates []model.Candidate
	// Refused are answers that never became candidates, such as a model's refusal.
	Refused []Refused
	Notes   []string // remarks for people: what went wrong on the way
	// Exhausted says that the budget has no room for another call.
	Exhausted bool
}

// Refused is an answer that is no candidate.
type Refused struct {
	Key        string // identifies the answer: equal answers have equal keys
	Hypothesis string // if it had one
	Reason     string
}
