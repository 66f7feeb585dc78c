package activities

import (
	"context"
	"errors"

	"ratchet/benchmarks"
	"ratchet/internal/model"
)

// benches runs the problems of several suites as if they were one bench.
type benches struct {
	bySuite map[string]benchmarks.Bench
	order   []string
	pulse   *pulse
}

// openBenches builds a tree once for each suite, in boxes of their own.
func openBenches(ctx context.Context, suites []benchmarks.Suite, t benchmarks.Target, p *pulse) (*benches, error) {
	b := &benches{bySuite: map[string]benchmarks.Bench{}, pulse: p}
	for _, s := range suites {
		own := t
		own.Problems = of(s.Name(), t.Problems)
		if len(own.Problems) == 0 {
			continue
		}
		err := p.busy(ctx, func() error {
			bench, err := s.Open(ctx, own)
			if err == nil {
				b.bySuite[s.Name()], b.order = bench, append(b.order, s.Name())
			}
			return err
		})
		if err != nil {
			return nil, errors.Join(err, b.Close(ctx))
		}
	}
	return b, nil
}

// Run runs the problems, suite by suite.
func (b *benches) Run(ctx context.Context, problems []model.Problem, isolate bool) (model.Run, error) {
	var all model.Run
	for _, name := range b.order {
		mine := of(name, problems)
		if len(mine) == 0 {
			continue
		}
		var run model.Run
		err := b.pulse.measure(ctx, mine, func() (err error) {
			run, err = b.bySuite[name].Run(ctx, mine, isolate)
			return err
		})
		if err != nil {
			return model.Run{}, err
		}
		all = join(all, run)
	}
	return all, nil
}

// Close removes the boxes. It is safe twice.
func (b *benches) Close(ctx context.Context) error {
	var errs []error
	for _, name := range b.order {
		errs = append(errs, b.bySuite[name].Close(ctx))
	}
	return errors.Join(errs...)
}

func join(a, b model.Run) model.Run {
	a.Results = append(a.Results, b.Results...)
	if a.Tampered == "" {
		a.Tampered = b.Tampered
	}
	if b.BuildLog != "" {
		a.BuildLog += b.BuildLog
	}
	a.Truncated = a.Truncated || b.Truncated
	a.Sandbox += b.Sandbox
	return a
}
