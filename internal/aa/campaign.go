package aa

import (
	"context"
	"math/rand/v2"

	"ratchet/internal/decision"
	"ratchet/internal/model"
	"ratchet/internal/trial"
)

const (
	// candidates is how many identical candidates compete in one screen: the
	// default of a campaign. The best of them is confirmed, so that the winner's curse is part of the study.
	candidates = 24
	// betterTrials is how many better candidates are tried at a campaign's end.
	betterTrials = 4
	// baselineRounds is the least that a campaign measures.
	baselineRounds = 2
	// forcedClaims bounds the claims of a candidate that no noise helped.
	forcedClaims = 4
)

// tree is a simulated bench.
type tree struct {
	pass map[string]float64
	rng  *rand.Rand
}

// Run gives each problem a result by its probability.
func (t tree) Run(ctx context.Context, problems []model.Problem, _ bool) (model.Run, error) {
	if err := ctx.Err(); err != nil {
		return model.Run{}, err
	}
	run := model.Run{Results: make([]model.Result, len(problems))}
	for i, p := range problems {
		r := model.Result{Problem: p.ID, Outcome: model.Fail}
		if t.rng.Float64() < t.pass[p.ID] {
			r.Outcome, r.Score = model.Pass, 1
		}
		run.Results[i] = r
	}
	return run, nil
}

// seedOf gives each campaign random numbers of its own.
func seedOf(seed int64, suite, trial int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), uint64(suite)<<32|uint64(trial)))
}

// campaign is one simulated campaign.
type campaign struct {
	cfg    Config
	suite  suite
	search []model.Problem
	rng    *rand.Rand
	rates  map[string]trial.Rate // what is known of the parent
	judge  func(stage string, c model.Candidate, results []model.Result) model.Judgement
	tally  tally
}

// simulate runs one campaign: baseline, then confirmations of identical
// candidates, then better ones.
func simulate(ctx context.Context, cfg Config, s suite, rng *rand.Rand) (tally, error) {
	c := &campaign{cfg: cfg, suite: s, search: s.search(), rng: rng}
	runs, err := trial.Baseline(ctx, c.tree(s.parent), s.problems, baselineRounds, nil, nil)
	if err != nil {
		return tally{}, err
	}
	c.learn(runs...)
	baseline := trial.Summarise(s.problems, runs).Score
	believed := baseline
	for j := 1; j <= cfg.Confirmations; j++ {
		v, err := c.identical(ctx, j)
		if err != nil {
			return tally{}, err
		}
		if v.Keep {
			believed = v.Score.Score
		}
	}
	c.tally.phantom = believed - baseline
	for range betterTrials {
		if err := c.better(ctx); err != nil {
			return tally{}, err
		}
	}
	return c.tally, nil
}

func (c *campaign) tree(pass map[string]float64) tree { return tree{pass, c.rng} }

func (c *campaign) learn(runs ...model.Run) {
	rates := trial.Rates(runs...)
	for id, old := range c.rates {
		rates[id] = rates[id].Add(old)
	}
	c.rates, c.judge = rates, trial.Judge(c.suite.problems, rates)
}

// identical confirms the best of many candidates that change nothing. When
// noise carries none of them through the screen, one is confirmed all the same
// on its targets, so that what is known of the parent grows as in a campaign with
// hopeful candidates; it does not count in the false-accept rate unless it is kept.
func (c *campaign) identical(ctx context.Context, j int) (trial.Verdict, error) {
	var best *screened
	for range candidates {
		s, err := c.screen(ctx, c.suite.parent)
		if err != nil {
			return trial.Verdict{}, err
		}
		if s.passed && (best == nil || s.score > best.score) {
			best = &s
		}
	}
	var claims []decision.Claim
	if best != nil {
		claims = trial.Claims(c.suite.problems, c.rates, best.results, c.targets())
	} else {
		for _, t := range c.targets()[:min(len(c.targets()), forcedClaims)] {
			claims = append(claims, decision.Claim{Problem: t, Bet: 0.75})
		}
	}
	v, parent, candidate, err := c.confirm(ctx, c.suite.parent, claims, j)
	if err != nil {
		return v, err
	}
	if best != nil || v.Keep {
		c.tally.identical++
	}
	if !v.Keep {
		c.learn(parent...)
		return v, nil
	}
	c.tally.accepted++
	c.rates = nil // the candidate is the parent now
	c.learn(candidate...)
	return v, nil
}

// better screens and confirms a truly better candidate at the last level.
func (c *campaign) better(ctx context.Context) error {
	c.tally.better++
	s, err := c.screen(ctx, c.suite.better)
	if err != nil || !s.passed {
		return err
	}
	v, _, _, err := c.confirm(ctx, c.suite.better, trial.Claims(c.suite.problems, c.rates, s.results, c.targets()), c.cfg.Confirmations)
	if err != nil {
		return err
	}
	c.tally.confirmed++
	c.tally.rounds += v.Rounds
	if v.Keep {
		c.tally.kept++
	}
	return nil
}

// targets are the search problems that do not always pass, as a proposer that
// reads the baseline would choose them.
func (c *campaign) targets() []string {
	var ids []string
	for _, p := range c.search {
		if r := c.rates[p.ID]; r.Passed < r.Runs {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// screened is the outcome of a simulated screen.
type screened struct {
	passed  bool
	score   float64
	results []model.Result
}

// screen judges one candidate in the stages of a real screen.
func (c *campaign) screen(ctx context.Context, pass map[string]float64) (screened, error) {
	candidate := model.Candidate{Targets: c.targets()}
	bench := c.tree(pass)
	var targets []model.Problem
	for _, p := range c.search {
		if r := c.rates[p.ID]; r.Passed < r.Runs {
			targets = append(targets, p)
		}
	}
	var last model.Run
	for _, stage := range []struct {
		name     string
		problems []model.Problem
	}{{trial.StageBuild, nil}, {trial.StageTargets, targets}, {trial.StageSearch, c.search}} {
		run, err := bench.Run(ctx, stage.problems, false)
		if err != nil {
			return screened{}, err
		}
		if !c.judge(stage.name, candidate, run.Results).Pass {
			return screened{}, nil
		}
		last = run
	}
	return screened{passed: true, score: last.Score(), results: last.Results}, nil
}

// confirm measures a candidate and returns the runs of both sides.
func (c *campaign) confirm(ctx context.Context, pass map[string]float64, claims []decision.Claim, j int) (v trial.Verdict, parent, candidate []model.Run, err error) {
	v, err = trial.Confirm(ctx, c.tree(c.suite.parent), c.tree(pass), trial.ConfirmInput{
		Problems: c.suite.problems, Claims: claims, Config: c.cfg.gate(), Level: decision.Level(c.cfg.Alpha, j),
	}, func(r trial.Round) error {
		parent, candidate = append(parent, r.Parent), append(candidate, r.Candidate)
		return nil
	})
	return v, parent, candidate, err
}
