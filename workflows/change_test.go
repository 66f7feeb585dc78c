package workflows

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

const anyArg = mock.Anything

var needsPerson = protocol.Approval{Person: true, Deadline: 24 * time.Hour, Then: model.DecisionRevert}

func TestChangeWaitsForAPerson(t *testing.T) {
	keepLate := needsPerson
	keepLate.Then = model.DecisionKeep
	tests := []struct {
		name     string
		approval protocol.Approval
		update   string
		by       string
		want     model.ChangeState
	}{
		{"approved", needsPerson, protocol.UpdateApproveChange, "ada", model.ChangeKept},
		{"rejected", needsPerson, protocol.UpdateRejectChange, "ada", model.ChangeRolledBack},
		{"nobody answers, then revert", needsPerson, "", "deadline", model.ChangeRolledBack},
		{"nobody answers, then keep", keepLate, "", "deadline", model.ChangeKept},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			w.view.Generations, w.view.Approval = 2, tt.approval
			env := environment(t, w)
			var answers []*updateAnswer
			if tt.update != "" {
				for n, at := range map[string]time.Duration{"c1": time.Hour, "c2": 2 * time.Hour} {
					env.RegisterDelayedCallback(func() {
						a := &updateAnswer{}
						answers = append(answers, a)
						require.NoError(t, env.UpdateWorkflowByID(protocol.ChangeID(n), tt.update, n, a,
							protocol.Verdict{By: tt.by, Why: "read it"}))
					}, at)
				}
			}
			env.ExecuteWorkflow(Campaign, input)
			out := result(t, env)
			for _, a := range answers {
				require.NoError(t, a.rejected)
			}
			require.Equal(t, model.StopGenerations, out.Stopped)
			require.Equal(t, tt.by, w.settled["c1"].By)
			require.Equal(t, tt.want, w.state["c1"])
			require.Equal(t, tt.want, w.state["c2"])
		})
	}
}

// alone makes an environment in which nobody hears a change's signals.
func alone(t *testing.T, w *world) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := environment(t, w)
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: protocol.ChangeID("c1"), TaskQueue: protocol.QueueMain})
	env.OnSignalExternalWorkflow(anyArg, anyArg, anyArg, anyArg, anyArg).Return(errors.New("no such workflow"))
	return env
}

func TestOnlyAPersonCanApproveAndOnlyWhenAsked(t *testing.T) {
	w := newWorld()
	env := alone(t, w)
	env.OnActivity(protocol.ConfirmChange, anyArg, anyArg).Return(protocol.ConfirmChangeResult{Keep: true, Reason: "m"}, nil).After(time.Minute)
	var early, nameless, ratchet, second updateAnswer
	send := func(a *updateAnswer, by string) func() {
		return func() {
			env.UpdateWorkflow(protocol.UpdateApproveChange, "", a, protocol.Verdict{By: by})
		}
	}
	env.RegisterDelayedCallback(send(&early, "ada"), time.Second)
	env.RegisterDelayedCallback(send(&nameless, ""), time.Hour)
	env.RegisterDelayedCallback(send(&ratchet, "ratchet"), time.Hour)
	env.RegisterDelayedCallback(send(&second, "ada"), 2*time.Hour)
	env.ExecuteWorkflow(Change, protocol.ChangeInput{ID: "c1", Campaign: "demo", Generation: 1, Approval: needsPerson})
	require.NoError(t, env.GetWorkflowError())
	require.ErrorContains(t, early.rejected, "does not wait")
	require.ErrorContains(t, nameless.rejected, "name")
	require.ErrorContains(t, ratchet.rejected, "reserved")
	require.NoError(t, second.rejected)
	require.Equal(t, "ada", w.settled["c1"].By)
}

