package e2e

import (
	"context"
	"errors"

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
	if nth == o.Until {
		close(c.release)
		<-c.overran
		return
	}
	if nth == o.At {
		<-c.ready
		c.giveUp(ctx)
		<-c.release
	}
}

// giveUp has the server run this activity again, as it does after a time-out.
func (c *child) giveUp(ctx context.Context) {
	info := activity.GetInfo(ctx)
	gone := temporal.NewApplicationError("given up", "TimedOut")
	err := c.stack.Temporal.CompleteActivityByID(context.Background(), c.stack.Info.Namespace,
		info.WorkflowExecution.ID, info.WorkflowExecution.RunID, info.ActivityID, nil, gone)
	if err != nil {
		c.late = errors.Join(c.late, err)
	}
}
