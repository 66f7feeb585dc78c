package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// Screen evaluates candidates one after the other, each in a box of its own.
// Shared candidates that only change the content of files run in one box, forked
// from a process that has imported pytest; the last stage of those runs the
// problems that the edits can reach. What happens in a shared box is no evidence:
// a candidate could disturb those after it.
func (s *pySuite) Screen(ctx context.Context, t Target, sc Screening, emit func(Screened) error) (err error) {
	g := &pyScreen{pySuite: s, screening: screening{target: t, judge: sc.Judge}}
	for _, p := range t.Problems {
		if p.Split == model.SplitSearch {
			g.search = append(g.search, p)
		}
	}
	if sc.Shared {
		g.shared = &pyBench{suite: s, target: t, limit: t.limit(s.cfg), plain: true}
		g.shared.target.Boxes = pyForks{t.Boxes}
		defer func() { err = errors.Join(err, g.shared.Close(ctx)) }()
	}
	for _, c := range sc.Candidates {
		if err := ctx.Err(); err != nil {
			return err
		}
		out, err := g.candidate(ctx, c)
		if err != nil {
			return fmt.Errorf("suite %q: screen %s: %w", s.cfg.Name, c.Key, err)
		}
		if err := emit(out); err != nil {
			return err
		}
	}
	return nil
}

// pyScreen is one call of Screen.
type pyScreen struct {
	*pySuite
	screening
	shared *pyBench // nil unless boxes are shared; open when it has been used
}

func (g *pyScreen) candidate(ctx context.Context, c model.Candidate) (out Screened, err error) {
	code := g.target.Code.With(c.Edits...)
	if g.shared == nil || !editsInPlace(g.pySuite, g.target.Code, c) {
		return g.alone(ctx, c, code)
	}
	g.shared.tree = g.merge(code, g.target.Trusted)
	if g.shared.box == nil {
		if err := g.shared.open(ctx); err != nil {
			return out, err
		}
	}
	return g.stages(ctx, g.shared, c, func() []model.Problem { return g.reached(c) })
}

// reached are the search problems that the edits can reach. The code of all
// others is the parent's, byte for byte.
func (g *pyScreen) reached(c model.Candidate) []model.Problem {
	paths := make([]string, len(c.Edits))
	for i, e := range c.Edits {
		paths[i] = e.Path
	}
	return g.Affected(g.shared.tree, paths, g.search)
}

// alone screens a candidate in a box of its own.
func (g *pyScreen) alone(ctx context.Context, c model.Candidate, code model.Tree) (out Screened, err error) {
	t := g.target
	t.Code = code
	bench, err := g.Open(ctx, t)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, bench.Close(ctx)) }()
	return g.stages(ctx, bench, c, func() []model.Problem { return g.search })
}

// stages runs the stages of a candidate that is laid in. Python is built by being
// imported: a candidate that none of its targets can import has not come further
// than StageBuild.
func (g *pyScreen) stages(ctx context.Context, b Bench, c model.Candidate, search func() []model.Problem) (Screened, error) {
	out := Screened{Key: c.Key, Stage: StageBuild}
	if targets := g.targets(c); len(targets) > 0 {
		run, err := b.Run(ctx, targets, false)
		if err != nil || g.unbuilt(run, &out) || !g.rule(StageTargets, c, run, &out) {
			return out, err
		}
	}
	run, err := b.Run(ctx, search(), false)
	if err != nil || g.unbuilt(run, &out) {
		return out, err
	}
	if err := again(ctx, b, g.judge, c, search(), &run, late(run)...); err != nil {
		return out, err
	}
	out.Passed = g.rule(StageSearch, c, run, &out)
	return out, nil
}

// mostLate is how many problems that ran out of time are run a second time.
const mostLate = 3

// late names the problems that exceeded their limit: a candidate that has repaired
// something is not to be refused because the host was busy. Many at once are taken
// as they are.
func late(run model.Run) []string {
	var ids []string
	for _, r := range run.Results {
		if r.Outcome == model.Timeout {
			ids = append(ids, r.Problem)
		}
	}
	if len(ids) > mostLate {
		return nil
	}
	return ids
}

// unbuilt fails a candidate of which nothing can be imported.
func (g *pyScreen) unbuilt(run model.Run, out *Screened) bool {
	for _, r := range run.Results {
		if r.Outcome != model.BuildFailed {
			return false
		}
	}
	if len(run.Results) == 0 || run.Tampered != "" {
		return false
	}
	out.Stage, out.Results = StageBuild, run.Results
	out.Sandbox += run.Sandbox
	out.Judged = model.Judgement{Reason: "does not build: " + lastLine(run.Results[0].Message)}
	return true
}

// pyForks opens boxes in which the driver is forked.
type pyForks struct{ boxes sandbox.Provider }

func (p pyForks) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	b, err := openFork(ctx, p.boxes, spec, forkSpec{
		server: path.Join(pyDriverDir, "server.py"), program: path.Join(pyDriverDir, "main.py"),
		source: Source,
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// lastLine is the last line of a message that is not empty: what Python says is wrong.
func lastLine(message string) string {
	last := "no message"
	for line := range strings.Lines(message) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
	}
	return last
}
