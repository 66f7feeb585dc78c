package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ratchet/internal/model"
)

// screener is a suite that is screened in the general way.
type screener interface {
	Suite
	// benchOn returns a bench whose box is not open yet.
	benchOn(t Target, code model.Tree) screenBench
	// together says that problems cannot be run apart, so that targets are judged
	// on the same run as everything else.
	together() bool
}

// screenBench is a bench that can take another version of the code.
type screenBench interface {
	Bench
	open(ctx context.Context) error
	// change lays in code that differs in the content of existing files only, in the
	// same box or, where what was built before could be taken for its own, a new one.
	change(ctx context.Context, code model.Tree) error
	// failure says whether it did not build, and what was printed.
	failure() (log string, failed bool)
}

// screenEach screens candidates one after the other: each in a box of its own,
// or, when boxes may be shared, those that only change the content of files in
// one box, in which the tree is laid in again for each. What happens in a shared
// box is no evidence: a candidate could disturb those after it.
func screenEach(ctx context.Context, s screener, t Target, sc Screening, emit func(Screened) error) (err error) {
	g := &screening{suite: s, target: t, judge: sc.Judge}
	for _, p := range t.Problems {
		if p.Split == model.SplitSearch {
			g.search = append(g.search, p)
		}
	}
	if sc.Shared {
		g.shared = s.benchOn(t, t.Code)
		defer func() { err = errors.Join(err, g.shared.Close(ctx)) }()
	}
	for _, c := range sc.Candidates {
		if err := ctx.Err(); err != nil {
			return err
		}
		out, err := g.candidate(ctx, c)
		if err != nil {
			return fmt.Errorf("suite %q: screen %s: %w", s.Name(), c.Key, err)
		}
		if err := emit(out); err != nil {
			return err
		}
	}
	return nil
}

// screening is one call of screenEach.
type screening struct {
	suite  screener
	target Target
	judge  ruling
	search []model.Problem
	shared screenBench // nil unless boxes are shared
}

func (g *screening) candidate(ctx context.Context, c model.Candidate) (out Screened, err error) {
	code := g.target.Code.With(c.Edits...)
	if g.shared != nil && editsInPlace(g.suite, g.target.Code, c) {
		if err := g.shared.change(ctx, code); err != nil {
			return out, err
		}
		return g.stages(ctx, g.shared, c)
	}
	b := g.suite.benchOn(g.target, code)
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	if err := b.open(ctx); err != nil {
		return out, err
	}
	return g.stages(ctx, b, c)
}

// editsInPlace reports whether a candidate only changes the content of files:
// anything else cannot be undone by laying in files.
func editsInPlace(s Suite, code model.Tree, c model.Candidate) bool {
	return !slices.ContainsFunc(c.Edits, func(e model.Edit) bool {
		f, ok := code.Find(e.Path)
		return !ok || e.Delete || s.Harness(e.Path) || f.Mode == model.ModeSymlink || e.Mode == model.ModeSymlink
	})
}

// stages runs the stages of a candidate that is laid in and built.
func (g *screening) stages(ctx context.Context, b screenBench, c model.Candidate) (Screened, error) {
	out := Screened{Key: c.Key, Stage: StageBuild}
	targets := g.targets(c)
	if log, failed := b.failure(); failed {
		return out, g.unbuilt(ctx, b, targets, log, &out)
	}
	if g.suite.together() {
		return out, g.atOnce(ctx, b, c, targets, &out)
	}
	if len(targets) > 0 {
		run, err := b.Run(ctx, targets, false)
		if err != nil || !g.rule(StageTargets, c, run, &out) {
			return out, err
		}
	}
	run, err := b.Run(ctx, g.search, false)
	if err == nil {
		err = again(ctx, b, g.judge, c, g.search, &run)
	}
	if err != nil {
		return out, err
	}
	out.Passed = g.rule(StageSearch, c, run, &out)
	return out, nil
}

// ruling judges the results of a stage.
type ruling func(stage string, c model.Candidate, results []model.Result) model.Judgement

// again runs the problems of the last stage that the judge wants to see once more,
// and others, each alone, and puts what they give then in place of what they gave before.
func again(ctx context.Context, b Bench, j ruling, c model.Candidate, problems []model.Problem, run *model.Run, others ...string) error {
	ids := append(others, j(StageSearch, c, run.Results).Again...)
	if len(ids) == 0 || run.Tampered != "" {
		return nil
	}
	doubtful := slices.DeleteFunc(slices.Clone(problems), func(p model.Problem) bool { return !slices.Contains(ids, p.ID) })
	second, err := b.Run(ctx, doubtful, true)
	if err != nil {
		return err
	}
	run.Renew(second)
	return nil
}

// atOnce judges both stages on one run of everything.
func (g *screening) atOnce(ctx context.Context, b screenBench, c model.Candidate, targets []model.Problem, out *Screened) error {
	run, err := b.Run(ctx, distinct(append(slices.Clone(targets), g.search...)), false)
	if err != nil {
		return err
	}
	first := run
	first.Results = resultsOf(run, targets)
	if len(targets) > 0 && !g.rule(StageTargets, c, first, out) {
		return nil
	}
	run.Results = resultsOf(run, g.search)
	run.Sandbox -= out.Sandbox // paid for already
	if err := again(ctx, b, g.judge, c, g.search, &run); err != nil {
		return err
	}
	out.Passed = g.rule(StageSearch, c, run, out)
	return nil
}

// resultsOf picks the results of problems, in their order.
func resultsOf(run model.Run, problems []model.Problem) []model.Result {
	by := run.ByProblem()
	var out []model.Result
	for _, p := range problems {
		if r, ok := by[p.ID]; ok {
			out = append(out, r)
		}
	}
	return out
}

// rule notes the run of a stage and has it judged.
func (g *screening) rule(stage string, c model.Candidate, run model.Run, out *Screened) bool {
	out.Stage, out.Results, out.Tampered = stage, run.Results, run.Tampered
	out.Sandbox += run.Sandbox
	if stage == StageSearch {
		out.Score = run.Score()
	}
	out.Judged = g.judge(stage, c, run.Results)
	if run.Tampered != "" {
		out.Judged.Pass, out.Judged.Reason = false, "tampered: "+run.Tampered
	}
	return out.Judged.Pass
}

// unbuilt fails a candidate that does not build.
func (g *screening) unbuilt(ctx context.Context, b screenBench, targets []model.Problem, log string, out *Screened) error {
	if len(targets) == 0 {
		targets = g.search
	}
	run, err := b.Run(ctx, targets, false)
	if err != nil {
		return err
	}
	out.Results, out.Sandbox = run.Results, run.Sandbox
	out.Judged = model.Judgement{Reason: "does not build: " + firstLine(log)}
	return nil
}

// targets are the problems that a candidate says it improves.
func (g *screening) targets(c model.Candidate) []model.Problem {
	var out []model.Problem
	for _, p := range g.target.Problems {
		if slices.Contains(c.Targets, p.ID) {
			out = append(out, p)
		}
	}
	return out
}
