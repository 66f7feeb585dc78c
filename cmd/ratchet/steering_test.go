package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/internal/store"
)

// endedCampaign writes a campaign with a model that has ended, and one call of it.
func (c *cli) endedCampaign(name string, stopped model.StopReason) {
	c.t.Helper()
	spec, err := campaign.Parse([]byte("name: "+name+"\nrepo: /srv/x.git\nendpoints: [{name: local, url: http://127.0.0.1:1/v1, model: coder}]\n"+
		"proposers: [{kind: llm, name: coder}]\nbudget: {tokens: 1000}\n"), campaign.ParseOptions{})
	require.NoError(c.t, err)
	data, err := campaign.JSON(spec)
	require.NoError(c.t, err)
	now := time.Now().UTC()
	score := &model.Score{Score: 0.5, Problems: 2, Passed: 1, Failing: []string{"unit/TestA"}, Flaky: []string{}}
	row := model.Campaign{
		Name: name, Spec: data, Source: "/srv/x.git", Baseline: score, Current: score, Stopped: stopped, Detail: "because",
		Cost: model.Cost{Sandbox: time.Minute}, Created: now.Add(-time.Hour), Updated: now,
	}
	call := model.Call{ID: name, Campaign: name, Generation: 1, Proposer: "coder", Key: "k", Endpoint: "local", Model: "coder", Started: now}
	c.withStore(func(ctx context.Context, s *store.Store) {
		require.NoError(c.t, s.CreateCampaign(ctx, row))
		require.NoError(c.t, s.ReserveCall(ctx, store.Fence{}, call, model.Budget{}))
		call.Status, call.Input, call.Output, call.Money, call.Ended = model.CallAnswered, 1000, 500, 0.25, now
		require.NoError(c.t, s.SettleCall(ctx, call))
		require.NoError(c.t, s.SaveGeneration(ctx, store.Fence{}, model.Generation{
			Campaign: name, N: 1, Outcome: model.OutcomeKept, Hypothesis: "h", Fixed: []string{}, Broken: []string{},
			Cost:    model.Cost{Tokens: 1500, Money: 0.25, Calls: 1, Sandbox: time.Minute, Wall: time.Minute},
			Started: now.Add(-2 * time.Minute), Ended: now.Add(-time.Minute),
		}))
	})
}

func TestSteeringUsageErrors(t *testing.T) {
	c := newCLI(t)
	c.endedCampaign("done", model.StopUser)
	for _, x := range []struct {
		args  []string
		texts []string
	}{
		{[]string{"hint"}, []string{"NAME is missing"}},
		{[]string{"hint", "done"}, []string{"TEXT is missing"}},
		{[]string{"hint", "done", "two", "words"}, []string{`"words"`}},
		{[]string{"hint", "done", "  "}, []string{"hint campaign done: the hint is empty"}},
		{[]string{"hint", "done", "a\nb"}, []string{"one line"}},
		{[]string{"hint", "done", strings.Repeat("x", 2001)}, []string{"2001 characters, at most 2000"}},
		{[]string{"hint", "none", "x"}, []string{`no campaign "none"`, "ratchet campaign list"}},
		{[]string{"hint", "done", "x"}, []string{"it has ended (user)"}},
		{[]string{"budget"}, []string{"NAME is missing"}},
		{[]string{"budget", "none"}, []string{`no campaign "none"`}},
		{[]string{"budget", "none", "--tokens", "5"}, []string{`no campaign "none"`}},
		{[]string{"budget", "done", "--by", "ada"}, []string{"--by and --why need a limit"}},
		{[]string{"budget", "done", "--tokens", "many"}, []string{"--tokens", "whole number"}},
		{[]string{"budget", "done", "--tokens", "-1"}, []string{"--tokens", "negative"}},
		{[]string{"budget", "done", "--tokens", "1.5"}, []string{"--tokens", "whole number"}},
		{[]string{"budget", "done", "--tokens", "1e30"}, []string{"--tokens", "whole number"}},
		{[]string{"budget", "done", "--tokens", "NaN"}, []string{"--tokens", "whole number"}},
		{[]string{"budget", "done", "--cost", "-0.5"}, []string{"--cost", "negative"}},
		{[]string{"budget", "done", "--cost", "inf"}, []string{"--cost", "a number"}},
		{[]string{"budget", "done", "--wall", "5"}, []string{"--wall", "add a unit"}},
		{[]string{"budget", "done", "--sandbox", "-1h"}, []string{"--sandbox", "negative"}},
		{[]string{"budget", "done", "--tokens", "5000"}, []string{"it has ended (user)", "no budget makes it go on"}},
		{[]string{"fork"}, []string{"NAME is missing"}},
		{[]string{"fork", "done"}, []string{"--from is missing", "ratchet campaign report done"}},
		{[]string{"fork", "none", "--from", "main"}, []string{`no campaign "none"`}},
		{[]string{"fork", "done", "--from", "main", "--dev", "--detach"}, []string{"exclude each other"}},
		{[]string{"fork", "done", "--from", "main", "--ui-port", "99999"}, []string{"--ui-port is 99999"}},
		{[]string{"resume", "done"}, []string{"it has ended (user)"}},
	} {
		t.Run(strings.Join(x.args, " "), func(t *testing.T) {
			c.in(t).fails(exitUsage, x.texts, append([]string{"campaign"}, x.args...)...)
		})
	}
}

