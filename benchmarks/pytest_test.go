package benchmarks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func TestPyArgs(t *testing.T) {
	for _, c := range []struct {
		args             []string
		selects, options []string
		err              string
	}{
		{args: []string{"tests/unit", "-m", "not slow", "-k=a or b", "-kc"}, selects: []string{"tests/unit", "-m", "not slow", "-k=a or b", "-kc"}},
		{args: []string{"-q", "--verbose", "--run-slow", "--level=high", "-W", "error"}, options: []string{"--run-slow", "--level=high", "-W", "error"}},
		{args: []string{"--ignore=x", "--deselect", "t.py::a[b/../c]"}, selects: []string{"--ignore=x", "--deselect", "t.py::a[b/../c]"}},
		{args: []string{"t.py::a[x/../y]"}, selects: []string{"t.py::a[x/../y]"}},
		{args: []string{"-p", "evil"}, err: "option -p of pytest cannot be used"},
		{args: []string{"-pevil"}, err: "option -p of pytest cannot be used"},
		{args: []string{"-x"}, err: "option -x"},
		{args: []string{"--maxf=1"}, err: "option --maxf of"},
		{args: []string{"-n4"}, err: "option -n"},
		{args: []string{"-o", "addopts="}, err: "option -o"},
		{args: []string{"--junitxml=out.xml"}, err: "option --junitxml"},
		{args: []string{"--lf"}, err: "option --lf"},
		{args: []string{"-m"}, err: "option -m of pytest needs a value"},
		{args: []string{"/etc"}, err: "leaves the suite's root"},
		{args: []string{"a/../../b"}, err: "leaves the suite's root"},
		{args: []string{"--"}, err: "not understood"},
		{args: []string{"@file"}, err: "not understood"},
	} {
		got, err := parsePyArgs(c.args)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, "%q", c.args)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, pyArgs{c.selects, c.options}, got)
	}
	_, err := New(Config{Name: "x", Kind: KindPyTest, Args: []string{"-x"}})
	require.ErrorIs(t, err, ErrConfig)
	_, err = New(Config{Name: "x", Kind: KindPyTest, Harness: []string{"[a"}})
	require.ErrorIs(t, err, ErrConfig)
}

func TestPyHarness(t *testing.T) {
	s := pytestSuite(t, Config{Harness: []string{"checks/**", "spec_*.py"}})
	for p, want := range map[string]bool{
		"conftest.py": true, "a/b/conftest.py": true, "test_a.py": true, "a/x_test.py": true, "a/tests/data.json": true, "test/helper.py": true,
		"pytest.ini": true, "setup.cfg": true, "a/pyproject.toml": true, "tox.ini": true, ".coveragerc": true, "sitecustomize.py": true,
		"usercustomize.py": true, "x.pth": true, "a.egg-info/PKG-INFO": true, "a-1.dist-info/RECORD": true, "setup.py": true,
		"checks/deep/x.txt": true, "spec_a.py": true,
		"a.py": false, "src/a/testable.py": false, "latest.py": false, "contest/a.py": false, "a/spec_a.py": false, "README.md": false, "src/a/json.py": false,
	} {
		require.Equal(t, want, s.Harness(p), p)
	}
}

func TestPyMerge(t *testing.T) {
	s := pytestSuite(t, Config{})
	trusted := tree("-- a.py --\nold\n-- tests/test_a.py --\ntrusted\n-- vendored/fast.so --\nx\n-- conftest.py/x_test.py --\nfile\n")
	code := tree("-- a.py --\nnew\n-- tests/test_a.py --\ncheat\n-- tests/test_b.py --\ncheat\n-- b.so --\nx\n-- __pycache__/a.pyc --\nx\n-- vendored/fast.so --\nother\n-- conftest.py --\ncheat\n")
	got := map[string]string{}
	for _, f := range s.merge(code, trusted).Files {
		got[f.Path] = string(f.Data)
	}
	require.Equal(t, map[string]string{"a.py": "new\n", "tests/test_a.py": "trusted\n", "vendored/fast.so": "x\n", "conftest.py/x_test.py": "file\n"}, got)
}

func TestPyDiscoverWithoutBoxes(t *testing.T) {
	s := pytestSuite(t, Config{Root: "sub"})
	_, err := s.Discover(t.Context(), Target{Trusted: tree("-- a.py --\n-- test_a.py --\n")})
	require.ErrorIs(t, err, ErrNoProblems)
	_, err = s.Discover(t.Context(), Target{Trusted: tree("-- sub/test_a.py --\n")})
	require.ErrorIs(t, err, ErrNeedsBox)
}

