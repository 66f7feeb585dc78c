// Package report turns the rows of a campaign into its report: what was measured,
// what was kept and why, and what it cost.
package report

import (
	"context"
	"errors"
	"strings"
	"time"

	"ratchet/internal/model"
	"ratchet/internal/store"
)

// Report is the report of a campaign in its public form. Durations are seconds.
type Report struct {
	Campaign    string       `json:"campaign"`
	Repo        string       `json:"repo"` // absolute path of the campaign's bare repository
	Branch      string       `json:"branch"`
	Baseline    Baseline     `json:"baseline"`
	Final       Final        `json:"final"`
	Generations []Generation `json:"generations"`
	Kept        int          `json:"kept"`
	Reverted    int          `json:"reverted"`
	Rejected    int          `json:"rejected"`
	Cost        Cost         `json:"cost"`
	Stopped     string       `json:"stopped"` // empty while the campaign runs
	Detail      string       `json:"-"`       // why it stopped, for people; ratchet campaign show prints it as JSON
}

// Baseline is what was measured before anything was changed.
type Baseline struct {
	Score    float64  `json:"score"` // over all problems
	Problems int      `json:"problems"`
	Passed   int      `json:"passed"`
	Flaky    []string `json:"flaky"`
}

// Final is the score of the best commit, by the evidence that kept it.
type Final struct {
	Score        float64 `json:"score"` // over all problems
	Passed       int     `json:"passed"`
	HeldoutScore float64 `json:"heldout_score"`
}

// Generation is one turn of the loop.
type Generation struct {
	N            int      `json:"n"`
	Outcome      string   `json:"outcome"`
	Hypothesis   string   `json:"hypothesis"`
	ExpectedGain float64  `json:"expected_gain"`
	RealisedGain float64  `json:"realised_gain"`
	Proposer     string   `json:"proposer"`
	Change       string   `json:"change"`
	Commit       string   `json:"commit"`
	RevertCommit string   `json:"revert_commit"`
	ParentScore  float64  `json:"parent_score"`
	Score        float64  `json:"score"`
	Fixed        []string `json:"fixed"`
	Broken       []string `json:"broken"`
	Reason       string   `json:"reason"`
	EValue       float64  `json:"e_value"`
	Level        float64  `json:"level"`
	Rounds       int      `json:"rounds"`
	Candidates   int      `json:"candidates"`
	Screened     int      `json:"screened"`
	Cost         TurnCost `json:"cost"`
}

// TurnCost is what one generation, or the decision on one change, used up.
type TurnCost struct {
	Tokens         int64   `json:"tokens"`
	Money          float64 `json:"money"` // in the currency of the endpoints' prices
	Calls          int64   `json:"calls"` // to models, failed ones too
	WallSeconds    float64 `json:"wall_seconds"`
	SandboxSeconds float64 `json:"sandbox_seconds"` // summed over sandboxes
}

// Cost is what the campaign used up.
type Cost struct {
	Tokens         int64   `json:"tokens"`
	Money          float64 `json:"money"` // in the currency of the endpoints' prices
	Calls          int64   `json:"calls"` // to models, failed ones too
	WallSeconds    float64 `json:"wall_seconds"`
	SandboxSeconds float64 `json:"sandbox_seconds"` // summed over sandboxes
	// OrchestrationSeconds is wall time in which no sandbox, proposer or model call ran.
	OrchestrationSeconds float64 `json:"orchestration_seconds"`
	// PerKept is what one kept change cost, with all that was tried for it; absent when none is kept.
	PerKept *PerKept `json:"per_kept,omitempty"`
}

// PerKept is the campaign's cost divided by its kept changes.
type PerKept struct {
	Tokens         float64 `json:"tokens"`
	Money          float64 `json:"money"`
	SandboxSeconds float64 `json:"sandbox_seconds"`
}

