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

// pyCompany is how many problems one process runs at most, so that no report
// exceeds its bound.
const pyCompany = 1000

// pyBench is a tree in a box, with the driver.
type pyBench struct {
	suite  *pySuite
	target Target
	tree   model.Tree // code with the trusted harness
	limit  time.Duration
	// plain says that nothing that is run is evidence: there are no canaries, and
	// the driver does not look for tampering.
	plain  bool
	box    sandbox.Box
	unpaid time.Duration // of sandbox time, that no Run has reported yet
}

// Open lays the driver into a new box; there is nothing to build.
func (s *pySuite) Open(ctx context.Context, t Target) (Bench, error) {
	b := &pyBench{suite: s, target: t, tree: s.merge(t.Code, t.Trusted), limit: t.limit(s.cfg)}
	if err := b.open(ctx); err != nil {
		return nil, errors.Join(err, b.Close(ctx))
	}
	return b, nil
}

func (b *pyBench) open(ctx context.Context) error {
	start := time.Now()
	defer func() { b.unpaid += time.Since(start) }()
	box, err := b.target.Boxes.Open(ctx, b.target.Spec)
	if err != nil {
		return err
	}
	b.box = box
	return box.Put(ctx, pyDriverDir, sandbox.Builder, pyDriverFiles())
}

// reopen replaces a box that the code under test has broken.
func (b *pyBench) reopen(ctx context.Context) error {
	if err := b.Close(ctx); err != nil {
		return err
	}
	return b.open(ctx)
}

func (b *pyBench) Close(ctx context.Context) error {
	if b.box == nil {
		return nil
	}
	err := b.box.Close(ctx)
	b.box = nil
	return err
}

// refresh removes what earlier processes left and lays the tree in, with more files.
func (b *pyBench) refresh(ctx context.Context, more []model.File) error {
	if err := b.box.Reset(ctx); err != nil {
		return err
	}
	return b.box.Put(ctx, Source, sandbox.Runner, append(slices.Clone(b.tree.Files), more...))
}

// Run runs all problems in one process, or each by itself. The driver runs again
// what a test that ended its process left; when the driver itself ended early,
// those that it was running are run alone, the others together, and at last each alone.
func (b *pyBench) Run(ctx context.Context, problems []model.Problem, isolate bool) (model.Run, error) {
	if b.box == nil {
		return model.Run{}, &sandbox.Error{Op: "run", Object: b.suite.cfg.Name, Err: sandbox.ErrDead, Hint: "the bench was closed"}
	}
	start := time.Now()
	r := newPyRun(b, isolate)
	r.plan(problems)
	for len(r.queue) > 0 {
		if err := r.round(ctx); err != nil {
			return model.Run{}, fmt.Errorf("suite %q: run %d problems: %w", b.suite.cfg.Name, len(problems), err)
		}
	}
	run := r.report(problems)
	run.Sandbox = b.unpaid + time.Since(start)
	b.unpaid = 0
	return run, nil
}

// pyRun is one call of Run.
type pyRun struct {
	*pyBench
	isolate   bool
	nodes     map[string]string     // problem ids by node id
	canaries  map[string]pyCanaries // by folder, as in node ids
	queue     []pyProcess
	results   map[string]model.Result // by problem id
	tampered  []string
	truncated bool
	reopened  int
}

// pyProcess is one run of the driver: what it was asked to run.
type pyProcess struct {
	nodes   []string
	retried bool // they come from a process that ended early
}

func (p pyProcess) alone() bool { return len(p.nodes) == 1 }

func newPyRun(b *pyBench, isolate bool) *pyRun {
	return &pyRun{pyBench: b, isolate: isolate, nodes: map[string]string{}, canaries: map[string]pyCanaries{}, results: map[string]model.Result{}}
}

// plan queues the problems and invents the canaries of their folders.
func (r *pyRun) plan(problems []model.Problem) {
	taken := &names{}
	for _, f := range r.tree.Files {
		taken.text += path.Base(f.Path) + "\n"
	}
	var nodes []string
	for _, p := range problems {
		node := r.suite.node(p)
		if r.nodes[node] != "" {
			continue
		}
		r.nodes[node] = p.ID
		nodes = append(nodes, node)
		if dir := path.Dir(nodeFile(node)); !r.plain && r.canaries[dir].nodes == nil {
			r.canaries[dir] = r.suite.newPyCanaries(p.Package, taken)
		}
	}
	r.together(nodes, false)
}

// together queues nodes in processes of at most pyCompany.
func (r *pyRun) together(nodes []string, retried bool) {
	for c := range slices.Chunk(nodes, pyCompany) {
		r.queue = append(r.queue, pyProcess{c, retried})
	}
}

