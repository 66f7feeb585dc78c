package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// junitBench is a prepared tree in a box.
type junitBench struct {
	*commandBox
	suite    *junitSuite
	m        *measure
	canaries []junitCanary
	limit    time.Duration
}

// bench is a bench whose box is not open yet.
func (s *junitSuite) bench(t Target, code model.Tree, m *measure) *junitBench {
	b := &junitBench{commandBox: s.newBox(t, code), suite: s, m: m, limit: t.limit(s.cfg)}
	if m.canaries != nil {
		b.extra, b.canaries = s.plant(b.tree, m.canaries)
	}
	return b
}

func (b *junitBench) open(ctx context.Context) error {
	if err := b.commandBox.open(ctx); err != nil {
		return errors.Join(err, b.Close(ctx))
	}
	return nil
}

// Run runs the command once, for whatever problems: there is no general way to
// run some of a command's cases. That is so with isolate too; each Run begins
// with what was laid in and nothing else.
func (b *junitBench) Run(ctx context.Context, problems []model.Problem, _ bool) (model.Run, error) {
	if err := b.usable(); err != nil {
		return model.Run{}, err
	}
	if b.failed {
		return b.unbuilt(problems), nil
	}
	stop := b.clock()
	r, err := b.attempt(ctx)
	stop()
	if err != nil {
		return model.Run{}, fmt.Errorf("suite %q: run %d problems: %w", b.suite.cfg.Name, len(problems), err)
	}
	r.verify()
	run := r.report(problems)
	run.Sandbox = b.paid()
	return run, nil
}

// attempt runs the command, and once more in a new box when the first ended
// under it. A command that ends that one too has crashed.
func (b *junitBench) attempt(ctx context.Context) (*junitRun, error) {
	r, err := b.once(ctx)
	for err != nil {
		again := b.recover(ctx, err, 1)
		if again != nil && (ctx.Err() != nil || !errors.Is(err, sandbox.ErrDead)) {
			return nil, again
		}
		if again != nil {
			b.reopened = 0
			return &junitRun{bench: b, ended: model.Crashed, unread: "the sandbox ended while the command ran: " + err.Error()}, b.reopen(ctx)
		}
		r, err = b.once(ctx)
	}
	b.reopened = 0
	return r, nil
}

// junitRun is one run of the command.
type junitRun struct {
	bench      *junitBench
	outcome    sandbox.Outcome
	ended      model.Outcome          // how the command ended, when not by itself
	unread     string                 // why there is no report, empty when there is one
	byID       map[string][]junitCase // by problem id
	canaries   map[string][]junitCase // by name
	bad        int                    // cases that failed, canaries included
	consistent bool

	tampered string // why the report is a forgery
	doubt    string // why nothing in it counts, if not a forgery
}

// once runs the command on a fresh tree and reads its report. That the command
// fails or writes none is no error.
func (b *junitBench) once(ctx context.Context) (*junitRun, error) {
	r := &junitRun{bench: b, byID: map[string][]junitCase{}, canaries: map[string][]junitCase{}, consistent: true}
	if err := b.refresh(ctx); err != nil {
		return nil, err
	}
	early, _, err := b.reports(ctx)
	if err != nil {
		return nil, err
	}
	if len(early) > 0 {
		r.unread = "it was there before the command ran"
		r.tampered = fmt.Sprintf("the report %s was there before the command ran", early[0])
		return r, nil
	}
	cmd := sandbox.Command{
		Argv: b.suite.cfg.Command, Dir: b.suite.dir(), User: sandbox.Runner,
		Timeout: b.limit, MaxOutput: maxCommandOutput, Env: offline(nil),
	}
	err = b.batch(ctx, []sandbox.Command{cmd}, func(_ int, o sandbox.Outcome) error {
		r.outcome = o
		return nil
	})
	if err != nil {
		return nil, err
	}
	if outcome, ok := abnormal(r.outcome); ok {
		r.ended, r.unread = outcome, "the command ended early: "+string(outcome)
		return r, nil
	}
	return r, r.read(ctx)
}

