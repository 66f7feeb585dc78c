package benchmarks

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// pyHonest has a defect, and tests of two packages.
const pyHonest = `
-- calc/__init__.py --
from calc.core import add
-- calc/core.py --
def add(a, b):
    return a - b
-- other/__init__.py --
LIMIT = 3
-- tests/test_calc.py --
import os

import pytest

from calc import add


def test_add():
    assert add(1, 2) == 3


@pytest.mark.parametrize("n", [0, 1])
def test_right(n):
    assert add(n, 0) == n


def test_left():
    assert not os.path.exists("left.txt")
    assert not os.path.exists("/tmp/left.txt")
-- tests/test_other.py --
from other import LIMIT


def test_limit():
    assert LIMIT == 3
`

// mutant replaces the body of add.
func mutant(key, body string) model.Candidate {
	return model.Candidate{
		Key: key, Targets: []string{"unit/tests/test_calc.py::test_add"},
		Edits: []model.Edit{edit("calc/core.py", "def add(a, b):\n    "+strings.ReplaceAll(body, "\n", "\n    ")+"\n")},
	}
}

var pyMutants = []model.Candidate{
	mutant("no better", "return a * b"),
	mutant("fixes", "return a + b"),
	mutant("as long, no better", "return a / b"),
	mutant("as long, fixes", "return b + a"),
	mutant("syntax", "return a +* b"),
	mutant("no name", "return c"),
	mutant("hangs", "while True: pass"),
	mutant("exits", "import sys; sys.exit(0)"),
	mutant("leaves", "import os; os._exit(0)"),
	mutant("dies", "import os; os.kill(os.getpid(), 9)"),
	mutant("eats memory", "x = []\nwhile True: x.append(bytearray(1 << 22))"),
	mutant("forks", "import os\nfor _ in range(20):\n    if os.fork() == 0:\n        os.setsid()\n        import time; time.sleep(100)\nreturn 0"),
	mutant("daemon", "import subprocess; subprocess.Popen(['setsid', 'sleep', '100']); return 0"),
	mutant("leaves files", "open('left.txt', 'w'); open('/tmp/left.txt', 'w'); import os; os.makedirs('/box/more/files'); return a + b"),
	mutant("deletes", "import shutil; shutil.rmtree('tests', ignore_errors=True); shutil.rmtree('/box/src/other'); return 0"),
	mutant("rewrites tests", "open('tests/test_calc.py', 'w').write('def test_add(): pass'); return 0"),
	mutant("after all that", "return a + b + 0"),
	mutant("breaks another", "return a + b if b else 9"),
	{Key: "in the package", Targets: []string{"unit/tests/test_calc.py::test_add"}, Edits: []model.Edit{
		edit("calc/__init__.py", "def add(a, b): return a + b\n"),
	}},
	{Key: "breaks the import of others", Targets: []string{"unit/tests/test_calc.py::test_add"}, Edits: []model.Edit{
		edit("calc/core.py", "def add(a, b):\n    return a + b\n"), edit("other/__init__.py", "LIMIT = 3 +\n"),
	}},
	{Key: "in a new file", Targets: []string{"unit/tests/test_calc.py::test_add"}, Edits: []model.Edit{
		edit("calc/core.py", "from calc.new import add\n"), edit("calc/new.py", "def add(a, b):\n    return a + b\n"),
	}},
}

// screenPy screens mutants and indexes what came out.
func screenPy(t testing.TB, l lab, s *pySuite, target Target, shared bool, mutants []model.Candidate) map[string]Screened {
	t.Helper()
	got := map[string]Screened{}
	var order []string
	require.NoError(t, s.Screen(t.Context(), target, Screening{Candidates: mutants, Judge: passTargets, Shared: shared}, func(x Screened) error {
		got[x.Key] = x
		order = append(order, x.Key)
		return nil
	}))
	for i, m := range mutants {
		require.Equal(t, m.Key, order[i])
	}
	return got
}

// passTargets judges a stage of targets well when all pass, and the last one when
// all results do.
func passTargets(stage string, _ model.Candidate, results []model.Result) model.Judgement {
	for _, r := range results {
		if r.Outcome != model.Pass {
			return model.Judgement{Reason: stage + ": " + r.Problem + " " + string(r.Outcome)}
		}
	}
	return model.Judgement{Pass: true}
}

