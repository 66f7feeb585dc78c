package control_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/control"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
)

func TestSteering(t *testing.T) {
	l := newLab(t)
	ctx := t.Context()
	l.start(l.measured("demo", withModel))

	require.NoError(t, l.control.Hint(ctx, "demo", protocol.Hint{By: "ada", Text: "look at the parser"}))
	is, err := l.control.SetBudget(ctx, "demo", protocol.BudgetChange{By: "bob", Why: "worth it", Tokens: ptr(int64(2000)), Wall: ptr(time.Duration(0))})
	require.NoError(t, err)
	require.Equal(t, model.Budget{Sandbox: 4 * time.Hour, Tokens: 2000}, is)
	require.Equal(t, &is, l.row("demo").Budget)
	refusals(t, l)

	require.NoError(t, l.control.Stop(ctx, "demo", protocol.Verdict{By: "ada", Why: "enough"}))
	row := l.ended("demo")
	require.Equal(t, model.StopUser, row.Stopped)
	require.Equal(t, "stopped by ada: enough", row.Detail)
	var trail []string
	for _, e := range l.trail("demo") {
		trail = append(trail, string(e.Kind)+" by "+e.By+": "+e.Why+e.Text)
	}
	require.Equal(t, []string{"hint by ada: look at the parser", "budget by bob: worth itwall 8h → no limit, tokens no limit → 2000", "stopped by ada: enough"}, trail)

	require.ErrorIs(t, l.control.Hint(ctx, "demo", protocol.Hint{By: "ada", Text: "x"}), control.ErrRefused)
	_, err = l.control.SetBudget(ctx, "demo", protocol.BudgetChange{By: "ada", Tokens: ptr(int64(1))})
	require.ErrorIs(t, err, control.ErrRefused)
	require.ErrorContains(t, err, "no budget makes it go on")
}

// refusals: what is wrong is refused, and leaves no trace.
func refusals(t *testing.T, l *lab) {
	ctx := t.Context()
	before := len(l.trail("demo"))
	verdict := func(f func(protocol.Verdict) error, by string) error { return f(protocol.Verdict{By: by}) }
	pause := func(v protocol.Verdict) error { return l.control.Pause(ctx, "demo", v) }
	resume := func(v protocol.Verdict) error { return l.control.Resume(ctx, "demo", v) }
	budget := func(b protocol.BudgetChange) error {
		b.By = "ada"
		_, err := l.control.SetBudget(ctx, "demo", b)
		return err
	}
	for text, err := range map[string]error{
		"paused already":               verdict(pause, "ada"),
		"reserved for a proposer":      verdict(resume, "Coder"),
		"reserved for ratchet":         verdict(resume, " llm "),
		"a name is needed":             verdict(resume, " "),
		"the hint is empty":            l.control.Hint(ctx, "demo", protocol.Hint{By: "ada"}),
		"coder is reserved":            l.control.Hint(ctx, "demo", protocol.Hint{By: "coder", Text: "keep all I write"}),
		"at least one limit":           budget(protocol.BudgetChange{}),
		"tokens is -1":                 budget(protocol.BudgetChange{Tokens: ptr(int64(-1))}),
		"wall time cannot be 1ns":      budget(protocol.BudgetChange{Wall: ptr(time.Nanosecond)}),
		"cost is -2: it is a number":   budget(protocol.BudgetChange{Money: ptr(-2.0)}),
		"sandbox time is -1s":          budget(protocol.BudgetChange{Sandbox: ptr(-time.Second)}),
		"reason holds control charact": l.control.Stop(ctx, "demo", protocol.Verdict{By: "ada", Why: "a\x07"}),
	} {
		require.ErrorIs(t, err, control.ErrRefused, text)
		require.ErrorContains(t, err, text)
	}
	require.ErrorIs(t, l.control.Hint(ctx, "nobody", protocol.Hint{By: "ada", Text: "x"}), store.ErrNotFound)
	_, err := l.control.SetBudget(ctx, "nobody", protocol.BudgetChange{By: "ada", Tokens: ptr(int64(1))})
	require.ErrorIs(t, err, store.ErrNotFound)
	require.Len(t, l.trail("demo"), before)
}

// A campaign that ended for its budget goes on when a person gives it more, and
// not before.
func TestBudgetAfterTheEnd(t *testing.T) {
	l := newLab(t)
	ctx := t.Context()
	spec := l.measured("spent", withModel, func(s *campaign.Spec) { s.Budget.Tokens = 1000 })
	l.spend("spent", 1500, 0.5)
	_, err := l.control.Start(ctx, spec, control.Options{})
	require.NoError(t, err)
	row := l.ended("spent")
	require.Equal(t, model.StopBudget, row.Stopped)
	require.Contains(t, row.Detail, "the budget of 1000 tokens is used up: 1500 are spent; raise it with ratchet campaign budget spent")

	_, err = l.control.Start(ctx, spec, control.Options{})
	require.ErrorIs(t, err, control.ErrNameInUse)
	require.ErrorContains(t, err, "ratchet campaign budget spent")
	_, err = l.control.Recover(ctx, "spent")
	require.ErrorIs(t, err, control.ErrRefused)
	_, err = l.control.SetBudget(ctx, "spent", protocol.BudgetChange{By: "ada", Tokens: ptr(int64(1200))})
	require.ErrorContains(t, err, "1500 are spent already")
	_, err = l.control.SetBudget(ctx, "spent", protocol.BudgetChange{By: "coder", Tokens: ptr(int64(9000))})
	require.ErrorIs(t, err, control.ErrRefused)
	raised, err := l.control.Raised(ctx, "spent")
	require.NoError(t, err)
	require.False(t, raised)

	is, err := l.control.SetBudget(ctx, "spent", protocol.BudgetChange{By: "ada", Why: "one more night", Tokens: ptr(int64(5000))})
	require.NoError(t, err)
	require.Equal(t, int64(5000), is.Tokens)
	e := l.trail("spent")[0]
	require.Equal(t, []string{"ada", "one more night", "tokens 1000 → 5000"}, []string{e.By, e.Why, e.Text})
	require.Equal(t, model.StopBudget, l.row("spent").Stopped, "it goes on only when somebody says so")

	a, err := control.Budget(ctx, l.store, "spent")
	require.NoError(t, err)
	require.Equal(t, []any{int64(5000), int64(1500), 0.5}, []any{a.Limits.Tokens, a.Spent.Tokens, a.Spent.Money})
	started, err := l.control.Recover(ctx, "spent")
	require.NoError(t, err)
	require.True(t, started)
	l.paused("spent")
	resumed, err := l.control.Start(ctx, spec, control.Options{})
	require.NoError(t, err)
	require.True(t, resumed)
	require.NoError(t, l.control.Stop(ctx, "spent", protocol.Verdict{By: "ada"}))
	require.Equal(t, model.StopUser, l.ended("spent").Stopped)
}
