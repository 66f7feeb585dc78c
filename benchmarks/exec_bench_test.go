package benchmarks

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// sums adds numbers, wrongly where one is negative.
const sums = `
-- sum.py --
import sys

def total(words):
    n = 0
    for w in words:
        if w.startswith("-"):
            n += int(w[1:])
        else:
            n += int(w)
    return n

print(total(sys.argv[1:] or sys.stdin.read().split()))
-- cases/plus.in --
1 2
-- cases/plus.out --
3
-- cases/minus.in --
5 -2
-- cases/minus.out --
3
-- cases/args.args --
4
4
-- cases/args.out --
8
`

// openExec opens a bench of all cases; the box is removed with the test.
func (l lab) openExec(t testing.TB, s *execSuite, trusted, code model.Tree) (Bench, []model.Problem) {
	t.Helper()
	problems := discoverAny(t, s, trusted)
	target := l.target(trusted, code, problems)
	target.Limit = s.cfg.Timeout
	b, err := s.Open(t.Context(), target)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.WithoutCancel(t.Context()))) })
	return b, problems
}

func (l lab) runExec(t testing.TB, s *execSuite, trusted, code model.Tree, isolate bool) (model.Run, map[string]model.Outcome) {
	t.Helper()
	b, problems := l.openExec(t, s, trusted, code)
	run, err := b.Run(t.Context(), problems, isolate)
	require.NoError(t, err)
	require.Len(t, run.Results, len(problems))
	require.Positive(t, run.Sandbox)
	return run, outcomes(t, run.Results)
}

func TestExecRunsPythonPrograms(t *testing.T) {
	t.Parallel()
	l, in := pyBoxes(t), tree(sums)
	for name, command := range map[string][]string{
		"standard input": {"python3", "sum.py"},
		"a module":       {"python3", "-m", "sum"},
	} {
		t.Run(name, func(t *testing.T) {
			s := execSuiteOf(t, Config{Cases: "cases", Command: command})
			for _, isolate := range []bool{false, true} {
				run, got := l.runExec(t, s, in, in, isolate)
				require.Equal(t, map[string]model.Outcome{"cli/args": model.Pass, "cli/minus": model.Fail, "cli/plus": model.Pass}, got, "%+v", run)
				require.Equal(t, `line 1: want "3", got "7"`, run.ByProblem()["cli/minus"].Message)
			}
		})
	}
	s := execSuiteOf(t, Config{Cases: "cases", Command: []string{"python3", "-c", "import sys; print(sum(map(int, open(sys.argv[1]).read().split() + sys.argv[2:])))", InputPlaceholder}})
	_, got := l.runExec(t, s, in, in, false)
	require.Equal(t, map[string]model.Outcome{"cli/args": model.Pass, "cli/minus": model.Pass, "cli/plus": model.Pass}, got)
}

// How a case ends is told apart, and costs only itself.
func TestExecOutcomes(t *testing.T) {
	t.Parallel()
	l := pyBoxes(t)
	in := tree(`
-- p.py --
import os, sys, time
exec(sys.stdin.read())
-- c.jsonl --
{"id":"a","input":"print(1)","expected":"1"}
{"id":"hangs","input":"time.sleep(600)","expected":""}
{"id":"killed","input":"os.kill(os.getpid(), 9)","expected":""}
{"id":"kills all","input":"os.kill(-1, 9)","expected":""}
{"id":"raises","input":"print(1)\n1 / 0","expected":"1"}
{"id":"exits","input":"sys.exit(4)","expected":"","exit":4}
{"id":"floods","input":"while True: print('x' * 65536)","expected":""}
{"id":"leaves","input":"if os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\nprint(1)","expected":"1"}
{"id":"z","input":"print(os.environ['HOME'] != os.environ['TMPDIR'], os.listdir(os.environ['HOME']))","expected":"True ['.keep']"}
`)
	s := execSuiteOf(t, Config{Cases: "c.jsonl", Command: []string{"python3", "p.py"}, Timeout: brief})
	run, got := l.runExec(t, s, in, in, false)
	require.Equal(t, map[string]model.Outcome{
		"cli/a": model.Pass, "cli/hangs": model.Timeout, "cli/killed": model.Crashed, "cli/kills all": model.Crashed, "cli/raises": model.Fail,
		"cli/exits": model.Pass, "cli/floods": model.Timeout, "cli/leaves": model.Pass, "cli/z": model.Pass,
	}, got, "%+v", run)
	require.Contains(t, run.ByProblem()["cli/raises"].Message, "ZeroDivisionError")
	require.True(t, run.Truncated)
}