// Build reads a campaign's rows. It may be called while the campaign runs.
func Build(ctx context.Context, s *store.Store, name string) (Report, error) {
	row, err := s.Campaign(ctx, name)
	if err != nil {
		return Report{}, err
	}
	gens, err := s.Generations(ctx, name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Report{}, err
	}
	spent, err := s.Spent(ctx, name)
	if err != nil {
		return Report{}, err
	}
	return From(row, gens, spent, time.Now()), nil
}

// From makes the report of a campaign from its rows. spent is what its model calls
// have cost up to now; now ends the wall time of one that still runs.
func From(row model.Campaign, gens []model.Generation, spent model.Cost, now time.Time) Report {
	r := Report{
		Campaign: row.Name, Repo: row.Repo, Branch: strings.TrimPrefix(row.Branch, "refs/heads/"),
		Baseline: Baseline{Flaky: []string{}}, Generations: []Generation{},
		Stopped: string(row.Stopped), Detail: row.Detail,
	}
	if b := row.Baseline; b != nil {
		r.Baseline = Baseline{Score: b.Score, Problems: b.Problems, Passed: b.Passed, Flaky: list(b.Flaky)}
	}
	if c := row.Current; c != nil {
		r.Final = Final{Score: c.Score, Passed: c.Passed, HeldoutScore: c.Heldout}
	}
	for _, g := range gens {
		r.add(g)
	}
	r.Cost = cost(row, gens, spent, now)
	r.Cost.PerKept = r.Cost.perKept(r.Kept)
	return r
}

func (r *Report) add(g model.Generation) {
	switch g.Outcome {
	case model.OutcomePending:
		return
	case model.OutcomeKept:
		r.Kept++
	case model.OutcomeReverted:
		r.Reverted++
	case model.OutcomeRejected:
		r.Rejected++
	}
	r.Generations = append(r.Generations, Generation{
		N: g.N, Outcome: string(g.Outcome), Hypothesis: g.Hypothesis,
		ExpectedGain: g.ExpectedGain, RealisedGain: g.RealisedGain, Proposer: g.Proposer,
		Change: g.Change, Commit: g.Commit, RevertCommit: g.RevertCommit,
		ParentScore: g.ParentScore, Score: g.Score, Fixed: list(g.Fixed), Broken: list(g.Broken),
		Reason: g.Reason, EValue: g.EValue, Level: g.Level, Rounds: g.Rounds,
		Candidates: g.Candidates, Screened: g.Screened, Cost: CostOf(g.Cost),
	})
}

// CostOf is a cost in its public form.
func CostOf(c model.Cost) TurnCost {
	return TurnCost{Tokens: c.Tokens, Money: c.Money, Calls: c.Calls, WallSeconds: c.Wall.Seconds(), SandboxSeconds: c.Sandbox.Seconds()}
}

// cost adds up the baseline's and the generations' costs; wall time runs from the
// campaign's creation to its end. Model calls are counted from their own rows, those
// of a generation under way too.
func cost(row model.Campaign, gens []model.Generation, spent model.Cost, now time.Time) Cost {
	end := now
	if row.Stopped != "" {
		end = row.Updated
	}
	wall := end.Sub(row.Created)
	sum := row.Cost
	for _, g := range gens {
		sum = sum.Add(g.Cost)
	}
	busy := sum.Wall - sum.Orchestration
	return Cost{
		Tokens: spent.Tokens, Money: spent.Money, Calls: spent.Calls, WallSeconds: wall.Seconds(), SandboxSeconds: sum.Sandbox.Seconds(),
		OrchestrationSeconds: max(0, wall-busy).Seconds(),
	}
}

// perKept divides by the changes that were kept.
func (c Cost) perKept(kept int) *PerKept {
	if kept == 0 {
		return nil
	}
	n := float64(kept)
	return &PerKept{Tokens: float64(c.Tokens) / n, Money: c.Money / n, SandboxSeconds: c.SandboxSeconds / n}
}

// list is never null in JSON.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
