package benchmarks

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

const pyCovered = `
-- lib/pkg/__init__.py --
"""A package."""
-- lib/pkg/limits.py --
MOST = 50
LEAST = -50
-- lib/pkg/deep.py --
"""Steps."""
import time

TABLE = {
    1: 2,
}


def step(n, by=1):
    while n > 40:
        pass
    if n < 0: return -1
    return (n +
            by)


def never():
    return 0
-- lib/pkg/ends.py --
import os
import threading

from pkg import limits


def leave():
    os._exit(3)


def die():
    os.abort()


def within(n):
    return limits.LEAST < n < limits.MOST


def threaded():
    t = threading.Thread(target=inside)
    t.start()
    t.join()


def inside():
    pass
-- lib/tests/test_pkg.py --
import pytest

from pkg import deep, ends


@pytest.mark.parametrize("n", [-1, 1])
def test_step(n):
    assert deep.step(n) == n


def test_fails():
    assert ends.within(7) is None


def test_hangs():
    deep.step(41)


def test_leaves():
    ends.leave()


def test_dies():
    ends.die()


def test_threads():
    ends.threaded()


def test_skips():
    pytest.skip("no")


def test_late():
    import pkg.late
-- lib/pkg/late.py --
X = 1
-- lib/tests/test_broken.py --
import nowhere


def test_never():
    pass
-- lib/pytest.ini --
[pytest]
`

func TestPyCover(t *testing.T) {
	t.Parallel()
	l, s, in := pyBoxes(t).hanging(), pytestSuite(t, Config{Root: "lib"}), tree(pyCovered)
	problems := l.discoverPy(t, s, in)
	got, err := s.Cover(t.Context(), l.target(in, in, problems), problems)
	require.NoError(t, err)

	const (
		most, least, late         = "limits.py:1-1.10", "limits.py:2-2.12", "late.py:1-1.6"
		table, def, while         = "deep.py:4-6.2", "deep.py:9-9.18", "deep.py:10-10.17"
		pass, negative, sum       = "deep.py:11-11.13", "deep.py:12-12.24", "deep.py:13-14.16"
		leave, die, within        = "ends.py:8-8.16", "ends.py:12-12.15", "ends.py:16-16.42"
		thread, start, join, into = "ends.py:20-20.40", "ends.py:21-21.14", "ends.py:22-22.13", "ends.py:26-26.9"
	)
	constants := []string{most, least}
	named := func(blocks ...string) []string { return append(slices.Clone(blocks), constants...) }
	want := map[string][]string{
		"test_step[-1]": named(table, def, while, negative), "test_step[1]": named(table, def, while, negative, sum),
		"test_fails": named(within), "test_hangs": named(table, def, while, pass), "test_leaves": named(leave),
		"test_threads": named(thread, start, join, into), "test_skips": constants, "test_late": append([]string{late}, constants...),
	}
	hits := pyHits(t, got)
	for name, blocks := range want {
		require.ElementsMatch(t, blocks, hits["unit/lib/tests/test_pkg.py::"+name], name)
		delete(hits, "unit/lib/tests/test_pkg.py::"+name)
	}
	require.Empty(t, hits)
	require.Equal(t, map[string]model.Outcome{
		"unit/lib/tests/test_pkg.py::test_step[-1]": model.Pass, "unit/lib/tests/test_pkg.py::test_step[1]": model.Fail,
		"unit/lib/tests/test_pkg.py::test_fails": model.Fail, "unit/lib/tests/test_pkg.py::test_hangs": model.Timeout,
		"unit/lib/tests/test_pkg.py::test_leaves": model.Missing, "unit/lib/tests/test_pkg.py::test_dies": model.Crashed,
		"unit/lib/tests/test_pkg.py::test_threads": model.Pass, "unit/lib/tests/test_pkg.py::test_skips": model.Skip,
		"unit/lib/tests/test_pkg.py::test_late": model.Pass, "unit/lib/tests/test_broken.py": model.BuildFailed,
	}, outcomes(t, got.Results))
	require.Positive(t, got.Sandbox)
}

// pyHits writes blocks of lib/pkg out, as in the test's constants.
func pyHits(t *testing.T, c model.Coverage) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for id, indexes := range c.Hits {
		for i, n := range indexes {
			require.True(t, i == 0 || indexes[i-1] < n, "ascending")
			b := c.Blocks[n]
			require.Equal(t, 1, b.StartCol)
			out[id] = append(out[id], fmt.Sprintf("%s:%d-%d.%d", b.File[len("lib/pkg/"):], b.StartLine, b.EndLine, b.EndCol))
		}
	}
	return out
}
