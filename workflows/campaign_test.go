package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

var input = protocol.CampaignInput{Name: "demo"}

func TestCampaignRunsItsGenerations(t *testing.T) {
	w := newWorld()
	env := environment(t, w)
	env.ExecuteWorkflow(Campaign, input)
	out := result(t, env)
	require.Equal(t, model.StopGenerations, out.Stopped)
	require.Equal(t, 3, out.Kept)
	require.Equal(t, 3, w.called(protocol.KeepChange))
	require.Equal(t, 6, w.called(protocol.ScreenCandidates), "two shards a generation")
	require.Equal(t, 1, w.called(protocol.MeasureBaseline))
	require.Len(t, w.finished, 1)
}

func TestCampaignStops(t *testing.T) {
	tests := []struct {
		name  string
		setup func(*world)
		want  model.StopReason
		gens  int
	}{
		{"score", func(w *world) { w.view.StopScore = 0.7 }, model.StopScore, 2},
		{"stale", func(w *world) {
			w.view.StopStale, w.view.Generations = 2, 9
			w.outcome = func(int) model.GenerationOutcome { return model.OutcomeReverted }
		}, model.StopStale, 2},
		{"nothing fails", func(w *world) { w.view.Failing = 0 }, model.StopScore, 0},
		{"what fails only sometimes is nothing to start from", func(w *world) { w.view.Failing, w.view.Flaky = 0, 2 }, model.StopScore, 0},
		{"nothing fails, but a number can improve", func(w *world) { w.view.Failing, w.view.Metrics, w.view.Generations = 0, 1, 2 }, model.StopGenerations, 2},
		{"wall budget", func(w *world) { w.view.BudgetWall = time.Hour }, model.StopBudget, 0},
		{"sandbox budget", func(w *world) { w.view.BudgetSand, w.sandbox = time.Second, time.Second }, model.StopBudget, 1},
		{"no candidates", func(w *world) {
			w.view.StopStale = 1
			w.outcome = func(int) model.GenerationOutcome { return model.OutcomeNone }
		}, model.StopStale, 1},
		{"nothing passes the screen", func(w *world) {
			w.view.StopStale = 1
			w.outcome = func(int) model.GenerationOutcome { return model.OutcomeRejected }
		}, model.StopStale, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			tt.setup(w)
			env := environment(t, w)
			env.ExecuteWorkflow(Campaign, input)
			require.Equal(t, tt.want, result(t, env).Stopped)
			require.Equal(t, tt.gens, w.called(protocol.RecordGeneration))
		})
	}
}

func TestCampaignEndsAfterTheTurnsAskedFor(t *testing.T) {
	w := newWorld()
	env := environment(t, w)
	env.ExecuteWorkflow(Campaign, protocol.CampaignInput{Name: "demo", Turns: 1})
	require.Equal(t, model.StopGenerations, result(t, env).Stopped)
	require.Equal(t, 1, w.called(protocol.RecordGeneration))
}

func TestTurnsAskedForComeBeforeTheFilesOwnLimits(t *testing.T) {
	w := newWorld()
	w.view.Measured, w.view.Next, w.view.Generations, w.view.Stale, w.view.StopStale = true, 4, 3, 5, 5
	env := environment(t, w)
	env.ExecuteWorkflow(Campaign, protocol.CampaignInput{Name: "demo", Turns: 1})
	require.Equal(t, model.StopGenerations, result(t, env).Stopped)
	require.Equal(t, 1, w.called(protocol.RecordGeneration))
}

func TestCampaignRecordsTheErrorThatEndsIt(t *testing.T) {
	for _, name := range []string{
		protocol.OpenCampaign, protocol.PrepareTarget, protocol.MeasureBaseline, protocol.DiagnoseWeakness,
		protocol.ProposeCandidates, protocol.ScreenCandidates, protocol.SelectCandidate, protocol.LandChange,
		protocol.ConfirmChange, protocol.KeepChange, protocol.RecordGeneration,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.fail[name] = badInput("it cannot be done")
			env := environment(t, w)
			env.ExecuteWorkflow(Campaign, input)
			require.Error(t, env.GetWorkflowError())
			require.Len(t, w.finished, 1)
			require.Equal(t, model.StopError, w.finished[0].Stopped)
			require.Equal(t, "it cannot be done", w.finished[0].Detail)
			calls := 1
			if name == protocol.ScreenCandidates {
				calls = w.view.Parallel
			}
			require.Equal(t, calls, w.called(name), "an error that no retry mends is not retried")
		})
	}
}

func TestCampaignThatHasEndedDoesNothing(t *testing.T) {
	w := newWorld()
	w.view.Stopped = model.StopScore
	env := environment(t, w)
	env.ExecuteWorkflow(Campaign, input)
	require.Equal(t, model.StopScore, result(t, env).Stopped)
	require.Empty(t, w.finished)
}