func (r *pyRun) alone(nodes []string) {
	for _, n := range nodes {
		r.queue = append(r.queue, pyProcess{[]string{n}, true})
	}
}

// laid are the files of all canaries.
func (r *pyRun) laid() []model.File {
	var out []model.File
	for _, c := range r.canaries {
		out = append(out, c.files...)
	}
	return out
}

// round runs all that is queued once. Each process starts with the tree as it is.
func (r *pyRun) round(ctx context.Context) error {
	p := r.queue[0]
	if err := r.refresh(ctx, r.laid()); err != nil {
		return r.recover(ctx, err)
	}
	request, key := r.request(p)
	cmd := request.command(4*r.suite.start(r.limit) + time.Duration(len(p.nodes)+1)*r.limit)
	var outcome *sandbox.Outcome
	err := r.box.Batch(ctx, sandbox.Batch{Commands: []sandbox.Command{cmd}, User: sandbox.Runner}, func(_ int, o sandbox.Outcome) error {
		outcome = &o
		return started(o)
	})
	r.queue = r.queue[1:]
	if err == nil {
		r.truncated = r.truncated || outcome.Truncated
		r.settle(p, r.judge(p, *outcome, key))
		return nil
	}
	if err := r.recover(ctx, err); err != nil {
		return err
	}
	r.settle(p, r.broke(p, err))
	return nil
}

// started reports that there was nothing to run the driver with.
func started(o sandbox.Outcome) error {
	if o.ExitCode == 126 || o.ExitCode == 127 {
		return &sandbox.Error{Op: "start", Object: "python3", Err: errors.New(tailOf(o.Stderr)),
			Hint: "the image needs Python 3.10 or newer with pytest 7 or newer on its PATH"}
	}
	return nil
}

// request asks for the nodes of a process with the canaries of their folders.
func (r *pyRun) request(p pyProcess) (pyRequest, []byte) {
	q := r.suite.request(pyModeRun, r.target.Trusted, r.limit)
	q.Problems, q.Isolate, q.Plain = p.nodes, r.isolate, r.plain
	q.Changed, q.Frank = r.suite.suspects(r.tree, r.target.Trusted)
	for _, n := range p.nodes {
		c, ok := r.canaries[path.Dir(nodeFile(n))]
		if !ok {
			continue
		}
		q.Canaries[parentOf(n)] = [3][]string{{c.before}, {c.after}, c.nodes}
	}
	for _, c := range r.canaries {
		for _, f := range c.files {
			q.Harness = append(q.Harness, f.Path)
		}
	}
	return q, q.key()
}

// recover opens another box when the code under test broke this one. Other
// errors are the sandbox's own, and nothing was measured.
func (r *pyRun) recover(ctx context.Context, err error) error {
	if ctx.Err() != nil || !errors.Is(err, sandbox.ErrDead) {
		return err
	}
	// Each problem can break two boxes, one in company and one alone; more are
	// not the doing of the code under test.
	if r.reopened++; r.reopened > 2*len(r.nodes)+2 {
		return err
	}
	return r.reopen(ctx)
}

// settle takes in a verdict, or queues the problems again.
func (r *pyRun) settle(p pyProcess, v pyVerdict) {
	r.tampered = append(r.tampered, v.tampered...)
	if v.settled {
		for node, res := range v.results {
			res.Problem = r.nodes[node]
			r.results[res.Problem] = res
		}
		return
	}
	suspects := slices.DeleteFunc(slices.Clone(p.nodes), func(n string) bool { return n != v.running && nodeFile(n) != v.running })
	if p.retried || len(suspects) == 0 {
		r.alone(p.nodes)
		return
	}
	others := slices.DeleteFunc(slices.Clone(p.nodes), func(n string) bool { return slices.Contains(suspects, n) })
	r.together(others, true)
	r.alone(suspects)
}

// report puts the results into the order of the problems. When anything was
// tampered with nothing that passed counts: one process runs them all.
func (r *pyRun) report(problems []model.Problem) model.Run {
	run := model.Run{Truncated: r.truncated}
	slices.Sort(r.tampered)
	run.Tampered = strings.Join(slices.Compact(r.tampered), "; ")
	seen := map[string]bool{}
	for _, p := range problems {
		if seen[p.ID] {
			continue
		}
		seen[p.ID] = true
		res := r.results[p.ID]
		if run.Tampered != "" && res.Score > 0 {
			res = model.Result{Problem: p.ID, Outcome: model.Missing, Message: "not believed: " + run.Tampered}
		}
		run.Results = append(run.Results, res)
	}
	return run
}
