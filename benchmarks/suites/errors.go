package suites

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kinds of failure, for errors.Is.
var (
	// ErrInvalid is wrapped by every error about the files of a suite.
	ErrInvalid = errors.New("not a valid suite")
	// ErrUnknown says that there is no suite or problem of that name.
	ErrUnknown = errors.New("there is no such suite or problem")
	// ErrAgent says that the agent's command cannot be started at all.
	ErrAgent = errors.New("the agent's command cannot be started")
)

// Flaw is one thing that is wrong with a file of a suite.
type Flaw struct {
	File    string `json:"file"`
	Line    int    `json:"line"` // from 1
	Problem string `json:"problem"`
}

// Flaws is everything that is wrong with a suite, by file and line. It is an
// ErrInvalid.
type Flaws []Flaw

// Error lists one flaw a line, as file:line: problem.
func (f Flaws) Error() string {
	lines := make([]string, len(f))
	for i, x := range f {
		lines[i] = fmt.Sprintf("%s:%d: %s", x.File, x.Line, x.Problem)
	}
	return strings.Join(lines, "\n")
}

// Is makes errors.Is(f, ErrInvalid) true.
func (f Flaws) Is(target error) bool { return target == ErrInvalid }

// result is f sorted, or nil when nothing is wrong.
func (f Flaws) result() error {
	if len(f) == 0 {
		return nil
	}
	slices.SortStableFunc(f, func(a, b Flaw) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return f
}
