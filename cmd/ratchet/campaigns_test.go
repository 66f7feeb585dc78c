package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// testRepair runs a campaign to its end and reads all of it back.
func testRepair(c *cli) {
	source := c.dir + "/repair.git"
	base := c.repository("repair.git", "main", clampModule())
	file := c.campaign("repair", "./repair.git", small)
	out := c.ok("run", file)
	for _, text := range []string{
		"campaign repair started", "campaign repair: preparing the sandbox image", "baseline: 2 of 5 problems pass, score 40.0%, 0 flaky",
		"generation 1: ✔ kept  40.0% → 100.0%  clamp.go:9:", "stopped (score)", "log of ratchet/repair", "1 kept, 0 reverted",
	} {
		require.Contains(c.t, out, text)
	}
	require.NotContains(c.t, out, "  … ", "phases after the baseline are for terminals")

	raw := c.ok("campaign", "report", "repair", "--json")
	checkShape(c, raw)
	r := c.report("repair")
	require.Equal(c.t, []any{"repair", "ratchet/repair", "score", 1, 0, 0},
		[]any{r.Campaign, r.Branch, r.Stopped, r.Kept, r.Reverted, r.Rejected})
	require.Equal(c.t, []any{0.4, 5, 2, 1.0, 5, 1.0},
		[]any{r.Baseline.Score, r.Baseline.Problems, r.Baseline.Passed, r.Final.Score, r.Final.Passed, r.Final.HeldoutScore})
	require.Len(c.t, r.Generations, 1)
	g := r.Generations[0]
	require.Equal(c.t, []any{1, "kept", "search", ""}, []any{g.N, g.Outcome, g.Proposer, g.RevertCommit})
	require.ElementsMatch(c.t, []string{"unit/TestAbove", "unit/TestWithin", "unit/TestAtTheEnd"}, g.Fixed)
	require.Greater(c.t, g.EValue, 1/g.Level)
	require.InDelta(c.t, 0.6, g.RealisedGain, 1e-9)
	require.Greater(c.t, r.Cost.WallSeconds, r.Cost.OrchestrationSeconds)
	require.Positive(c.t, r.Cost.SandboxSeconds)

	require.Equal(c.t, g.Commit, c.ref(r.Repo, "refs/heads/ratchet/repair"))
	require.Equal(c.t, c.tree(r.Repo, g.Commit), c.tree(r.Repo, c.ref(r.Repo, "refs/ratchet/repair/best")))
	log, err := c.git(r.Repo).Log(c.t.Context(), g.Commit, 2)
	require.NoError(c.t, err)
	require.Equal(c.t, base, log[1].Hash)
	require.Equal(c.t, map[string]string{
		"Ratchet-Change": g.Change, "Ratchet-Campaign": "repair", "Ratchet-Generation": "1",
	}, log[0].Trailers)
	c.sourceUntouched(source, base)

	readBack(c, g.Change, g.Commit)
	startAgain(c, file)
}

// readBack reads one kept change by every command that shows it.
func readBack(c *cli, change, commit string) {
	var list []campaignLine
	c.document(&list, "campaign", "list")
	require.Contains(c.t, names(list), "repair")
	var view campaignView
	c.document(&view, "campaign", "show", "repair")
	require.Equal(c.t, commit, view.Best)
	require.Empty(c.t, view.Current.Failing)
	require.NotContains(c.t, c.ok("campaign", "show", "repair", "--json"), "null")

	var changes []authoredChange
	c.document(&changes, "change", "list", "--campaign", "repair")
	require.Len(c.t, changes, 1)
	require.Equal(c.t, model.ChangeKept, changes[0].State)
	require.Equal(c.t, "search", changes[0].Proposer)
	var v changeView
	c.document(&v, "change", "show", change)
	require.Contains(c.t, v.Diff, "-\tif x < hi {\n+\tif x > hi {")
	require.Equal(c.t, model.ChangeKept, v.Events[len(v.Events)-1].State)
	require.Equal(c.t, "evidence", v.Receipt.DecidedBy)

	var receipt receiptView
	c.document(&receipt, "receipt", commit[:8])
	require.Equal(c.t, *v.Receipt, receipt)
	require.Equal(c.t, "search", receipt.Proposer)
	require.Positive(c.t, receipt.Cost.SandboxSeconds)
	out := c.ok("receipt", strings.ToUpper(commit[:12]))
	for _, text := range []string{"KEEP by evidence", "proposed by search", "commit      " + commit, "claimed   unit/TestAbove: parent 0 0", "broken      none", "+\tif x > hi {"} {
		require.Contains(c.t, out, text)
	}
	c.fails(exitUsage, []string{"approve change " + change, "it is kept"}, "change", "approve", change)

	events := jsonLines(c.t, c.ok("campaign", "watch", "repair", "--json"))
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, e.Event)
	}
	require.Equal(c.t, []string{"baseline", "generation", "stopped"}, kinds)
	require.Equal(c.t, "kept", events[1].Generation.Outcome)
}

