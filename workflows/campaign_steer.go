package workflows

import (
	"strings"

	"go.temporal.io/sdk/workflow"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

// auditChange marks histories in which pausing, resuming and stopping are written
// into the audit trail; older ones did so in memory alone.
const auditChange = "steering-is-audited"

func (c *campaign) pause(ctx workflow.Context, v protocol.Verdict) error {
	check := func() error { return c.checkPause(ctx, v) }
	return c.steer(ctx, verdictEvent(model.EventPaused, v), check, func(protocol.SteerCampaignResult) {
		c.carry.Paused, c.steered = true, true
		c.tell(ctx, c.phase)
	})
}

func (c *campaign) checkPause(ctx workflow.Context, v protocol.Verdict) error {
	if c.carry.Paused {
		return refuse("the campaign is paused already")
	}
	return c.checkSteer(ctx, v)
}

func (c *campaign) resume(ctx workflow.Context, v protocol.Verdict) error {
	check := func() error { return c.checkResume(ctx, v) }
	return c.steer(ctx, verdictEvent(model.EventResumed, v), check, func(protocol.SteerCampaignResult) {
		c.carry.Paused, c.steered = false, true
		c.tell(ctx, c.phase)
	})
}

func (c *campaign) checkResume(ctx workflow.Context, v protocol.Verdict) error {
	if !c.carry.Paused {
		return refuse("the campaign is not paused")
	}
	return c.checkSteer(ctx, v)
}

// halt asks the generation under way to end; a landed change is undone by it.
func (c *campaign) halt(ctx workflow.Context, v protocol.Verdict) error {
	check := func() error { return c.checkSteer(ctx, v) }
	return c.steer(ctx, verdictEvent(model.EventStopped, v), check, func(protocol.SteerCampaignResult) {
		c.stopping = &v
		if c.cancel != nil {
			c.cancel()
		}
	})
}

// checkSteer is for everything that a person may ask of a campaign.
func (c *campaign) checkSteer(_ workflow.Context, v protocol.Verdict) error {
	if err := c.checkPerson(v.By); err != nil {
		return err
	}
	return refused(protocol.CheckWhy(v.Why))
}

func (c *campaign) checkPerson(by string) error {
	if err := protocol.CheckPerson(by, c.view.Proposers); err != nil {
		return refused(err)
	}
	switch {
	case c.stopping != nil:
		return refuse("the campaign is being stopped")
	case c.ending:
		return refuse("the campaign is ending")
	}
	return nil
}

// hint gives the proposers something to read. It wakes nothing: the next
// generation has it, and those without gain are counted afresh.
func (c *campaign) hint(ctx workflow.Context, h protocol.Hint) error {
	in := protocol.SteerCampaignInput{Kind: model.EventHint, By: h.By, Text: strings.TrimSpace(h.Text)}
	return c.steer(ctx, in, func() error { return c.checkHint(ctx, h) }, func(protocol.SteerCampaignResult) {
		c.carry.Hint = line(in.Text) + " (" + strings.TrimSpace(h.By) + ")"
		c.refresh()
		c.tell(ctx, c.phase)
	})
}

func (c *campaign) checkHint(_ workflow.Context, h protocol.Hint) error {
	if err := c.checkPerson(h.By); err != nil {
		return err
	}
	return refused(protocol.CheckHint(h.Text))
}

// changeBudget sets other limits, which count from now on. They are news like a
// hint: a campaign that ran out of room looks again.
func (c *campaign) changeBudget(ctx workflow.Context, b protocol.BudgetChange) error {
	in := protocol.SteerCampaignInput{Kind: model.EventBudget, By: b.By, Why: b.Why, Budget: &b}
	return c.steer(ctx, in, func() error { return c.checkBudget(ctx, b) }, func(out protocol.SteerCampaignResult) {
		c.budget, c.exhausted = &out.Budget, false
		c.raises++
		c.refresh()
		c.tell(ctx, c.phase)
	})
}

func (c *campaign) checkBudget(ctx workflow.Context, b protocol.BudgetChange) error {
	if err := c.checkSteer(ctx, protocol.Verdict{By: b.By, Why: b.Why}); err != nil {
		return err
	}
	return refused(b.Check(c.used(ctx)))
}

func verdictEvent(kind model.CampaignEventKind, v protocol.Verdict) protocol.SteerCampaignInput {
	return protocol.SteerCampaignInput{Kind: kind, By: v.By, Why: v.Why}
}

// steer writes what a person asks for into the audit trail, and lets it take
// effect once it is there. Requests take effect in the order of the trail; each
// is checked again when its turn comes.
func (c *campaign) steer(ctx workflow.Context, in protocol.SteerCampaignInput,
	check func() error, effect func(protocol.SteerCampaignResult)) error {
	if err := c.steering.Lock(ctx); err != nil {
		return err
	}
	defer c.steering.Unlock()
	var out protocol.SteerCampaignResult
	if c.audited(ctx, in.Kind) {
		if err := check(); err != nil {
			return err
		}
		in.Campaign, in.By, in.Now = c.name, strings.TrimSpace(in.By), workflow.Now(ctx)
		in.Key = "update/" + workflow.GetCurrentUpdateInfo(ctx).ID
		err := workflow.ExecuteActivity(short(ctx, string(in.Kind)+" by "+in.By), protocol.SteerCampaign, in).Get(ctx, &out)
		if err != nil {
			return err
		}
	}
	effect(out)
	return nil
}

// audited says whether this history writes such a request into the audit trail.
func (c *campaign) audited(ctx workflow.Context, kind model.CampaignEventKind) bool {
	if kind == model.EventHint || kind == model.EventBudget {
		return true // no history is older than these
	}
	return workflow.GetVersion(ctx, auditChange, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}
