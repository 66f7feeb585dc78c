package e2e

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"ratchet/internal/control"
	"ratchet/internal/devstack"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

// Activities that a process died in are run again because the next process says
// that it is gone, and not because their time-out is over.
func takenOver(t *testing.T, spec []byte, want state) {
	j := job{Data: t.TempDir(), Spec: spec}
	for _, j.Kill = range []string{"OpenCampaign/refs#1", "MeasureBaseline/round#2"} {
		begin(t, j).die(j.Kill)
	}
	j.Kill = ""
	require.Equal(t, 2, run(t, j).Lost)
	require.Equal(t, want, read(t, j.Data, want.Campaign.Name))
}

// A campaign that is told to stop, and whose process dies before the activity
// under way has heard of it, is stopped by the next process: the change that was
// being measured is undone.
func diesWhileStopping(t *testing.T, spec []byte, want state) {
	j := job{Data: t.TempDir(), Spec: spec, Hold: "ConfirmChange/round#2"}
	p := begin(t, j)
	require.Equal(t, j.Hold, p.line())
	info, running, err := devstack.ReadInfo(j.Data)
	require.NoError(t, err)
	require.True(t, running)
	c, err := client.DialContext(t.Context(), client.Options{HostPort: info.TemporalAddress, Namespace: info.Namespace,
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	defer c.Close()
	db := open(t, j.Data)
	require.NoError(t, control.New(c, db).Stop(t.Context(), want.Campaign.Name, protocol.Verdict{By: "ada", Why: "enough"}))
	change := want.Changes[0].ID
	require.Eventually(t, func() bool {
		d, err := c.DescribeWorkflowExecution(t.Context(), protocol.ChangeID(change), "")
		require.NoError(t, err)
		a := d.GetPendingActivities()
		return len(a) == 1 && a[0].GetState() == enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED
	}, childLimit, 20*time.Millisecond)
	require.NoError(t, p.cmd.Process.Kill())
	_, _ = io.ReadAll(p.out)
	require.Error(t, p.cmd.Wait())

	j.Hold = ""
	require.Equal(t, model.StopUser, run(t, j).Stopped)
	got := read(t, j.Data, want.Campaign.Name)
	require.Len(t, got.Changes, 1)
	require.Equal(t, model.ChangeRolledBack, got.Changes[0].State)
	require.Len(t, got.Branch, 3, "the base, the change, and its revert")
	require.Equal(t, want.Branch[len(want.Branch)-1].Tree, got.Best)
	require.Equal(t, "stop", got.Receipts[0].DecidedBy)
}
