package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// slack is added to a process's limit for its start, and before it is killed
// from outside, so that the testing package can say itself what was running.
const slack = time.Second

// maxPattern bounds the length of one -test.run expression, in bytes.
const maxPattern = 32 << 10

// goBench is a built tree in a box.
type goBench struct {
	build  *goBuild
	target Target
	wanted []*goBinary // what is compiled when a box is opened
	limit  time.Duration
	box    sandbox.Box
	used   bool          // something ran since the tree was laid in
	unpaid time.Duration // of sandbox time, that no Run has reported yet
	// heal, when not nil, is laid in instead of the whole tree before processes
	// run, and nothing is removed: enough for screening in a shared box.
	heal []model.File
}

// Open lays the code with the trusted harness into a new box and compiles the
// tests of all packages that have problems in t.
func (s *goSuite) Open(ctx context.Context, t Target) (Bench, error) {
	build, err := s.newBuild(t, t.Code, t.Problems)
	if err != nil {
		return nil, err
	}
	b := &goBench{build: build, target: t, wanted: build.pkgs, limit: t.limit(s.cfg)}
	if err := b.open(ctx); err != nil {
		return nil, errors.Join(err, b.Close(ctx))
	}
	return b, nil
}

// open starts a box and compiles in it. What was built before is built again.
func (b *goBench) open(ctx context.Context) error {
	start := time.Now()
	defer func() { b.unpaid += time.Since(start) }()
	box, err := b.target.Boxes.Open(ctx, b.target.Spec)
	if err != nil {
		return err
	}
	b.box, b.used = box, true // the canaries' source has to go
	if err := box.Put(ctx, Source, sandbox.Runner, b.build.laid()); err != nil {
		return err
	}
	b.build.log, b.build.outs = nil, 0
	return b.build.compile(ctx, box, b.wanted)
}

// reopen replaces a box that the code under test has broken.
func (b *goBench) reopen(ctx context.Context) error {
	if err := b.Close(ctx); err != nil {
		return err
	}
	return b.open(ctx)
}

func (b *goBench) Close(ctx context.Context) error {
	if b.box == nil {
		return nil
	}
	err := b.box.Close(ctx)
	b.box = nil
	return err
}

// refresh removes what earlier processes left and lays the tree in again.
func (b *goBench) refresh(ctx context.Context) error {
	if !b.used {
		return nil
	}
	if b.heal != nil {
		return b.box.Put(ctx, Source, sandbox.Runner, b.heal)
	}
	if err := b.box.Reset(ctx); err != nil {
		return err
	}
	if err := b.box.Put(ctx, Source, sandbox.Runner, b.build.tree.Files); err != nil {
		return err
	}
	b.used = false
	return nil
}

// Run runs the problems of each package in one process, or each by itself. The
// problems of a process that ended early are run again: those that may have
// ended it alone, the others together, and at last each alone.
func (b *goBench) Run(ctx context.Context, problems []model.Problem, isolate bool) (model.Run, error) {
	if b.box == nil {
		return model.Run{}, &sandbox.Error{Op: "run", Object: b.build.suite.cfg.Name, Err: sandbox.ErrDead, Hint: "the bench was closed"}
	}
	start := time.Now()
	r := newGoRun(b)
	r.plan(problems, isolate)
	for len(r.queue) > 0 {
		if err := r.round(ctx); err != nil {
			return model.Run{}, fmt.Errorf("suite %q: run %d problems: %w", b.build.suite.cfg.Name, len(problems), err)
		}
	}
	run := r.report(problems)
	run.Sandbox = b.unpaid + time.Since(start)
	b.unpaid = 0
	return run, nil
}

// goRun is one call of Run.
type goRun struct {
	*goBench
	queue     []queued
	results   map[string]model.Result
	tampered  map[string]string // by package folder
	truncated bool
	reopened  int
}

// queued is a process to be run; retried says that its problems come from one that ended early.
type queued struct {
	goProcess
	retried bool
}

func newGoRun(b *goBench) *goRun {
	return &goRun{goBench: b, results: map[string]model.Result{}, tampered: map[string]string{}}
}

// plan queues the problems whose package was built and fails the others.
func (r *goRun) plan(problems []model.Problem, isolate bool) {
	names := map[*goBinary][]string{}
	for _, p := range problems {
		pkg := r.build.binary(p.Package)
		switch {
		case pkg == nil || pkg.ids[p.Name] != p.ID:
			r.results[p.ID] = model.Result{Problem: p.ID, Outcome: model.Missing, Message: "the trusted tree has no such test"}
		case pkg.path == "":
			r.results[p.ID] = model.Result{Problem: p.ID, Outcome: model.BuildFailed, Message: pkg.log}
		case !slices.Contains(names[pkg], p.Name):
			names[pkg] = append(names[pkg], p.Name)
		}
	}
	for _, pkg := range r.build.pkgs {
		if isolate {
			r.alone(pkg, names[pkg])
		} else {
			r.together(pkg, names[pkg], false)
		}
	}
}

