package workflows

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

// world is a store and a sandbox in a few fields: enough for the workflows to
// drive on. Its activities have the idempotency that the real ones have.
type world struct {
	mu       sync.Mutex
	view     protocol.OpenCampaignResult
	outcome  func(n int) model.GenerationOutcome // what generation n comes to
	calls    map[string]int
	settled  map[string]protocol.SettleChangeInput
	state    map[string]model.ChangeState
	finished []protocol.FinishCampaignInput
	screen   func(ctx context.Context) error // called by each shard
	confirm  func(ctx context.Context) error // called by each confirmation
	fail     map[string]error                // activity to the error it returns
	decided  string                          // who decided on each change before it is confirmed
	sandbox  time.Duration

	steered   []protocol.SteerCampaignInput // the audit trail
	steer     func(ctx context.Context) error
	reflected []protocol.ReflectGenerationInput
	proposal  func(n int) protocol.ProposeCandidatesResult // of generation n; nil for the usual one
	tokens    int64                                        // that each generation costs
	money     float64
	queues    map[string]string // activity to the queue it ran on
}

func newWorld() *world {
	return &world{
		view: protocol.OpenCampaignResult{
			Repo: "/src/agent", Generations: 3, Candidates: 4, Parallel: 2, Proposers: []string{"search"},
			StopScore: 1, StopStale: 10, Next: 1, Measured: false, Failing: 5,
		},
		outcome: func(int) model.GenerationOutcome { return model.OutcomeKept },
		calls:   map[string]int{}, settled: map[string]protocol.SettleChangeInput{},
		state: map[string]model.ChangeState{}, fail: map[string]error{}, queues: map[string]string{},
	}
}

func (w *world) count(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[name]++
	return w.fail[name]
}

func (w *world) ranOn(name, queue string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queues[name] = queue
}

func (w *world) called(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[name]
}

// stub registers one activity of the world.
func stub[I, R any](env *testsuite.TestWorkflowEnvironment, w *world, name string, f func(context.Context, I) (R, error)) {
	env.RegisterActivityWithOptions(func(ctx context.Context, in I) (R, error) {
		w.ranOn(name, activity.GetInfo(ctx).TaskQueue)
		if err := w.count(name); err != nil {
			var zero R
			return zero, err
		}
		return f(ctx, in)
	}, activity.RegisterOptions{Name: name})
}

// environment makes a test environment whose activities are the world's.
func environment(t *testing.T, w *world) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: protocol.CampaignID("demo"), TaskQueue: protocol.QueueMain})
	env.SetTestTimeout(20 * time.Second)
	Register(env)
	w.registerOpening(env)
	w.registerSearch(env)
	w.registerChange(env)
	w.registerSteering(env)
	return env
}

func (w *world) registerOpening(env *testsuite.TestWorkflowEnvironment) {
	stub(env, w, protocol.OpenCampaign, func(context.Context, protocol.OpenCampaignInput) (protocol.OpenCampaignResult, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.view.Created = env.Now().Add(-time.Hour)
		return w.view, nil
	})
	stub(env, w, protocol.PrepareTarget, func(context.Context, protocol.PrepareTargetInput) (protocol.PrepareTargetResult, error) {
		return protocol.PrepareTargetResult{Image: "img"}, nil
	})
	stub(env, w, protocol.MeasureBaseline, func(context.Context, protocol.MeasureBaselineInput) (protocol.MeasureBaselineResult, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.view.Measured, w.view.Baseline, w.view.Score = true, 0.5, 0.5
		return protocol.MeasureBaselineResult{Score: 0.5}, nil
	})
	stub(env, w, protocol.FinishCampaign, func(_ context.Context, in protocol.FinishCampaignInput) (protocol.CampaignResult, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.finished = append(w.finished, in)
		return protocol.CampaignResult{Stopped: in.Stopped}, nil
	})
	stub(env, w, protocol.RecordGeneration, w.record)
}

func (w *world) registerSearch(env *testsuite.TestWorkflowEnvironment) {
	stub(env, w, protocol.DiagnoseWeakness, func(_ context.Context, in protocol.DiagnoseWeaknessInput) (protocol.DiagnoseWeaknessResult, error) {
		return protocol.DiagnoseWeaknessResult{Brief: "b", Coverage: protocol.TreeNote{Tree: "t", Ref: "r"}}, nil
	})
	stub(env, w, protocol.ProposeCandidates, func(_ context.Context, in protocol.ProposeCandidatesInput) (protocol.ProposeCandidatesResult, error) {
		if w.proposal != nil {
			return w.proposal(in.Generation), nil
		}
		if w.outcome(in.Generation) == model.OutcomeNone {
			return protocol.ProposeCandidatesResult{}, nil
		}
		return protocol.ProposeCandidatesResult{Candidates: 4}, nil
	})
	stub(env, w, protocol.ScreenCandidates, func(ctx context.Context, _ protocol.ScreenCandidatesInput) (protocol.ScreenCandidatesResult, error) {
		if w.screen != nil {
			if err := w.screen(ctx); err != nil {
				return protocol.ScreenCandidatesResult{}, err
			}
		}
		return protocol.ScreenCandidatesResult{Screened: 2, Sandbox: w.sandbox}, nil
	})
	stub(env, w, protocol.SelectCandidate, func(_ context.Context, in protocol.SelectCandidateInput) (protocol.SelectCandidateResult, error) {
		if w.outcome(in.Generation) == model.OutcomeRejected {
			return protocol.SelectCandidateResult{}, nil
		}
		return protocol.SelectCandidateResult{Change: fmt.Sprintf("c%d", in.Generation), Hypothesis: "h"}, nil
	})
}