func TestStopWhileScreeningLeavesTheGenerationUnrecorded(t *testing.T) {
	w := newWorld()
	env := environment(t, w)
	answer := &updateAnswer{}
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(protocol.UpdateStopCampaign, "", answer, protocol.Verdict{By: "ada", Why: "enough"})
	}, time.Hour)
	env.OnActivity(protocol.ScreenCandidates, anyArg, anyArg).Return(protocol.ScreenCandidatesResult{}, nil).After(24 * time.Hour)
	env.ExecuteWorkflow(Campaign, input)
	require.NoError(t, answer.rejected)
	out := result(t, env)
	require.Equal(t, model.StopUser, out.Stopped)
	require.Equal(t, "stopped by ada: enough", out.Detail)
	require.Zero(t, w.called(protocol.RecordGeneration))
	require.Zero(t, w.called(protocol.LandChange))
}

func TestStopWhileConfirmingRevertsTheChange(t *testing.T) {
	w := newWorld()
	env := environment(t, w)
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(protocol.UpdateStopCampaign, "", &updateAnswer{}, protocol.Verdict{By: "ada"})
	}, time.Hour)
	env.OnActivity(protocol.ConfirmChange, anyArg, anyArg).Return(protocol.ConfirmChangeResult{Keep: true}, nil).After(24 * time.Hour)
	env.ExecuteWorkflow(Campaign, input)
	require.Equal(t, model.StopUser, result(t, env).Stopped)
	require.Equal(t, "stop", w.settled["c1"].By)
	require.Equal(t, model.ChangeRolledBack, w.state["c1"])
	require.Zero(t, w.called(protocol.KeepChange))
	require.Equal(t, 1, w.called(protocol.RecordGeneration), "a change that landed is on the record")
}

func TestPauseHoldsAndResumeGoesOn(t *testing.T) {
	w := newWorld()
	env := environment(t, w)
	var paused, again, resumed, idle updateAnswer
	who := protocol.Verdict{By: "ada"}
	env.OnActivity(protocol.ScreenCandidates, anyArg, anyArg).Return(protocol.ScreenCandidatesResult{}, nil).After(time.Minute)
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(protocol.UpdateResumeCampaign, "", &idle, who)
		env.UpdateWorkflow(protocol.UpdatePauseCampaign, "", &paused, who)
		env.UpdateWorkflow(protocol.UpdatePauseCampaign, "", &again, who)
	}, 30*time.Second)
	env.RegisterDelayedCallback(func() {
		require.Equal(t, 1, w.called(protocol.RecordGeneration), "the generation under way was finished, no other begun")
		v, err := env.QueryWorkflow(protocol.QueryScoreboard)
		require.NoError(t, err)
		var board protocol.Scoreboard
		require.NoError(t, v.Get(&board))
		require.True(t, board.Paused)
		env.UpdateWorkflow(protocol.UpdateResumeCampaign, "", &resumed, who)
	}, 10*time.Hour)
	env.ExecuteWorkflow(Campaign, input)
	require.Equal(t, 3, result(t, env).Kept)
	require.NoError(t, paused.rejected)
	require.NoError(t, resumed.rejected)
	require.ErrorContains(t, again.err, "paused already", "it came while the first was written down")
	require.ErrorContains(t, idle.rejected, "not paused")
}

func TestUpdatesNeedAName(t *testing.T) {
	w := newWorld()
	env := environment(t, w)
	var nameless updateAnswer
	env.OnActivity(protocol.ScreenCandidates, anyArg, anyArg).Return(protocol.ScreenCandidatesResult{}, nil).After(time.Minute)
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(protocol.UpdateStopCampaign, "", &nameless, protocol.Verdict{})
	}, time.Second)
	env.ExecuteWorkflow(Campaign, input)
	require.ErrorContains(t, nameless.rejected, "name")
	require.Equal(t, model.StopGenerations, result(t, env).Stopped)
}

func TestFailuresResetTheCountOfStaleGenerations(t *testing.T) {
	w := newWorld()
	w.view.StopStale, w.view.Generations = 2, 9
	w.outcome = func(int) model.GenerationOutcome { return model.OutcomeReverted }
	env := environment(t, w)
	env.OnActivity(protocol.ScreenCandidates, anyArg, anyArg).Return(protocol.ScreenCandidatesResult{}, nil).After(time.Minute)
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(protocol.SignalFailuresArrived, protocol.FailuresArrived{Cursor: 7})
		env.SignalWorkflow(protocol.SignalFailuresArrived, protocol.FailuresArrived{Cursor: 7})
	}, 90*time.Second) // in the second generation
	env.ExecuteWorkflow(Campaign, input)
	require.Equal(t, model.StopStale, result(t, env).Stopped)
	require.Equal(t, 3, w.called(protocol.RecordGeneration), "one stale generation was forgiven")
}

func TestContinueAsNewCarriesOn(t *testing.T) {
	w := newWorld()
	env := environment(t, w)
	env.SetContinueAsNewSuggested(true)
	env.ExecuteWorkflow(Campaign, protocol.CampaignInput{Name: "demo", Turns: 5,
		Carry: &protocol.Carry{Paused: true, FailureCursor: 4, Turns: 2}})
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	require.Equal(t, protocol.CampaignWorkflow, next.WorkflowType.Name)
	require.Empty(t, w.finished, "the campaign has not ended")
}
