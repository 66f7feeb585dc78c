package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/store"
)

const twoProposers = `{"name":"tried","repo":"/src","proposers":[{"kind":"search"},{"kind":"llm","name":"coder"}],
	"endpoints":[{"name":"vllm","url":"http://127.0.0.1:1/v1","model":"m"}]}`

// triedAndRefused stores a campaign with two generations: one that kept a change,
// and one whose candidates were all refused.
func triedAndRefused(t testing.TB) func(context.Context, *store.Store) {
	return func(ctx context.Context, s *store.Store) {
		none := store.Fence{}
		at := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
		require.NoError(t, s.CreateCampaign(ctx, model.Campaign{Name: "tried", Spec: []byte(twoProposers), Source: "/src", Phase: "generation 2", Created: at, Updated: at}))
		_, err := s.AddProposal(ctx, none, "tried", 1, model.Proposal{Attempts: []model.Attempt{
			{Key: "k1", Order: 0, Proposer: "coder", Hypothesis: "the bound is off by one", Targets: []string{"unit/TestTop"}, Status: model.AttemptLanded, Stage: "search", Score: 0.75, Sandbox: 90 * time.Second},
			{Key: "k2", Order: 1, Proposer: "search", Hypothesis: "`<` should be `>`", Targets: []string{"unit/TestTop"}, Status: model.AttemptFailed, Stage: "targets", Reason: "none of its targets passes"},
		}})
		require.NoError(t, err)
		call := model.Call{ID: "c1", Campaign: "tried", Generation: 2, Proposer: "coder", Key: "q", Input: 900, Output: 100, Money: 0.5, MostTokens: 1000}
		require.NoError(t, s.ReserveCall(ctx, none, call, model.Budget{}))
		call.Status = model.CallAnswered
		require.NoError(t, s.SettleCall(ctx, call))
		_, err = s.AddProposal(ctx, none, "tried", 2, model.Proposal{Notes: []string{"search: nothing left to try\x1b[2J"}, Attempts: []model.Attempt{
			{Key: "k3", Order: 0, Proposer: "coder", Hypothesis: "say \x1b[31mred\x1b[0m", Status: model.AttemptRefused, Stage: "answer", Reason: "code is left out:\n\x1b]0;owned\x07" + strings.Repeat(" and more", 40)},
			{Key: "k4", Order: 1, Proposer: "coder", Hypothesis: "once more", Status: model.AttemptRefused, Stage: "gate", Reason: "clamp_test.go belongs to the grader"},
		}})
		require.NoError(t, err)
		require.NoError(t, s.SaveGeneration(ctx, none, model.Generation{Campaign: "tried", N: 1, Outcome: model.OutcomeKept, Proposer: "coder", Change: "c1", Started: at, Ended: at}))
		require.NoError(t, s.CreateChange(ctx, none, model.Change{ID: "c1", Kind: model.ChangeCode, Campaign: "tried", Generation: 1, Attempt: "k1", Hypothesis: "the bound is off by one", Created: at}, "ratchet", "best"))
		require.NoError(t, s.SaveReceipt(ctx, none, model.Receipt{Change: "c1", Campaign: "tried", Generation: 1, Decision: model.DecisionKeep, DecidedBy: "evidence", Commit: "abcdef1234", Parent: "0123456789", Cost: model.Cost{Sandbox: 90 * time.Second, Wall: 1500 * time.Millisecond}, At: at}))
	}
}

func refusedGeneration(t testing.TB) func(context.Context, *store.Store) {
	return func(ctx context.Context, s *store.Store) {
		require.NoError(t, s.SaveGeneration(ctx, store.Fence{}, model.Generation{Campaign: "tried", N: 2, Outcome: model.OutcomeRejected,
			Hypothesis: "once more", Proposer: "coder", Reason: "all 2 candidates were refused; the first: code is left out", Candidates: 2}))
	}
}

