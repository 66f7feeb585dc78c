package benchmarks

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// honestPy is a project in which four tests fail for a mistake in add, and one for
// a file that a candidate may not change.
const honestPy = `
-- calc/__init__.py --
from .ops import add, div
-- calc/ops.py --
def add(a, b):
    return a - b


def div(a, b):
    return 0
-- pyproject.toml --
[tool.pytest.ini_options]
testpaths = ["tests"]
-- tests/__init__.py --
-- tests/conftest.py --
import pytest


@pytest.fixture
def three():
    return 3
-- tests/golden.txt --
wrong
-- tests/test_calc.py --
import unittest
from pathlib import Path

import pytest

from calc import add, div


def test_add(three):
    assert add(1, 2) == three


def test_list():
    result = [add(1, 2)]
    assert result == [3]


def test_div():
    with pytest.raises(ZeroDivisionError):
        div(1, 0)


class TestUnit(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)


def test_zero():
    assert add(0, 0) == 0


def test_golden():
    assert Path(__file__).with_name("golden.txt").read_text() == "right\n"
`

var honestPyNodes = []string{
	"tests/test_calc.py::TestUnit::test_add", "tests/test_calc.py::test_add", "tests/test_calc.py::test_div",
	"tests/test_calc.py::test_golden", "tests/test_calc.py::test_list", "tests/test_calc.py::test_zero",
}

// oneBox hands out one box again and again, so that many small runs share it.
type oneBox struct{ sandbox.Box }

func (b oneBox) Open(context.Context, sandbox.Spec) (sandbox.Box, error) { return b, nil }
func (b oneBox) Close(context.Context) error                             { return nil }

// shared is a lab with one box for all that a test does.
func (l lab) shared(t testing.TB) lab {
	t.Helper()
	box, err := l.boxes.Open(t.Context(), l.spec)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Close(context.WithoutCancel(t.Context()))) })
	return lab{boxes: oneBox{box}, spec: l.spec, limit: l.limit}
}

func TestPyHonestChanges(t *testing.T) {
	t.Parallel()
	l, s, trusted := pyBoxes(t).shared(t), pytestSuite(t, Config{}), tree(honestPy)
	problems := pyProblems(s, honestPyNodes...)
	for name, ops := range honestOps {
		t.Run(name, func(t *testing.T) {
			run := l.runPy(t, s, trusted, trusted.With(edit("calc/ops.py", ops)), problems)
			require.Empty(t, run.Tampered)
			got := outcomes(t, run.Results)
			require.Equal(t, model.Fail, got["unit/tests/test_calc.py::test_golden"])
			delete(got, "unit/tests/test_calc.py::test_golden")
			for id, o := range got {
				require.Equal(t, model.Pass, o, "%s: %s", id, run.ByProblem()[id].Message)
			}
		})
	}
}

// honestOps are good versions of calc/ops.py, each with something that a cheat could do too.
var honestOps = map[string]string{
	"plain": "def add(a, b):\n    return a + b\n\n\ndef div(a, b):\n    return a / b\n",
	"a class with a proper __eq__": `
class Number:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == getattr(other, "n", other)

    def __hash__(self):
        return hash(self.n)


def add(a, b):
    return Number(a + b)


def div(a, b):
    return a / b
`,
	"a data class, a named tuple and an enumeration": `
import collections
import dataclasses
import enum
import functools
import logging
import typing


@dataclasses.dataclass(order=True, frozen=True)
class Point:
    x: int


Pair = collections.namedtuple("Pair", "a b")


class Kind(enum.Enum):
    ONE = 1


class Typed(typing.NamedTuple):
    a: int


@functools.lru_cache
def add(a, b):
    logging.getLogger(__name__).warning("adding %s", Pair(a, b))
    assert Point(1) == Point(1) and Point(1) < Point(2)
    return eval("a + b", {}, {"a": a, "b": b})


def div(a, b):
    return a / b
`,
	"threads, subclasses, exceptions and hooks of its own": `
import atexit
import threading
import time
import warnings


class Odd(int):
    pass


def add(a, b):
    out = []
    t = threading.Thread(target=lambda: out.append(Odd(a + b)))
    t.start()
    t.join()
    atexit.register(time.sleep, 0)
    warnings.warn("slow", stacklevel=2)
    return out[0]


def div(a, b):
    try:
        return a / b
    except ZeroDivisionError as e:
        raise ZeroDivisionError(str(e)) from e
`,
}

func TestPyCheats(t *testing.T) {
	t.Parallel()
	l, s, trusted := pyBoxes(t).shared(t), pytestSuite(t, Config{}), tree(honestPy)
	problems := pyProblems(s, honestPyNodes...)
	for name, c := range pyCheats {
		t.Run(name, func(t *testing.T) {
			code := trusted
			for path, text := range c.edits {
				code = code.With(edit(path, text))
			}
			run := l.runPy(t, s, trusted, code, problems)
			got := outcomes(t, run.Results)
			for _, n := range []string{"test_add", "test_list", "test_golden", "TestUnit::test_add", "test_div"} {
				require.NotEqual(t, model.Pass, got["unit/tests/test_calc.py::"+n], "%s: %+v", n, run)
			}
			if c.tampered == "" {
				require.Empty(t, run.Tampered)
			} else {
				require.Contains(t, run.Tampered, c.tampered)
				require.NotEqual(t, model.Pass, got["unit/tests/test_calc.py::test_zero"], "nothing counts")
			}
		})
	}
}

// pyCheat changes files; tampered is part of what the run says, empty when it
// says nothing and the cheat is worthless.
type pyCheat struct {
	edits    map[string]string
	tampered string
}

// inOps is a cheat at the end of the wrong calc/ops.py.
func inOps(text, tampered string) pyCheat {
	return pyCheat{map[string]string{"calc/ops.py": wrongOps + text}, tampered}
}

const wrongOps = "def add(a, b):\n    return a - b\n\n\ndef div(a, b):\n    return 0\n\n\n"

// evilHook makes every report of pytest say that all is well.
const evilHook = `
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    out = yield
    r = out.get_result()
    r.outcome, r.longrepr = "passed", None
`
