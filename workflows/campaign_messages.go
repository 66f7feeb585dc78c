package workflows

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ratchet/internal/protocol"
)

// listen registers the handlers of signals, updates and queries.
func (c *campaign) listen(ctx workflow.Context) error {
	c.receiveFailures(ctx)
	c.receiveSettled(ctx)
	return errors.Join(
		workflow.SetQueryHandler(ctx, protocol.QueryScoreboard, func() (protocol.Scoreboard, error) {
			return c.scoreboard(), nil
		}),
		handle(ctx, protocol.UpdatePauseCampaign, "hold the campaign after the generation under way", c.pause, c.checkPause),
		handle(ctx, protocol.UpdateResumeCampaign, "let a paused campaign go on", c.resume, c.checkResume),
		handle(ctx, protocol.UpdateStopCampaign, "end the campaign; a change under test is undone", c.halt, c.checkSteer),
		handle(ctx, protocol.UpdateHintCampaign, "tell the proposers something", c.hint, c.checkHint),
		handle(ctx, protocol.UpdateChangeBudget, "set other limits", c.changeBudget, c.checkBudget),
	)
}

// handle registers an update with the validator that may refuse it.
func handle[M any](ctx workflow.Context, name, about string,
	do func(workflow.Context, M) error, check func(workflow.Context, M) error) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, name, do, workflow.UpdateHandlerOptions{Validator: check, Description: about})
}

// refuse is how a validator says no: the caller sees the message, nothing is recorded.
func refuse(message string) error {
	return temporal.NewApplicationError(message, protocol.ErrBadInput)
}

// refused turns what is wrong with a request into a refusal; nil stays nil.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return refuse(err.Error())
}

// receiveFailures notes how far the stored failures reach. New failures are new
// evidence of what is weak, so generations without gain are counted afresh.
func (c *campaign) receiveFailures(ctx workflow.Context) {
	ch := workflow.GetSignalChannel(ctx, protocol.SignalFailuresArrived)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var s protocol.FailuresArrived
			if more := ch.Receive(ctx, &s); !more {
				return
			}
			if s.Cursor > c.carry.FailureCursor {
				c.carry.FailureCursor = s.Cursor
				c.refresh()
			}
		}
	})
}

// refresh counts generations without gain afresh: what they did not know has come.
func (c *campaign) refresh() {
	c.view.Stale = 0
	c.carry.Fresh = c.view.Next
}

// receiveSettled notes which changes have been decided by a person or a deadline.
func (c *campaign) receiveSettled(ctx workflow.Context) {
	ch := workflow.GetSignalChannel(ctx, protocol.SignalChangeSettled)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var s protocol.ChangeSettled
			if more := ch.Receive(ctx, &s); !more {
				return
			}
			c.settled[s.ID] = s.State
		}
	})
}