// reports lists the files that are reports now, as paths in the box. why says
// what hinders listing them.
func (b *junitBench) reports(ctx context.Context) (files []string, why string, err error) {
	base, rest := doublestar.SplitPattern(b.suite.report)
	dir := path.Join(Source, base)
	entries, complete, err := b.box.List(ctx, dir, maxListed)
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, sandbox.ErrDead) || errors.Is(err, sandbox.ErrUnavailable) {
			return nil, "", err
		}
		return nil, err.Error(), nil // most likely the folder is not there
	}
	for _, e := range entries {
		if !doublestar.MatchUnvalidated(rest, e.Path) || e.Kind == sandbox.EntryFolder {
			continue
		}
		if e.Kind != sandbox.EntryFile {
			return nil, e.Path + " is no regular file", nil
		}
		files = append(files, path.Join(dir, e.Path))
	}
	switch {
	case !complete:
		why = fmt.Sprintf("there are more than %d files in %s", len(entries), dir)
	case len(files) > maxReportFiles:
		why = fmt.Sprintf("there are more than %d reports", maxReportFiles)
	case len(files) == 0:
		why = "the command wrote no such file"
	}
	slices.Sort(files)
	return files, why, nil
}

// read takes in the reports that the command has written.
func (r *junitRun) read(ctx context.Context) error {
	files, why, err := r.bench.reports(ctx)
	if err != nil || why != "" {
		r.unread = why
		return err
	}
	left := int64(maxReports)
	for _, name := range files {
		data, err := r.bench.box.Get(ctx, name, min(left, maxReport))
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, sandbox.ErrDead) || errors.Is(err, sandbox.ErrUnavailable) {
				return err
			}
			r.unread = err.Error()
			return nil
		}
		left -= int64(len(data))
		cases, consistent, err := parseJUnit(data)
		if err != nil {
			r.unread = fmt.Sprintf("%s: %v", strings.TrimPrefix(name, Source+"/"), err)
			return nil
		}
		r.consistent = r.consistent && consistent
		r.sort(cases)
	}
	return nil
}

// sort files cases by problem, apart from those of canaries.
func (r *junitRun) sort(cases []junitCase) {
	for _, c := range cases {
		if c.outcome == model.Fail {
			r.bad++
		}
		i := slices.IndexFunc(r.bench.canaries, func(k junitCanary) bool {
			return strings.Contains(c.name, k.name) || strings.Contains(c.class, k.name)
		})
		if i >= 0 {
			name := r.bench.canaries[i].name
			r.canaries[name] = append(r.canaries[name], c)
			continue
		}
		id := r.bench.suite.problem(c).ID
		r.byID[id] = append(r.byID[id], c)
	}
}

// printed is the end of what the command printed.
func (r *junitRun) printed() string { return tailOf(r.outcome.Stdout, []byte("\n"), r.outcome.Stderr) }

// report puts the results into the order of the problems.
func (r *junitRun) report(problems []model.Problem) model.Run {
	run := model.Run{Tampered: r.tampered, Truncated: r.outcome.Truncated}
	for _, p := range distinct(problems) {
		res := r.result(p)
		why := r.tampered
		if why == "" {
			why = r.doubt
		}
		if why != "" && res.Score > 0 {
			res = model.Result{Problem: p.ID, Outcome: model.Missing, Message: "not believed: " + why}
		}
		run.Results = append(run.Results, res)
	}
	return run
}

// result is that of one problem. When it stands for several cases all have to pass.
func (r *junitRun) result(p model.Problem) model.Result {
	out := model.Result{Problem: p.ID, Outcome: model.Missing}
	if r.unread != "" {
		if r.ended != "" {
			out.Outcome, out.TimedOut = r.ended, r.ended == model.Timeout
		}
		out.Message = tailOf([]byte(r.printed()), []byte("\n"+"the report "+r.bench.suite.report+" was not read: "+r.unread))
		return out
	}
	cases := r.byID[p.ID]
	if len(cases) < max(1, r.bench.m.counts[p.ID]) {
		out.Message = "not reported"
		return out
	}
	out.Outcome, out.Score = model.Pass, 1
	for _, c := range cases {
		out.Wall += c.wall
		if c.outcome != model.Pass && out.Outcome != model.Fail {
			out.Outcome, out.Score, out.Message = c.outcome, 0, c.message
		}
	}
	return out
}