func TestRefusedChangeIsReverted(t *testing.T) {
	w := newWorld()
	w.outcome = func(int) model.GenerationOutcome { return model.OutcomeReverted }
	env := environment(t, w)
	env.ExecuteWorkflow(Change, protocol.ChangeInput{ID: "c1", Campaign: "demo", Generation: 1, Approval: needsPerson})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, model.ChangeRolledBack, w.state["c1"])
	require.Zero(t, w.called(protocol.RequestApproval), "nobody is asked about what is not proven")
}

func TestCancelledChangeIsReverted(t *testing.T) {
	w := newWorld()
	env := alone(t, w)
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
	env.ExecuteWorkflow(Change, protocol.ChangeInput{ID: "c1", Campaign: "demo", Generation: 1, Approval: needsPerson})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, model.ChangeRolledBack, w.state["c1"])
	require.Equal(t, "stop", w.settled["c1"].By)
}

func TestCampaignGoesOnWithAChangeThatWaited(t *testing.T) {
	w := newWorld()
	w.view.Measured, w.view.Score, w.view.Approval = true, 0.5, needsPerson
	w.view.Generations = 1
	w.view.Waiting = &protocol.ChangeInput{ID: "c1", Campaign: "demo", Generation: 1, Approval: needsPerson}
	env := environment(t, w)
	env.OnSignalExternalWorkflow(anyArg, protocol.GenerationID("demo", 1), anyArg, anyArg, anyArg).Return(errors.New("no such workflow"))
	env.RegisterDelayedCallback(func() {
		require.NoError(t, env.UpdateWorkflowByID(protocol.ChangeID("c1"), protocol.UpdateApproveChange, "", &updateAnswer{},
			protocol.Verdict{By: "ada"}))
	}, time.Hour)
	env.ExecuteWorkflow(Campaign, input)
	require.Equal(t, 1, result(t, env).Kept)
	require.Zero(t, w.called(protocol.DiagnoseWeakness), "the generation was not run again")
}

func TestGenerationFinishesWhatAnEarlierRunLanded(t *testing.T) {
	for name, d := range map[string]protocol.DiagnoseWeaknessResult{
		"under way": {Change: "c1"},
		"settled":   {Change: "c1", Settled: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			env := environment(t, w)
			env.OnActivity(protocol.DiagnoseWeakness, anyArg, anyArg).Return(d, nil)
			env.ExecuteWorkflow(Generation, protocol.GenerationInput{Campaign: "demo", N: 1, Parallel: 1})
			require.NoError(t, env.GetWorkflowError())
			require.Zero(t, w.called(protocol.ProposeCandidates))
			require.Equal(t, 1, w.called(protocol.RecordGeneration))
			require.Equal(t, !d.Settled, w.called(protocol.ConfirmChange) == 1)
		})
	}
}

func TestUnionOfSpans(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	got := union([]protocol.Span{{Start: at(5), End: at(7)}, {Start: at(0), End: at(4)}, {Start: at(1), End: at(2)}, {Start: at(6), End: at(9)}})
	require.Equal(t, 8*time.Second, got)
}

// A change that was decided before its workflow was lost is settled as decided;
// nobody is asked again, and the campaign, which waits for it, is told.
func TestChangeDecidedBefore(t *testing.T) {
	for _, outcome := range []model.GenerationOutcome{model.OutcomeKept, model.OutcomeReverted} {
		w := newWorld()
		w.view.Generations, w.view.Approval, w.decided = 1, needsPerson, "ada"
		w.outcome = func(int) model.GenerationOutcome { return outcome }
		w.view.Waiting = &protocol.ChangeInput{ID: "c1", Campaign: "demo", Generation: 1, Approval: needsPerson}
		env := environment(t, w)
		env.ExecuteWorkflow(Campaign, input)
		require.Equal(t, model.StopGenerations, result(t, env).Stopped)
		require.Equal(t, "ada", w.settled["c1"].By)
		require.Equal(t, "measured", w.settled["c1"].Why)
		require.Zero(t, w.called(protocol.RequestApproval))
		want := model.ChangeKept
		if outcome == model.OutcomeReverted {
			want = model.ChangeRolledBack
		}
		require.Equal(t, want, w.state["c1"])
	}
}