func TestPyScreen(t *testing.T) {
	t.Parallel()
	l, s, in := pyBoxes(t).hanging(), pytestSuite(t, Config{}), tree(pyHonest)
	target := l.target(in, in, l.discoverPy(t, s, in))
	shared := screenPy(t, l, s, target, true, pyMutants)
	want := map[string]string{
		"fixes": StageSearch, "as long, fixes": StageSearch, "after all that": StageSearch, "breaks another": StageSearch,
		"in the package": StageSearch, "breaks the import of others": StageSearch, "in a new file": StageSearch,
		"leaves files": StageSearch, "syntax": StageBuild,
	}
	outcome := map[string]model.Outcome{
		"syntax": model.BuildFailed, "hangs": model.Timeout, "leaves": model.Missing, "dies": model.Crashed,
	}
	for _, m := range pyMutants {
		x := shared[m.Key]
		stage := want[m.Key]
		if stage == "" {
			stage = StageTargets
		}
		require.Equal(t, stage, x.Stage, "%+v", x)
		passed := stage == StageSearch && !strings.HasPrefix(m.Key, "breaks") && m.Key != "leaves files"
		require.Equal(t, passed, x.Passed, "%+v", x)
		require.Empty(t, x.Tampered, "%+v: nobody looks, where nothing is evidence", x)
		require.Equal(t, passed, x.Judged.Reason == "", "%+v", x)
		require.Positive(t, x.Sandbox)
		if o := outcome[m.Key]; o != "" {
			require.Equal(t, o, x.Results[0].Outcome, "%+v", x)
		}
	}
	require.Contains(t, shared["syntax"].Judged.Reason, "does not build: E   SyntaxError: invalid syntax")
	require.Len(t, shared["fixes"].Results, 4, "no edit of calc reaches test_other")
	require.Len(t, shared["breaks the import of others"].Results, 5)
}

// Whatever came before in a shared box, a candidate has the results that it has
// in a box of its own, but that nobody looks for tampering.
func TestPyScreenSharedIsAsAlone(t *testing.T) {
	t.Parallel()
	l, s, in := pyBoxes(t), pytestSuite(t, Config{}), tree(pyHonest)
	target := l.target(in, in, l.discoverPy(t, s, in))
	mutants := slices.DeleteFunc(slices.Clone(pyMutants), func(m model.Candidate) bool {
		return slices.Contains([]string{"hangs", "eats memory", "no better", "as long, no better", "no name", "exits"}, m.Key) // only slow
	})
	alone := screenPy(t, l, s, target, false, mutants)
	slices.Reverse(mutants)
	shared := screenPy(t, l, s, target, true, mutants)
	for _, m := range mutants {
		one, other := alone[m.Key], shared[m.Key]
		require.Equal(t, one.Stage, other.Stage, "%+v\n%+v", one, other)
		require.Equal(t, one.Passed, other.Passed, "%+v\n%+v", one, other)
		require.Empty(t, other.Tampered)
		outcomesAlone := outcomes(t, one.Results)
		for id, o := range outcomes(t, other.Results) {
			require.Equal(t, outcomesAlone[id], o, "%s: %s", m.Key, id)
		}
	}
}

func TestPyScreenStops(t *testing.T) {
	t.Parallel()
	l, s, in := pyBoxes(t), pytestSuite(t, Config{}), tree(pyHonest)
	target := l.target(in, in, pyProblems(s, "tests/test_calc.py::test_add"))
	two := Screening{Candidates: pyMutants[:2], Judge: passTargets, Shared: true}

	stop := errors.New("enough")
	n := 0
	err := s.Screen(t.Context(), target, two, func(Screened) error { n++; return stop })
	require.ErrorIs(t, err, stop)
	require.Equal(t, 1, n)

	ctx, cancel := context.WithCancel(t.Context())
	err = s.Screen(ctx, target, two, func(Screened) error { cancel(); return nil })
	require.ErrorIs(t, err, context.Canceled)
}
