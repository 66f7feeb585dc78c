package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/report"
	"ratchet/internal/store"
)

// testBenchmark measures three commits outside any campaign and compares them.
func testBenchmark(c *cli) {
	first := c.repository("bench.git", "main", clampModule())
	file := c.campaign("bench", "./bench.git")
	var before, after, broken model.Benchmark
	c.document(&before, "benchmark", "run", file, "--rounds", "4", "--baseline")
	require.Equal(c.t, first, before.Commit)
	require.Equal(c.t, []any{0.4, 5, 2, true}, []any{before.Score.Score, before.Score.Problems, before.Score.Passed, before.Baseline})
	require.Len(c.t, before.Results, 20)
	c.fails(exitUsage, []string{before.ID + " is itself the baseline of bench"}, "benchmark", "compare", before.ID)

	second := c.repository("bench.git", "main", map[string]string{"clamp.go": soundModule()["clamp.go"]})
	require.Contains(c.t, c.ok("benchmark", "run", file, "--rounds", "4"), "score 100.0%, 5 of 5 problems pass, 0 flaky")
	var history, latest []benchmarkLine
	c.document(&history, "benchmark", "history", "bench")
	require.Len(c.t, history, 2)
	require.Equal(c.t, before.ID, history[1].ID, "newest first")
	require.Equal(c.t, []bool{false, true}, []bool{history[0].Baseline, history[1].Baseline})
	c.document(&latest, "benchmark", "list")
	require.Contains(c.t, latest, history[0])
	require.NotContains(c.t, latest, history[1])
	after.ID = history[0].ID

	var diff report.Comparison
	c.document(&diff, "benchmark", "compare", after.ID)
	require.InDelta(c.t, 0.6, diff.Delta, 1e-9)
	verdicts := map[string]report.Verdict{}
	for _, p := range diff.Problems {
		verdicts[p.Problem] = p.Verdict
	}
	require.Equal(c.t, map[string]report.Verdict{
		"unit/TestAbove": "better", "unit/TestWithin": "better", "unit/TestBelow": "same", "unit/TestAtTheTop": "same", "unit/TestAtTheEnd": "better",
	}, verdicts)
	r := c.run("benchmark", "compare", after.ID, before.ID, "--fail-on-worse")
	require.Equal(c.t, exitError, r.code)
	require.Contains(c.t, r.stdout, "worse")
	require.Contains(c.t, r.stderr, "3 problems worse, 0 maybe worse")
	require.Contains(c.t, c.ok("benchmark", "compare", after.ID, after.ID, "--fail-on-worse"), "no problem differs")

	c.repository("bench.git", "main", map[string]string{"clamp.go": "package clamp\n\nfunc Clamp() { undeclared() }\n"})
	out := c.ok("benchmark", "run", file, "--rounds", "1")
	require.Contains(c.t, out, "score 0.0%")
	require.Contains(c.t, out, "what the compiler said")
	require.Contains(c.t, out, "undefined: undeclared")
	c.document(&broken, "benchmark", "run", file, "--rounds", "1", "--commit", second)
	require.Equal(c.t, []any{second, 1.0, ""}, []any{broken.Commit, broken.Score.Score, broken.BuildLog})
	c.fails(exitUsage, []string{"no-such-branch", "the branches are: main"}, "benchmark", "run", file, "--commit", "no-such-branch")
}

// trick is a problem; what the agent in the folder agents does with it follows from its name.
const trick = `title: Add two numbers
limits: {time: 20s}
checker: {kind: gotest, timeout: 60s}
-- statement.md --
Mend Add.
-- files/go.mod --
module example.org/add

go 1.24
-- files/add.go --
package add

func Add(a, b int) int { return a - b }
-- grader/add_test.go --
package add

import "testing"

func TestAdd(t *testing.T) {
	if Add(2, 3) != 5 {
		t.Fatal("Add(2, 3) is not 5")
	}
}
-- solution/add.go --
package add

func Add(a, b int) int { return a + b }
-- wrong/b/add.go --
package add

func Add(a, b int) int { return b }
`

