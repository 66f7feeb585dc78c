// Package diagnose works out what is weakest in a repository and where the
// fault is likely to be. It is pure: it reads what was measured and writes a
// Brief, which is what a proposer knows and what a person reads.
package diagnose

import (
	"time"

	"ratchet/internal/model"
)

// Brief is the diagnosis of one generation's parent. It is plain data that
// serialises as JSON; every list in it is capped, and Notes says what was cut.
type Brief struct {
	Campaign   string `json:"campaign"`
	Repo       string `json:"repo"`
	Generation int    `json:"generation"`
	Parent     string `json:"parent"`      // commit
	ParentTree string `json:"parent_tree"` // git tree hash of Parent

	// Measured counts the search problems that were measured.
	Measured int `json:"measured"`
	// Weakest are the search problems that do not always pass, worst first, and
	// then the metrics, which can always be better.
	Weakest []Weakness `json:"weakest"`
	// Suspects are stretches of source that may hold the fault, most suspicious first.
	Suspects []Suspect `json:"suspects"`
	// Failures are reports of agents in production, the latest first.
	Failures []FailureNote `json:"failures"`
	// Tried are past attempts, as given.
	Tried []TriedNote `json:"tried"`
	// Reflections are what was learnt from earlier generations, the latest first, as given.
	Reflections []ReflectionNote `json:"reflections,omitempty"`
	// Hints are words of people who steer the campaign, the latest first, as given.
	// Unlike all other texts they are meant as advice to a proposer.
	Hints []HintNote `json:"hints,omitempty"`
	// Notes are remarks for people: what was cut, what could not be measured.
	Notes []string `json:"notes"`
}

// Weakness is a search problem that fails always or sometimes, or a metric.
type Weakness struct {
	Problem  string  `json:"problem"` // its id
	Package  string  `json:"package"` // directory
	Name     string  `json:"name"`
	PassRate float64 `json:"pass_rate"` // 0..1; above 0 it is flaky
	// Cluster numbers the group of failing problems that seem to share a defect, from 0.
	Cluster int    `json:"cluster"`
	Message string `json:"message,omitempty"` // the tail of its output, untrusted text
	// Metric is set when the problem is a number; Value is what it measures now, in
	// its unit, 0 when that is not known.
	Metric *model.Metric `json:"metric,omitempty"`
	Value  float64       `json:"value,omitempty"`
}

// Suspect is a stretch of source; lines and columns count from 1, the end is
// exclusive, as in model.Block.
type Suspect struct {
	File      string  `json:"file"`
	StartLine int     `json:"start_line"`
	StartCol  int     `json:"start_col"`
	EndLine   int     `json:"end_line"`
	EndCol    int     `json:"end_col"`
	Score     float64 `json:"score"`   // 0..1: Ochiai, raised by stack traces and reports
	Cluster   int     `json:"cluster"` // the cluster of failing problems that gave the score
	// Problems are the failing search problems that run it, at most maxProblemsPerSuspect.
	Problems []string `json:"problems"`
	// Why says what the score rests on.
	Why string `json:"why,omitempty"`
}

// FailureNote cites one failure of an agent in production. Its texts are untrusted.
type FailureNote struct {
	Seq      int64     `json:"seq"`
	ID       string    `json:"id"`
	Agent    string    `json:"agent"`
	Task     string    `json:"task"`
	Expected string    `json:"expected"`
	Actual   string    `json:"actual"`
	Severity string    `json:"severity"`
	At       time.Time `json:"at"`
	// Mentions are files and functions of the tree that the report names.
	Mentions []string `json:"mentions,omitempty"`
}

// TriedNote is what became of a past attempt.
type TriedNote struct {
	Hypothesis string `json:"hypothesis"`
	Outcome    string `json:"outcome"`
	Reason     string `json:"reason"`
}

// ReflectionNote is what was learnt from one generation. Its texts are untrusted:
// a model wrote them that had read untrusted text.
type ReflectionNote struct {
	Generation int    `json:"generation"`
	Outcome    string `json:"outcome"`
	Worked     string `json:"worked"`
	Failed     string `json:"failed"`
	Surprised  string `json:"surprised"`
	Learn      string `json:"learn"`
}

// HintNote is what a person advises.
type HintNote struct {
	By   string    `json:"by"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}
