package benchmarks

import (
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
`

func TestPyOutcomes(t *testing.T) {
	l, s, trusted := pyBoxes(t), pytestSuite(t, Config{}), tree(outcomesPy)
	problems := l.discoverPy(t, s, trusted)
	want := map[string]model.Outcome{
		"unit/test_root.py::test_root":                       model.Pass,
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
