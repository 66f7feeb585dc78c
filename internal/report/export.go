package report

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"ratchet/internal/model"
)

// ExportSchema names the form of Export. A later form gets another number; keys
// may be added to this one.
const ExportSchema = "ratchet.benchmark/1"

// Export is a benchmark in its public form. Durations are seconds.
type Export struct {
	Schema   string          `json:"schema"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Suites   []string        `json:"suites"`
	Repo     string          `json:"repo"`
	Commit   string          `json:"commit"`
	Tree     string          `json:"tree"`
	Agent    string          `json:"agent"`
	Started  time.Time       `json:"started"`
	Seconds  float64         `json:"seconds"`
	Baseline bool            `json:"baseline"`
	Score    float64         `json:"score"` // weighted mean over all problems and rounds, 0..1
	Passed   int             `json:"passed"`
	Flaky    []string        `json:"flaky"`
	Tampered string          `json:"tampered"` // why a round cannot be believed
	BuildLog string          `json:"build_log"`
	Problems []ExportProblem `json:"problems"`
}

// ExportProblem is one problem with its runs.
type ExportProblem struct {
	ID     string        `json:"id"`
	Suite  string        `json:"suite"`
	Name   string        `json:"name"`
	Score  float64       `json:"score"` // mean over its runs
	Metric *model.Metric `json:"metric"`
	Runs   []ExportRun   `json:"runs"` // one a round
}

// ExportRun is what one run of a problem gave.
type ExportRun struct {
	Outcome  model.Outcome `json:"outcome"`
	Score    float64       `json:"score"`
	Value    *float64      `json:"value"` // of a metric that was measured
	Seconds  float64       `json:"seconds"`
	Tokens   int64         `json:"tokens"`
	TimedOut bool          `json:"timed_out"`
	Message  string        `json:"message"`
}

// Exported is the public form of a benchmark. Problems are in the order of their
// first run.
func Exported(b model.Benchmark) Export {
	e := Export{
		Schema: ExportSchema, ID: b.ID, Name: b.Name, Suites: list(b.Suites), Repo: b.Repo, Commit: b.Commit, Tree: b.Tree,
		Agent: b.Agent, Started: b.Started.UTC(), Seconds: b.Wall.Seconds(), Baseline: b.Baseline, Score: b.Score.Score,
		Passed: b.Score.Passed, Flaky: list(b.Score.Flaky), BuildLog: b.BuildLog, Problems: []ExportProblem{},
	}
	for _, r := range b.Runs {
		if e.Tampered == "" {
			e.Tampered = r.Tampered
		}
	}
	at := map[string]int{}
	for _, r := range b.Results {
		i, ok := at[r.Problem]
		if !ok {
			i = len(e.Problems)
			at[r.Problem] = i
			e.Problems = append(e.Problems, newProblem(r.Problem, b.Metrics))
		}
		p := &e.Problems[i]
		p.Runs = append(p.Runs, exportRun(r, p.Metric))
		p.Score += (r.Score - p.Score) / float64(len(p.Runs))
	}
	return e
}

func newProblem(id string, metrics map[string]model.Metric) ExportProblem {
	suite, name, _ := strings.Cut(id, "/")
	p := ExportProblem{ID: id, Suite: suite, Name: name}
	if m, ok := metrics[id]; ok {
		p.Metric = &m
	}
	return p
}

func exportRun(r model.Result, m *model.Metric) ExportRun {
	out := ExportRun{
		Outcome: r.Outcome, Score: r.Score, Seconds: r.Wall.Seconds(), Tokens: r.Tokens, TimedOut: r.TimedOut, Message: r.Message,
	}
	if m != nil && r.Outcome == model.Pass {
		out.Value = &r.Value
	}
	return out
}

// JSON writes the export as one JSON document.
func (e Export) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(e)
}
