package e2e

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"ratchet/benchmarks"
	"ratchet/internal/model"
	"ratchet/internal/patch"
	"ratchet/internal/propose"
	"ratchet/sandbox"
	"ratchet/sandbox/docker"
)

// The repository of these tests holds a part p/<name>.txt for each problem
// tests/<name>.txt. A problem passes when its part says "good".
const (
	suiteName = "unit"
	good      = "good\n"
	bad       = "bad\n"
	guard     = "guard" // a held-out problem that passes, until a tempting patch breaks it
)

func partOf(problem string) string { return "p/" + path.Base(problem) + ".txt" }
func testOf(problem string) string { return "tests/" + path.Base(problem) + ".txt" }

// suite grades trees by reading them. at is told of the points that lie inside
// the suite's own work.
type suite struct {
	at  func(point string)
	box bool // keep a real box open for as long as a bench is
}

func (s *suite) Name() string            { return suiteName }
func (s *suite) Harness(p string) bool   { return strings.HasPrefix(p, "tests/") }
func (s *suite) Warm() []sandbox.Command { return nil }
func spent(n int) time.Duration          { return time.Duration(n) * time.Millisecond }
func says(t model.Tree, file string) bool {
	f, _ := t.Find(file)
	return strings.HasPrefix(string(f.Data), "good")
}

func (s *suite) Discover(_ context.Context, target benchmarks.Target) ([]model.Problem, error) {
	t := target.Trusted
	var out []model.Problem
	for _, f := range t.Files {
		if name, ok := strings.CutPrefix(f.Path, "tests/"); ok {
			name = strings.TrimSuffix(name, ".txt")
			out = append(out, model.Problem{ID: suiteName + "/" + name, Suite: suiteName, Package: ".", Name: name, Split: model.SplitSearch})
		}
	}
	if len(out) == 0 {
		return nil, benchmarks.ErrNoProblems
	}
	return out, nil
}

func (s *suite) Hide(t model.Tree, problems []model.Problem) (model.Tree, error) {
	return t.Without(func(p string) bool {
		return slices.ContainsFunc(problems, func(x model.Problem) bool { return testOf(x.ID) == p })
	}), nil
}

func (s *suite) Affected(_ model.Tree, paths []string, problems []model.Problem) []model.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p model.Problem) bool { return !slices.Contains(paths, partOf(p.ID)) })
}

// grade runs problems on a tree; one whose test is not laid in is missing.
func grade(trusted, code model.Tree, problems []model.Problem) model.Run {
	run := model.Run{Sandbox: spent(len(problems))}
	for _, p := range problems {
		r := model.Result{Problem: p.ID, Outcome: model.Fail, Wall: spent(1)}
		if _, ok := trusted.Find(testOf(p.ID)); !ok {
			r.Outcome = model.Missing
		} else if says(code, partOf(p.ID)) {
			r.Outcome, r.Score = model.Pass, 1
		}
		run.Results = append(run.Results, r)
	}
	return run
}

func (s *suite) Open(ctx context.Context, t benchmarks.Target) (benchmarks.Bench, error) {
	b := &bench{suite: s, target: t}
	if !s.box {
		return b, nil
	}
	box, err := t.Boxes.Open(ctx, t.Spec)
	b.box = box
	return b, err
}

type bench struct {
	suite  *suite
	target benchmarks.Target
	box    sandbox.Box
}

func (b *bench) Run(_ context.Context, problems []model.Problem, _ bool) (model.Run, error) {
	b.suite.at("suite/run")
	return grade(b.target.Trusted, b.target.Code, problems), nil
}

func (b *bench) Close(ctx context.Context) error {
	if b.box == nil {
		return nil
	}
	return b.box.Close(ctx)
}

