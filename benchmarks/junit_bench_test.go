package benchmarks

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// counting is a project with a mistake in one function.
const counting = `
-- count.py --
def add(a, b):
    return a - b

def twice(a):
    return 2 * a
-- tests/test_count.py --
import pytest
from count import add, twice

def test_add():
    assert add(1, 2) == 3

@pytest.mark.parametrize("n", [0, 3])
def test_twice(n):
    assert twice(n) == n + n

class TestMore:
    def test_zero(self):
        assert add(0, 0) == 0

@pytest.mark.skip
def test_later():
    pass
-- tests/test_names.py --
import pytest, random
from count import twice

@pytest.mark.parametrize("n", [random.random()])
def test_unstable(n):
    assert twice(n) == n + n

def test_one():
    assert twice(1) == 2
`

var countingIDs = []string{
	"unit/tests/test_count/TestMore/test_zero", "unit/tests/test_count/test_add", "unit/tests/test_count/test_later",
	"unit/tests/test_count/test_twice[0]", "unit/tests/test_count/test_twice[3]", "unit/tests/test_names/test_one",
}

const fixedCount = "def add(a, b):\n    return a + b\n\ndef twice(a):\n    return 2 * a\n"

func (l lab) discoverJUnit(t testing.TB, s *junitSuite, in model.Tree) []model.Problem {
	t.Helper()
	problems, err := s.Discover(t.Context(), l.target(in, in, nil))
	require.NoError(t, err)
	return problems
}

func (l lab) runJUnit(t testing.TB, s *junitSuite, trusted, code model.Tree, problems []model.Problem) (model.Run, map[string]model.Outcome) {
	t.Helper()
	b, err := s.Open(t.Context(), l.target(trusted, code, problems))
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.WithoutCancel(t.Context()))) }()
	run, err := b.Run(t.Context(), problems, false)
	require.NoError(t, err)
	require.Len(t, run.Results, len(problems))
	again, err := b.Run(t.Context(), problems, true)
	require.NoError(t, err)
	got := outcomes(t, run.Results)
	require.Equal(t, got, outcomes(t, again.Results), "each run begins afresh")
	require.Equal(t, run.Tampered == "", again.Tampered == "")
	return run, got
}

func TestJUnitRunsPytest(t *testing.T) {
	t.Parallel()
	l, s, in := pyBoxes(t), junitSuiteOf(t, Config{}), tree(counting)
	problems := l.discoverJUnit(t, s, in)
	require.Equal(t, countingIDs, ids(problems), "unstable names are left out")
	require.Equal(t, "tests/test_count/TestMore", problems[0].Package)

	run, got := l.runJUnit(t, s, in, in, problems)
	want := map[string]model.Outcome{}
	for _, id := range countingIDs {
		want[id] = model.Pass
	}
	want[countingIDs[1]], want[countingIDs[2]] = model.Fail, model.Skip
	require.Equal(t, want, got, "%+v", run)
	require.Empty(t, run.Tampered)
	require.Contains(t, run.ByProblem()[countingIDs[1]].Message, "assert -1 == 3")

	run, got = l.runJUnit(t, s, in, in.With(edit("count.py", fixedCount)), problems)
	want[countingIDs[1]] = model.Pass
	require.Equal(t, want, got, "%+v", run)
	require.Empty(t, run.Tampered)

	run, got = l.runJUnit(t, s, in, in.With(edit("count.py", "raise ImportError('gone')\n")), problems)
	for id, outcome := range got {
		require.Equal(t, model.Missing, outcome, id)
	}
	require.Empty(t, run.Tampered, "an honest crash is no forgery")

	m, err := s.measure(t.Context(), l.target(in, in, problems))
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"tests/test_count.py": true, "tests/test_names.py": true}, m.canaries)
	require.True(t, m.exits && m.stated)
	require.NotNil(t, m.tally)
}

