// Package estimate says what a campaign will cost before it starts: bounds that
// follow from its file, and guesses from the size of the repository and from
// earlier runs. It does no input or output.
package estimate

import (
	"time"

	"ratchet/internal/campaign"
	"ratchet/internal/model"
)

// Facts is what an estimate rests on.
type Facts struct {
	Spec     campaign.Spec
	Commit   string
	Problems int      // found by reading the repository
	Unlisted []string // suites whose problems only a sandbox can list
	// SourceBytes is the size of the files that candidates may touch.
	SourceBytes int64
	Past        Past
	// Begun is the campaign's own row when it is stored already, nil when not, and
	// Done the generations that it has behind it.
	Begun *model.Campaign
	Done  int
}

// Past is what earlier runs on the same repository took. Zero means that there were none.
type Past struct {
	Generations int           // of earlier campaigns
	Sandbox     time.Duration // mean of one generation, summed over its boxes
	Wall        time.Duration // mean of one generation
	Baseline    time.Duration // mean sandbox time of a campaign besides its generations

	Benchmarks int
	Round      time.Duration // mean sandbox time of one run of all problems
}

// Plan is the estimate. What is called most is a bound that follows from the
// file; what is called likely is a guess.
type Plan struct {
	Campaign    string   `json:"campaign"`
	Repo        string   `json:"repo"`
	Commit      string   `json:"commit"`
	Problems    int      `json:"problems"`
	Unlisted    []string `json:"unlisted"`
	Done        int      `json:"generations_done"`
	Generations int      `json:"generations_most"` // still to run
	Candidates  int      `json:"candidates_most"`
	Model       *Calls   `json:"model,omitempty"` // nil when no proposer calls one
	Sandbox     Span     `json:"sandbox"`
	Wall        Span     `json:"wall"`
	Caps        []Cap    `json:"caps"`
	// First is the cap that is expected to end the campaign, by the guesses.
	First    string   `json:"first_cap"`
	Warnings []string `json:"warnings"`
}

// Span is a length of time, in seconds.
type Span struct {
	Generation float64 `json:"generation_likely_seconds,omitempty"` // 0 when nothing is known
	Likely     float64 `json:"likely_seconds,omitempty"`
	Most       float64 `json:"most_seconds"` // the budget; 0 for no limit
	Source     string  `json:"source"`       // what the guess rests on

	baseline float64 // part of Likely before it is bounded
}

// Cap is one limit of the file, and how far it reaches.
type Cap struct {
	Name  string  `json:"name"`  // key in the file
	Limit float64 `json:"limit"` // seconds, tokens, money or generations
	Spent float64 `json:"spent"`
	// Likely and Least are how many generations it allows, by the guesses and by the
	// bounds; nil when that is not known.
	Likely *float64 `json:"generations_likely,omitempty"`
	Least  *float64 `json:"generations_least,omitempty"`
}

// baselineRounds is how often a baseline runs all problems.
const baselineRounds = 4

// Make estimates.
func Make(f Facts) Plan {
	s := f.Spec
	p := Plan{
		Campaign: s.Name, Repo: s.Repo, Commit: f.Commit, Problems: f.Problems, Unlisted: append([]string{}, f.Unlisted...),
		Done: f.Done, Generations: max(0, s.Search.Generations-f.Done), Warnings: []string{},
	}
	p.Candidates = p.Generations * s.Search.Candidates
	if s.Model() {
		p.Model = calls(f, p.Generations)
	}
	b := f.budget()
	p.Sandbox, p.Wall = spans(f, p.Generations, b)
	p.Caps = f.caps(p, b)
	p.First = first(p.Caps)
	p.warn(b)
	return p
}

// budget is what is in force: that of the row when somebody has changed it.
func (f Facts) budget() model.Budget {
	if f.Begun != nil && f.Begun.Budget != nil {
		return *f.Begun.Budget
	}
	b := f.Spec.Budget
	return model.Budget{Wall: b.Wall.Std(), Sandbox: b.Sandbox.Std(), Tokens: b.Tokens, Money: b.Cost}
}

func (f Facts) spent() model.Cost {
	if f.Begun == nil {
		return model.Cost{}
	}
	return f.Begun.Cost
}

// spans guesses times from what earlier runs took; the budget bounds them.
func spans(f Facts, generations int, b model.Budget) (sandbox, wall Span) {
	sandbox.Most, wall.Most = b.Sandbox.Seconds(), b.Wall.Seconds()
	past, parallel := f.Past, time.Duration(max(1, f.Spec.Search.Parallel))
	switch {
	case past.Generations > 0:
		sandbox.guess(past.Sandbox, past.Baseline, generations, f.Done, "the mean of "+count(past.Generations, "generation")+" of earlier campaigns")
		wall.guess(past.Wall, past.Baseline, generations, f.Done, sandbox.Source)
	case past.Benchmarks > 0:
		// One run to diagnose, one for each candidate, two of both sides to confirm:
		// more than is needed, since screens stop at the first stage that fails.
		runs := time.Duration(1 + f.Spec.Search.Candidates + 4)
		source := count(past.Benchmarks, "benchmark") + ", as if every candidate ran every problem"
		sandbox.guess(runs*past.Round, baselineRounds*past.Round, generations, f.Done, source)
		wall.guess(runs*past.Round/parallel, baselineRounds*past.Round, generations, f.Done, source)
	default:
		sandbox.Source = "nothing has run on this repository yet: only the budget bounds it"
		wall.Source = sandbox.Source
	}
	return sandbox, wall
}

// guess fills in what is likely: a baseline unless it is measured, then generations.
func (s *Span) guess(one, baseline time.Duration, generations, done int, source string) {
	if done == 0 {
		s.baseline = baseline.Seconds()
	}
	s.Generation, s.Source = one.Seconds(), source
	s.Likely = s.baseline + float64(generations)*s.Generation
	if s.Most > 0 {
		s.Likely = min(s.Likely, s.Most)
	}
}
