package main

import (
	"encoding/json"
	"strings"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/report"
)

// testAllPassing: there is nothing to improve, and nothing is changed.
func testAllPassing(c *cli) {
	base := c.repository("sound.git", "main", soundModule())
	file := c.campaign("sound", "./sound.git")
	out := c.ok("run", file)
	for _, text := range []string{"baseline: 5 of 5 problems pass", "every problem passes", "nothing was changed", "no generation was run", "nothing was kept"} {
		require.Contains(c.t, out, text)
	}
	r := c.report("sound")
	require.Equal(c.t, "score", r.Stopped)
	require.Empty(c.t, r.Generations)
	require.Equal(c.t, base, c.ref(r.Repo, "refs/heads/ratchet/sound"), "the branch is its base")
	c.untouched(r, c.dir+"/sound.git", base)
}

// testAllFailing: a campaign on a program in which nothing works runs.
func testAllFailing(c *cli) {
	base := c.repository("broken.git", "main", module(map[string]string{
		"clamp.go":      strings.Replace(clampCode, "\tif x < lo", "\tpanic(\"not written yet\")\n\tif x < lo", 1),
		"clamp_test.go": clampTest,
	}))
	file := c.campaign("broken", "./broken.git", "search: {generations: 1, candidates: 2, parallel: 1}")
	require.Contains(c.t, c.ok("run", file), "baseline: 0 of 5 problems pass, score 0.0%")
	r := c.report("broken")
	require.Equal(c.t, []any{0, 5}, []any{r.Baseline.Passed, r.Baseline.Problems})
	require.Len(c.t, r.Generations, 1)
	require.Equal(c.t, "generations", r.Stopped)
	c.sourceUntouched(c.dir+"/broken.git", base)
}

// testHang: a test that never ends fails, and the others are not affected.
func testHang(c *cli) {
	c.repository("hangs.git", "main", module(map[string]string{
		"clamp.go":      strings.Replace(clampCode, "x < hi", "x > hi", 1) + "\n// Wait never returns.\nfunc Wait() { select {} }\n",
		"clamp_test.go": clampTest + "\nfunc TestWait(t *testing.T) { go func() { select {} }(); Wait() }\n",
	}))
	file := c.campaign("hangs", "./hangs.git", "search: {generations: 1, candidates: 2, parallel: 1}",
		"suites: [{name: unit, kind: gotest, timeout: 6s, heldout: {problems: [TestBelow]}}]")
	require.Contains(c.t, c.ok("run", file), "baseline: 5 of 6 problems pass")
	var view campaignView
	c.document(&view, "campaign", "show", "hangs")
	require.Equal(c.t, []string{"unit/TestWait"}, view.Baseline.Failing)
	require.Empty(c.t, view.Baseline.Flaky)
	require.Len(c.t, c.report("hangs").Generations, 1)
}

// testMended: what keeps a campaign from its baseline is named, and once the file
// or the repository is mended the same name can be used.
func testMended(c *cli) {
	source := c.dir + "/mended.git"
	c.repository("mended.git", "main", module(map[string]string{"clamp.go": "package clamp\n\nfunc Clamp() { undeclared() }\n", "clamp_test.go": clampTest}))

	file := c.campaign("mended", "./mended.git", "sandbox: {image: no-such-image-of-ours}")
	r := c.run("run", file)
	require.Equal(c.t, exitError, r.code, r.stdout)
	require.Contains(c.t, r.stderr, "campaign mended: ")
	require.Contains(c.t, r.stderr, "no-such-image-of-ours")
	require.Contains(c.t, r.stderr, "no such image")
	require.Contains(c.t, r.stderr, "host-go", "the hint")

	c.campaign("mended", "./mended.git")
	r = c.run("run", file, "--json")
	require.Equal(c.t, exitError, r.code, r.stdout)
	var rep report.Report
	decodeOne(c.t, r.stdout, &rep)
	require.Equal(c.t, "error", rep.Stopped)
	for _, text := range []string{"build the suites of mended", "undefined: undeclared", "must build"} {
		require.Contains(c.t, r.stderr, text)
	}

	base := c.repository("mended.git", "main", soundModule())
	c.document(&rep, "run", file)
	require.Equal(c.t, "score", rep.Stopped)
	require.Equal(c.t, base, c.ref(rep.Repo, "refs/heads/ratchet/mended"))
	c.sourceUntouched(source, base)
}

// testFailure: a published failure is stored once, however often it is published.
func testFailure(c *cli) {
	publish := func() (f model.Failure) {
		c.document(&f, "failure", "publish", "--agent", "shop/assistant", "--repo", "./agent", "--severity", "high",
			"--task", "parse the call", "--expected", "two arguments", "--actual", "one", "--context", `{"n": 1}`, "--id", "run-7")
		return f
	}
	f := publish()
	require.Equal(c.t, []string{"run-7", "shop/assistant", c.dir + "/agent", "high", "two arguments", "one"},
		[]string{f.ID, f.Agent, f.Repo, f.Severity, f.Expected, f.Actual})
	require.JSONEq(c.t, `{"n": 1}`, string(json.RawMessage(f.Context)))
	require.Equal(c.t, f.Seq, publish().Seq)
	require.Contains(c.t, c.ok("failure", "publish", "--agent", "a", "--task", "t", "--actual", "x", "--id", "other"), "failure other is stored as number")
}