// A campaign that has ended for its budget is given more without a stack.
func TestBudgetOfACampaignThatHasEnded(t *testing.T) {
	c := newCLI(t)
	c.endedCampaign("spent", model.StopBudget)
	out := c.ok("campaign", "budget", "spent")
	for _, text := range []string{"budget of spent", "spent", "limit", "tokens", "1500", "1000", "2m", "4h"} {
		require.Contains(t, out, text)
	}
	var b budgetView
	c.document(&b, "campaign", "budget", "spent")
	require.Equal(t, amounts{WallSeconds: 28800, SandboxSeconds: 14400, Tokens: 1000}, b.Limits)
	require.Equal(t, []any{120.0, int64(1500), 0.25}, []any{b.Spent.SandboxSeconds, b.Spent.Tokens, b.Spent.Money})
	require.InDelta(t, 3600, b.Spent.WallSeconds, 1)

	c.fails(exitUsage, []string{"it has ended (budget): because"}, "campaign", "resume", "spent")
	c.fails(exitUsage, []string{"1500 are spent already"}, "campaign", "budget", "spent", "--tokens", "1200")
	c.fails(exitUsage, []string{"reserved for a proposer"}, "campaign", "budget", "spent", "--tokens", "5000", "--by", "Coder")
	c.fails(exitUsage, []string{"wall time cannot be 30m"}, "campaign", "budget", "spent", "--wall", "30m")

	out = c.ok("campaign", "budget", "spent", "--tokens", "2e6", "--wall", "0", "--cost", "2.5", "--why", "worth it")
	require.Contains(t, out, "2000000")
	require.Contains(t, out, "it has ended; go on with: ratchet campaign resume spent")
	c.document(&b, "campaign", "budget", "spent", "--sandbox", "6h")
	require.Equal(t, amounts{SandboxSeconds: 21600, Tokens: 2000000, Money: 2.5}, b.Limits)

	var v campaignView
	c.document(&v, "campaign", "show", "spent")
	require.Len(t, v.Events, 2)
	require.Equal(t, []any{model.EventBudget, "grace", "worth it", "wall 8h → no limit, tokens 1000 → 2000000, cost no limit → 2.5"},
		[]any{v.Events[0].Kind, v.Events[0].By, v.Events[0].Why, v.Events[0].Text})
	require.Equal(t, b.Limits, v.Budget.Limits)
	require.Empty(t, v.Forks)
	out = c.ok("campaign", "show", "spent")
	require.Contains(t, out, "budget by grace: sandbox 4h → 6h")
	require.Contains(t, out, "tokens   1500   2000000")
}

func TestReportTellsWhatModelsCost(t *testing.T) {
	c := newCLI(t)
	c.endedCampaign("priced", model.StopBudget)
	out := c.ok("campaign", "report", "priced")
	for _, text := range []string{
		"models: 1 call, 1500 tokens, cost 0.25", "a kept change: 1500 tokens, cost 0.25, sandboxes 120 s",
		"generation 1: 1 call, 1500 tokens, cost 0.25",
	} {
		require.Contains(t, out, text)
	}
}

// testHint: what a person says of a running campaign is in its audit trail; a
// fork of it goes its own way.
func testHint(c *cli) {
	source, base, change := c.waiting("hinted")
	r := c.run("campaign", "hint", "hinted", "the second bound", "--by", "ada")
	require.Equal(c.t, exitOK, r.code, r.stderr)
	require.Contains(c.t, r.stdout, "campaign hinted has the hint")
	require.Contains(c.t, r.stderr, "no proposer of campaign hinted calls a model")
	var b budgetView
	c.document(&b, "campaign", "budget", "hinted", "--sandbox", "5h", "--by", "bob", "--why", "more time")
	require.Equal(c.t, amounts{WallSeconds: 28800, SandboxSeconds: 18000}, b.Limits)
	c.fails(exitUsage, []string{"campaign hinted", "reserved"}, "campaign", "hint", "hinted", "x", "--by", "search")
	c.fails(exitUsage, []string{"campaign hinted", "sandbox time cannot be 1ms"}, "campaign", "budget", "hinted", "--sandbox", "1ms")
	c.fails(exitUsage, []string{"change " + change.ID, "reserved"}, "change", "approve", change.ID, "--by", " SEARCH ")
	c.fails(exitUsage, []string{"fork campaign hinted"}, "campaign", "fork", "hinted", "--from", "abcdef123")
	c.fails(exitUsage, []string{"fork campaign hinted", "name"}, "campaign", "fork", "hinted", "--from", base, "--as", "Not A Name")

	var started struct {
		Campaign         string
		Resumed, Running bool
	}
	c.document(&started, "campaign", "fork", "hinted", "--from", base[:10], "--as", "hinted-too", "--detach", "--why", "another try")
	require.Equal(c.t, "hinted-too", started.Campaign)
	require.Contains(c.t, c.ok("campaign", "stop", "hinted"), "has stopped")
	other := c.until("hinted-too", func(p progress) bool { return p.Change != nil && p.Change.State == model.ChangeAwaiting }).Change
	require.NotEqual(c.t, change.ID, other.ID, "it is measured and tried anew")
	c.ok("change", "approve", other.ID)
	c.ok("campaign", "watch", "hinted-too")
	require.Equal(c.t, 1, c.report("hinted-too").Kept)
	require.Zero(c.t, c.report("hinted").Kept)
	c.sourceUntouched(source, base)

	var v, fork campaignView
	c.document(&v, "campaign", "show", "hinted")
	var trail []string
	for _, e := range v.Events {
		trail = append(trail, string(e.Kind)+" "+e.By+" "+e.Text)
	}
	require.Equal(c.t, []string{"hint ada the second bound", "budget bob sandbox 4h → 5h", "forked grace hinted-too from " + base, "stopped grace "}, trail)
	require.Equal(c.t, []string{"hinted-too"}, v.Forks)
	c.document(&fork, "campaign", "show", "hinted-too")
	require.Equal(c.t, []string{"hinted", base}, []string{fork.Parent, fork.ForkedAt})
	require.Contains(c.t, c.ok("campaign", "show", "hinted-too"), "fork of")
}