// testAgentBenchmark measures an agent, with some honest and some other behaviour.
func testAgentBenchmark(c *cli) {
	c.write("tricks/suite.yaml", "format: 1\nname: tricks\ntitle: Tricks\n")
	for _, name := range []string{"solve", "lazy", "edit-tests", "hang"} {
		c.write("tricks/"+name+".txtar", trick)
	}
	c.agent("agent")
	var b model.Benchmark
	run := []string{"benchmark", "run", "suite:./tricks", "--agent", "/box/agent/run 'a word'", "--agent-dir", "agent", "--parallel", "2"}
	c.document(&b, append(run, "--rounds", "1", "--timeout", "10s", "--name", "mine", "--baseline")...)
	require.Equal(c.t, []any{"mine", "suite:tricks", "/box/agent/run 'a word'", "", 0.25, 4, 1},
		[]any{b.Name, b.Repo, b.Agent, b.Commit, b.Score.Score, b.Score.Problems, b.Score.Passed})
	results := model.Run{Results: b.Results}.ByProblem()
	require.Equal(c.t, []any{model.Pass, int64(1200)}, []any{results["tricks/solve"].Outcome, results["tricks/solve"].Tokens}, results["tricks/solve"].Message)
	require.Equal(c.t, model.Fail, results["tricks/edit-tests"].Outcome)
	require.True(c.t, results["tricks/hang"].TimedOut)
	require.EqualValues(c.t, 1200, results["tricks/hang"].Tokens, "what it used counts all the same")

	out := c.ok(append(run, "--rounds", "3", "--name", "mine", "--problems", "solve,tricks/lazy")...)
	require.Contains(c.t, out, "by /box/agent/run 'a word': score 50.0%, 1 of 2 problems pass")
	require.Contains(c.t, out, "3600 tokens")
	out = c.ok("benchmark", "compare", c.latest("mine"))
	require.Contains(c.t, out, "tokens 2400 → 3600")
	require.Regexp(c.t, `tricks/hang +0% → - +- +removed`, out)
	c.fails(exitUsage, []string{"the agent's command cannot be started", "no-such-agent"},
		"benchmark", "run", "suite:./tricks", "--agent", "no-such-agent", "--problems", "solve", "--rounds", "1")
}

// agent lays the agent that tests of suites use into a folder.
func (c *cli) agent(dir string) {
	c.t.Helper()
	require.NoError(c.t, os.MkdirAll(filepath.Join(c.dir, dir), 0o755))
	cmd := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(c.dir, dir, "run"), "ratchet/benchmarks/suites/testdata/agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	require.NoError(c.t, err, "%s", out)
}

// latest is the id of the newest benchmark of a name.
func (c *cli) latest(name string) string {
	c.t.Helper()
	var history []benchmarkLine
	c.document(&history, "benchmark", "history", name)
	require.NotEmpty(c.t, history)
	return history[0].ID
}

// stored puts benchmarks into the store of the data folder.
func (c *cli) stored(all ...model.Benchmark) {
	c.t.Helper()
	c.withStore(func(ctx context.Context, s *store.Store) {
		for i, b := range all {
			b.Started = time.Date(2024, 1, 1, 0, 0, i, 0, time.UTC)
			_, err := s.SaveBenchmark(ctx, b)
			require.NoError(c.t, err)
		}
	})
}

// speed is a benchmark of one metric, in milliseconds.
func speed(id string, values ...float64) model.Benchmark {
	b := model.Benchmark{
		ID: id, Name: "speed", Commit: "c0ffee", Suites: []string{"speed"}, Runs: make([]model.RunSummary, len(values)),
		Metrics: map[string]model.Metric{"speed/parse": {Unit: "ms", Better: model.BetterLower, MinEffect: 0.05}},
	}
	for _, v := range values {
		b.Results = append(b.Results, model.Result{Problem: "speed/parse", Outcome: model.Pass, Score: 1, Value: v})
	}
	return b
}

func TestBaselinesAndComparison(t *testing.T) {
	c := newCLI(t)
	c.fails(exitUsage, []string{"there is no benchmark in the data folder", "ratchet benchmark run FILE"}, "benchmark", "compare")
	c.stored(speed("slow", 12.2, 12.3, 12.4, 12.3, 12.3), speed("fast", 10, 10.1, 10.1, 10.1, 10.2), model.Benchmark{ID: "other", Name: "other"})
	c.fails(exitUsage, []string{"there is no baseline of other", "ratchet benchmark baseline ID"}, "benchmark", "compare")
	c.fails(exitUsage, []string{"there is no baseline of speed"}, "benchmark", "compare", "fast")
	c.fails(exitUsage, []string{`there is no benchmark "none"`, "ratchet benchmark history"}, "benchmark", "compare", "none")
	c.fails(exitUsage, []string{`there is no benchmark "none"`}, "benchmark", "compare", "fast", "none")
	c.fails(exitUsage, []string{`there is no benchmark "none"`}, "benchmark", "baseline", "none")
	c.fails(exitUsage, []string{"ID is missing"}, "benchmark", "baseline")

	require.Contains(t, c.ok("benchmark", "baseline", "slow"), "benchmark slow is the baseline of speed")
	out := c.ok("benchmark", "compare", "fast")
	require.Regexp(t, `speed/parse +12.3 → 10.1 ms, -18% +0.008 +better`, out)
	r := c.run("benchmark", "compare", "fast", "slow", "--fail-on-worse", "--json")
	require.Equal(t, exitError, r.code)
	var diff report.Comparison
	decodeOne(t, r.stdout, &diff)
	require.Equal(t, []any{1, report.Worse}, []any{diff.Worse, diff.Problems[0].Verdict})
	c.ok("benchmark", "compare", "slow", "fast", "--fail-on-worse")

	c.stored(speed("new", 14))
	out = c.run("benchmark", "compare", "new", "--fail-on-worse").stdout
	require.Contains(t, out, "maybe worse")
	require.Contains(t, out, "1 problem changed in every round, but too few rounds")
	require.Contains(t, c.ok("benchmark", "history", "speed"), "baseline")
}

