package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

// withModel is a world whose proposer calls a model.
func withModel() *world {
	w := newWorld()
	w.view.Model, w.view.Proposers = true, []string{"coder"}
	w.tokens, w.money = 600, 0.25
	return w
}

func TestModelsHaveAQueueOfTheirOwn(t *testing.T) {
	w := withModel()
	env := environment(t, w)
	env.ExecuteWorkflow(Campaign, input)
	require.Equal(t, 3, result(t, env).Kept)
	require.Equal(t, protocol.QueueLLM, w.queues[protocol.ProposeCandidates])
	require.Equal(t, protocol.QueueLLM, w.queues[protocol.ReflectGeneration])
	require.Equal(t, protocol.QueueMain, w.queues[protocol.RecordGeneration])
	require.Len(t, w.reflected, 3)
	require.Equal(t, []any{"demo", 2, "b"}, []any{w.reflected[1].Campaign, w.reflected[1].Generation, w.reflected[1].Brief})

	w = newWorld()
	env = environment(t, w)
	env.ExecuteWorkflow(Campaign, input)
	require.Equal(t, 3, result(t, env).Kept)
	require.Equal(t, protocol.QueueMain, w.queues[protocol.ProposeCandidates])
	require.Zero(t, w.called(protocol.ReflectGeneration), "nobody is there to reflect")
}

func TestATurnGoesOnWithoutItsReflection(t *testing.T) {
	for name, fail := range map[string]error{"refused": badInput("no endpoint"), "out of order for ever": context.DeadlineExceeded} {
		t.Run(name, func(t *testing.T) {
			w := withModel()
			w.view.Generations = 1
			w.fail[protocol.ReflectGeneration] = fail
			env := environment(t, w)
			began := env.Now()
			env.ExecuteWorkflow(Campaign, input)
			require.Equal(t, 1, result(t, env).Kept)
			require.Equal(t, 1, w.called(protocol.RecordGeneration))
			require.LessOrEqual(t, env.Now().Sub(began), time.Hour, "it gives up early")
		})
	}
}

func TestEveryTurnIsReflectedOn(t *testing.T) {
	for name, setup := range map[string]func(*world){
		"nothing proposed": func(w *world) { w.outcome = func(int) model.GenerationOutcome { return model.OutcomeNone } },
		"nothing passed":   func(w *world) { w.outcome = func(int) model.GenerationOutcome { return model.OutcomeRejected } },
		"reverted":         func(w *world) { w.outcome = func(int) model.GenerationOutcome { return model.OutcomeReverted } },
		"waits for a person": func(w *world) {
			w.view.Approval = needsPerson
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := withModel()
			w.view.Generations = 1
			setup(w)
			env := environment(t, w)
			env.ExecuteWorkflow(Campaign, input)
			require.Equal(t, model.StopGenerations, result(t, env).Stopped)
			require.Len(t, w.reflected, 1)
		})
	}
}

func TestAStoppedCampaignDoesNotReflect(t *testing.T) {
	w := withModel()
	env := environment(t, w)
	env.OnActivity(protocol.ConfirmChange, anyArg, anyArg).Return(protocol.ConfirmChangeResult{Keep: true}, nil).After(24 * time.Hour)
	at(env, time.Hour, protocol.UpdateStopCampaign, protocol.Verdict{By: "ada"})
	env.ExecuteWorkflow(Campaign, input)
	require.Equal(t, model.StopUser, result(t, env).Stopped)
	require.Equal(t, model.ChangeRolledBack, w.state["c1"])
	require.Empty(t, w.reflected)
	require.Equal(t, 1, w.called(protocol.RecordGeneration))
}

func TestModelBudgetsEndACampaign(t *testing.T) {
	tests := []struct {
		name  string
		setup func(*world)
		want  string
		gens  int
	}{
		{"tokens", func(w *world) { w.view.BudgetToken = 1200 }, "the budget of 1200 tokens is used up: 1200 are spent", 2},
		{"cost", func(w *world) { w.view.BudgetMoney = 0.3 }, "the cost budget of 0.3 is used up: 0.5 are spent", 2},
		{"spent before", func(w *world) { w.view.BudgetToken, w.view.Cost.Tokens = 10, 10 }, "the budget of 10 tokens is used up", 0},
		{"no room for a call", func(w *world) {
			w.view.BudgetToken = 1000
			w.proposal = func(int) protocol.ProposeCandidatesResult {
				return protocol.ProposeCandidatesResult{Exhausted: true, Notes: []string{"coder: the budget has no room"}}
			}
			w.outcome = func(int) model.GenerationOutcome { return model.OutcomeNone }
		}, "600 of 1000 tokens, and what is left has no room for another model call", 1},
		{"no room for a call, two limits", func(w *world) {
			w.view.BudgetToken, w.view.BudgetMoney, w.view.StopStale = 1000, 0.3, 1
			w.proposal = func(int) protocol.ProposeCandidatesResult { return protocol.ProposeCandidatesResult{Exhausted: true} }
			w.outcome = func(int) model.GenerationOutcome { return model.OutcomeNone }
		}, "600 of 1000 tokens and 0.25 of the cost of 0.3", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := withModel()
			tt.setup(w)
			env := environment(t, w)
			env.ExecuteWorkflow(Campaign, input)
			out := result(t, env)
			require.Equal(t, model.StopBudget, out.Stopped)
			require.Contains(t, out.Detail, tt.want)
			require.Contains(t, out.Detail, "ratchet campaign budget demo")
			require.Equal(t, tt.gens, w.called(protocol.RecordGeneration))
		})
	}
}

