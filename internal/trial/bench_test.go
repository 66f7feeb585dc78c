package trial_test

import (
	"context"
	"math/rand/v2"

	"ratchet/internal/model"
)

// bench is a simulated tree: each problem passes with its own probability.
type bench struct {
	pass  map[string]float64 // 1 when absent
	rng   *rand.Rand
	calls []call
	edit  func(n int, r *model.Run) error // on the n-th call, from 1
}

type call struct {
	problems int
	isolate  bool
}

func newBench(seed uint64, pass map[string]float64) *bench {
	return &bench{pass: pass, rng: rand.New(rand.NewPCG(seed, 1))}
}

func (b *bench) Run(ctx context.Context, problems []model.Problem, isolate bool) (model.Run, error) {
	if err := ctx.Err(); err != nil {
		return model.Run{}, err
	}
	b.calls = append(b.calls, call{len(problems), isolate})
	run := model.Run{Sandbox: 1}
	for _, p := range problems {
		rate, ok := b.pass[p.ID]
		if !ok {
			rate = 1
		}
		r := model.Result{Problem: p.ID, Outcome: model.Fail}
		if b.rng.Float64() < rate {
			r.Outcome, r.Score = model.Pass, 1
		}
		run.Results = append(run.Results, r)
	}
	if b.edit != nil {
		if err := b.edit(len(b.calls), &run); err != nil {
			return model.Run{}, err
		}
	}
	return run, nil
}

// problems makes search problems, the last heldout of them held out.
func problems(heldout int, ids ...string) []model.Problem {
	var ps []model.Problem
	for i, id := range ids {
		p := model.Problem{ID: id, Name: id, Suite: "unit", Package: ".", Split: model.SplitSearch}
		if i >= len(ids)-heldout {
			p.Split = model.SplitHeldout
		}
		ps = append(ps, p)
	}
	return ps
}