func TestExport(t *testing.T) {
	c := newCLI(t)
	b := speed("one", 12.5)
	b.Results = append(b.Results, model.Result{Problem: "speed/broken", Outcome: model.BuildFailed, Message: "\x00 <bad>"})
	c.stored(b)
	var e report.Export
	require.NoError(t, json.Unmarshal([]byte(c.ok("benchmark", "export", "one")), &e))
	require.Equal(t, []any{"one", 2, 12.5}, []any{e.ID, len(e.Problems), *e.Problems[0].Runs[0].Value})
	require.Contains(t, c.ok("benchmark", "export", "on", "--format", "junit", "--output", "out.xml"), "written to out.xml")
	data, err := os.ReadFile(filepath.Join(c.dir, "out.xml"))
	require.NoError(t, err)
	var x struct {
		Tests  int `xml:"tests,attr"`
		Errors int `xml:"errors,attr"`
	}
	require.NoError(t, xml.Unmarshal(data, &x))
	require.Equal(t, []int{2, 1}, []int{x.Tests, x.Errors})
	c.fails(exitEnvironment, []string{"no such file or directory", "--output"}, "benchmark", "export", "one", "--output", "none/out.json")
	c.fails(exitUsage, []string{`--format is "html"`}, "benchmark", "export", "one", "--format", "html")
	c.fails(exitUsage, []string{`there is no benchmark "two"`}, "benchmark", "export", "two")
}

func TestProblemsOfSuites(t *testing.T) {
	c := newCLI(t)
	var lines []problemLine
	c.document(&lines, "benchmark", "problems", "coding")
	require.Len(t, lines, 20)
	require.Contains(t, c.ok("benchmark", "problems"), "coding/fix-lru")
	out := c.ok("benchmark", "show", "coding/fix-lru")
	require.Contains(t, out, "drops the one that was used least recently")
	for _, secret := range []string{"MoveToFront", "Two defects", "hidden_test"} {
		require.NotContains(t, out, secret)
	}
	out = c.ok("benchmark", "show", "coding/fix-lru", "--answer")
	require.Contains(t, out, "Two defects")
	require.Contains(t, out, "c.order.MoveToFront(e)\n\treturn e.Value")
	var v problemView
	c.document(&v, "benchmark", "show", "suite:coding/write-sessions")
	require.Equal(t, []any{"", "answer", []string{"events.log"}}, []any{v.Answer, v.Graded, v.Files})
	c.document(&v, "benchmark", "show", "coding/write-sessions", "--answer")
	require.Equal(t, "13205", v.Answer)
}

func TestWrongBenchmarkInput(t *testing.T) {
	c := newCLI(t)
	file := c.good()
	c.write("empty/readme", "")
	c.write("bad/suite.yaml", "format: 3\nname: BAD\ntitle: x\n")
	c.write("bad/one.txtar", "title: x\nsplit: both\n")
	for args, texts := range map[string][]string{
		"run " + file + " --agent x":                                    {"--agent is for agents", "suite:coding"},
		"run " + file + " --timeout 5s":                                 {"--timeout is for agents"},
		"run suite:coding":                                              {"--agent is empty"},
		"run suite:coding --agent x --commit main":                      {"--commit is for campaign files"},
		"run suite:coding --agent x --rounds 0":                         {"--rounds is 0"},
		"run suite:coding --agent x --parallel 0":                       {"--parallel is 0"},
		"run suite:coding --agent x --timeout -1s":                      {"--timeout is -1s"},
		"run suite:coding --agent x --split all":                        {`--split is "all"`},
		"run suite:coding --agent 'x":                                   {"--agent: 'x"},
		"run suite:coding --agent x --problems none":                    {`there is no problem "none"`, "benchmark problems coding"},
		"run suite:coding --agent x --problems fix-lru --split heldout": {"--split heldout leaves no problem"},
		"run suite:coding --agent x --agent-dir none":                   {"--agent-dir", "no such file or directory"},
		"run suite:cooking --agent x":                                   {"there is no such suite", "coding"},
		"run suite:./empty --agent x":                                   {"not a valid suite", "suite.yaml"},
		"run suite:./bad --agent x":                                     {"suite.yaml:1: format is 3", `suite.yaml:2: name is "BAD"`, `one.txtar:2: split is "both"`},
		"problems cooking":                                              {"there is no such suite"},
		"show coding":                                                   {"name a suite and a problem"},
		"show coding/none":                                              {`there is no problem "none"`},
		"show cooking/none":                                             {"there is no such suite"},
	} {
		t.Run(args, func(t *testing.T) {
			c.in(t).fails(exitUsage, texts, append([]string{"benchmark"}, strings.Fields(args)...)...)
		})
	}
}
