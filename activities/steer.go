package activities

import (
	"context"

	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

// SteerCampaign writes what a person did into the campaign's audit trail, and with
// a budget sets the limits that count from then on, in one transaction. Idempotent:
// the same key again changes nothing.
func (a *Activities) SteerCampaign(ctx context.Context, in protocol.SteerCampaignInput) (out protocol.SteerCampaignResult, err error) {
	e := model.CampaignEvent{Campaign: in.Campaign, Key: in.Key, Kind: in.Kind, By: in.By, Why: in.Why, Text: in.Text, At: in.Now}
	if (in.Kind == model.EventBudget) != (in.Budget != nil) {
		return out, &BadInput{Op: "steer campaign", Object: in.Campaign, Cause: "a budget belongs to an event of kind budget, and to no other"}
	}
	_, row, err := a.store.SteerCampaign(ctx, e, func(c *model.Campaign, e *model.CampaignEvent) error {
		return rebudget(c, e, in.Budget)
	})
	if err != nil {
		return out, err
	}
	a.reached(ctx, "event")
	a.room.free() // calls that wait may fit now
	spec, err := campaign.FromJSON(row.Spec)
	out.Budget = budget(row, spec)
	return out, err
}

// rebudget sets the limits that a person changes, and says in the event what they
// were and are.
func rebudget(c *model.Campaign, e *model.CampaignEvent, change *protocol.BudgetChange) error {
	if change == nil {
		return nil
	}
	spec, err := campaign.FromJSON(c.Spec)
	if err != nil {
		return err
	}
	was := budget(*c, spec)
	is := change.Apply(was)
	c.Budget, e.Text = &is, protocol.BudgetText(was, is)
	return nil
}
