package workflows

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

// slow makes each screen take a minute, so that there is time to steer.
func slow(env *testsuite.TestWorkflowEnvironment) {
	env.OnActivity(protocol.ScreenCandidates, anyArg, anyArg).Return(protocol.ScreenCandidatesResult{}, nil).After(time.Minute)
}

// at sends an update after some time, and returns what it comes to.
func at(env *testsuite.TestWorkflowEnvironment, after time.Duration, update string, message any) *updateAnswer {
	a := &updateAnswer{}
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(update, update+after.String(), a, message) }, after)
	return a
}

func (u *updateAnswer) requireDone(t *testing.T) {
	t.Helper()
	require.NoError(t, u.rejected)
	require.NoError(t, u.err)
	require.True(t, u.done)
}

func kinds(events []protocol.SteerCampaignInput) (out []model.CampaignEventKind) {
	for _, e := range events {
		out = append(out, e.Kind)
	}
	return out
}

func ptr[T any](x T) *T { return &x }

func TestHintIsWrittenDownAndCountsAsNews(t *testing.T) {
	w := newWorld()
	w.view.StopStale, w.view.Generations = 2, 9
	w.outcome = func(int) model.GenerationOutcome { return model.OutcomeReverted }
	env := environment(t, w)
	slow(env)
	a := at(env, 90*time.Second, protocol.UpdateHintCampaign, protocol.Hint{By: " ada ", Text: " look at the parser \u00fc "}) // in the second generation
	env.ExecuteWorkflow(Campaign, input)
	a.requireDone(t)
	require.Equal(t, model.StopStale, result(t, env).Stopped)
	require.Equal(t, 3, w.called(protocol.RecordGeneration), "one stale generation was forgiven")
	require.Len(t, w.steered, 1)
	e := w.steered[0]
	require.False(t, e.Now.IsZero())
	e.Now = time.Time{}
	require.Equal(t, protocol.SteerCampaignInput{
		Campaign: "demo", Key: "update/" + protocol.UpdateHintCampaign + "1m30s", Kind: model.EventHint, By: "ada", Text: "look at the parser ü",
	}, e)
	v, err := env.QueryWorkflow(protocol.QueryScoreboard)
	require.NoError(t, err)
	var board protocol.Scoreboard
	require.NoError(t, v.Get(&board))
	require.Equal(t, "look at the parser ü (ada)", board.Hint)
}

