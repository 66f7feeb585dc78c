package aa

import (
	"context"
	"math/rand/v2"
	"slices"

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
	// forcedClaims bounds the claims of a candidate that no noise helped; metrics
	// are claimed one at a time.
	forcedClaims = 4
)

// tree is a simulated bench.
type tree struct {
	pass  map[string]float64
	rng   *rand.Rand
	noise noise
	runs  *int // of all trees of the campaign
}

// Run gives each problem a result by its probability, or a value about its typical one.
func (t tree) Run(ctx context.Context, problems []model.Problem, _ bool) (model.Run, error) {
	if err := ctx.Err(); err != nil {
		return model.Run{}, err
	}
	run := model.Run{Results: make([]model.Result, len(problems))}
	host := t.noise.host(t.rng, *t.runs)
	*t.runs++
	for i, p := range problems {
		if p.Metric != nil {
			value := t.pass[p.ID] * host * t.noise.own(t.rng)
			run.Results[i] = model.Result{Problem: p.ID, Outcome: model.Pass, Value: value, Score: p.Metric.Score(value)}
			continue
		}
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
	runs   int // so far, on all trees: the time that the host knows
	tally  tally
}

// simulate runs one campaign: baseline, then confirmations of identical
// candidates, then better ones.
func simulate(ctx context.Context, cfg Config, s suite, rng *rand.Rand) (tally, error) {
	c := &campaign{cfg: cfg, suite: s, rng: rng}
	runs, err := trial.Baseline(ctx, c.tree(s.parent), s.problems, baselineRounds, nil, nil)
	if err != nil {
		return tally{}, err
	}
	c.suite.problems = trial.Reference(s.problems, runs)
	c.search = c.suite.search()
	c.learn(runs...)
	baseline := trial.Summarise(c.suite.problems, runs).Score
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

func (c *campaign) tree(pass map[string]float64) tree {
	return tree{pass: pass, rng: c.rng, noise: c.suite.noise, runs: &c.runs}
}

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
		for _, t := range c.targets()[:min(len(c.targets()), c.suite.forced())] {
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

// weak says that a proposer that reads the baseline would aim at a problem: at
// one that does not always pass, and at a metric.
func (c *campaign) weak(p model.Problem) bool {
	r := c.rates[p.ID]
	return p.Metric != nil || r.Passed < r.Runs
}

// targets are the search problems that a candidate aims at.
func (c *campaign) targets() []string {
	var ids []string
	for _, p := range c.search {
		if c.weak(p) {
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
		if c.weak(p) {
			targets = append(targets, p)
		}
	}
	var last model.Run
	for _, stage := range []struct {
		name     string
		problems []model.Problem
	}{{trial.StageBuild, nil}, {trial.StageTargets, targets}, {trial.StageSearch, c.search}} {
		run, err := c.stage(ctx, bench, stage.problems)
		if err != nil {
			return screened{}, err
		}
		pass, err := c.rule(ctx, bench, stage.name, candidate, &run)
		if err != nil || !pass {
			return screened{}, err
		}
		last = run
	}
	return screened{passed: true, score: last.Score(), results: last.Results}, nil
}

// rule judges a stage, after another run of what the judge wants to see again.
func (c *campaign) rule(ctx context.Context, bench tree, stage string, candidate model.Candidate, run *model.Run) (bool, error) {
	j := c.judge(stage, candidate, run.Results)
	if len(j.Again) == 0 {
		return j.Pass, nil
	}
	var doubtful []model.Problem
	for _, p := range c.search {
		if slices.Contains(j.Again, p.ID) {
			doubtful = append(doubtful, p)
		}
	}
	second, err := bench.Run(ctx, doubtful, true)
	if err != nil {
		return false, err
	}
	run.Renew(second)
	return c.judge(stage, candidate, run.Results).Pass, nil
}

// stage runs one stage, and the metrics in it on the parent too, next to the candidate's.
func (c *campaign) stage(ctx context.Context, bench tree, problems []model.Problem) (model.Run, error) {
	run, err := bench.Run(ctx, problems, false)
	if err != nil {
		return run, err
	}
	var metrics []model.Problem
	for _, p := range problems {
		if p.Metric != nil {
			metrics = append(metrics, p)
		}
	}
	if len(metrics) == 0 {
		return run, nil
	}
	parent, err := c.tree(c.suite.parent).Run(ctx, metrics, false)
	beside := parent.ByProblem()
	for i, r := range run.Results {
		run.Results[i].Beside = beside[r.Problem].Value
	}
	return run, err
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
