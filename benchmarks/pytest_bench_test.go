package benchmarks

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// outcomesPy has a test for each way in which one can end.
const outcomesPy = `
-- calc/__init__.py --
def add(a, b):
    return a - b
-- tests/test_calc.py --
import os
import sys
import time
import unittest

import pytest

from calc import add


def test_add():
    print("what it printed")
    assert add(1, 2) == 3


@pytest.mark.parametrize("n", [1, 2])
def test_zero(n):
    assert add(n, n) == 0 or n == 2


@pytest.mark.parametrize("o", [object(), object()], ids=repr)
def test_unstable(o):
    assert o


class TestUnit(unittest.TestCase):
    def test_good(self):
        self.assertEqual(add(1, 1), 0)

    def test_bad(self):
        self.assertEqual(add(1, 1), 2)

    @unittest.skip("not now")
    def test_skipped(self):
        pass

    @unittest.expectedFailure
    def test_unexpected(self):
        pass


@pytest.fixture
def broken():
    yield
    raise LookupError("in the teardown")


def test_teardown(broken):
    pass


def test_hang():
    time.sleep(100)


def test_exit():
    os._exit(0)


def test_sys_exit():
    sys.exit(0)


def test_interrupt():
    raise KeyboardInterrupt


def test_abort():
    os.abort()


@pytest.mark.xfail
def test_expected():
    assert False


@pytest.mark.xfail
def test_surprise():
    pass


@pytest.mark.xfail(strict=True)
def test_strict():
    pass


@pytest.mark.skip(reason="why not")
def test_skip():
    pass
-- tests/test_broken.py --
import nowhere


def test_never():
    pass
-- test_root.py --
def test_root():
    pass
-- test_second.py --

import os


def test_second_line():
    assert os.sep == "/"
`

func TestPyOutcomes(t *testing.T) {
	t.Parallel()
	l, s, trusted := pyBoxes(t).hanging(), pytestSuite(t, Config{}), tree(outcomesPy)
	problems := l.discoverPy(t, s, trusted)
	want := map[string]model.Outcome{
		"unit/test_root.py::test_root":                       model.Pass,
		"unit/test_second.py::test_second_line":              model.Pass,
		"unit/tests/test_broken.py":                          model.BuildFailed,
		"unit/tests/test_calc.py::TestUnit::test_bad":        model.Fail,
		"unit/tests/test_calc.py::TestUnit::test_good":       model.Pass,
		"unit/tests/test_calc.py::TestUnit::test_skipped":    model.Skip,
		"unit/tests/test_calc.py::TestUnit::test_unexpected": model.Fail,
		"unit/tests/test_calc.py::test_abort":                model.Crashed,
		"unit/tests/test_calc.py::test_add":                  model.Fail,
		"unit/tests/test_calc.py::test_exit":                 model.Missing,
		"unit/tests/test_calc.py::test_expected":             model.Skip,
		"unit/tests/test_calc.py::test_hang":                 model.Timeout,
		"unit/tests/test_calc.py::test_interrupt":            model.Fail,
		"unit/tests/test_calc.py::test_skip":                 model.Skip,
		"unit/tests/test_calc.py::test_strict":               model.Fail,
		"unit/tests/test_calc.py::test_surprise":             model.Pass,
		"unit/tests/test_calc.py::test_sys_exit":             model.Fail,
		"unit/tests/test_calc.py::test_teardown":             model.Fail,
		"unit/tests/test_calc.py::test_unstable":             model.Pass,
		"unit/tests/test_calc.py::test_zero[1]":              model.Pass,
		"unit/tests/test_calc.py::test_zero[2]":              model.Pass,
	}
	require.ElementsMatch(t, sortedKeys(want), ids(problems))
	run := l.runPy(t, s, trusted, trusted, problems)
	require.Empty(t, run.Tampered)
	require.Equal(t, want, outcomes(t, run.Results))
	message := run.ByProblem()["unit/tests/test_calc.py::test_add"].Message
	require.Contains(t, message, "what it printed")
	require.Contains(t, message, "assert -1 == 3")
}

// monorepoPy has a Python project with sources of its own in a folder.
const monorepoPy = `
-- json.py --
raise RuntimeError("the root of the repository is not on the path")
-- conftest.py --
raise RuntimeError("above the settings of the project")
-- services/api/pyproject.toml --
[tool.pytest.ini_options]
pythonpath = ["src"]
testpaths = ["checks"]
python_files = ["check_*.py", "test_*.py"]
python_functions = ["check_*"]
addopts = "-x --lf -q --strict-markers"
markers = ["slow: takes long"]
-- services/api/src/api/__init__.py --
from .core import name
-- services/api/src/api/core.py --
import os


def name():
    return "api"
-- services/api/helper.py --
ROOT = "is on the path"
-- services/api/checks/tests/conftest.py --
import pytest


def pytest_addoption(parser):
    parser.addoption("--level", default="none")


@pytest.fixture
def level(request):
    return request.config.getoption("--level")
-- services/api/checks/tests/test_api.py --
from pathlib import Path

import pytest

import api
import helper


def check_name():
    assert api.name() == "api"


def check_level(level):
    assert level == "high"


@pytest.mark.slow
def check_slow():
    assert False


@pytest.mark.parametrize("text", ["a::b", "x/../y", "[z]", "ü"])
def check_texts(text):
    assert text


def check_nothing_left():
    assert not Path("left").exists()
    Path("left").touch()
    Path(api.__file__).write_text("")
`