// A budget that is raised while the turn that ran out of it is under way counts.
func TestALargerBudgetLetsAnExhaustedCampaignGoOn(t *testing.T) {
	w := withModel()
	w.view.BudgetToken = 1000
	w.proposal = func(n int) protocol.ProposeCandidatesResult {
		return protocol.ProposeCandidatesResult{Candidates: 4, Exhausted: n == 1}
	}
	env := environment(t, w)
	slow(env)
	a := at(env, 30*time.Second, protocol.UpdateChangeBudget, protocol.BudgetChange{By: "ada", Tokens: ptr(int64(2000))})
	env.ExecuteWorkflow(Campaign, input)
	a.requireDone(t)
	require.Equal(t, 3, result(t, env).Kept)
}

// A request that is being written down when the budget is used up is waited for.
func TestABudgetThatIsBeingRaisedIsWaitedFor(t *testing.T) {
	w := withModel()
	w.view.BudgetToken = 600
	env := environment(t, w)
	slow(env)
	env.OnActivity(protocol.SteerCampaign, anyArg, anyArg).Return(protocol.SteerCampaignResult{Budget: model.Budget{Tokens: 5000}}, nil).After(time.Hour)
	a := at(env, 30*time.Second, protocol.UpdateChangeBudget, protocol.BudgetChange{By: "ada", Tokens: ptr(int64(5000))})
	env.ExecuteWorkflow(Campaign, input)
	a.requireDone(t)
	require.Equal(t, 3, result(t, env).Kept)
}

func TestAProposerCanNeverApprove(t *testing.T) {
	for _, by := range []string{"coder", "Coder", " CODER\t", "search", "llm", "LLM", "agent", "ratchet", "evidence", " Deadline", "stop", "co\u00adder"} {
		t.Run(by, func(t *testing.T) {
			w := withModel()
			w.view.Generations, w.view.Approval = 1, needsPerson
			env := environment(t, w)
			answers := map[string]*updateAnswer{}
			for _, update := range []string{protocol.UpdateApproveChange, protocol.UpdateRejectChange} {
				a := &updateAnswer{}
				answers[update] = a
				env.RegisterDelayedCallback(func() {
					require.NoError(t, env.UpdateWorkflowByID(protocol.ChangeID("c1"), update, update, a, protocol.Verdict{By: by, Why: "it is good"}))
				}, time.Hour)
			}
			env.ExecuteWorkflow(Campaign, input)
			require.Equal(t, model.StopGenerations, result(t, env).Stopped)
			for update, a := range answers {
				require.Error(t, a.rejected, update)
			}
			require.Equal(t, "deadline", w.settled["c1"].By)
		})
	}
}

// A change that waited when its campaign was recovered knows its proposers too.
func TestAProposerCannotApproveAfterARecovery(t *testing.T) {
	w := withModel()
	w.view.Measured, w.view.Generations, w.view.Approval = true, 1, needsPerson
	w.view.Waiting = &protocol.ChangeInput{ID: "c1", Campaign: "demo", Generation: 1, Approval: needsPerson}
	env := environment(t, w)
	env.OnSignalExternalWorkflow(anyArg, protocol.GenerationID("demo", 1), anyArg, anyArg, anyArg).Return(context.Canceled)
	a := &updateAnswer{}
	env.RegisterDelayedCallback(func() {
		require.NoError(t, env.UpdateWorkflowByID(protocol.ChangeID("c1"), protocol.UpdateApproveChange, "", a, protocol.Verdict{By: "coder"}))
	}, time.Hour)
	env.ExecuteWorkflow(Campaign, input)
	require.Equal(t, model.StopGenerations, result(t, env).Stopped)
	require.ErrorContains(t, a.rejected, "proposer")
}

func TestTheStoryTellsOfModels(t *testing.T) {
	board := protocol.Scoreboard{
		Campaign: "demo", Model: true, Hint: "look at the parser (ada)",
		Spent: model.Budget{Tokens: 1500, Money: 0.5}, Budget: model.Budget{Tokens: 2000, Money: 3},
	}
	got := markdown(board)
	require.Contains(t, got, "models: 1500 tokens, cost 0.5 (at most 2000 tokens) (at most 3)")
	require.Contains(t, got, "hint: *look at the parser (ada)*")
	require.NotContains(t, markdown(protocol.Scoreboard{}), "models")
}
