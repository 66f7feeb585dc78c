package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

const (
	// homes holds a home, a temporary folder and one for coverage for each case.
	homes = sandbox.WorkDir + "/case"
	// inputs holds the files that InputPlaceholder stands for. They are Builder's.
	inputs = sandbox.WorkDir + "/input"
)

// execBench is a prepared tree in a box, with the cases that may be asked for.
type execBench struct {
	*commandBox
	cases map[string]execCase // by problem id
	limit time.Duration
	// dress, when not nil, changes a command before it runs; i counts in its batch.
	dress func(i int, c *sandbox.Command)
	// after, when not nil, follows a batch of commands while what they left is there.
	after func(ctx context.Context, ids []string) error
}

func (s *execSuite) newBench(t Target, code model.Tree) (*execBench, error) {
	cases, err := s.read(t.Trusted)
	if err != nil {
		return nil, err
	}
	return s.bench(t, code, cases), nil
}

// bench is a bench whose box is not open yet.
func (s *execSuite) bench(t Target, code model.Tree, cases []execCase) *execBench {
	b := &execBench{commandBox: s.newBox(t, code), cases: map[string]execCase{}, limit: t.limit(s.cfg)}
	for _, c := range cases {
		b.cases[s.cfg.Name+"/"+c.id] = c
	}
	return b
}

// Run runs the command once for each problem, in a process of its own with a
// fresh home and temporary folder; its processes are killed when it ends. Files
// that a case leaves elsewhere can be found by later cases of the same Run, which
// know no more of what is expected of them for it; with isolate the box is reset
// between cases as well.
func (b *execBench) Run(ctx context.Context, problems []model.Problem, isolate bool) (model.Run, error) {
	if err := b.usable(); err != nil {
		return model.Run{}, err
	}
	if b.failed {
		return b.unbuilt(problems), nil
	}
	r := &execRun{execBench: b, results: map[string]model.Result{}}
	stop := b.clock()
	err := r.all(ctx, r.plan(problems), isolate)
	stop()
	if err != nil {
		return model.Run{}, fmt.Errorf("suite %q: run %d problems: %w", b.suite.cfg.Name, len(problems), err)
	}
	run := model.Run{Truncated: r.truncated, Sandbox: b.paid()}
	for _, p := range distinct(problems) {
		run.Results = append(run.Results, r.results[p.ID])
	}
	return run, nil
}

// execRun is one call of Run.
type execRun struct {
	*execBench
	results   map[string]model.Result
	truncated bool
}

// plan lists the problems that there is a case for, and fails the others.
func (r *execRun) plan(problems []model.Problem) []string {
	var ids []string
	for _, p := range distinct(problems) {
		if _, ok := r.cases[p.ID]; ok {
			ids = append(ids, p.ID)
			continue
		}
		r.results[p.ID] = model.Result{Problem: p.ID, Outcome: model.Missing, Message: "the trusted tree has no such case"}
	}
	return ids
}

func (r *execRun) all(ctx context.Context, ids []string, isolate bool) error {
	most := 2*len(ids) + 2 // each case can break two boxes, one after others and one as the first
	for len(ids) > 0 {
		n := len(ids)
		if isolate {
			n = 1
		}
		done, err := r.batch(ctx, ids[:n])
		if err == nil {
			ids = ids[n:]
			continue
		}
		if obstructed(err) {
			r.obstruct(ids, err)
			return nil
		}
		if err := r.recover(ctx, err, most); err != nil {
			return err
		}
		// Whether the last that ended or the next broke the box cannot be told; the
		// next is to blame only when it does so as the first in a new box.
		if done == 0 {
			r.results[ids[0]] = model.Result{Problem: ids[0], Outcome: model.Crashed, Message: "the sandbox ended while it ran: " + err.Error()}
			done = 1
		}
		ids = ids[done:]
	}
	return nil
}

// obstructed says that something in the work area is in the way of what is to be
// laid in, or fills it. Runner's files are gone by then: what Prepare has run has
// left it, and would in another box.
func obstructed(err error) bool {
	return errors.Is(err, sandbox.ErrPath) || errors.Is(err, sandbox.ErrNoSpace)
}