func TestPyRootArgsAndLeftovers(t *testing.T) {
	t.Parallel()
	l, trusted := pyBoxes(t), tree(monorepoPy)
	s := pytestSuite(t, Config{Root: "services/api", Args: []string{"checks", "-m", "not slow", "--level=high"}})
	problems := l.discoverPy(t, s, trusted)
	require.Len(t, problems, 7)
	require.Equal(t, "unit/services/api/checks/tests/test_api.py::check_level", problems[0].ID)
	require.Equal(t, "services/api/checks/tests", problems[0].Package)
	require.Equal(t, "test_api.py::check_level", problems[0].Name)
	require.Equal(t, "unit/services/api/checks/tests/test_api.py::check_texts", problems[5].Group)
	b := l.openPy(t, s, trusted, trusted, problems)
	for _, isolate := range []bool{false, true} {
		run, err := b.Run(t.Context(), problems, isolate)
		require.NoError(t, err)
		require.Empty(t, run.Tampered)
		for id, o := range outcomes(t, run.Results) {
			require.Equal(t, model.Pass, o, "%s: %s", id, run.ByProblem()[id].Message)
		}
	}
	require.NoError(t, b.Close(t.Context()))
	_, err := b.Run(t.Context(), problems, false)
	require.Error(t, err)
}

// ends has tests that a change makes end in unusual ways.
const endsPy = `
-- a.py --
def run():
    pass
-- test_a.py --
import a


def test_one():
    a.run()


def test_two():
    pass
-- sub/conftest.py --
import b
-- sub/test_c.py --
def test_c():
    pass
-- sub/test_d.py --
def test_d():
    pass
-- b.py --
`

func TestPyEarlyEnds(t *testing.T) {
	t.Parallel()
	l, s, trusted := pyBoxes(t), pytestSuite(t, Config{}), tree(endsPy)
	problems := pyProblems(s, "test_a.py::test_one", "test_a.py::test_two", "sub/test_c.py::test_c", "sub/test_d.py::test_d", "sub/test_d.py::test_gone")
	good := map[string]model.Outcome{
		"unit/test_a.py::test_one": model.Pass, "unit/test_a.py::test_two": model.Pass,
		"unit/sub/test_c.py::test_c": model.Pass, "unit/sub/test_d.py::test_d": model.Pass, "unit/sub/test_d.py::test_gone": model.Missing,
	}
	type wants map[string]model.Outcome
	for name, c := range map[string]struct {
		file, text string
		want       wants
	}{
		"nothing":           {"a.py", "def run(): pass", nil},
		"memory":            {"a.py", "def run(): b'x' * (1 << 31)", wants{"unit/test_a.py::test_one": model.OutOfMemory}},
		"hanging at import": {"a.py", "import time; time.sleep(1000)", wants{"unit/test_a.py::test_one": model.Timeout, "unit/test_a.py::test_two": model.Timeout}},
		"ignoring signals": {"a.py", "import os, signal\ndef run():\n  if os.fork() == 0: os.setsid()\n  while True:\n    pass",
			wants{"unit/test_a.py::test_one": model.Timeout}},
		"syntax": {"a.py", "def", wants{"unit/test_a.py::test_one": model.BuildFailed, "unit/test_a.py::test_two": model.BuildFailed}},
		"conftest": {"b.py", "raise RuntimeError", wants{
			"unit/sub/test_c.py::test_c": model.BuildFailed, "unit/sub/test_d.py::test_d": model.BuildFailed, "unit/sub/test_d.py::test_gone": model.BuildFailed,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := l
			if slices.Contains(slices.Collect(maps.Values(c.want)), model.Timeout) {
				t.Parallel() // it only waits
				l = l.hanging()
			}
			want := map[string]model.Outcome{}
			for id, o := range good {
				want[id] = o
				if changed, ok := c.want[id]; ok {
					want[id] = changed
				}
			}
			run := l.runPy(t, s, trusted, trusted.With(edit(c.file, c.text)), problems)
			require.Empty(t, run.Tampered)
			require.Equal(t, want, outcomes(t, run.Results), "%+v", run)
		})
	}
}