func (w *world) registerChange(env *testsuite.TestWorkflowEnvironment) {
	stub(env, w, protocol.LandChange, func(context.Context, protocol.LandChangeInput) (protocol.LandChangeResult, error) {
		return protocol.LandChangeResult{Commit: "abc"}, nil
	})
	stub(env, w, protocol.ConfirmChange, func(ctx context.Context, in protocol.ConfirmChangeInput) (protocol.ConfirmChangeResult, error) {
		if w.confirm != nil {
			if err := w.confirm(ctx); err != nil {
				return protocol.ConfirmChangeResult{}, err
			}
		}
		var n int
		if _, err := fmt.Sscanf(in.Change, "c%d", &n); err != nil {
			return protocol.ConfirmChangeResult{}, err
		}
		return protocol.ConfirmChangeResult{Keep: w.outcome(n) == model.OutcomeKept, Reason: "measured", Verdict: "v", Decided: w.decided}, nil
	})
	stub(env, w, protocol.RequestApproval, func(_ context.Context, in protocol.RequestApprovalInput) (protocol.RequestApprovalResult, error) {
		return protocol.RequestApprovalResult{Deadline: in.Deadline}, nil
	})
	stub(env, w, protocol.KeepChange, w.settle(model.ChangeKept))
	stub(env, w, protocol.RevertChange, w.settle(model.ChangeRolledBack))
}

// registerSteering keeps the audit trail and the reflections. A budget is changed
// as the store would.
func (w *world) registerSteering(env *testsuite.TestWorkflowEnvironment) {
	stub(env, w, protocol.SteerCampaign, func(ctx context.Context, in protocol.SteerCampaignInput) (protocol.SteerCampaignResult, error) {
		if w.steer != nil {
			if err := w.steer(ctx); err != nil {
				return protocol.SteerCampaignResult{}, err
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.steered = append(w.steered, in)
		out := protocol.SteerCampaignResult{Budget: model.Budget{
			Wall: w.view.BudgetWall, Sandbox: w.view.BudgetSand, Tokens: w.view.BudgetToken, Money: w.view.BudgetMoney,
		}}
		if in.Budget != nil {
			out.Budget = in.Budget.Apply(out.Budget)
		}
		return out, nil
	})
	stub(env, w, protocol.ReflectGeneration, func(_ context.Context, in protocol.ReflectGenerationInput) (protocol.ReflectGenerationResult, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.reflected = append(w.reflected, in)
		return protocol.ReflectGenerationResult{Learnt: "bounds are tested from both sides"}, nil
	})
}

func (w *world) settle(state model.ChangeState) func(context.Context, protocol.SettleChangeInput) (protocol.SettleChangeResult, error) {
	return func(_ context.Context, in protocol.SettleChangeInput) (protocol.SettleChangeResult, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.settled[in.Change], w.state[in.Change] = in, state
		return protocol.SettleChangeResult{State: state}, nil
	}
}

// record derives a generation's outcome from what was settled, as the store would.
func (w *world) record(_ context.Context, in protocol.RecordGenerationInput) (protocol.RecordGenerationResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.outcome(in.Generation)
	switch w.state[fmt.Sprintf("c%d", in.Generation)] {
	case model.ChangeKept:
		out = model.OutcomeKept
	case model.ChangeRolledBack:
		out = model.OutcomeReverted
	}
	if in.Pending {
		out = model.OutcomePending
	}
	score := 0.5 + 0.1*float64(in.Generation)
	return protocol.RecordGenerationResult{
		State: out, Score: score, Tokens: w.tokens * int64(in.Generation), Money: w.money * float64(in.Generation),
		Note: protocol.GenerationNote{N: in.Generation, Outcome: out, After: score, Reason: "r"},
	}, nil
}

// result reads the campaign's result.
func result(t *testing.T, env *testsuite.TestWorkflowEnvironment) protocol.CampaignResult {
	t.Helper()
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	var out protocol.CampaignResult
	require.NoError(t, env.GetWorkflowResult(&out))
	return out
}

// badInput is an error that no retry mends.
func badInput(message string) error {
	return temporal.NewNonRetryableApplicationError(message, protocol.ErrBadInput, errors.New(message))
}

// answer collects what an update came to.
type updateAnswer struct {
	rejected error
	err      error
	done     bool
}

func (u *updateAnswer) Accept()                   {}
func (u *updateAnswer) Reject(err error)          { u.rejected = err }
func (u *updateAnswer) Complete(_ any, err error) { u.err, u.done = err, true }
