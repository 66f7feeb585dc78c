package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// Screen evaluates candidates one after the other. Shared candidates that only
// change existing files are built and run in one box, in which only the changed
// files are laid in, and their last stage runs the problems that the edits can
// reach; all others get a box of their own. What happens in a shared box is no
// evidence: a candidate could disturb those after it.
func (s *goSuite) Screen(ctx context.Context, t Target, sc Screening, emit func(Screened) error) (err error) {
	g := &goScreen{suite: s, target: t, judge: sc.Judge, byID: map[string]model.Problem{}}
	for _, p := range t.Problems {
		g.byID[p.ID] = p
		if p.Split == model.SplitSearch {
			g.search = append(g.search, p)
		}
	}
	if sc.Shared {
		if err := g.share(sc.Candidates); err != nil {
			return err
		}
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

// goScreen is one call of Screen.
type goScreen struct {
	suite  *goSuite
	target Target
	judge  ruling
	search []model.Problem
	byID   map[string]model.Problem
	shared *goBench     // nil unless boxes are shared; opened when first needed
	stale  []model.Edit // of the candidate before, still laid in in the shared box
}

// targets are the problems that a candidate says it improves.
func (g *goScreen) targets(c model.Candidate) []model.Problem {
	var out []model.Problem
	for _, id := range c.Targets {
		if p, ok := g.byID[id]; ok && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

func (g *goScreen) candidate(ctx context.Context, c model.Candidate) (Screened, error) {
	targets := g.targets(c)
	out := Screened{Key: c.Key}
	if g.shared != nil && len(targets) > 0 && editsInPlace(g.suite, g.target.Code, c) {
		b, err := g.lay(ctx, c, targets)
		if err != nil {
			return out, err
		}
		if on, err := g.early(ctx, b, c, targets, &out); err != nil || !on {
			return out, err
		}
		err = g.widely(ctx, b, c, &out)
		if !errors.Is(err, sandbox.ErrDead) || ctx.Err() != nil {
			return out, err
		}
	}
	return out, g.alone(ctx, c, targets, &out)
}

// widely runs the last stage in the shared box: the search problems that the
// edits can reach. The code of all others is the parent's, byte for byte.
func (g *goScreen) widely(ctx context.Context, b *goBench, c model.Candidate, out *Screened) error {
	paths := make([]string, len(c.Edits))
	for i, e := range c.Edits {
		paths[i] = e.Path
	}
	problems := g.suite.Affected(b.build.tree, paths, g.search)
	if err := b.widen(ctx, b.packagesOf(problems), c.Edits); err != nil {
		return err
	}
	var err error
	out.Passed, err = g.stage(ctx, b, StageSearch, c, problems, out)
	return err
}

// widen compiles further packages in a shared box.
func (b *goBench) widen(ctx context.Context, pkgs []*goBinary, edits []model.Edit) error {
	start := time.Now()
	defer func() { b.unpaid += time.Since(start) }()
	var more []*goBinary
	for _, pkg := range pkgs {
		if !slices.Contains(b.wanted, pkg) {
			more = append(more, pkg)
		}
	}
	b.wanted = append(slices.Clone(b.wanted), more...)
	b.heal = b.healing(edits)
	if len(more) == 0 {
		return nil
	}
	if err := b.box.Put(ctx, Source, sandbox.Runner, b.heal); err != nil {
		return err
	}
	b.used = false
	return b.build.compile(ctx, b.box, more)
}

// early runs the stages of building and of the targets. It reports whether the
// candidate goes on.
func (g *goScreen) early(ctx context.Context, b *goBench, c model.Candidate, targets []model.Problem, out *Screened) (bool, error) {
	out.Stage = StageBuild
	for _, p := range targets {
		if bin := b.build.binary(p.Package); bin == nil || bin.path == "" {
			return false, g.unbuilt(ctx, b, targets, out)
		}
	}
	if len(targets) == 0 {
		return true, nil
	}
	return g.stage(ctx, b, StageTargets, c, targets, out)
}

// unbuilt fails a candidate whose targets do not compile.
func (g *goScreen) unbuilt(ctx context.Context, b *goBench, targets []model.Problem, out *Screened) error {
	var failed []model.Problem
	for _, p := range targets {
		if bin := b.build.binary(p.Package); bin == nil || bin.path == "" {
			failed = append(failed, p)
		}
	}
	run, err := b.Run(ctx, failed, false)
	if err != nil {
		return err
	}
	out.Sandbox += run.Sandbox
	out.Results = run.Results
	out.Judged = model.Judgement{Reason: "does not build: " + firstLine(run.Results[0].Message)}
	return nil
}

// firstLine is the first line of a compiler's log that is not a heading.
func firstLine(log string) string {
	for line := range strings.Lines(log) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return "no compiler output"
}

// stage runs problems and has them judged.
func (g *goScreen) stage(ctx context.Context, b *goBench, stage string, c model.Candidate, problems []model.Problem, out *Screened) (bool, error) {
	run, err := b.Run(ctx, problems, false)
	if err == nil && stage == StageSearch {
		err = again(ctx, b, g.judge, c, problems, &run)
	}
	if err != nil {
		return false, err
	}
	out.Stage, out.Results, out.Tampered = stage, run.Results, run.Tampered
	out.Sandbox += run.Sandbox
	if stage == StageSearch {
		out.Score = run.Score()
	}
	out.Judged = g.judge(stage, c, run.Results)
	if run.Tampered != "" {
		out.Judged.Pass, out.Judged.Reason = false, "tampered: "+run.Tampered
	}
	return out.Judged.Pass, nil
}

// alone screens a candidate in a box of its own, from the build on.
func (g *goScreen) alone(ctx context.Context, c model.Candidate, targets []model.Problem, out *Screened) (err error) {
	wanted := append(slices.Clone(targets), g.search...)
	build, err := g.suite.newBuild(g.target, g.target.Code.With(c.Edits...), wanted)
	if err != nil {
		return err
	}
	b := &goBench{build: build, target: g.target, limit: g.target.limit(g.suite.cfg)}
	b.wanted = b.packagesOf(targets)
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	if err := b.open(ctx); err != nil {
		return err
	}
	if on, err := g.early(ctx, b, c, targets, out); err != nil || !on {
		return err
	}
	if err := b.extend(ctx); err != nil {
		return err
	}
	out.Passed, err = g.stage(ctx, b, StageSearch, c, g.search, out)
	return err
}

// packagesOf lists the packages of problems that there are.
func (b *goBench) packagesOf(problems []model.Problem) []*goBinary {
	var out []*goBinary
	for _, pkg := range b.build.pkgs {
		if slices.ContainsFunc(problems, func(p model.Problem) bool { return p.Package == pkg.dir }) {
			out = append(out, pkg)
		}
	}
	return out
}

// extend compiles the packages that were not wanted so far.
func (b *goBench) extend(ctx context.Context) error {
	start := time.Now()
	defer func() { b.unpaid += time.Since(start) }()
	var more []*goBinary
	for _, pkg := range b.build.pkgs {
		if !slices.Contains(b.wanted, pkg) {
			more = append(more, pkg)
		}
	}
	b.wanted = b.build.pkgs
	if len(more) == 0 {
		return nil
	}
	b.used = true
	if err := b.box.Reset(ctx); err != nil {
		return err
	}
	if err := b.box.Put(ctx, Source, sandbox.Runner, b.build.laid()); err != nil {
		return err
	}
	return b.build.compile(ctx, b.box, more)
}

// share prepares the bench that candidates share, with the packages of all their targets.
func (g *goScreen) share(candidates []model.Candidate) error {
	all := slices.Clone(g.search)
	for _, c := range candidates {
		all = append(all, g.targets(c)...)
	}
	build, err := g.suite.newBuild(g.target, g.target.Code, all)
	if err != nil {
		return err
	}
	build.reuses = true
	g.shared = &goBench{build: build, target: g.target, limit: g.target.limit(g.suite.cfg)}
	return nil
}

// lay puts a candidate into the shared box in place of the one before, and
// compiles its targets. The files of their packages are laid in afresh, since
// what ran before may have changed them.
func (g *goScreen) lay(ctx context.Context, c model.Candidate, targets []model.Problem) (*goBench, error) {
	start := time.Now()
	b := g.shared
	before := g.stale
	base := g.suite.merge(g.target.Code, g.target.Trusted)
	b.build.tree = base.With(c.Edits...)
	b.wanted = b.packagesOf(targets)
	b.heal = b.healing(append(slices.Clone(before), c.Edits...))
	g.stale = c.Edits
	if b.box == nil {
		return b, b.open(ctx)
	}
	err := b.box.Put(ctx, Source, sandbox.Runner, b.heal)
	if err == nil {
		b.build.log, b.build.outs = nil, 0
		err = b.build.compile(ctx, b.box, b.wanted)
	}
	if errors.Is(err, sandbox.ErrDead) && ctx.Err() == nil {
		return b, b.reopen(ctx) // broken by the candidate before
	}
	b.used = false // what is to be healed is in place
	b.unpaid += time.Since(start)
	return b, err
}

// healing lists the files to lay in: those that candidates edited, and the
// folders of the wanted packages with their canaries.
func (b *goBench) healing(edits []model.Edit) []model.File {
	dirs, edited := map[string]bool{}, map[string]bool{}
	for _, e := range edits {
		edited[e.Path] = true
	}
	var out []model.File
	for _, p := range b.wanted {
		dirs[p.dir] = true
		out = append(out, p.canaries.files...)
	}
	for _, f := range b.build.tree.Files {
		if edited[f.Path] || dirs[path.Dir(f.Path)] || dirs[fixtureOwner(f.Path)] {
			out = append(out, f)
		}
	}
	return out
}

// fixtureOwner is the folder of the package whose testdata a file belongs to.
func fixtureOwner(p string) string {
	dir, _, found := strings.Cut("./"+p, "/testdata/")
	if !found {
		return ""
	}
	return path.Clean(dir)
}