// unittest prints no report; a trusted script of the project's does.
const scripted = `
-- app.py --
def inc(n):
    return n + 1
-- report.py --
import os, sys, unittest
from xml.sax.saxutils import quoteattr

class Result(unittest.TextTestResult):
    def startTest(self, test):
        super().startTest(test)
        self.seen = getattr(self, "seen", []) + [test]

result = unittest.TextTestRunner(resultclass=Result).run(unittest.defaultTestLoader.discover("checks", pattern="test_*.py"))
bad = {t: text for t, text in result.failures + result.errors}
os.makedirs("out", exist_ok=True)
with open("out/report.xml", "w") as f:
    f.write("<testsuite>")
    for t in result.seen:
        cls, name = t.id().rsplit(".", 1)
        f.write("<testcase classname=%s name=%s>" % (quoteattr(cls), quoteattr(name)))
        if t in bad:
            f.write("<failure message=%s/>" % quoteattr(bad[t]))
        f.write("</testcase>")
    f.write("</testsuite>")
sys.exit(not result.wasSuccessful())
-- checks/test_app.py --
import unittest, app

class TestInc(unittest.TestCase):
    def test_one(self):
        self.assertEqual(app.inc(1), 2)

if __name__ == "__main__":
    unittest.main()
`

func scriptedSuite(t testing.TB) *junitSuite {
	return junitSuiteOf(t, Config{Command: []string{"python3", "report.py"}, Prepare: [][]string{{"python3", "-c", "open('built', 'w').write('x')"}}})
}

func TestJUnitRunsScripts(t *testing.T) {
	t.Parallel()
	l, s, in := pyBoxes(t), scriptedSuite(t), tree(scripted)
	problems := l.discoverJUnit(t, s, in)
	require.Equal(t, []string{"unit/test_app/TestInc/test_one"}, ids(problems))
	run, got := l.runJUnit(t, s, in, in, problems)
	require.Equal(t, map[string]model.Outcome{problems[0].ID: model.Pass}, got, "%+v", run)
	run, got = l.runJUnit(t, s, in, in.With(edit("app.py", "def inc(n):\n    return n\n"), edit("report.py", "forged")), problems)
	require.Equal(t, map[string]model.Outcome{problems[0].ID: model.Fail}, got, "%+v", run)
	require.Contains(t, run.Results[0].Message, "AssertionError: 1 != 2")
}

func TestJUnitThatCannotBeRead(t *testing.T) {
	t.Parallel()
	l, in := pyBoxes(t), tree(counting)
	program := func(text string) []string { return []string{"python3", "-c", text} }
	for name, c := range map[string]struct {
		command []string
		prepare [][]string
		want    string
	}{
		"no report":      {program("print('busy')"), nil, "no such file"},
		"no file":        {program("import os; os.makedirs('out/report.xml')"), nil, "no such file"},
		"a symlink":      {program("import os; os.mkdir('out'); os.symlink('/etc/passwd', 'out/report.xml')"), nil, "regular file"},
		"a pipe":         {program("import os; os.mkdir('out'); os.mkfifo('out/report.xml')"), nil, "regular file"},
		"no XML":         {program("import os; os.mkdir('out'); open('out/report.xml', 'w').write('<a')"), nil, "out/report.xml: line 1"},
		"huge":           {program("import os; os.mkdir('out'); open('out/report.xml', 'w').truncate(40 << 20)"), nil, "larger than"},
		"too long":       {program("import time; time.sleep(600)"), nil, "timeout"},
		"not prepared":   {program("1"), [][]string{{"python3", "-c", "raise SystemExit('broken')"}}, "broken"},
		"written before": {program("1"), [][]string{{"python3", "-c", "import os; os.mkdir('out'); open('out/report.xml', 'w').write('<testsuite/>')"}}, "was there before"},
	} {
		t.Run(name, func(t *testing.T) {
			s := junitSuiteOf(t, Config{Command: c.command, Prepare: c.prepare})
			l := l
			if c.want == "timeout" {
				l = l.hanging()
			}
			_, err := s.Discover(t.Context(), l.target(in, in, nil))
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorContains(t, err, c.want)
		})
	}
	s := junitSuiteOf(t, Config{Command: program("import os; os.mkdir('out'); open('out/report.xml', 'w').write('<testsuite/>')")})
	_, err := s.Discover(t.Context(), l.target(in, in, nil))
	require.ErrorIs(t, err, ErrNoProblems)
}

