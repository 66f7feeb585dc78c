package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/store"
	"ratchet/workers"
)

func TestListsOfAnEmptyDataFolder(t *testing.T) {
	c := newCLI(t)
	for _, x := range []struct {
		args []string
		text string
	}{
		{[]string{"campaign", "list"}, "no campaigns yet; start one with: ratchet run FILE"},
		{[]string{"change", "list"}, "no changes yet"},
		{[]string{"benchmark", "list"}, "no benchmarks yet; make one with: ratchet benchmark run FILE"},
		{[]string{"benchmark", "history"}, "no benchmarks yet"},
	} {
		require.Contains(t, c.ok(x.args...), x.text)
		var list []json.RawMessage
		c.document(&list, x.args...)
		require.NotNil(t, list, "an empty list, not null")
		require.Empty(t, list)
	}
}

func TestUnknownNames(t *testing.T) {
	c := newCLI(t)
	for _, args := range [][]string{
		{"campaign", "show", "nemo"}, {"campaign", "report", "nemo"}, {"campaign", "watch", "nemo"},
		{"campaign", "pause", "nemo"}, {"campaign", "resume", "nemo"}, {"campaign", "stop", "nemo"},
		{"campaign", "recover", "nemo"}, {"change", "list", "--campaign", "nemo"},
		{"change", "show", "nemo"}, {"change", "approve", "nemo"}, {"change", "reject", "nemo"},
		{"benchmark", "history", "nemo"}, {"benchmark", "compare", "nemo", "b"}, {"receipt", "abcdef12"},
	} {
		hint := "ratchet campaign list"
		switch {
		case args[0] == "change" && args[1] != "list", args[0] == "receipt":
			hint = "ratchet change list"
		case args[0] == "benchmark":
			hint = "ratchet benchmark"
		}
		id := args[len(args)-1]
		if args[1] == "compare" {
			id = "nemo"
		}
		c.fails(exitUsage, []string{"there is no", `"` + id + `"`, c.data(), hint, "--data"}, args...)
		c.fails(exitUsage, []string{"there is no"}, append(args, "--json")...)
	}
	require.NoFileExists(t, filepath.Join(c.data(), "epoch"), "no stack was started for a name that is not there")
}

func TestDataFolder(t *testing.T) {
	c := newCLI(t)
	reads := func(folder string, args ...string) {
		t.Helper()
		r := c.run(args...)
		require.Equal(t, exitOK, r.code, r.stderr)
		require.Equal(t, "there is no data in the data folder "+folder+"\n", r.stderr)
		require.NoDirExists(t, folder, "what only reads makes nothing")
	}
	reads(filepath.Join(c.dir, "state", "ratchet"), "campaign", "list")
	reads(filepath.Join(c.dir, "state", "ratchet"), "benchmark", "list", "--json")
	c.env["XDG_STATE_HOME"] = "relative/paths/are/invalid"
	reads(filepath.Join(c.dir, ".local", "state", "ratchet"), "campaign", "list")
	reads(filepath.Join(c.dir, "mine"), "campaign", "list", "--data", "mine")
	reads(filepath.Join(c.dir, "other"), "--data", filepath.Join(c.dir, "other"), "campaign", "list")
	c.fails(exitUsage, []string{"in the data folder " + c.dir + "/other, which holds no data"}, "campaign", "show", "x", "--data", "other")
	require.NoDirExists(t, filepath.Join(c.dir, "other"))
	a := app{data: filepath.Join(c.dir, "other")}
	require.NoError(t, a.makeData())
	st, err := os.Stat(a.data)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), st.Mode().Perm(), "for the owner alone")
	c.fails(exitUsage, []string{"ratchet campaign list --data '" + c.dir + "/with space'"}, "campaign", "show", "x", "--data", "with space")
}

