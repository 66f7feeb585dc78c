package benchmarks

import (
	"context"
	"errors"

	"ratchet/internal/model"
)

// Screen runs the command on each candidate and on its parent, one after the
// other in turns, so that a candidate is compared with what the parent takes on
// this host at this time. One run of each serves both stages. Boxes are shared as
// Screening says; the parent has one for all.
func (s *metricSuite) Screen(ctx context.Context, t Target, sc Screening, emit func(Screened) error) (err error) {
	m := &metricScreen{metricSuite: s, parent: s.bench(t, t.Code)}
	defer func() { err = errors.Join(err, m.parent.Close(ctx)) }()
	return screenEach(ctx, m, t, sc, emit)
}

// metricScreen is one call of Screen.
type metricScreen struct {
	*metricSuite
	parent *metricBench // opened when first needed
	turns  int
}

func (m *metricScreen) together() bool { return true }

func (m *metricScreen) benchOn(t Target, code model.Tree) screenBench {
	return &besideBench{metricBench: m.bench(t, code), screen: m}
}

// besideBench measures the parent next to the candidate.
type besideBench struct {
	*metricBench
	screen *metricScreen
}

// Run runs the command on both sides; who is first alternates.
func (b *besideBench) Run(ctx context.Context, problems []model.Problem, isolate bool) (run model.Run, err error) {
	if _, failed := b.failure(); failed {
		return b.metricBench.Run(ctx, problems, isolate)
	}
	var parent model.Run
	sides := []func() error{
		func() (err error) { parent, err = b.screen.beside(ctx, problems); return err },
		func() (err error) { run, err = b.metricBench.Run(ctx, problems, isolate); return err },
	}
	first := b.screen.turns % 2
	b.screen.turns++
	if err := errors.Join(sides[first](), sides[1-first]()); err != nil {
		return model.Run{}, err
	}
	theirs := parent.ByProblem()
	for i, r := range run.Results {
		if p := theirs[r.Problem]; p.Outcome == model.Pass && r.Outcome == model.Pass {
			run.Results[i].Beside = p.Value
		}
	}
	run.Sandbox += parent.Sandbox
	return run, nil
}

// beside measures the parent. That it cannot be measured is no error: the
// candidate is compared with what is known of it then.
func (m *metricScreen) beside(ctx context.Context, problems []model.Problem) (model.Run, error) {
	if m.parent.box == nil {
		if err := m.parent.open(ctx); err != nil {
			return model.Run{}, err
		}
	}
	return m.parent.Run(ctx, problems, false)
}