func TestExecOutOfMemory(t *testing.T) {
	t.Parallel()
	l := pyBoxes(t)
	in := tree(`
-- c.jsonl --
{"id":"eats","args":["x = []\nwhile True: x.append(bytes(1 << 20) + b'x')"],"expected":""}
{"id":"more","args":["print(1)"],"expected":"1"}
`)
	s := execSuiteOf(t, Config{Cases: "c.jsonl", Command: []string{"python3", "-c"}})
	target := l.target(in, in, discoverAny(t, s, in))
	b, err := s.Open(t.Context(), target)
	require.NoError(t, err)
	run, err := b.Run(t.Context(), target.Problems, false)
	require.NoError(t, err)
	require.NoError(t, b.Close(t.Context()))
	require.Equal(t, map[string]model.Outcome{"cli/eats": model.OutOfMemory, "cli/more": model.Pass}, outcomes(t, run.Results), "%+v", run)
}

const goProgram = `
-- go.mod --
module example.com/app

go 1.26
-- main.go --
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	s := bufio.NewScanner(os.Stdin)
	for s.Scan() {
		fmt.Println(shout(s.Text()))
	}
}
-- shout.go --
package main

func shout(s string) string {
	if s == "" {
		return "nothing"
	}
	return s + "!"
}
-- cases/one.in --
a
-- cases/one.out --
a!
-- cases/none.in --

-- cases/none.out --
nothing!
`

func goProgramSuite(t testing.TB) *execSuite {
	return execSuiteOf(t, Config{Cases: "cases", Command: []string{"./app"}, Prepare: [][]string{{"go", "build", "-o", "app", "."}}})
}

func TestExecPreparesPrograms(t *testing.T) {
	t.Parallel()
	l, in, s := boxes(t), tree(goProgram), goProgramSuite(t)
	b, problems := l.openExec(t, s, in, in)
	for range 2 {
		run, err := b.Run(t.Context(), problems, false)
		require.NoError(t, err)
		require.Equal(t, map[string]model.Outcome{"cli/none": model.Fail, "cli/one": model.Pass}, outcomes(t, run.Results), "%+v", run)
	}
	require.NoError(t, b.Close(t.Context()))
	require.NoError(t, b.Close(t.Context()))
	_, err := b.Run(t.Context(), problems, false)
	require.ErrorIs(t, err, sandbox.ErrDead)

	run, got := l.runExec(t, s, in, in.With(edit("shout.go", "package main\n\nfunc shout(s string) string { return 1 }\n")), false)
	require.Equal(t, map[string]model.Outcome{"cli/none": model.BuildFailed, "cli/one": model.BuildFailed}, got)
	require.Contains(t, run.BuildLog, "./shout.go:3")
	require.Contains(t, run.Results[0].Message, "exit status 1")
}

func TestExecCoversPython(t *testing.T) {
	t.Parallel()
	l, in := pyBoxes(t), tree(sums)
	for _, command := range [][]string{{"python3", "sum.py"}, {"python3", "-X", "dev", "-m", "sum"}} {
		s := execSuiteOf(t, Config{Cases: "cases", Command: command})
		problems := discoverAny(t, s, in)
		cov, err := s.Cover(t.Context(), l.target(in, in, problems), problems)
		require.NoError(t, err)
		require.Len(t, cov.Results, 3)
		require.Equal(t, []int{7}, linesOnlyOf(cov, "sum.py", "cli/minus"))
	}
}

func TestExecCoversGo(t *testing.T) {
	t.Parallel()
	l, in, s := boxes(t), tree(goProgram), goProgramSuite(t)
	problems := discoverAny(t, s, in)
	cov, err := s.Cover(t.Context(), l.target(in, in, problems), problems)
	require.NoError(t, err)
	require.Len(t, cov.Results, 2)
	require.Equal(t, []int{4}, linesOnlyOf(cov, "shout.go", "cli/none"))
	require.Equal(t, []int{7}, linesOnlyOf(cov, "shout.go", "cli/one"))
}