func names(list []campaignLine) (out []string) {
	for _, l := range list {
		out = append(out, l.Name)
	}
	return out
}

// startAgain: a campaign that has reached its goal is not begun again, and its
// name is not given to another file.
func startAgain(c *cli, file string) {
	c.fails(exitUsage, []string{"start campaign repair", "name is in use", "it has ended (score)", "campaign report repair"}, "run", file)
	c.fails(exitUsage, []string{"it has ended (score)"}, "campaign", "recover", "repair")
	c.campaign("repair", "./repair.git", small, "seed: 2")
	c.fails(exitUsage, []string{"start campaign repair", "name is in use", "another file", "choose another name"}, "run", file)
	require.Equal(c.t, "score", c.report("repair").Stopped, "nothing is lost")
}

// checkShape compares a report with the published form: every key, no other, and
// no null.
func checkShape(c *cli, raw string) {
	c.t.Helper()
	var r map[string]any
	require.NoError(c.t, json.Unmarshal([]byte(raw), &r))
	keys := func(v any, want string) {
		c.t.Helper()
		m, isObject := v.(map[string]any)
		require.True(c.t, isObject, "%v", v)
		var have []string
		for k, x := range m {
			have = append(have, k)
			require.NotNil(c.t, x, k)
		}
		require.ElementsMatch(c.t, strings.Fields(want), have)
	}
	keys(r, "campaign repo branch baseline final generations kept reverted rejected cost stopped")
	keys(r["baseline"], "score problems passed flaky")
	keys(r["final"], "score passed heldout_score")
	cost := "tokens money calls wall_seconds sandbox_seconds orchestration_seconds"
	if r["kept"].(float64) > 0 {
		cost += " per_kept"
		keys(r["cost"].(map[string]any)["per_kept"], "tokens money sandbox_seconds")
	}
	keys(r["cost"], cost)
	generations := r["generations"].([]any)
	require.NotEmpty(c.t, generations)
	for _, g := range generations {
		keys(g, `n outcome hypothesis expected_gain realised_gain proposer change commit revert_commit parent_score score
			fixed broken reason e_value level rounds candidates screened cost`)
		keys(g.(map[string]any)["cost"], "tokens money calls wall_seconds sandbox_seconds")
		require.IsType(c.t, []any{}, g.(map[string]any)["broken"])
	}
	require.IsType(c.t, []any{}, r["baseline"].(map[string]any)["flaky"])
	require.True(c.t, strings.HasPrefix(r["repo"].(string), "/"))
	require.DirExists(c.t, r["repo"].(string))
}

