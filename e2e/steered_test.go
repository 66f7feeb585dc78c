package e2e

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"ratchet/activities"
	"ratchet/benchmarks"
	"ratchet/internal/campaign"
	"ratchet/internal/control"
	"ratchet/internal/model"
	"ratchet/internal/propose"
	"ratchet/internal/protocol"
	"ratchet/workers"
	"ratchet/workflows"
)

// gate holds an activity at its beginning until it is opened.
type gate struct {
	point   string
	reached chan struct{}
	open    chan struct{}
	armed   atomic.Bool // nobody stops at it before
}

func newGate(point string) *gate {
	return &gate{point: point, reached: make(chan struct{}), open: make(chan struct{})}
}

// pass waits at the gate when the point is its own, the first time that it is
// come to since it was armed.
func (g *gate) pass(ctx context.Context, point string) {
	if point != g.point || !g.armed.Load() {
		return
	}
	select {
	case <-g.reached: // it was passed before
		return
	default:
		close(g.reached)
	}
	select {
	case <-g.open:
	case <-ctx.Done():
	}
}

// TestSteeredHistoriesReplay pauses, resumes and stops a campaign, and replays
// what it has recorded.
func TestSteeredHistoriesReplay(t *testing.T) {
	needDocker(t)
	ctx := t.Context()
	data := t.TempDir()
	selected, reverted := newGate(protocol.SelectCandidate+"/begin"), newGate(protocol.RevertChange+"/begin")
	selected.armed.Store(true)
	stack, err := workers.Open(ctx, workers.StackConfig{Data: data, Adapt: func(cfg *activities.Config) {
		cfg.Boxes = noBoxes{}
		cfg.Trace = func(ctx context.Context, point string) { selected.pass(ctx, point); reverted.pass(ctx, point) }
		cfg.Suites = func(campaign.Spec) ([]benchmarks.Suite, error) {
			return []benchmarks.Suite{&suite{at: func(string) {}}}, nil
		}
		cfg.Proposers = func(campaign.Spec, activities.Callers) ([]propose.Proposer, error) {
			return []propose.Proposer{endless{}}, nil
		}
	}})
	require.NoError(t, err)
	s := spec(t, source(t, parts()), 9)
	s.Name = "steered"
	_, err = stack.Control.Start(ctx, s, control.Options{})
	require.NoError(t, err)
	who := protocol.Verdict{By: "ada", Why: "for the record"}
	<-selected.reached
	require.NoError(t, stack.Control.Pause(ctx, s.Name, who))
	close(selected.open)
	require.Eventually(t, func() bool {
		b, err := stack.Control.Scoreboard(ctx, s.Name)
		return err == nil && b.Phase == "paused"
	}, childLimit, 20*time.Millisecond)
	reverted.armed.Store(true)
	require.NoError(t, stack.Control.Resume(ctx, s.Name, who))
	<-reverted.reached
	require.NoError(t, stack.Control.Stop(ctx, s.Name, who))
	close(reverted.open)
	require.NoError(t, stack.Control.Wait(ctx, s.Name))
	row, err := stack.Store.Campaign(ctx, s.Name)
	require.NoError(t, err)
	require.Equal(t, model.StopUser, row.Stopped)
	events, err := stack.Store.CampaignEvents(ctx, s.Name)
	require.NoError(t, err)
	var trail []model.CampaignEventKind
	for _, e := range events {
		trail = append(trail, e.Kind)
	}
	require.Equal(t, []model.CampaignEventKind{model.EventPaused, model.EventResumed, model.EventStopped}, trail)
	require.NoError(t, stack.Close(context.WithoutCancel(ctx)))

	for id, h := range recorded(t, data) {
		r := worker.NewWorkflowReplayer()
		workflows.Register(r)
		require.NoError(t, r.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), h), id)
		record(t, id, h)
	}
}
