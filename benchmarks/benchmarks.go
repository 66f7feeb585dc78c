// Package benchmarks runs suites of problems against a tree in a sandbox and
// grades them from outside it.
package benchmarks

import (
	"cmp"
	"context"
	"time"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// Source is where a tree is laid in a box.
const Source = sandbox.WorkDir + "/src"

// Suite is one benchmark. It is immutable and safe for concurrent use.
type Suite interface {
	Name() string
	// Harness says whether a repository path belongs to the grader: such files
	// come from the trusted tree, and a candidate that touches one is refused.
	Harness(path string) bool
	// Discover lists the suite's problems in t.Trusted: by reading it where that is
	// enough, else by running its harness in a box (only t.Boxes, t.Spec and
	// t.Trusted are used). All have SplitSearch. The order is by id. No problem is
	// ErrNoProblems; a suite that has to run something and is given no boxes
	// returns ErrNeedsBox, or what reading the tree tells is wrong already.
	Discover(ctx context.Context, t Target) ([]model.Problem, error)
	// Hide returns the trusted tree without the source of the given problems
	// (and what only they need), such that the rest still builds. All problems of a
	// Group are given together. Kinds that cannot tell what belongs to a problem
	// return ErrCannotHide unless problems is empty.
	Hide(trusted model.Tree, problems []model.Problem) (model.Tree, error)
	// Affected returns those of problems whose outcome can depend on the files at
	// paths, going by what the tree says: an estimate that saves work where nothing
	// is decided. When it cannot tell it returns them all.
	Affected(tree model.Tree, paths []string, problems []model.Problem) []model.Problem
	// Warm lists commands that fill the build caches, run once as Builder with
	// the trusted tree laid in at Source, before the image is frozen. A failing one is no error.
	Warm() []sandbox.Command
	// Open lays a tree into a new box and builds it. That something does not
	// build is not an error: its problems will have the outcome BuildFailed.
	Open(ctx context.Context, t Target) (Bench, error)
	// Cover runs each problem by itself and reports which blocks it ran. A suite
	// that cannot tell returns results and no blocks.
	Cover(ctx context.Context, t Target, problems []model.Problem) (model.Coverage, error)
	// Screen evaluates candidates in stages (builds; its targets; the search
	// problems of t, at least those that are Affected) and calls emit once for each
	// candidate as it is done, from one goroutine. With Shared they may share boxes
	// and builds; otherwise each has a box of its own.
	Screen(ctx context.Context, t Target, s Screening, emit func(Screened) error) error
}

// Target says what to run: code from one tree, harness from another.
type Target struct {
	Boxes   sandbox.Provider
	Spec    sandbox.Spec
	Trusted model.Tree // harness files come from here; strip with Suite.Hide for screening
	Code    model.Tree // everything else comes from here; harness files in it are dropped
	// Problems are all that may be asked for (others are not in Trusted).
	Problems []model.Problem
	// Limit is the time one problem may take; the suite's own when zero.
	Limit time.Duration
}

func (t Target) limit(c Config) time.Duration { return cmp.Or(t.Limit, c.Timeout) }

// Bench is a built tree in a box. Not safe for concurrent use.
type Bench interface {
	// Run runs each given problem once, and a canary for each package or module
	// that must fail; each call leaves nothing behind for the next. With isolate
	// each problem runs in a process of its own. Every problem has exactly one
	// result. An error means that nothing was measured.
	Run(ctx context.Context, problems []model.Problem, isolate bool) (model.Run, error)
	// Close removes the box. It is safe twice.
	Close(ctx context.Context) error
}

// Screening is a set of candidates for one parent.
type Screening struct {
	Candidates []model.Candidate
	// Judge rules on the results of a stage: whether the next stage runs, or,
	// after StageSearch, whether the candidate passed.
	Judge  func(stage string, c model.Candidate, results []model.Result) model.Judgement
	Shared bool
}

// Stages of a screen, cheapest first.
const (
	StageBuild   = "build"
	StageTargets = "targets"
	StageSearch  = "search"
)

// Screened is the outcome of one candidate's screen.
type Screened struct {
	Key      string
	Stage    string // the last stage that ran
	Passed   bool   // every stage was judged well
	Tampered string
	Score    float64        // mean over Results, when StageSearch ran
	Results  []model.Result // of the last stage
	Judged   model.Judgement
	Sandbox  time.Duration
}