func TestSteeringIsRefused(t *testing.T) {
	long := strings.Repeat("ü", protocol.MostText+1)
	who := func(by string) any { return protocol.Verdict{By: by} }
	hint := func(by, text string) any { return protocol.Hint{By: by, Text: text} }
	budget := func(b protocol.BudgetChange) any { b.By = "ada"; return b }
	tests := []struct {
		name, update string
		message      any
		want         string
	}{
		{"pause without a name", protocol.UpdatePauseCampaign, who(""), "name is needed"},
		{"pause with blanks for a name", protocol.UpdatePauseCampaign, who(" \t"), "name is needed"},
		{"stop by a proposer", protocol.UpdateStopCampaign, who(" Coder "), "reserved for a proposer"},
		{"stop by a kind of proposer", protocol.UpdateStopCampaign, who("LLM"), "reserved"},
		{"stop by ratchet", protocol.UpdateStopCampaign, who("Ratchet"), "reserved"},
		{"stop by a name with hidden characters", protocol.UpdateStopCampaign, who("co\u200bder"), "cannot be seen"},
		{"stop by an endless name", protocol.UpdateStopCampaign, who(strings.Repeat("a", 101)), "longer than 100"},
		{"stop for an endless reason", protocol.UpdateStopCampaign, protocol.Verdict{By: "ada", Why: long}, "at most 2000"},
		{"stop for a reason of two lines", protocol.UpdateStopCampaign, protocol.Verdict{By: "ada", Why: "a\nb"}, "one line"},
		{"resume what is not paused", protocol.UpdateResumeCampaign, who("ada"), "not paused"},
		{"hint without a name", protocol.UpdateHintCampaign, hint("", "x"), "name is needed"},
		{"hint by a proposer", protocol.UpdateHintCampaign, hint("coder", "x"), "reserved for a proposer"},
		{"hint by search", protocol.UpdateHintCampaign, hint("search", "x"), "reserved"},
		{"empty hint", protocol.UpdateHintCampaign, hint("ada", " \n "), "empty"},
		{"hint too long", protocol.UpdateHintCampaign, hint("ada", long), "2001 characters"},
		{"hint with an escape", protocol.UpdateHintCampaign, hint("ada", "a\x1b[2Jb"), "control characters"},
		{"hint that turns the direction", protocol.UpdateHintCampaign, hint("ada", "a\u202eb"), "control characters"},
		{"budget of nothing", protocol.UpdateChangeBudget, budget(protocol.BudgetChange{}), "at least one limit"},
		{"budget by a proposer", protocol.UpdateChangeBudget, protocol.BudgetChange{By: "coder", Tokens: ptr(int64(9000))}, "reserved"},
		{"negative tokens", protocol.UpdateChangeBudget, budget(protocol.BudgetChange{Tokens: ptr(int64(-1))}), "negative"},
		{"negative cost", protocol.UpdateChangeBudget, budget(protocol.BudgetChange{Money: ptr(-0.5)}), "a number from 0"},
		{"negative wall time", protocol.UpdateChangeBudget, budget(protocol.BudgetChange{Wall: ptr(-time.Second)}), "negative"},
		{"negative sandbox time", protocol.UpdateChangeBudget, budget(protocol.BudgetChange{Sandbox: ptr(-time.Second)}), "negative"},
		{"tokens below what is spent", protocol.UpdateChangeBudget, budget(protocol.BudgetChange{Tokens: ptr(int64(999))}), "1000 are spent"},
		{"cost below what is spent", protocol.UpdateChangeBudget, budget(protocol.BudgetChange{Money: ptr(1.5)}), "2 are spent"},
		{"wall time below what is spent", protocol.UpdateChangeBudget, budget(protocol.BudgetChange{Wall: ptr(time.Minute)}), "are spent"},
		{"sandbox time below what is spent", protocol.UpdateChangeBudget, budget(protocol.BudgetChange{Sandbox: ptr(time.Second)}), "are spent"},
		{"one limit right, one wrong", protocol.UpdateChangeBudget, budget(protocol.BudgetChange{Tokens: ptr(int64(9000)), Money: ptr(-1.0)}), "a number from 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			w.view.Measured, w.view.Proposers = true, []string{"search", "coder"}
			w.view.Cost = model.Cost{Tokens: 1000, Money: 2, Sandbox: time.Minute}
			env := environment(t, w)
			slow(env)
			a := at(env, time.Second, tt.update, tt.message)
			env.ExecuteWorkflow(Campaign, input)
			require.ErrorContains(t, a.rejected, tt.want)
			require.Equal(t, model.StopGenerations, result(t, env).Stopped)
			require.Empty(t, w.steered, "what is refused is not in the trail")
		})
	}
}

func TestBudgetsCanBeTakenAway(t *testing.T) {
	w := newWorld()
	w.view.BudgetToken, w.tokens = 1000, 600
	env := environment(t, w)
	slow(env)
	a := at(env, time.Second, protocol.UpdateChangeBudget, protocol.BudgetChange{By: "ada", Why: "go on", Tokens: ptr(int64(0))})
	env.ExecuteWorkflow(Campaign, input)
	a.requireDone(t)
	require.Equal(t, model.StopGenerations, result(t, env).Stopped)
	require.Equal(t, "go on", w.steered[0].Why)
}

func TestSteeringIsInTheAuditTrailBeforeItTakesEffect(t *testing.T) {
	w := newWorld()
	env := environment(t, w)
	slow(env)
	var paused []bool // as each request is written down
	w.steer = func(context.Context) error {
		v, err := env.QueryWorkflow(protocol.QueryScoreboard)
		if err != nil {
			return err
		}
		var board protocol.Scoreboard
		err = v.Get(&board)
		paused = append(paused, board.Paused)
		return err
	}
	pause := at(env, time.Second, protocol.UpdatePauseCampaign, protocol.Verdict{By: "ada", Why: "lunch"})
	resume := at(env, time.Hour, protocol.UpdateResumeCampaign, protocol.Verdict{By: "bob"})
	stop := at(env, time.Hour+30*time.Second, protocol.UpdateStopCampaign, protocol.Verdict{By: "bob", Why: "enough"})
	env.ExecuteWorkflow(Campaign, input)
	for _, a := range []*updateAnswer{pause, resume, stop} {
		a.requireDone(t)
	}
	require.Equal(t, []bool{false, true, false}, paused)
	require.Equal(t, model.StopUser, result(t, env).Stopped)
	require.Equal(t, []model.CampaignEventKind{model.EventPaused, model.EventResumed, model.EventStopped}, kinds(w.steered))
	require.Equal(t, []string{"ada", "lunch"}, []string{w.steered[0].By, w.steered[0].Why})
	seen := map[string]bool{}
	for _, e := range w.steered {
		require.False(t, seen[e.Key], "keys are unique")
		seen[e.Key] = true
	}
}