// obstruct fails the cases that cannot be run for what the code has put in the way.
func (r *execRun) obstruct(ids []string, err error) {
	for _, id := range ids {
		r.results[id] = model.Result{Problem: id, Outcome: model.Crashed, Message: "the work area cannot be used: " + err.Error()}
	}
}

// batch runs cases one after the other, and returns how many have ended.
func (r *execRun) batch(ctx context.Context, ids []string) (done int, err error) {
	if err := r.refresh(ctx); err != nil {
		return 0, err
	}
	if err := r.furnish(ctx, ids); err != nil {
		return 0, err
	}
	cmds := make([]sandbox.Command, len(ids))
	for i, id := range ids {
		cmds[i] = r.command(i, r.cases[id])
	}
	err = r.commandBox.batch(ctx, cmds, func(i int, o sandbox.Outcome) error {
		done++
		r.truncated = r.truncated || o.Truncated
		c := r.cases[ids[i]]
		r.results[ids[i]] = c.judge(ids[i], o)
		return nil
	})
	if err == nil && r.after != nil {
		err = r.after(ctx, ids)
	}
	return done, err
}

// furnish makes the folders of cases, and the files of their inputs where the
// command wants a file.
func (r *execRun) furnish(ctx context.Context, ids []string) error {
	var own, in []model.File
	for i, id := range ids {
		n := strconv.Itoa(i)
		for _, dir := range []string{"home", "tmp", "cover"} {
			own = append(own, model.File{Path: path.Join(n, dir, ".keep"), Mode: model.ModeFile})
		}
		in = append(in, model.File{Path: n, Mode: model.ModeFile, Data: r.cases[id].input})
	}
	r.used = true
	err := r.box.Put(ctx, homes, sandbox.Runner, own)
	if err == nil && r.wantsFile() {
		err = r.box.Put(ctx, inputs, sandbox.Builder, in)
	}
	return err
}

func (b *execBench) wantsFile() bool {
	return slices.ContainsFunc(b.suite.cfg.Command, func(w string) bool { return strings.Contains(w, InputPlaceholder) })
}

// command runs a case, the i-th of its batch.
func (b *execBench) command(i int, c execCase) sandbox.Command {
	n := strconv.Itoa(i)
	cmd := sandbox.Command{
		Dir: b.suite.dir(), User: sandbox.Runner, Timeout: b.limit, MaxOutput: maxCommandOutput,
		Env: offline(map[string]string{"HOME": path.Join(homes, n, "home"), "TMPDIR": path.Join(homes, n, "tmp")}),
	}
	for _, w := range b.suite.cfg.Command {
		cmd.Argv = append(cmd.Argv, strings.ReplaceAll(w, InputPlaceholder, path.Join(inputs, n)))
	}
	cmd.Argv = append(cmd.Argv, c.args...)
	if !b.wantsFile() {
		cmd.Input = append([]byte{}, c.input...)
	}
	if b.dress != nil {
		b.dress(i, &cmd)
	}
	return cmd
}

// judge compares what a command did with what its case expects.
func (c *execCase) judge(id string, o sandbox.Outcome) model.Result {
	r := model.Result{Problem: id, Outcome: model.Fail, Wall: o.Wall}
	why := ""
	if outcome, ok := abnormal(o); ok {
		r.Outcome, r.TimedOut = outcome, outcome == model.Timeout
		why = "ended early: " + string(outcome)
	} else if o.ExitCode != c.exit {
		why = fmt.Sprintf("exit status %d, want %d", o.ExitCode, c.exit)
	} else if o.Truncated {
		why = fmt.Sprintf("more than %d bytes were printed", maxCommandOutput)
	} else {
		why = c.compareOutput(o.Stdout)
	}
	if why == "" {
		r.Outcome, r.Score = model.Pass, 1
		return r
	}
	r.Message = tailOf(o.Stderr, []byte("\n"+why))
	return r
}

// open is Open's, and closes what it could not complete.
func (b *execBench) open(ctx context.Context) error {
	if err := b.commandBox.open(ctx); err != nil {
		return errors.Join(err, b.Close(ctx))
	}
	return nil
}
