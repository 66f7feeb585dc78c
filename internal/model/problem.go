// Package model is the plain data of ratchet: what every other package may
// import, and nothing that does input or output.
package model

import (
	"cmp"
	"time"
)

// Split says who may see a problem.
type Split string

const (
	// SplitSearch problems may be shown to a proposer and run while screening.
	SplitSearch Split = "search"
	// SplitHeldout problems are never shown to a proposer; they guard the
	// decision and are laid in for baseline and confirm only.
	SplitHeldout Split = "heldout"
)

// Problem is one scored item of a suite, such as one top-level test.
type Problem struct {
	// ID is "<suite>/<package dir>/<name>", without the middle part in the root
	// package; it is unique in a campaign and stable between runs.
	ID      string `json:"id"`
	Suite   string `json:"suite"`
	Package string `json:"package"` // directory, slash-separated, "." for the root
	Name    string `json:"name"`    // name in the suite, for example TestParse
	Split   Split  `json:"split"`
	// Group is what is held out as a whole, such as the test function of a
	// parametrised test; the problem's own ID when empty.
	Group string `json:"group,omitempty"`
	// Weight is how much the problem counts in a score, relative to others; 1
	// when zero. Activities set it, so that each suite counts by its weight.
	Weight float64 `json:"weight,omitempty"`
	// Metric is set when the problem is a number that is measured, not a test.
	Metric *Metric `json:"metric,omitempty"`
}

// Better says which way a metric improves.
type Better string

const (
	BetterLower  Better = "lower"
	BetterHigher Better = "higher"
)

// Metric describes a problem whose result is a number.
type Metric struct {
	Unit   string `json:"unit,omitempty"` // as printed, for people
	Better Better `json:"better"`
	// MinEffect is the least relative change that counts, such as 0.05 for 5%.
	MinEffect float64 `json:"min_effect"`
	// Reference is the value at the baseline, that scores are relative to; 0 until
	// it is measured.
	Reference float64 `json:"reference,omitempty"`
}

// GroupID is what the problem is held out with.
func (p Problem) GroupID() string {
	if p.Group != "" {
		return p.Group
	}
	return p.ID
}

// Share is the problem's weight, 1 unless it is set.
func (p Problem) Share() float64 {
	if p.Weight > 0 {
		return p.Weight
	}
	return 1
}

// Outcome says how one run of one problem ended.
type Outcome string

const (
	Pass        Outcome = "pass"
	Fail        Outcome = "fail"
	Skip        Outcome = "skip"         // the problem declined to run; scores 0
	Missing     Outcome = "missing"      // not reported; counts as failed
	Timeout     Outcome = "timeout"      // exceeded the limit a problem has
	BuildFailed Outcome = "build_failed" // its package did not compile
	OutOfMemory Outcome = "out_of_memory"
	Crashed     Outcome = "crashed" // its process ended on a signal or panic while it ran
)

// Result is what one run of one problem gave.
type Result struct {
	Problem string  `json:"problem"`
	Score   float64 `json:"score"` // 0..1
	Outcome Outcome `json:"outcome"`
	Value   float64 `json:"value,omitempty"` // what a metric measured, in its unit
	// Beside is what the same metric was on the parent, measured next to Value on
	// the same host, in a screen; 0 when it was not measured there.
	Beside   float64       `json:"beside,omitempty"`
	Wall     time.Duration `json:"wall"` // as reported by the suite, for information
	Tokens   int64         `json:"tokens,omitempty"`
	TimedOut bool          `json:"timed_out,omitempty"`
	// Message is the tail of what the problem printed, at most MaxMessage bytes.
	Message string `json:"message,omitempty"`
}

// MaxMessage bounds Result.Message, in bytes.
const MaxMessage = 4 << 10

// Run is one measurement of one tree: one result for every problem asked for.
type Run struct {
	Results []Result `json:"results"`
	// Tampered names why the run cannot be believed (a canary that did not fail,
	// a result reported twice); empty when it can.
	Tampered string `json:"tampered,omitempty"`
	// BuildLog is the compiler's output when something did not build, capped.
	BuildLog string `json:"build_log,omitempty"`
	// Truncated is set when output was cut at its cap.
	Truncated bool `json:"truncated,omitempty"`
	// Sandbox is the host's wall time for which a sandbox was in use.
	Sandbox time.Duration `json:"sandbox"`
}

// Score is the mean score over all results, 0 for none.
func (r Run) Score() float64 {
	if len(r.Results) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range r.Results {
		sum += x.Score
	}
	return sum / float64(len(r.Results))
}

// ByProblem indexes the results by problem id.
func (r Run) ByProblem() map[string]Result {
	m := make(map[string]Result, len(r.Results))
	for _, x := range r.Results {
		m[x.Problem] = x
	}
	return m
}

// Renew takes over what another run of some of the problems gave, and what it took.
func (r *Run) Renew(later Run) {
	latest := later.ByProblem()
	for i, x := range r.Results {
		if now, ok := latest[x.Problem]; ok {
			r.Results[i] = now
		}
	}
	r.Sandbox += later.Sandbox
	r.Truncated = r.Truncated || later.Truncated
	r.Tampered = cmp.Or(r.Tampered, later.Tampered)
}

// Block is a stretch of source that is executed as a whole; lines and columns
// count from 1, the end is exclusive, as in Go cover profiles.
type Block struct {
	File      string `json:"file"` // path from the repository's root
	StartLine int    `json:"start_line"`
	StartCol  int    `json:"start_col"`
	EndLine   int    `json:"end_line"`
	EndCol    int    `json:"end_col"`
}

// Coverage says which blocks each problem ran.
type Coverage struct {
	Blocks  []Block          `json:"blocks"`
	Hits    map[string][]int `json:"hits"` // problem id to indexes into Blocks, ascending
	Results []Result         `json:"results"`
	Sandbox time.Duration    `json:"sandbox"`
}