// withStore puts rows into the data folder.
func (c *cli) withStore(put func(context.Context, *store.Store)) {
	c.t.Helper()
	require.NoError(c.t, os.MkdirAll(c.data(), 0o700))
	s, err := store.Open(c.t.Context(), store.Config{Path: workers.StorePath(c.data())})
	require.NoError(c.t, err)
	put(c.t.Context(), s)
	require.NoError(c.t, s.Close())
}

// ended stores a campaign that has ended.
func ended(t testing.TB, name string) func(context.Context, *store.Store) {
	return func(ctx context.Context, s *store.Store) {
		at := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
		score := model.Score{Score: 1, Problems: 3, Passed: 3}
		require.NoError(t, s.CreateCampaign(ctx, model.Campaign{
			Name: name, Spec: []byte(`{"name":"` + name + `","repo":"/src"}`), Source: "/src", Phase: "stopped: user", Stopped: model.StopUser, Detail: "stopped by ada",
			Baseline: &score, Current: &score, Created: at, Updated: at.Add(time.Minute),
		}))
	}
}

func TestEndedCampaign(t *testing.T) {
	c := newCLI(t)
	c.withStore(ended(t, "done"))
	for _, verb := range []string{"pause", "resume", "stop"} {
		c.fails(exitUsage, []string{verb + " campaign done", "it has ended (user)", "stopped by ada"}, "campaign", verb, "done")
	}
	require.NoFileExists(t, filepath.Join(c.data(), "epoch"), "no stack was started")

	var list []campaignLine
	c.document(&list, "campaign", "list")
	require.Len(t, list, 1)
	require.Equal(t, "user", list[0].Stopped)
	require.Contains(t, c.ok("campaign", "list"), "100.0% → 100.0%")
	require.Contains(t, c.ok("campaign", "show", "done"), "stopped by ada")
	out := c.ok("campaign", "report", "done")
	for _, text := range []string{"no generation was run", "3 of 3 problems pass", "nothing was kept", "stopped (user): stopped by ada", "wall 60 s"} {
		require.Contains(t, out, text)
	}
	require.NotContains(t, out, "branch  in")

	r := c.run("campaign", "watch", "done", "--json")
	require.Equal(t, exitOK, r.code)
	require.Empty(t, r.stderr)
	events := jsonLines(t, r.stdout)
	require.Len(t, events, 2)
	require.Equal(t, "baseline", events[0].Event)
	require.Equal(t, "stopped", events[1].Event)
	require.Equal(t, "user", events[1].Stopped)
	require.Contains(t, c.ok("campaign", "watch", "done"), "baseline: 3 of 3 problems pass")
}

// jsonLines decodes the output of watch: one document on each line.
func jsonLines(t testing.TB, text string) (events []progress) {
	t.Helper()
	for line := range linesOf(text) {
		var p progress
		decodeOne(t, line, &p)
		events = append(events, p)
	}
	return events
}

// TestWatchSaysThatNothingRuns: a campaign that nobody carries on is watched in
// vain, and Ctrl-C ends the watch.
func TestWatchSaysThatNothingRuns(t *testing.T) {
	c := newCLI(t)
	c.withStore(func(ctx context.Context, s *store.Store) {
		require.NoError(t, s.CreateCampaign(ctx, model.Campaign{Name: "idle", Spec: []byte(`{}`), Phase: "generation 3"}))
	})
	ctx, cancel := context.WithCancel(t.Context())
	s := c.surroundings(nil, nil)
	stdout := &lines{seen: func(string) { cancel() }}
	stderr := &lines{}
	s.stdout, s.stderr = stdout, stderr
	require.Equal(t, exitInterrupted, run(ctx, s, []string{"campaign", "watch", "idle", "--json"}))
	require.Contains(t, stderr.String(), "nothing runs campaign idle at present; it goes on when this runs: ratchet dev")
	events := jsonLines(t, stdout.String())
	require.Len(t, events, 1)
	require.Equal(t, "phase", events[0].Event)
	require.Equal(t, "generation 3", events[0].Phase)
}
