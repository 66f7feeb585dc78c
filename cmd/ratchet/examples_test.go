package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/examples"
)

// TestExamples runs the example campaign of each kind of suite as README.md of the
// examples says, and campaigns on Python repositories that must change nothing.
func TestExamples(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	c.dev()
	for name, test := range map[string]func(*cli){
		"pytest": testPytestExample, "junit": testJUnitExample, "exec": testExecExample, "metric": testMetricExample,
		"sound": testSoundPython, "flaky": testFlakyPython, "subfolder": testSubfolders,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(c.in(t))
		})
	}
}

// example lays out a target, bare, and the campaign file for it; it returns both
// the file's and the campaign's name.
func (c *cli) example(name string) (file, campaign string) {
	c.t.Helper()
	for _, e := range examples.All() {
		if e.Name != name {
			continue
		}
		tree, err := examples.Target(e.Target)
		require.NoError(c.t, err)
		files := map[string]string{}
		for _, f := range tree.Files {
			files[f.Path] = string(f.Data)
		}
		text, err := examples.Campaign(name)
		require.NoError(c.t, err)
		repo := "./" + name + ".git"
		c.repository(repo, "main", files)
		c.write(name+".yaml", strings.Replace(string(text), "repo: ./"+e.Target, "repo: "+repo, 1))
		return name + ".yaml", e.Target + "-" + name
	}
	require.FailNow(c.t, "there is no example "+name)
	return "", ""
}

// better runs an example and checks that it kept at least so many changes, that
// the score rose, and that every kept change mended something.
func (c *cli) better(name string, kept int) {
	c.t.Helper()
	file, campaign := c.example(name)
	c.ok("validate", file)
	out := c.ok("run", file)
	r := c.report(campaign)
	require.GreaterOrEqual(c.t, r.Kept, kept, out)
	require.Greater(c.t, r.Final.Score, r.Baseline.Score)
	for _, g := range r.Generations {
		if g.Outcome == "kept" {
			require.NotEmpty(c.t, g.Fixed, g.Hypothesis)
		}
	}
}

func testPytestExample(c *cli) { c.better("pytest", 3) }
func testJUnitExample(c *cli)  { c.better("junit", 1) }
func testExecExample(c *cli)   { c.better("exec", 2) }

func testMetricExample(c *cli) {
	c.better("metric", 1)
	r := c.report("textkit-metric")
	require.Contains(c.t, r.Generations[0].Fixed, "cache/misses")
}

const soundPython = `def clamp(x, lo, hi):
    return max(lo, min(x, hi))
`

// testSoundPython: where all tests pass nothing is changed.
func testSoundPython(c *cli) {
	base := c.repository("soundpy.git", "main", map[string]string{
		"clamp.py":      soundPython,
		"test_clamp.py": "import pytest\nfrom clamp import clamp\n\n\n@pytest.mark.parametrize('x, want', [(-1, 0), (3, 3), (12, 9)])\ndef test_clamp(x, want):\n    assert clamp(x, 0, 9) == want\n",
	})
	out := c.ok("run", c.campaign("soundpy", "./soundpy.git", "suites: [{kind: pytest, heldout: {share: 0}}]"))
	require.Contains(c.t, out, "baseline: 3 of 3 problems pass")
	require.Contains(c.t, out, "nothing was changed")
	r := c.report("soundpy")
	require.Empty(c.t, r.Generations)
	c.untouched(r, c.dir+"/soundpy.git", base)
}

// testFlakyPython: where the only problem is a flaky test nothing is kept. Noise may
// pass for a gain with the chance alpha, in a whole campaign; here that is so small
// that the test does not fail by it.
func testFlakyPython(c *cli) {
	base := c.repository("flakypy.git", "main", map[string]string{
		"clamp.py":      soundPython,
		"test_clamp.py": "import random\nfrom clamp import clamp\n\n\ndef test_clamp():\n    assert clamp(12, 0, 9) == 9\n\n\ndef test_now_and_then():\n    assert clamp(random.random(), 0, 9) < 0.5\n",
	})
	c.ok("run", c.campaign("flakypy", "./flakypy.git", "suites: [{kind: pytest, heldout: {share: 0}}]",
		"search: {generations: 2, candidates: 8, parallel: 1}", "gate: {alpha: 0.00001}"))
	r := c.report("flakypy")
	require.Zero(c.t, r.Kept)
	c.sourceUntouched(c.dir+"/flakypy.git", base)
	best := c.tree(r.Repo, c.ref(r.Repo, "refs/ratchet/flakypy/best"))
	require.Equal(c.t, c.tree(r.Repo, base), best)
}

// testSubfolders: a Go module and a Python project in folders of one repository
// are two suites of one campaign.
func testSubfolders(c *cli) {
	files := map[string]string{
		"README.md":                 "two services\n",
		"services/py/clamp.py":      strings.Replace(soundPython, "max(lo", "max(hi", 1),
		"services/py/test_clamp.py": "from clamp import clamp\n\n\ndef test_within():\n    assert clamp(3, 0, 9) == 3\n\n\ndef test_above():\n    assert clamp(12, 0, 9) == 9\n\n\ndef test_below():\n    assert clamp(-1, 0, 9) == 0\n",
	}
	for name, text := range clampModule() {
		files["services/go/"+name] = text
	}
	c.repository("mono.git", "main", files)
	for _, s := range []struct{ name, suites, image string }{
		{"mono-go", "suites: [{name: go, root: services/go, timeout: 20s, heldout: {share: 0}}]", "host-go"},
		{"mono-py", "suites: [{name: py, kind: pytest, root: services/py, heldout: {share: 0}}]", "host-python"},
	} {
		out := c.ok("run", c.campaign(s.name, "./mono.git", s.suites, small))
		r := c.report(s.name)
		require.Positive(c.t, r.Kept, out)
		require.Equal(c.t, 1.0, r.Final.Score, out)
	}
}