// testApproval: a proven change waits, is shown with how to decide on it, and is
// kept when a person says so.
func testApproval(c *cli) {
	source, base, change := c.waiting("asked")
	out := c.ok("change", "show", change.ID)
	for _, text := range []string{"awaiting_approval", "+\tif x > hi {", "ratchet change approve " + change.ID, "ratchet change reject " + change.ID} {
		require.Contains(c.t, out, text)
	}
	var v changeView
	c.document(&v, "change", "show", change.ID)
	require.Nil(c.t, v.Receipt)
	require.NotNil(c.t, v.Deadline)
	require.Equal(c.t, base, c.ref(c.report("asked").Repo, "refs/ratchet/asked/best"), "not kept yet")

	c.fails(exitUsage, []string{"reserved"}, "change", "approve", change.ID, "--by", "evidence")
	var done struct{ Change, Decision, By, State string }
	c.document(&done, "change", "approve", change.ID, "--by", "ada", "--why", "read it")
	require.Equal(c.t, []string{change.ID, "approve", "ada", "kept"}, []string{done.Change, done.Decision, done.By, done.State})
	c.fails(exitUsage, []string{"it is kept"}, "change", "reject", change.ID)

	c.ok("campaign", "watch", "asked")
	r := c.report("asked")
	require.Equal(c.t, []any{"score", 1}, []any{r.Stopped, r.Kept})
	require.Equal(c.t, change.Commit, c.ref(r.Repo, "refs/ratchet/asked/best"))
	c.document(&v, "change", "show", change.ID)
	require.Equal(c.t, "ada", v.Receipt.DecidedBy)
	c.sourceUntouched(source, base)
}

// testSteering pauses, resumes and stops a campaign; the change that waited then is undone.
func testSteering(c *cli) {
	source, base, change := c.waiting("steered")
	var done struct{ Campaign, Done string }
	c.document(&done, "campaign", "pause", "steered")
	require.Equal(c.t, "pause", done.Done)
	c.fails(exitUsage, []string{"campaign steered", "paused already"}, "campaign", "pause", "steered")
	require.Contains(c.t, c.ok("campaign", "resume", "steered"), "campaign steered goes on")
	c.fails(exitUsage, []string{"campaign steered", "not paused"}, "campaign", "resume", "steered")
	require.Contains(c.t, c.ok("campaign", "stop", "steered", "--why", "enough"), "campaign steered has stopped")

	var view campaignView
	c.document(&view, "campaign", "show", "steered")
	require.Equal(c.t, []string{"user", "stopped by grace: enough"}, []string{view.Stopped, view.Detail})
	var v changeView
	c.document(&v, "change", "show", change.ID)
	require.Equal(c.t, model.ChangeRolledBack, v.State)
	c.untouched(c.report("steered"), source, base)
	c.fails(exitUsage, []string{"it has ended (user)"}, "campaign", "stop", "steered")
}

// testIterate: each call is one generation, run goes on from there, and the
// campaign's own copy is enough for that.
func testIterate(c *cli) {
	c.repository("turns.git", "main", module(map[string]string{
		"clamp.go":      strings.Replace(clampCode, "\tif x < hi {\n\t\treturn hi\n\t}\n", "", 1) + "\n// Name is spelt wrong.\nfunc Name() string { return \"klamp\" }\n",
		"clamp_test.go": clampTest + "\nfunc TestName(t *testing.T) {\n\tif got := Name(); got != \"a name that no mutation finds\" {\n\t\tt.Fatal(got)\n\t}\n}\n",
	}))
	file := c.campaign("turns", "./turns.git", "search: {generations: 3, candidates: 2, parallel: 1}",
		"suites: [{name: unit, kind: gotest, timeout: 20s, heldout: {problems: [TestBelow]}}]")
	for n := 1; n <= 2; n++ {
		raw := c.ok("iterate", file, "--json")
		checkShape(c, raw)
		r := c.report("turns")
		require.Len(c.t, r.Generations, n)
		require.Equal(c.t, n, r.Generations[n-1].N)
		require.Equal(c.t, "generations", r.Stopped)
	}
	require.NoError(c.t, os.RemoveAll(c.dir+"/turns.git"))
	require.Contains(c.t, c.ok("run", file), "campaign turns goes on")
	r := c.report("turns")
	require.Len(c.t, r.Generations, 3, "run goes on to the file's own limit")
	require.Equal(c.t, "generations", r.Stopped)
	c.fails(exitUsage, []string{"it has ended (generations)"}, "run", file)
}
