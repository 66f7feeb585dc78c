package model

import "time"

// Benchmark is the stored record of one benchmark of one tree, outside any
// campaign: what `ratchet benchmark` runs, lists and compares.
type Benchmark struct {
	ID     string   `json:"id"` // short; ids sort by the second they were started in
	Name   string   `json:"name"`
	Suites []string `json:"suites"`
	Repo   string   `json:"repo"`   // of an agent: the suite that it worked on, as suite:NAME
	Commit string   `json:"commit"` // empty for an agent
	Tree   string   `json:"tree"`   // what was measured; of an agent, the hash of the suite
	// Agent is the command of the agent that was measured, if it was one.
	Agent   string        `json:"agent,omitempty"`
	Started time.Time     `json:"started"`
	Wall    time.Duration `json:"wall"`
	Runs    []RunSummary  `json:"runs"`  // one a round
	Score   Score         `json:"score"` // over all runs
	// Results has one entry for every problem, or one for every problem and run
	// when there are several runs, in the order of the runs.
	Results []Result `json:"results"`
	// Metrics describes, by id, those problems that are numbers.
	Metrics map[string]Metric `json:"metrics,omitempty"`
	// Baseline is set on the one benchmark of its name that others are compared with.
	Baseline bool `json:"baseline"`
	// BuildLog is the compiler's output when something did not build, capped.
	BuildLog string `json:"build_log,omitempty"`
}

// RunSummary is what one run of all problems gave, without its results.
type RunSummary struct {
	Score     float64       `json:"score"` // mean over its results, 0..1
	Problems  int           `json:"problems"`
	Passed    int           `json:"passed"`
	Tampered  string        `json:"tampered,omitempty"` // why the run cannot be believed
	Truncated bool          `json:"truncated,omitempty"`
	Sandbox   time.Duration `json:"sandbox"`
}

// Summary sums a run up.
func (r Run) Summary() RunSummary {
	s := RunSummary{
		Score: r.Score(), Problems: len(r.Results),
		Tampered: r.Tampered, Truncated: r.Truncated, Sandbox: r.Sandbox,
	}
	for _, x := range r.Results {
		if x.Outcome == Pass {
			s.Passed++
		}
	}
	return s
}
