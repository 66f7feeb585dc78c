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
		workflow.SetUpdateHandlerWithOptions(ctx, protocol.UpdatePauseCampaign, c.pause,
			workflow.UpdateHandlerOptions{Validator: c.checkPause, Description: "hold the campaign after the generation under way"}),
		workflow.SetUpdateHandlerWithOptions(ctx, protocol.UpdateResumeCampaign, c.resume,
			workflow.UpdateHandlerOptions{Validator: c.checkResume, Description: "let a paused campaign go on"}),
		workflow.SetUpdateHandlerWithOptions(ctx, protocol.UpdateStopCampaign, c.halt,
			workflow.UpdateHandlerOptions{Validator: c.checkStop, Description: "end the campaign; a change under test is undone"}),
	)
}

func (c *campaign) pause(ctx workflow.Context, _ protocol.Verdict) error {
	c.carry.Paused = true
	c.tell(ctx, c.phase)
	return nil
}

func (c *campaign) checkPause(v protocol.Verdict) error {
	if c.carry.Paused {
		return refuse("the campaign is paused already")
	}
	return c.checkStop(v)
}

func (c *campaign) resume(ctx workflow.Context, _ protocol.Verdict) error {
	c.carry.Paused = false
	c.tell(ctx, c.phase)
	return nil
}

func (c *campaign) checkResume(v protocol.Verdict) error {
	if !c.carry.Paused {
		return refuse("the campaign is not paused")
	}
	return c.checkStop(v)
}

// halt asks the generation under way to end; a landed change is undone by it.
func (c *campaign) halt(ctx workflow.Context, v protocol.Verdict) error {
	c.stopping = &v
	if c.cancel != nil {
		c.cancel()
	}
	return nil
}

func (c *campaign) checkStop(v protocol.Verdict) error {
	if v.By == "" {
		return refuse("a name is needed: who asks for this?")
	}
	if c.stopping != nil {
		return refuse("the campaign is being stopped")
	}
	return nil
}

// refuse is how a validator says no: the caller sees the message, nothing is recorded.
func refuse(message string) error {
	return temporal.NewApplicationError(message, protocol.ErrBadInput)
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
				c.view.Stale = 0
			}
		}
	})
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
