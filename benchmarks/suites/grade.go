package suites

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ratchet/benchmarks"
	"ratchet/internal/model"
	"ratchet/sandbox"
)

// Grader judges results, with hidden tests in boxes of its own. It is safe for
// concurrent use.
type Grader struct {
	Boxes sandbox.Provider
	// Specs are the boxes for checkers, by their kind; they need the tools of that kind.
	Specs map[string]sandbox.Spec

	mu    sync.Mutex
	tests map[*Checker][]model.Problem // as they were listed
}

// Grade is the judgement on one result.
type Grade struct {
	Solved  bool
	Outcome model.Outcome // Pass when solved
	Message string        // what failed, for people
	Sandbox time.Duration
}

// Grade judges the files, or the answer, that an agent left behind. An error
// means that there is no judgement; that something does not build is one.
func (g *Grader) Grade(ctx context.Context, p Problem, files model.Tree, answer string) (Grade, error) {
	if p.Answer != nil {
		return p.Answer.grade(answer), nil
	}
	spec, ok := g.Specs[p.Checker.Kind]
	if !ok {
		return Grade{}, fmt.Errorf("grade %s: no sandbox is set up for checkers of kind %s", p.ID, p.Checker.Kind)
	}
	spec.Network, spec.Purpose = sandbox.NetworkNone, "grade "+p.ID
	run, err := g.run(ctx, p, benchmarks.Target{Boxes: g.Boxes, Spec: spec, Trusted: p.Trusted(), Code: files})
	if err != nil {
		return Grade{}, fmt.Errorf("grade %s: %w", p.ID, err)
	}
	return judge(run), nil
}

// suite is what runs the checker's tests.
func (c *Checker) suite() (benchmarks.Suite, error) {
	return benchmarks.New(benchmarks.Config{Name: "grader", Kind: c.Kind, Timeout: c.Timeout})
}

// run builds the agent's code with the hidden tests and runs each of them once.
func (g *Grader) run(ctx context.Context, p Problem, t benchmarks.Target) (run model.Run, err error) {
	suite, err := p.Checker.suite()
	if err != nil {
		return run, err
	}
	if t.Problems, err = g.list(ctx, suite, p, t); err != nil {
		return run, err
	}
	bench, err := suite.Open(ctx, t)
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, bench.Close(ctx)) }()
	return bench.Run(ctx, t.Problems, false)
}

// list lists the hidden tests, once for each problem. They are listed beside the
// solution: beside the files that an agent starts from, a test that imports what is
// still to be written could not be collected.
func (g *Grader) list(ctx context.Context, suite benchmarks.Suite, p Problem, t benchmarks.Target) ([]model.Problem, error) {
	g.mu.Lock()
	tests := g.tests[p.Checker]
	g.mu.Unlock()
	if tests != nil {
		return tests, nil
	}
	t.Trusted = Overlay(t.Trusted, p.Solution)
	tests, err := suite.Discover(ctx, t)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tests == nil {
		g.tests = map[*Checker][]model.Problem{}
	}
	g.tests[p.Checker] = tests
	return tests, nil
}

// judge sums a run up: solved when every test passed and the run can be believed.
func judge(run model.Run) Grade {
	g := Grade{Outcome: model.Fail, Sandbox: run.Sandbox}
	if run.Tampered != "" {
		g.Message = "the result tampers with its own grading: " + run.Tampered
		return g
	}
	var failed []string
	for _, r := range run.Results {
		if r.Score < 1 {
			failed = append(failed, fmt.Sprintf("%s: %s\n%s", strings.TrimPrefix(r.Problem, "grader/"), r.Outcome, indent(r.Message)))
		}
	}
	if len(failed) == 0 && len(run.Results) > 0 {
		return Grade{Solved: true, Outcome: model.Pass, Sandbox: run.Sandbox}
	}
	g.Outcome = worst(run.Results)
	g.Message = fmt.Sprintf("%d of %d hidden tests fail\n%s", len(failed), len(run.Results), strings.Join(failed, "\n"))
	if run.BuildLog != "" {
		g.Message = run.BuildLog + "\n" + g.Message
	}
	return g
}

// worst is BuildFailed when nothing could be run, and Fail otherwise: how the
// tests ended is the message's matter.
func worst(results []model.Result) model.Outcome {
	built := slices.ContainsFunc(results, func(r model.Result) bool { return r.Outcome != model.BuildFailed })
	if len(results) > 0 && !built {
		return model.BuildFailed
	}
	return model.Fail
}

func indent(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	return "    " + strings.ReplaceAll(s, "\n", "\n    ")
}

func (a *Answer) grade(answer string) Grade {
	got := normal(answer)
	if got == "" {
		return Grade{Outcome: model.Missing, Message: "there is no answer in " + answerFile}
	}
	if a.right(got) {
		return Grade{Solved: true, Outcome: model.Pass}
	}
	return Grade{Outcome: model.Fail, Message: "the answer is " + strconv.Quote(clip(got, 200)) + ", which is wrong"}
}

func (a *Answer) right(got string) bool {
	if a.Number == nil {
		return got == normal(a.Text)
	}
	x, err := strconv.ParseFloat(got, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return false
	}
	return math.Abs(x-*a.Number) <= a.Tolerance*max(1, math.Abs(*a.Number))
}

// normal drops white space at the ends of lines and of the text.
func normal(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r")
	}
	return strings.Join(lines, "\n")
}

// clip keeps the first n bytes of s, without half a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