func TestJUnitReadsSeveralReports(t *testing.T) {
	t.Parallel()
	l := pyBoxes(t)
	in := tree(`
-- run.py --
import os
for n in ("a", "deep/b"):
    path = "out/TEST-" + n + ".xml" if "/" not in n else "out/deep/TEST-b.xml"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write('<testsuite name="%s"><testcase name="x"/><testcase name="x"/></testsuite>' % n)
open("out/other.xml", "w").write("no report")
`)
	s := junitSuiteOf(t, Config{Command: []string{"python3", "run.py"}, Report: "out/**/TEST-*.xml"})
	problems := l.discoverJUnit(t, s, in)
	require.Equal(t, []string{"unit/a/x", "unit/deep/b/x"}, ids(problems))
	_, got := l.runJUnit(t, s, in, in, problems)
	require.Equal(t, map[string]model.Outcome{"unit/a/x": model.Pass, "unit/deep/b/x": model.Pass}, got)
}

func TestJUnitOutcomes(t *testing.T) {
	t.Parallel()
	l, s, in := pyBoxes(t), junitSuiteOf(t, Config{}), tree(counting)
	problems := l.discoverJUnit(t, s, in)
	for name, c := range map[string]struct {
		code string
		want model.Outcome
	}{
		"hangs":     {"import time\ntime.sleep(600)\n", model.Timeout},
		"is killed": {"import os\nos.kill(os.getpid(), 9)\n", model.Crashed},
		"kills all": {"import os\nos.kill(-1, 9)\n", model.Crashed},
	} {
		t.Run(name, func(t *testing.T) {
			target := l.target(in, in.With(edit("count.py", c.code)), problems)
			_, err := s.measure(t.Context(), target)
			require.NoError(t, err)
			target.Limit = brief
			b, err := s.Open(t.Context(), target)
			require.NoError(t, err)
			run, err := b.Run(t.Context(), problems, false)
			require.NoError(t, err)
			require.NoError(t, b.Close(t.Context()))
			for id, outcome := range outcomes(t, run.Results) {
				require.Equal(t, c.want, outcome, id)
			}
			_, err = b.Run(t.Context(), problems, false)
			require.ErrorIs(t, err, sandbox.ErrDead)
		})
	}
}

func TestJUnitScreen(t *testing.T) {
	t.Parallel()
	l, s, in := pyBoxes(t), junitSuiteOf(t, Config{}), tree(counting)
	problems := l.discoverJUnit(t, s, in)
	problems = append(problems[:2:2], problems[3:]...) // but for the skipped one
	target := l.target(in, in, problems)
	candidates := []model.Candidate{
		{Key: "same", Targets: countingIDs[1:2], Edits: []model.Edit{edit("count.py", "def add(a, b):\n    return b - a\n\ndef twice(a):\n    return 2 * a\n")}},
		{Key: "good", Targets: countingIDs[1:2], Edits: []model.Edit{edit("count.py", fixedCount)}},
		{Key: "trade", Targets: countingIDs[1:2], Edits: []model.Edit{edit("count.py", "def add(a, b):\n    return a + b\n\ndef twice(a):\n    return 0\n")}},
	}
	judge := func(_ string, _ model.Candidate, results []model.Result) model.Judgement {
		for _, r := range results {
			if r.Outcome != model.Pass {
				return model.Judgement{Reason: r.Problem}
			}
		}
		return model.Judgement{Pass: true}
	}
	got := map[string]Screened{}
	require.NoError(t, s.Screen(t.Context(), target, Screening{Candidates: candidates, Judge: judge, Shared: true}, func(x Screened) error {
		got[x.Key] = x
		return nil
	}))
	require.Equal(t, StageTargets, got["same"].Stage)
	require.Len(t, got["same"].Results, 1)
	require.Equal(t, []any{StageSearch, true, 1.0}, []any{got["good"].Stage, got["good"].Passed, got["good"].Score}, "%+v", got["good"])
	require.Equal(t, []any{StageSearch, false}, []any{got["trade"].Stage, got["trade"].Passed})
}