func TestSteeringThatCannotBeWrittenHasNoEffect(t *testing.T) {
	w := newWorld()
	w.fail[protocol.SteerCampaign] = badInput("no such campaign")
	env := environment(t, w)
	slow(env)
	a := at(env, time.Second, protocol.UpdateStopCampaign, protocol.Verdict{By: "ada"})
	env.ExecuteWorkflow(Campaign, input)
	require.ErrorContains(t, a.err, "no such campaign")
	require.Equal(t, model.StopGenerations, result(t, env).Stopped)
}

func TestPauseThatIsRecordedHolds(t *testing.T) {
	w := newWorld()
	w.view.Measured, w.view.Paused = true, true // the store says so, as after a loss of Temporal's database
	env := environment(t, w)
	env.RegisterDelayedCallback(func() {
		require.Zero(t, w.called(protocol.DiagnoseWeakness), "nothing is begun")
	}, 10*time.Hour)
	a := at(env, 10*time.Hour, protocol.UpdateResumeCampaign, protocol.Verdict{By: "ada"})
	env.ExecuteWorkflow(Campaign, input)
	a.requireDone(t)
	require.Equal(t, 3, result(t, env).Kept)
}

// A person resumes while the campaign is opened again, after its baseline: what
// the store said before does not pause it once more.
func TestResumeIsNotUndoneByWhatWasReadBefore(t *testing.T) {
	w := newWorld()
	w.view.Paused = true
	env := environment(t, w)
	env.OnActivity(protocol.MeasureBaseline, anyArg, anyArg).Return(func(context.Context, protocol.MeasureBaselineInput) (protocol.MeasureBaselineResult, error) {
		w.view.Measured, w.view.Score = true, 0.5
		return protocol.MeasureBaselineResult{}, nil
	}).After(time.Hour)
	a := at(env, time.Minute, protocol.UpdateResumeCampaign, protocol.Verdict{By: "ada"})
	env.ExecuteWorkflow(Campaign, input)
	a.requireDone(t)
	require.Equal(t, 3, result(t, env).Kept)
}

// A stop that is being written down when a fresh history is due is not lost with
// the old one.
func TestStopWhileContinuingAsNew(t *testing.T) {
	w := newWorld()
	w.view.Measured = true
	env := environment(t, w)
	env.SetContinueAsNewSuggested(true)
	env.OnActivity(protocol.OpenCampaign, anyArg, anyArg).Return(w.view, nil).After(time.Minute)
	env.OnActivity(protocol.SteerCampaign, anyArg, anyArg).Return(protocol.SteerCampaignResult{}, nil).After(time.Hour)
	a := at(env, time.Second, protocol.UpdateStopCampaign, protocol.Verdict{By: "ada"})
	env.ExecuteWorkflow(Campaign, input)
	a.requireDone(t)
	require.Equal(t, model.StopUser, result(t, env).Stopped)
}

func TestContinueAsNewCarriesFreshnessAndHint(t *testing.T) {
	w := newWorld()
	w.view.Measured, w.view.Next, w.view.Stale, w.view.StopStale, w.view.Generations = true, 8, 7, 3, 20
	env := environment(t, w)
	w.outcome = func(int) model.GenerationOutcome { return model.OutcomeReverted }
	env.ExecuteWorkflow(Campaign, protocol.CampaignInput{Name: "demo", Carry: &protocol.Carry{Fresh: 7, Hint: "h"}})
	require.Equal(t, model.StopStale, result(t, env).Stopped)
	require.Equal(t, 2, w.called(protocol.RecordGeneration), "one of the seven came after the hint")

	env = environment(t, newWorld())
	env.SetContinueAsNewSuggested(true)
	env.ExecuteWorkflow(Campaign, protocol.CampaignInput{Name: "demo", Carry: &protocol.Carry{Fresh: 7, Hint: "h"}})
	var next *workflow.ContinueAsNewError
	require.True(t, errors.As(env.GetWorkflowError(), &next))
	var in protocol.CampaignInput
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	require.Equal(t, []any{7, "h"}, []any{in.Carry.Fresh, in.Carry.Hint})
}