func (r *goRun) alone(pkg *goBinary, names []string) {
	for _, n := range names {
		r.queue = append(r.queue, queued{goProcess{pkg, []string{n}}, true})
	}
}

// together queues names as one process, or as several where they are too many for one pattern.
func (r *goRun) together(pkg *goBinary, names []string, retried bool) {
	for len(names) > 0 {
		n, size := 0, 0
		for n < len(names) && (n == 0 || size+len(names[n]) < maxPattern) {
			size += len(names[n]) + 1
			n++
		}
		r.queue = append(r.queue, queued{goProcess{pkg, names[:n]}, retried})
		names = names[n:]
	}
}

// round runs all that is queued once, in one batch.
func (r *goRun) round(ctx context.Context) error {
	if err := r.refresh(ctx); err != nil {
		return r.recover(ctx, err)
	}
	r.used = true
	work := r.queue
	r.queue = nil
	cmds := make([]sandbox.Command, len(work))
	fresh := map[*goBinary]bool{}
	for i, p := range work {
		cmds[i] = p.command(r.limit)
		if len(work) > 1 && !fresh[p.pkg] {
			cmds[i].Files = p.pkg.fixtures // what other packages' tests may have changed
			fresh[p.pkg] = true
		}
	}
	done := 0
	err := r.box.Batch(ctx, sandbox.Batch{Commands: cmds, User: sandbox.Runner}, func(i int, o sandbox.Outcome) error {
		done++
		r.truncated = r.truncated || o.Truncated
		r.settle(work[i], judge(work[i].goProcess, o))
		return nil
	})
	if err == nil {
		return nil
	}
	if err := r.recover(ctx, err); err != nil {
		return err
	}
	// Whether the last that ended or the next broke the box cannot be told; the
	// next is to blame only when it does so as the first in a new box.
	if done == 0 {
		r.settle(work[0], broke(work[0].goProcess, err))
		done = 1
	}
	r.queue = append(r.queue, work[done:]...)
	return nil
}

// recover opens another box when the code under test broke this one. Other
// errors are the sandbox's own, and nothing was measured.
func (r *goRun) recover(ctx context.Context, err error) error {
	if ctx.Err() != nil || !errors.Is(err, sandbox.ErrDead) {
		return err
	}
	// Each problem can break two boxes, one in company and one alone; more are
	// not the doing of the code under test.
	if r.reopened++; r.reopened > 2*len(r.target.Problems)+2 {
		return err
	}
	return r.reopen(ctx)
}

// broke is the verdict on a process that took its box down.
func broke(p goProcess, err error) goVerdict {
	if !p.alone() {
		return goVerdict{}
	}
	name := p.names[0]
	return goVerdict{settled: true, results: map[string]model.Result{
		name: {Problem: p.pkg.ids[name], Outcome: model.Crashed, Message: "the sandbox ended while it ran: " + err.Error()},
	}}
}

// settle takes in a verdict, or queues the problems again.
func (r *goRun) settle(p queued, v goVerdict) {
	if v.tampered != "" {
		r.tampered[p.pkg.dir] = v.tampered
	}
	if v.settled {
		for _, res := range v.results {
			r.results[res.Problem] = res
		}
		return
	}
	var suspects, others []string
	for _, n := range p.names {
		if slices.Contains(v.culprits, n) {
			suspects = append(suspects, n)
		} else {
			others = append(others, n)
		}
	}
	if p.retried || len(suspects) == 0 {
		r.alone(p.pkg, p.names)
		return
	}
	r.together(p.pkg, others, true)
	r.alone(p.pkg, suspects)
}

// command runs the binary in its package's folder, as `go test` does.
func (p goProcess) command(limit time.Duration) sandbox.Command {
	if !p.alone() {
		limit += slack
	}
	names := append(p.pkg.canaries.asked(p.names), p.names...)
	slices.Sort(names)
	return sandbox.Command{
		Argv: []string{
			p.pkg.path, "-test.v=test2json", "-test.paniconexit0", "-test.count=1",
			"-test.timeout=" + limit.String(), "-test.run=" + runPattern(names),
		},
		Dir: p.pkg.source(), User: sandbox.Runner, Timeout: limit + slack, MaxOutput: maxTestOutput,
	}
}

// report puts the results into the order of the problems. Nothing of a package
// that tampered counts.
func (r *goRun) report(problems []model.Problem) model.Run {
	run := model.Run{Truncated: r.truncated}
	seen := map[string]bool{}
	for _, p := range problems {
		if seen[p.ID] {
			continue
		}
		seen[p.ID] = true
		res := r.results[p.ID]
		if why := r.tampered[p.Package]; why != "" && res.Score > 0 {
			res = model.Result{Problem: p.ID, Outcome: model.Missing, Message: "not believed: " + why}
		}
		run.Results = append(run.Results, res)
	}
	run.Tampered = strings.Join(sortedValues(r.tampered), "; ")
	for _, p := range r.build.pkgs {
		if p.path == "" {
			log := r.build.log
			run.BuildLog = strings.ToValidUTF8(string(log[max(0, len(log)-maxBuildLog):]), "")
		}
	}
	return run
}

func sortedValues(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}
