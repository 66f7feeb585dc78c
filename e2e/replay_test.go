package e2e

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"

	"ratchet/internal/campaign"
	"ratchet/internal/devstack"
	"ratchet/internal/protocol"
	"ratchet/workflows"
)

// recordEnv names a folder into which the histories of this test are written, as
// fixtures for the replay test of package workflows.
const recordEnv = "RATCHET_RECORD_HISTORIES"

// TestHistoriesReplay replays what a whole campaign has just recorded: whatever
// is not deterministic in a workflow shows here first.
func TestHistoriesReplay(t *testing.T) {
	needDocker(t)
	data, err := campaign.JSON(spec(t, source(t, parts()), 3))
	require.NoError(t, err)
	j := job{Data: t.TempDir(), Spec: data}
	run(t, j)

	histories := recorded(t, j.Data)
	types := map[string]bool{}
	for id, h := range histories {
		r := worker.NewWorkflowReplayer()
		workflows.Register(r)
		require.NoError(t, r.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), h), id)
		types[h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()] = true
		record(t, id, h)
	}
	require.Equal(t, map[string]bool{
		protocol.CampaignWorkflow: true, protocol.GenerationWorkflow: true, protocol.ChangeWorkflow: true,
	}, types)
}

// recorded reads the history of every workflow in a data folder.
func recorded(t *testing.T, data string) map[string]*historypb.History {
	t.Helper()
	ctx := t.Context()
	stack, err := devstack.Start(ctx, devstack.Config{Dir: data, SearchAttributes: protocol.SearchAttributes()})
	require.NoError(t, err)
	defer func() { require.NoError(t, stack.Stop(context.WithoutCancel(ctx))) }()
	c, err := client.DialContext(ctx, client.Options{HostPort: stack.TemporalAddress(), Namespace: stack.Namespace(),
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	defer c.Close()
	list, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{})
	require.NoError(t, err)
	out := map[string]*historypb.History{}
	for _, e := range list.Executions {
		h := &historypb.History{}
		events := c.GetWorkflowHistory(ctx, e.Execution.WorkflowId, e.Execution.RunId, false, 0)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(t, err)
			h.Events = append(h.Events, event)
		}
		out[e.Execution.WorkflowId] = h
	}
	return out
}

// record writes one history as a fixture, when that is asked for.
func record(t *testing.T, id string, h *historypb.History) {
	t.Helper()
	dir := os.Getenv(recordEnv)
	if dir == "" {
		return
	}
	data, err := protojson.Marshal(h)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, strings.ReplaceAll(id, "/", "-")+".json"), data, 0o644))
}