// linesOnlyOf lists the first lines of the blocks of a file that one problem alone ran.
func linesOnlyOf(cov model.Coverage, file, id string) []int {
	others := map[int]bool{}
	for other, hits := range cov.Hits {
		for _, h := range hits {
			others[h] = others[h] || other != id
		}
	}
	var out []int
	for _, h := range cov.Hits[id] {
		if b := cov.Blocks[h]; b.File == file && !others[h] {
			out = append(out, b.StartLine)
		}
	}
	return out
}

func TestCoveredCommands(t *testing.T) {
	for line, want := range map[string]string{
		"python3 a.py -m x":        "python3 -m coverage run --rcfile=/dev/null --data-file=D --source=S a.py -m x",
		"python3.11 -u -W e -m a":  "python3.11 -u -W e -m coverage run --rcfile=/dev/null --data-file=D --source=S -m a",
		"/usr/bin/python -OO a.py": "/usr/bin/python -OO -m coverage run --rcfile=/dev/null --data-file=D --source=S a.py",
		"python3 -c 1":             "", "python3 -": "", "python3": "", "python3 -X dev": "", "pythonic a.py": "", "./app": "",
	} {
		got, ok := pythonCovered(strings.Fields(line), "D", "S")
		require.Equal(t, want != "", ok, line)
		require.Equal(t, want, strings.Join(got, " "))
	}
}

// A candidate is screened in stages, in a box of its own or in one that others had.
func TestExecScreen(t *testing.T) {
	t.Parallel()
	l, in := boxes(t), tree(goProgram)
	s := goProgramSuite(t)
	target := l.target(in, in, discoverAny(t, s, in))
	shout := func(body string) []model.Edit { return []model.Edit{edit("shout.go", "package main\n\n"+body)} }
	candidates := []model.Candidate{
		{Key: "broken", Targets: []string{"cli/none"}, Edits: shout("func shout(s string) string { return 1 }\n")},
		{Key: "worse", Targets: []string{"cli/none"}, Edits: shout("func shout(s string) string { return s }\n")},
		{Key: "good", Targets: []string{"cli/none"}, Edits: shout("func shout(s string) string {\n\tif s == \"\" {\n\t\ts = \"nothing\"\n\t}\n\treturn s + \"!\"\n}\n")},
		{Key: "trade", Targets: []string{"cli/none"}, Edits: shout("func shout(s string) string { return \"nothing!\" }\n")},
		{Key: "moved", Edits: append(shout("const x = 1\n"), edit("other.go", "package main\n\nfunc shout(s string) string { return s + \"!\" }\n"))},
	}
	judge := func(_ string, _ model.Candidate, results []model.Result) model.Judgement {
		for _, r := range results {
			if r.Outcome != model.Pass {
				return model.Judgement{Reason: r.Problem}
			}
		}
		return model.Judgement{Pass: true}
	}
	for _, shared := range []bool{false, true} {
		got := map[string]Screened{}
		require.NoError(t, s.Screen(t.Context(), target, Screening{Candidates: candidates, Judge: judge, Shared: shared}, func(x Screened) error {
			got[x.Key] = x
			return nil
		}))
		require.Len(t, got, len(candidates))
		require.Equal(t, StageBuild, got["broken"].Stage)
		require.Contains(t, got["broken"].Judged.Reason, "does not build: ./shout.go:3")
		require.Equal(t, StageTargets, got["worse"].Stage)
		require.Equal(t, []any{StageSearch, true, 1.0}, []any{got["good"].Stage, got["good"].Passed, got["good"].Score}, "%+v", got["good"])
		require.Equal(t, []any{StageSearch, false, 0.5}, []any{got["trade"].Stage, got["trade"].Passed, got["trade"].Score})
		require.Equal(t, []any{StageSearch, false, 0.5}, []any{got["moved"].Stage, got["moved"].Passed, got["moved"].Score}, "%+v", got["moved"])
	}
}
