package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
)

// Takeover ends every activity that a worker of an earlier process has begun, so
// that it runs again at once and not only when its time-out is over; it returns
// how many there were. The caller must know that no other process works for this
// Temporal server: it holds the data folder's lock, and has started no worker.
func (c *Controller) Takeover(ctx context.Context, namespace string) (int, error) {
	ids, err := c.roots(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	var errs []error
	for seen := map[string]bool{}; len(ids) > 0; ids = ids[1:] {
		if seen[ids[0]] {
			continue
		}
		seen[ids[0]] = true
		ended, children, err := c.takeOver(ctx, namespace, ids[0])
		n, ids, errs = n+ended, append(ids, children...), append(errs, err)
	}
	return n, errors.Join(errs...)
}

// roots are the workflows from which all others can be reached: those of
// campaigns, and those of changes that have outlived their generation.
func (c *Controller) roots(ctx context.Context) ([]string, error) {
	rows, err := c.store.Campaigns(ctx)
	if err != nil {
		return nil, err
	}
	changes, err := c.store.Changes(ctx, store.ChangeFilter{States: []model.ChangeState{
		model.ChangeProposed, model.ChangeApproved, model.ChangeApplied, model.ChangeProbation, model.ChangeAwaiting,
	}})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range rows {
		ids = append(ids, protocol.CampaignID(r.Name))
	}
	for _, ch := range changes {
		ids = append(ids, protocol.ChangeID(ch.ID))
	}
	return ids, nil
}

// takeOver ends the activities of one workflow and names its children.
func (c *Controller) takeOver(ctx context.Context, namespace, id string) (n int, children []string, err error) {
	d, err := c.temporal.DescribeWorkflowExecution(ctx, id, "")
	if isMissing(err) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, fmt.Errorf("describe workflow %s: %w", id, err)
	}
	if d.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return 0, nil, nil
	}
	for _, child := range d.GetPendingChildren() {
		children = append(children, child.GetWorkflowId())
	}
	n, err = c.endActivities(ctx, namespace, d)
	return n, children, err
}

func (c *Controller) endActivities(ctx context.Context, namespace string, d *workflowservice.DescribeWorkflowExecutionResponse) (n int, err error) {
	e := d.GetWorkflowExecutionInfo().GetExecution()
	var errs []error
	for _, a := range d.GetPendingActivities() {
		cause := lost(a)
		if cause == nil {
			continue
		}
		err := c.temporal.CompleteActivityByID(ctx, namespace, e.GetWorkflowId(), e.GetRunId(), a.GetActivityId(), nil, cause)
		if err != nil && !isMissing(err) {
			errs = append(errs, fmt.Errorf("end activity %s of workflow %s: %w", a.GetActivityType().GetName(), e.GetWorkflowId(), err))
			continue
		}
		n++
	}
	return n, errors.Join(errs...)
}

// lost is the error with which an activity that its worker has left ends: one
// that is retried at once, or the cancellation that the worker did not live to
// report; nil for one that no worker has begun.
func lost(a *workflowpb.PendingActivityInfo) error {
	switch a.GetState() {
	case enumspb.PENDING_ACTIVITY_STATE_STARTED:
		return temporal.NewApplicationErrorWithOptions("the process that ran it has ended", protocol.ErrWorkerLost,
			temporal.ApplicationErrorOptions{NextRetryDelay: time.Millisecond})
	case enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED:
		return temporal.NewCanceledError()
	}
	return nil
}

func isMissing(err error) bool {
	var missing *serviceerror.NotFound
	return errors.As(err, &missing)
}
