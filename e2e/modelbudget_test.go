package e2e

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/activities"
	"ratchet/benchmarks"
	"ratchet/internal/campaign"
	"ratchet/internal/control"
	"ratchet/internal/llm/llmtest"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/workers"
)

// A campaign that is killed again and again in the middle of calls spends no more
// than its budget and one call, whoever counts.
func TestDeathsDoNotOverspend(t *testing.T) {
	needDocker(t)
	const limit = 12_000 // each call takes about 1300, a reflection 600
	spec := modelSpec(t, source(t, parts()), modelTurns, llmtest.Start(t, llmtest.Config{}))
	spec.Budget.Tokens = limit
	c := newMortal(t, spec)
	for _, d := range []death{{held: 1}, {let: 1, held: 1}, {held: 1, forget: true}, {let: 1, held: 1}, {held: 1}} {
		c.die(d)
		c.requireWithin(limit)
	}
	c.valve.let(plenty)
	out := run(t, c.job)
	require.Equal(t, model.StopBudget, out.Stopped)
	require.Contains(t, out.Detail, "12000 tokens")
	c.requireWithin(limit)
	c.requireAccounts()
	require.GreaterOrEqual(t, len(c.calls()[model.CallLost]), 5)
	require.NotEmpty(t, read(t, c.job.Data, spec.Name).Attempts[0], "what was paid for before the end is used")
}

// requireWithin allows for one call beyond the limit, by the rows and by what the
// server has seen: prompts of all requests, and what it answered.
func (c *mortal) requireWithin(limit int64) {
	c.t.Helper()
	var spent, largest int64
	for _, rows := range c.calls() {
		for _, r := range rows {
			spent, largest = spent+r.Tokens(), max(largest, r.Tokens())
		}
	}
	require.LessOrEqual(c.t, spent, limit+largest)
	seen := int64(c.server.Stats().Output)
	for _, r := range c.server.Requests() {
		seen += int64(r.Prompt)
	}
	require.LessOrEqual(c.t, seen, limit+largest)
	require.GreaterOrEqual(c.t, spent, int64(c.server.Stats().Prompt+c.server.Stats().Output))
}

// A campaign ends when its budget has no room for another call, says which limit
// that was, and goes on when somebody raises it; one whose budget is raised in time
// does not end for it.
func TestBudgetOfModelsRunsOut(t *testing.T) {
	needDocker(t)
	tokens, cost, none := int64(9_000), 0.009, int64(0)
	for name, tt := range map[string]struct {
		budget campaign.Budget
		says   string
		raise  protocol.BudgetChange
	}{
		"tokens": {campaign.Budget{Tokens: tokens}, "of 9000 tokens", protocol.BudgetChange{Tokens: new(int64)}},
		"cost":   {campaign.Budget{Cost: cost}, "cost of 0.009", protocol.BudgetChange{Money: new(float64)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := llmtest.Start(t, llmtest.Config{Script: llmtest.Func(oracle)})
			s := modelSpec(t, source(t, parts()), modelTurns, server)
			s.Budget.Tokens, s.Budget.Cost = tt.budget.Tokens, tt.budget.Cost
			s.Endpoints[0].Price = campaign.Price{Input: 1, Output: 1} // a token costs as much in either
			stack := modelStack(t, t.TempDir())
			row := toTheEnd(t, stack, s)
			require.Equal(t, model.StopBudget, row.Stopped)
			require.Contains(t, row.Detail, tt.says)
			require.Contains(t, row.Detail, "ratchet campaign budget "+s.Name)
			before := server.Requests()
			require.NotEmpty(t, before)

			_, err := stack.Control.Start(t.Context(), s, control.Options{})
			require.ErrorIs(t, err, control.ErrNameInUse, "with the same budget there is nothing to go on with")
			tt.raise.By, tt.raise.Why = "ada", "it was worth it"
			_, err = stack.Control.SetBudget(t.Context(), s.Name, tt.raise)
			require.NoError(t, err)
			row = toTheEnd(t, stack, s)
			require.Equal(t, model.StopGenerations, row.Stopped, row.Detail)
			requireAskedOnce(t, server)
			require.Greater(t, len(server.Requests()), len(before))
		})
	}
	t.Run("raised in time", func(t *testing.T) {
		t.Parallel()
		v := newValve(llmtest.Func(oracle))
		v.let(3)
		server := llmtest.Start(t, llmtest.Config{Script: v})
		s := modelSpec(t, source(t, parts()), modelTurns, server)
		s.Budget.Tokens = tokens
		stack := modelStack(t, t.TempDir())
		_, err := stack.Control.Start(t.Context(), s, control.Options{})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), childLimit)
		defer cancel()
		require.NoError(t, server.Await(ctx, func(s llmtest.Stats) bool { return s.Held == 1 }))
		_, err = stack.Control.SetBudget(ctx, s.Name, protocol.BudgetChange{Tokens: &none, By: "ada", Why: "go on"})
		require.NoError(t, err)
		v.let(plenty)
		v.gate.Open()
		require.NoError(t, stack.Control.Wait(ctx, s.Name))
		row, err := stack.Store.Campaign(ctx, s.Name)
		require.NoError(t, err)
		require.Equal(t, model.StopGenerations, row.Stopped, row.Detail)
		requireAskedOnce(t, server)
	})
}

// modelStack is a stack in this process whose problems need no sandbox.
func modelStack(t testing.TB, data string) *workers.Stack {
	t.Helper()
	stack, err := workers.Open(t.Context(), workers.StackConfig{Data: data, Adapt: func(cfg *activities.Config) {
		cfg.Boxes = noBoxes{}
		cfg.Suites = func(campaign.Spec) ([]benchmarks.Suite, error) {
			return []benchmarks.Suite{&suite{at: func(string) {}}}, nil
		}
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stack.Close(context.WithoutCancel(t.Context()))) })
	return stack
}

// toTheEnd starts a campaign, or goes on with it, and waits until it has ended.
func toTheEnd(t *testing.T, stack *workers.Stack, s campaign.Spec) model.Campaign {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), childLimit)
	defer cancel()
	_, err := stack.Control.Start(ctx, s, control.Options{})
	require.NoError(t, err)
	require.NoError(t, stack.Control.Wait(ctx, s.Name))
	row, err := stack.Store.Campaign(ctx, s.Name)
	require.NoError(t, err)
	return row
}

// requireAskedOnce makes sure that no question was paid for twice.
func requireAskedOnce(t *testing.T, s *llmtest.Server) {
	t.Helper()
	var asked []string
	for _, r := range s.Requests() {
		asked = append(asked, conversation(r))
	}
	slices.Sort(asked)
	require.Equal(t, asked, slices.Compact(slices.Clone(asked)))
}
