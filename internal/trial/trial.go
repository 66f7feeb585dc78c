// Package trial holds the procedures that measure a tree and a candidate:
// baseline, the judgement of a screen, and the confirmation against the parent.
// They work on whatever runs problems, so that the study of the decision rule
// (package aa) goes through the same code as a real campaign.
package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ratchet/internal/model"
)

// Bench is a built tree that can run problems; benchmarks.Bench satisfies it.
type Bench interface {
	// Run runs each given problem once and reports exactly one result for each.
	// With isolate each problem runs in a process of its own. An error means
	// that nothing was measured.
	Run(ctx context.Context, problems []model.Problem, isolate bool) (model.Run, error)
}

// Kinds of failure, for errors.Is. None of them is a verdict on a candidate.
var (
	ErrTampered   = errors.New("the run cannot be believed")
	ErrIncomplete = errors.New("the results are not one for each problem")
	ErrRounds     = errors.New("the rounds given do not continue from the first")
	ErrInput      = errors.New("invalid input")
)

// Error says what could not be measured, why, and what to do about it.
type Error struct {
	Op     string // "baseline", "confirm"
	Object string // round and side
	Err    error
	Hint   string
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: %v", e.Op, e.Object, e.Err)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// passed says whether one result counts as a pass.
func passed(r model.Result) bool { return r.Outcome == model.Pass }

// complete checks that a run has exactly one result for each problem.
func complete(run model.Run, problems []model.Problem) error {
	if len(run.Results) != len(problems) {
		return fmt.Errorf("%w: want %d, got %d", ErrIncomplete, len(problems), len(run.Results))
	}
	by := run.ByProblem()
	for _, p := range problems {
		if _, ok := by[p.ID]; !ok {
			return fmt.Errorf("%w: none for %s", ErrIncomplete, p.ID)
		}
	}
	return nil
}
