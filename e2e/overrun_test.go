package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// overrun plays a worker that has lost touch with the server: at job.Overrun.At
// the first attempt is given up there while it still runs, and goes on once
// another has taken its place and the campaign has come as far as Until.
func (c *child) overrun(ctx context.Context, nth string) {
	o := c.job.Overrun
	if o == nil {
		return
	}
	name, point, _ := strings.Cut(strings.Split(nth, "#")[0], "/")
	switch {
	case nth == o.Until:
		close(c.release)
		<-c.overran
	case nth == o.At:
		<-c.ready
		c.giveUp(ctx)
		<-c.release
		c.stalled.Store(true)
	case c.stalled.Load() && strings.HasPrefix(o.At, name+"/") && activity.GetInfo(ctx).Attempt == 1 && isEnd(point):
		c.stalled.Store(false)
		c.late = point
		close(c.overran)
	}
}

// isEnd tells the end of an activity, or the kind of its error, from points inside it.
func isEnd(point string) bool {
	return point == "end" || point[0] >= 'A' && point[0] <= 'Z'
}

// giveUp has the server run this activity again, as it does after a time-out.
func (c *child) giveUp(ctx context.Context) {
	info := activity.GetInfo(ctx)
	gone := temporal.NewApplicationErrorWithOptions("given up", "TimedOut", temporal.ApplicationErrorOptions{NextRetryDelay: time.Millisecond})
	c.failed = c.stack.Temporal.CompleteActivityByID(context.Background(), c.stack.Info.Namespace,
		info.WorkflowExecution.ID, info.WorkflowExecution.RunID, info.ActivityID, nil, gone)
}

// An attempt that has timed out but still runs can no longer write once another
// has taken its place, and does no harm to branch and rows.
func overruns(t *testing.T, spec []byte, want state) {
	for title, o := range map[string]struct {
		at, until string
		late      string // how the late attempt ends
	}{
		"baseline":             {"MeasureBaseline/round#2", "MeasureBaseline/end#1", "Fenced"},
		"proposal":             {"ProposeCandidates/attempts#2", "ProposeCandidates/end#2", "Fenced"},
		"land, before the row": {"LandChange/commit#1", "RecordGeneration/end#1", "Fenced"},
		"land, before the ref": {"LandChange/approved#1", "RecordGeneration/end#1", "Conflict"},
		"land, after the ref":  {"LandChange/branch#1", "RecordGeneration/end#1", "Fenced"},
		"confirm":              {"ConfirmChange/round#2", "ConfirmChange/end#1", "Fenced"},
		"revert":               {"RevertChange/commit#1", "RecordGeneration/end#1", "Fenced"},
		"keep":                 {"KeepChange/best#1", "RecordGeneration/end#2", "Fenced"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			j := job{Data: t.TempDir(), Spec: spec, Overrun: &overrun{At: o.at, Until: o.until}}
			out := run(t, j)
			require.Equal(t, o.late, out.Overrun)
			require.Equal(t, want, read(t, j.Data, want.Campaign.Name))
		})
	}
}