func (s *suite) Cover(_ context.Context, t benchmarks.Target, problems []model.Problem) (model.Coverage, error) {
	run := grade(t.Trusted, t.Code, problems)
	cov := model.Coverage{Hits: map[string][]int{}, Results: run.Results, Sandbox: run.Sandbox}
	for i, p := range problems {
		cov.Blocks = append(cov.Blocks, model.Block{File: partOf(p.ID), StartLine: 1, StartCol: 1, EndLine: 2, EndCol: 1})
		cov.Hits[p.ID] = []int{i}
	}
	return cov, nil
}

func (s *suite) Screen(_ context.Context, t benchmarks.Target, in benchmarks.Screening, emit func(benchmarks.Screened) error) error {
	for _, c := range in.Candidates {
		if err := emit(screen(t, in, c)); err != nil {
			return err
		}
		s.at("suite/screened")
	}
	return nil
}

func screen(t benchmarks.Target, in benchmarks.Screening, c model.Candidate) benchmarks.Screened {
	code := t.Code.With(c.Edits...)
	aims := slices.DeleteFunc(slices.Clone(t.Problems), func(p model.Problem) bool { return !slices.Contains(c.Targets, p.ID) })
	run := grade(t.Trusted, code, aims)
	out := benchmarks.Screened{Key: c.Key, Stage: benchmarks.StageTargets, Results: run.Results, Sandbox: run.Sandbox}
	if out.Judged = in.Judge(out.Stage, c, run.Results); !out.Judged.Pass {
		return out
	}
	run = grade(t.Trusted, code, t.Problems)
	out.Stage, out.Results, out.Score, out.Sandbox = benchmarks.StageSearch, run.Results, run.Score(), out.Sandbox+run.Sandbox
	out.Judged = in.Judge(out.Stage, c, run.Results)
	out.Passed = out.Judged.Pass
	return out
}

// proposer knows four kinds of patch: one that mends a part and spoils what
// guards it, one that mends, one that is useless, and one that edits the test.
type proposer struct{ at func(point string) }

func (p *proposer) Name() string { return "scripted" }

func (p *proposer) Propose(_ context.Context, r propose.Request) (propose.Proposal, error) {
	var out []model.Candidate
	for i, w := range r.Brief.Weakest {
		for _, c := range ideas(r.Tree, w.Problem, i) {
			if len(out) < r.N && !r.Skip(c.Key) {
				out = append(out, c)
			}
		}
	}
	p.at("proposer/proposed")
	return propose.Proposal{Candidates: out}, nil
}

func ideas(t model.Tree, problem string, rank int) []model.Candidate {
	mend := model.Edit{Path: partOf(problem), Data: []byte(good)}
	honest := candidate(t, problem, "mend "+problem, mend)
	useless := candidate(t, problem, "reword "+problem, model.Edit{Path: partOf(problem), Data: []byte("no better\n")})
	if rank > 0 {
		return []model.Candidate{useless}
	}
	return []model.Candidate{
		candidate(t, problem, "mend "+problem+" at the cost of "+guard, mend, model.Edit{Path: partOf(guard), Data: []byte(bad)}),
		honest, useless,
		candidate(t, problem, "soften the test of "+problem, model.Edit{Path: testOf(problem), Data: []byte("anything goes\n")}),
	}
}

func candidate(t model.Tree, problem, hypothesis string, edits ...model.Edit) model.Candidate {
	return model.Candidate{
		Key: patch.Key(edits, t), Proposer: "scripted", Hypothesis: hypothesis,
		ExpectedGain: 0.1, Targets: []string{problem}, Edits: edits,
	}
}

// noBoxes stands for a sandbox engine where nothing is run in one.
type noBoxes struct{}

func (noBoxes) Prepare(context.Context, docker.Target, func(string)) (docker.Image, error) {
	return docker.Image{ID: "none"}, nil
}

func (noBoxes) Open(_ context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	return nil, fmt.Errorf("%w: %s: no box is opened in this test", sandbox.ErrNoImage, spec.Purpose)
}
