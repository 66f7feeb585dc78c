// Package suites holds suites of problems for agents: programs that are given a
// statement and a folder of files, work on them in a sandbox, and are graded by
// what they leave behind. The grading happens in another sandbox, with files that
// the agent's one never held. docs/benchmarks.md describes the format of a suite
// and what an agent is told.
package suites

import (
	"slices"
	"strings"
	"time"

	"ratchet/internal/model"
)

// Format is the version of the format that this package reads.
const Format = 1

// Suite is a set of problems. It is immutable.
type Suite struct {
	Name        string // [a-z0-9_-]{1,64}: first part of every problem's id
	Title       string // one line
	Description string
	Hash        string    // of everything in it, hexadecimal: names what was run
	Problems    []Problem // by Name
}

// Problem is one task for an agent. What an agent may know of it is Statement,
// Files and Limits; everything else is kept from it.
type Problem struct {
	ID         string // "<suite>/<name>"
	Name       string // [a-z0-9_-]{1,64}
	Title      string // one line
	Statement  string // Markdown
	Discussion string // Markdown: what is hard about it, for those who read results
	Split      model.Split
	Tags       []string
	Limits     Limits
	Files      model.Tree // the folder that the agent starts from; it may be empty
	// One of Answer and Checker is set.
	Answer  *Answer
	Checker *Checker
	// Solution are files that solve the problem when they are laid over Files, and
	// Wrong are others, by name, that look as if they did. They prove the grader; no
	// run uses them. A problem with an answer needs no solution.
	Solution []model.File
	Wrong    map[string][]model.File
}

// Limits bound what an agent may use up on one problem.
type Limits struct {
	Time time.Duration // from the start of its command to the end
}

// DefaultTime is the time limit of a problem that sets none.
const DefaultTime = 10 * time.Minute

// Answer is what an agent has to write into the file answer.txt. Exactly one of
// Text and Number is set.
type Answer struct {
	Text      string   // compared without regard to white space at the ends of lines and of the text
	Number    *float64 // compared within Tolerance, relative and absolute
	Tolerance float64
}

// Checker grades by hidden tests, all of which have to pass.
type Checker struct {
	Kind    string        // of the suite that runs them: gotest or pytest
	Timeout time.Duration // for one test
	Grader  []model.File  // the tests, with what they need; laid over the agent's files
}

// Find returns the problem of that name or id.
func (s Suite) Find(name string) (Problem, bool) {
	name = strings.TrimPrefix(name, s.Name+"/")
	i := slices.IndexFunc(s.Problems, func(p Problem) bool { return p.Name == name })
	if i < 0 {
		return Problem{}, false
	}
	return s.Problems[i], true
}

// Model describes the problem to the rest of ratchet.
func (p Problem) Model() model.Problem {
	suite, _, _ := strings.Cut(p.ID, "/")
	return model.Problem{ID: p.ID, Suite: suite, Package: ".", Name: p.Name, Split: p.Split}
}

// Trusted is the tree from which the checker's harness is taken: the files that
// the agent started from, with the hidden tests laid over them.
func (p Problem) Trusted() model.Tree { return Overlay(p.Files, p.Checker.Grader) }

// Overlay returns t with files added, or put in the place of those that are there.
func Overlay(t model.Tree, files []model.File) model.Tree {
	edits := make([]model.Edit, len(files))
	for i, f := range files {
		edits[i] = model.Edit{Path: f.Path, Mode: f.Mode, Data: f.Data}
	}
	return t.With(edits...)
}