func TestAttemptsSayWhyEachWentNoFurther(t *testing.T) {
	c := newCLI(t)
	c.withStore(triedAndRefused(t))
	var v attemptsView
	c.document(&v, "campaign", "attempts", "tried")
	require.Equal(t, []any{"tried", 2, "", 2}, []any{v.Campaign, v.Generation, v.Outcome, len(v.Attempts)}, "of the generation under way")
	require.Equal(t, []proposerCost{{Proposer: "coder", Candidates: 2, Tokens: 1000, Money: 0.5}}, v.Proposers)
	require.Equal(t, "code is left out:\n\x1b]0;owned\x07"+strings.Repeat(" and more", 40), v.Attempts[0].Reason, "whole, and as it was")
	require.Nil(t, v.Attempts[0].Score, "nothing was run")
	require.NotNil(t, v.Attempts[0].Targets)
	require.Equal(t, []string{"search: nothing left to try\x1b[2J"}, v.Notes)

	c.withStore(refusedGeneration(t))
	out := c.ok("campaign", "attempts", "tried")
	for _, text := range []string{"generation 2 of campaign tried: · rejected: all 2 candidates were refused", "coder  refused  answer", "of: say \\u001b[31mred",
		"clamp_test.go belongs to the grader", "note: search: nothing left to try\\u001b[2J", "the models of coder: 1000 tokens, cost 0.5", "whole in: ratchet campaign attempts tried --generation 2 --json"} {
		require.Contains(t, out, text)
	}
	require.NotContains(t, out, "\x1b")
	require.NotContains(t, out, strings.Repeat(" and more", 30))

	c.document(&v, "campaign", "attempts", "tried", "--generation", "1", "--proposer", "search")
	require.Len(t, v.Attempts, 1)
	require.Equal(t, []string{"failed", "targets", "none of its targets passes", ""}, []string{v.Attempts[0].Status, v.Attempts[0].Stage, v.Attempts[0].Reason, v.Attempts[0].Change})
	c.document(&v, "campaign", "attempts", "tried", "--generation", "1", "--proposer", "coder")
	require.Equal(t, []any{"c1", 0.75, 90.0}, []any{v.Attempts[0].Change, *v.Attempts[0].Score, v.Attempts[0].SandboxSeconds})
	require.Contains(t, c.ok("campaign", "attempts", "tried", "--generation", "1"), "75.0%")
}

func TestAttemptsThatAreNotThere(t *testing.T) {
	c := newCLI(t)
	c.withStore(triedAndRefused(t))
	c.withStore(ended(t, "empty"))
	for _, x := range []struct {
		args  string
		texts []string
	}{
		{"nemo", []string{`there is no campaign "nemo"`, "ratchet campaign list"}},
		{"tried --generation 3", []string{"no generation 3", "1 to 2"}},
		{"tried --generation 0", []string{"no generation 0", "1 to 2"}},
		{"tried --generation -1", []string{"no generation -1"}},
		{"tried --proposer llm", []string{`no proposer "llm"`, "coder, search"}},
		{"empty --generation 1", []string{"no generation 1", "not proposed anything"}},
	} {
		c.in(t).fails(exitUsage, x.texts, append([]string{"campaign", "attempts"}, strings.Fields(x.args)...)...)
	}
	require.Contains(t, c.ok("campaign", "attempts", "empty"), "campaign empty has not proposed anything yet")
	var v attemptsView
	c.document(&v, "campaign", "attempts", "empty")
	require.Equal(t, attemptsView{Campaign: "empty", Notes: []string{}, Attempts: []attemptView{}, Proposers: []proposerCost{}}, v)
}

// TestReportsLeadToTheAttempts: whoever reads that all was refused is told where the reasons are.
func TestReportsLeadToTheAttempts(t *testing.T) {
	c := newCLI(t)
	c.withStore(triedAndRefused(t))
	const way = "ratchet campaign attempts tried --generation 2"
	require.NotContains(t, c.ok("campaign", "report", "tried"), way)
	c.withStore(refusedGeneration(t))
	require.Contains(t, c.ok("campaign", "report", "tried"), "what became of each candidate of generation 2: "+way)
	out := c.ok("campaign", "show", "tried")
	require.Contains(t, out, "rejected: all 2 candidates were refused; the first: code is left out")
	require.Contains(t, out, way)
}