func TestPyNodes(t *testing.T) {
	for _, c := range []struct{ root, node, id, folder, name string }{
		{".", "test_a.py::test_x", "unit/test_a.py::test_x", ".", "test_a.py::test_x"},
		{".", "a/b/test_a.py::T::test_x[p/../q]", "unit/a/b/test_a.py::T::test_x[p/../q]", "a/b", "test_a.py::T::test_x[p/../q]"},
		{"s/api", "test_a.py::test_x", "unit/s/api/test_a.py::test_x", "s/api", "test_a.py::test_x"},
		{"s/api", "t/test_a.py", "unit/s/api/t/test_a.py", "s/api/t", "test_a.py"},
	} {
		s := pytestSuite(t, Config{Root: c.root})
		p := s.problem(c.node, c.node)
		require.Equal(t, model.Problem{ID: c.id, Suite: "unit", Package: c.folder, Name: c.name, Split: model.SplitSearch, Group: c.id}, p)
		require.Equal(t, c.node, s.node(p))
	}
}

const hidePyTree = `
-- conftest.py --
FIXTURE = 1
-- test_only.py --
"""All of it."""
import a


def test_x():
    pass
-- tests/base.py --
from test_used import helper
-- test_used.py --
def test_y():
    pass
-- test_a.py --
import a
import pytest


# What the next one is about.
@pytest.mark.parametrize("n", [
    1,
    2,
])
def test_params(n):
    assert n


@pytest.fixture
def three():
    return 3


class TestEmpty:
    # the only one
    def test_x(self):
        assert True


class TestNamed:
    def test_x(self):
        assert True


class TestTwo(TestNamed):
    LIMIT = 1

    def test_x(self):
        assert True

    async def test_z(self): pass


def test_called():
    return 3


def test_keep():
    assert test_called() == 3


if True:
    def test_inner():
        pass
`

func TestPyHide(t *testing.T) {
	s, trusted := pytestSuite(t, Config{}), tree(hidePyTree)
	problems := pyProblems(s, "test_only.py::test_x", "test_used.py::test_y", "test_a.py::test_params[1]", "test_a.py::test_params[2]",
		"test_a.py::TestEmpty::test_x", "test_a.py::TestNamed::test_x", "test_a.py::TestTwo::test_z", "test_a.py::test_called", "test_a.py::test_inner",
		"test_a.py::TestTwo::test_inherited")
	hidden, err := s.Hide(trusted, problems)
	require.NoError(t, err)
	_, found := hidden.Find("test_only.py")
	require.False(t, found)
	used, found := hidden.Find("test_used.py")
	require.True(t, found, "another file imports it")
	require.Empty(t, string(used.Data))
	a, _ := hidden.Find("test_a.py")
	require.Equal(t, `import a
import pytest


@pytest.fixture
def three():
    return 3


class TestNamed:
    pass


class TestTwo(TestNamed):
    LIMIT = 1

    def test_x(self):
        assert True


def test_called(*_, **__):
    pass


def test_keep():
    assert test_called() == 3


if True:
    pass
`, string(a.Data))
	same, err := s.Hide(trusted, nil)
	require.NoError(t, err)
	require.Equal(t, trusted, same)
	broken, err := s.Hide(tree("-- test_b.py --\ndef (\n-- x.py --\n"), pyProblems(s, "test_b.py"))
	require.NoError(t, err)
	require.Len(t, broken.Files, 1)
}

const affectedPyTree = `
-- src/pkg/__init__.py --
from . import low
-- src/pkg/low.py --
-- src/pkg/high.py --
from .low import x
from .. import other
-- src/pkg/lonely.py --
-- src/pkg/patched.py --
-- src/other.py --
-- src/loader.py --
import importlib
-- tests/conftest.py --
import fixtures
-- tests/fixtures.py --
-- tests/test_low.py --
import pkg.low
-- tests/test_high.py --
from pkg import high
-- tests/test_patch.py --
from unittest import mock
mock.patch("pkg.patched.name")
-- tests/test_vague.py --
import loader
-- test_none.py --
-- README.md --
`

func TestPyAffected(t *testing.T) {
	s, in := pytestSuite(t, Config{}), tree(affectedPyTree)
	all := []string{"test_none.py::t", "tests/test_high.py::t", "tests/test_low.py::t", "tests/test_patch.py::t", "tests/test_vague.py::t"}
	problems := pyProblems(s, all...)
	for _, c := range []struct {
		path string
		want []string
	}{
		{"src/pkg/low.py", []string{all[1], all[2], all[3], all[4]}},
		{"src/pkg/high.py", []string{all[1], all[4]}},
		{"src/pkg/lonely.py", []string{all[4]}},
		{"src/pkg/patched.py", []string{all[3], all[4]}},
		{"src/other.py", []string{all[1], all[4]}},
		{"README.md", all},
		{"tests/fixtures.py", all},
		{"src/new.py", all},
	} {
		var got []string
		for _, p := range s.Affected(in, []string{c.path}, problems) {
			got = append(got, s.node(p))
		}
		require.Equal(t, c.want, got, c.path)
	}
}
