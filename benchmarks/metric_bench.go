package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// maxReopened bounds how often one bench gets a new box for one that the code
// under test has broken.
const maxReopened = 64

// metricBench is a tree in a box on which the command is run.
type metricBench struct {
	*commandBox
	suite *metricSuite
}

func (s *metricSuite) bench(t Target, code model.Tree) *metricBench {
	return &metricBench{commandBox: s.newBox(t, code), suite: s}
}

// Run runs the command once and reads every metric from it: they cannot be run
// apart, so isolate makes no difference.
func (b *metricBench) Run(ctx context.Context, problems []model.Problem, _ bool) (model.Run, error) {
	if err := b.usable(); err != nil {
		return model.Run{}, err
	}
	if _, failed := b.failure(); failed {
		return b.unbuilt(problems), nil
	}
	run, err := b.believed(ctx, problems)
	if err != nil {
		return model.Run{}, fmt.Errorf("suite %q: measure: %w", b.suite.cfg.Name, err)
	}
	run.Sandbox = b.paid()
	return run, nil
}

// A run whose times contradict the host's clock is repeated, each time beside the
// trusted tree: a host that was busy for a moment contradicts them too. Of
// clockTries runs so many must do so for the code to be at fault.
const (
	clockTries  = 3
	clockFaults = 2
)

// believed measures until it is clear whether times and the host's clock agree. The
// results are those of the last run, which was checked like the others.
func (b *metricBench) believed(ctx context.Context, problems []model.Problem) (run model.Run, err error) {
	before, err := b.trustedUsage(ctx, problems)
	if err != nil {
		return run, err
	}
	faults := 0
	for range clockTries {
		o, err := b.execute(ctx)
		switch {
		case ctx.Err() != nil || err != nil && !errors.Is(err, sandbox.ErrDead):
			return run, errors.Join(err, ctx.Err())
		case err != nil:
			return model.Run{Results: spoilt(problems, model.Crashed, "the sandbox ended while it ran: "+err.Error(), 0)}, nil
		}
		late := ""
		if run, late = grade(problems, o, before); late != "" {
			faults++
		}
		switch {
		case faults == 0:
			return run, nil
		case faults == clockFaults:
			return model.Run{Results: spoilt(problems, model.Fail, late, o.Wall), Tampered: late, Truncated: o.Truncated}, nil
		}
		if before, err = b.remeasure(ctx); err != nil {
			return run, err
		}
	}
	return run, nil
}

// execute runs the command in a clean box. A box that the code under test broke
// is replaced and the command run again, in case a run before this one did it;
// when it breaks that one too the error is ErrDead, and the box is new.
func (b *metricBench) execute(ctx context.Context) (o sandbox.Outcome, err error) {
	defer b.clock()()
	for range 2 {
		if o, err = b.once(ctx); err == nil {
			return o, nil
		}
		if again := b.recover(ctx, err, maxReopened); again != nil {
			return o, again
		}
	}
	return o, err
}

func (b *metricBench) once(ctx context.Context) (out sandbox.Outcome, err error) {
	if err := b.refresh(ctx); err != nil {
		return out, err
	}
	err = b.batch(ctx, []sandbox.Command{{
		Argv: slices.Clone(b.suite.cfg.Command), Dir: b.suite.dir(), User: sandbox.Runner,
		Timeout: b.target.limit(b.suite.cfg), MaxOutput: maxCommandOutput, Env: offline(nil),
	}}, func(_ int, o sandbox.Outcome) error {
		out = o
		return nil
	})
	return out, err
}

// grade reads the problems' values from what the command printed. before is what a
// run of the trusted tree took, nil when there is nothing to compare with; late
// says in which way the times contradict it.
func grade(problems []model.Problem, o sandbox.Outcome, before *usage) (run model.Run, late string) {
	run.Truncated = o.Truncated
	if outcome, message, bad := failedRun(o); bad {
		run.Results = spoilt(problems, outcome, message, o.Wall)
		return run, ""
	}
	found, err := readMetrics(o.Stdout)
	if err == nil && before != nil {
		now := usageOf(found, o.Wall)
		err, late = before.sameBenchmarks(now), before.clockCheck(now)
	}
	if err != nil {
		run.Results = spoilt(problems, model.Fail, tailOf([]byte(err.Error())), o.Wall)
		if errors.Is(err, errForged) {
			run.Tampered = err.Error()
		}
		return run, ""
	}
	byName := map[string]reading{}
	for _, r := range found {
		byName[r.name] = r
	}
	byName[WallMetric] = wallReading(o)
	for _, p := range distinct(problems) {
		run.Results = append(run.Results, measured(p, byName, o))
	}
	return run, late
}

func measured(p model.Problem, found map[string]reading, o sandbox.Outcome) model.Result {
	r, ok := found[p.Name]
	if !ok {
		return model.Result{Problem: p.ID, Outcome: model.Missing, Wall: o.Wall, Message: tailOf([]byte("it was not printed; the output ends with:\n"), o.Stdout)}
	}
	res := model.Result{Problem: p.ID, Outcome: model.Pass, Value: r.value, Wall: o.Wall}
	res.Score = p.Score(res)
	return res
}

// failedRun says why nothing that a command printed counts.
func failedRun(o sandbox.Outcome) (outcome model.Outcome, message string, bad bool) {
	if o.OK() {
		return "", "", false
	}
	outcome, abrupt := abnormal(o)
	if !abrupt {
		outcome = model.Fail
	}
	return outcome, tailOf(o.Stdout, []byte("\n"), o.Stderr, []byte("\n"+ending(o))), true
}

// ending says how a command that failed ended.
func ending(o sandbox.Outcome) string {
	switch {
	case o.TimedOut:
		return "it took too long"
	case o.OutOfMemory:
		return "it ran out of memory"
	case o.Signal != "":
		return "it was ended by the signal " + o.Signal
	}
	return fmt.Sprintf("exit status %d", o.ExitCode)
}

// spoilt gives all problems one outcome.
func spoilt(problems []model.Problem, outcome model.Outcome, message string, wall time.Duration) []model.Result {
	var out []model.Result
	for _, p := range distinct(problems) {
		out = append(out, model.Result{Problem: p.ID, Outcome: outcome, Wall: wall, Message: message, TimedOut: outcome == model.Timeout})
	}
	return out
}

// closing closes b and joins what goes wrong with err.
func closing(ctx context.Context, b Bench, err error) error {
	return errors.Join(err, b.Close(ctx))
}
