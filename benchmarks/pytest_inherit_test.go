package benchmarks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

const inheritedTree = `
-- calc.py --
def add(a, b):
    return a + b
-- tests/base.py --
from calc import add


class Shared:
    one = 1

    def test_from_elsewhere(self):
        assert add(self.one, 1) == 2
-- tests/test_calc.py --
import functools

import pytest

from base import Shared
from calc import add


def twice(test):
    @functools.wraps(test)
    def wrapper(*args, **kwargs):
        test(*args, **kwargs)
        test(*args, **kwargs)

    return wrapper


class TestInts:
    zero = 0

    @twice
    def test_nothing(self):
        assert add(self.zero, self.zero) == self.zero

    @pytest.mark.parametrize("n", [1, 2])
    def test_more(self, n):
        assert add(self.zero, n) == n


class TestFloats(TestInts):
    zero = 0.0


class TestShared(Shared):
    one = 1.0


def test_plain():
    assert add(1, 2) == 3
`

// TestPyInheritedTests: problems whose source is one function are one group, held
// out together, and what is left of the tests runs without them.
func TestPyInheritedTests(t *testing.T) {
	t.Parallel()
	l, s, in := pyBoxes(t), pytestSuite(t, Config{}), tree(inheritedTree)
	problems := l.discoverPy(t, s, in)
	groups := map[string][]string{}
	for _, p := range problems {
		groups[p.Group] = append(groups[p.Group], p.Name)
	}
	require.Equal(t, map[string][]string{
		"unit/tests/base.py::Shared::test_from_elsewhere": {"test_calc.py::TestShared::test_from_elsewhere"},
		"unit/tests/test_calc.py::TestInts::test_nothing": {"test_calc.py::TestFloats::test_nothing", "test_calc.py::TestInts::test_nothing"},
		"unit/tests/test_calc.py::TestInts::test_more": {
			"test_calc.py::TestFloats::test_more[1]", "test_calc.py::TestFloats::test_more[2]",
			"test_calc.py::TestInts::test_more[1]", "test_calc.py::TestInts::test_more[2]",
		},
		"unit/tests/test_calc.py::test_plain": {"test_calc.py::test_plain"},
	}, groups)
	for group := range groups {
		var held, rest []model.Problem
		for _, p := range problems {
			if p.Group == group {
				held = append(held, p)
			} else {
				rest = append(rest, p)
			}
		}
		hidden, err := s.Hide(in, held)
		require.NoError(t, err)
		name := group[strings.LastIndex(group, ":")+1:]
		for _, f := range hidden.Files {
			require.NotContains(t, string(f.Data), "def "+name+"(", group)
		}
		run := l.runPy(t, s, hidden, in, rest)
		require.Equal(t, 1.0, run.Score(), "%s: %+v", group, run.Results)
	}
}
