// Package workflows holds the durable loop: Campaign, Generation and Change.
// Everything here is deterministic; whatever touches the world is an activity.
package workflows

import (
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ratchet/internal/protocol"
)

// All time-outs and retries of the loop stand in this file.
const (
	// shortTimeout bounds an activity that reads or writes rows and refs.
	shortTimeout = 2 * time.Minute
	// longTimeout bounds one attempt of an activity that runs sandboxes; the
	// campaign's own limits are far lower, this one ends what they miss.
	longTimeout = 12 * time.Hour
	// modelTimeout bounds one attempt of an activity that calls models: as many
	// answers as a generation asks for, each with the deadline of its endpoint.
	modelTimeout = 6 * time.Hour
	// reflectTimeout bounds a reflection with all its retries: it is worth little,
	// and a campaign goes on without it.
	reflectTimeout = 30 * time.Minute
	// heartbeat is how soon a dead worker is noticed. The SDK sends at most every
	// 0.8 of it, so it also bounds how stale the progress in the UI is.
	heartbeat = 20 * time.Second
	// outage is how long Docker, a disk or a network may be away before a campaign gives up.
	outage = 24 * time.Hour
)

// retryPolicy retries outages with growing pauses; errors that a retry cannot
// mend end the activity at once. An error of unknown kind is turned into one of
// those by activities.Map after a few attempts.
func retryPolicy() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    time.Second,
		BackoffCoefficient: 2,
		MaximumInterval:    30 * time.Second,
		NonRetryableErrorTypes: []string{
			protocol.ErrBadInput, protocol.ErrConflict, protocol.ErrTampered,
		},
	}
}

// short is for activities on rows and refs.
func short(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              protocol.QueueMain,
		StartToCloseTimeout:    shortTimeout,
		ScheduleToCloseTimeout: outage,
		WaitForCancellation:    true, // what was begun on refs and rows is completed before it is undone
		RetryPolicy:            retryPolicy(),
		Summary:                summary,
	})
}

// sandboxed is for activities that run sandboxes; they heartbeat.
func sandboxed(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              protocol.QueueSandbox,
		StartToCloseTimeout:    longTimeout,
		ScheduleToCloseTimeout: outage,
		HeartbeatTimeout:       heartbeat,
		WaitForCancellation:    true,
		RetryPolicy:            retryPolicy(),
		Summary:                summary,
	})
}

// modelled is for activities that call models; they heartbeat. A model server that
// is away is an outage like any other.
func modelled(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              protocol.QueueLLM,
		StartToCloseTimeout:    modelTimeout,
		ScheduleToCloseTimeout: outage,
		HeartbeatTimeout:       heartbeat,
		WaitForCancellation:    true, // a call that was answered is written down before the turn ends
		RetryPolicy:            retryPolicy(),
		Summary:                summary,
	})
}

// reflecting is for the reflection on a turn, which gives up early.
func reflecting(ctx workflow.Context, summary string) workflow.Context {
	opts := workflow.GetActivityOptions(modelled(ctx, summary))
	opts.StartToCloseTimeout, opts.ScheduleToCloseTimeout = reflectTimeout, reflectTimeout
	return workflow.WithActivityOptions(ctx, opts)
}

// generationOptions starts one turn. A turn that was cut off is run again under
// the same id: all it did is in the store, and its activities find it there.
func generationOptions(in protocol.GenerationInput, summary string) workflow.ChildWorkflowOptions {
	return workflow.ChildWorkflowOptions{
		WorkflowID:            protocol.GenerationID(in.Campaign, in.N),
		TaskQueue:             protocol.QueueMain,
		WaitForCancellation:   true,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         summary,
	}
}

// changeOptions starts the life of a change, which outlives its generation when
// it waits for a person.
func changeOptions(in protocol.ChangeInput, summary string) workflow.ChildWorkflowOptions {
	return workflow.ChildWorkflowOptions{
		WorkflowID:            protocol.ChangeID(in.ID),
		TaskQueue:             protocol.QueueMain,
		WaitForCancellation:   true,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         summary,
	}
}
