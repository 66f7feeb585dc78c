package control

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
)

// Pause holds a campaign after the generation under way.
func (c *Controller) Pause(ctx context.Context, name string, v protocol.Verdict) error {
	return c.update(ctx, name, protocol.UpdatePauseCampaign, v)
}

// Resume lets a paused campaign go on.
func (c *Controller) Resume(ctx context.Context, name string, v protocol.Verdict) error {
	return c.update(ctx, name, protocol.UpdateResumeCampaign, v)
}

// Stop ends a campaign; a change under test is undone.
func (c *Controller) Stop(ctx context.Context, name string, v protocol.Verdict) error {
	return c.update(ctx, name, protocol.UpdateStopCampaign, v)
}

func (c *Controller) update(ctx context.Context, name, update string, v protocol.Verdict) error {
	if _, err := c.steerable(ctx, name, v.By, protocol.CheckWhy(v.Why)); err != nil {
		return err
	}
	return c.send(ctx, "campaign "+name, protocol.CampaignID(name), update, v)
}

// Hint gives the proposers of a running campaign something to read, from its next
// generation on.
func (c *Controller) Hint(ctx context.Context, name string, h protocol.Hint) error {
	row, err := c.steerable(ctx, name, h.By, protocol.CheckHint(h.Text))
	if err != nil {
		return err
	}
	if row.Stopped != "" {
		return refused("campaign "+name, fmt.Errorf("it has ended (%s)", row.Stopped))
	}
	return c.send(ctx, "campaign "+name, protocol.CampaignID(name), protocol.UpdateHintCampaign, h)
}

// steerable reads a campaign that somebody wants to steer, and refuses whoever may
// not; wrong says what else is wrong with the request.
func (c *Controller) steerable(ctx context.Context, name, by string, wrong error) (model.Campaign, error) {
	row, err := c.store.Campaign(ctx, name)
	if err != nil {
		return row, err
	}
	return row, c.checkPerson(row, "campaign "+name, by, wrong)
}

// checkPerson refuses the names of proposers before anything is sent. Workflows
// check again.
func (c *Controller) checkPerson(row model.Campaign, what, by string, wrong error) error {
	spec, err := campaign.FromJSON(row.Spec)
	if err != nil {
		return err
	}
	var proposers []string
	for _, p := range spec.Proposers {
		proposers = append(proposers, p.ID(), string(p.Kind))
	}
	if err := protocol.CheckPerson(by, proposers); err != nil {
		return refused(what, err)
	}
	if wrong != nil {
		return refused(what, wrong)
	}
	return nil
}

func refused(what string, err error) error { return fmt.Errorf("%s: %w: %w", what, ErrRefused, err) }

// Approve keeps a proven change that waits for a person.
func (c *Controller) Approve(ctx context.Context, id string, v protocol.Verdict) error {
	return c.decide(ctx, id, protocol.UpdateApproveChange, v)
}

// Reject reverts a proven change that waits for a person.
func (c *Controller) Reject(ctx context.Context, id string, v protocol.Verdict) error {
	return c.decide(ctx, id, protocol.UpdateRejectChange, v)
}

func (c *Controller) decide(ctx context.Context, id, update string, v protocol.Verdict) error {
	change, err := c.store.Change(ctx, id)
	if err != nil {
		return err
	}
	if change.State != model.ChangeAwaiting {
		return fmt.Errorf("decide on change %s: %w: it is %s, only a change that is %s can be decided", id, ErrRefused, change.State, model.ChangeAwaiting)
	}
	row, err := c.store.Campaign(ctx, change.Campaign)
	if err != nil {
		return err
	}
	if err := c.checkPerson(row, "change "+id, v.By, protocol.CheckWhy(v.Why)); err != nil {
		return err
	}
	return c.send(ctx, "change "+id, protocol.ChangeID(id), update, v)
}

// Allowance is what a campaign may use, and what of it is used.
type Allowance struct {
	Limits model.Budget
	Spent  model.Budget // wall time up to now, or up to the end
}

// Budget reads the budget of a campaign from the store; it needs no Temporal.
func Budget(ctx context.Context, s *store.Store, name string) (Allowance, error) {
	row, err := s.Campaign(ctx, name)
	if err != nil {
		return Allowance{}, err
	}
	return allowance(ctx, s, row)
}

func allowance(ctx context.Context, s *store.Store, row model.Campaign) (a Allowance, err error) {
	if a.Limits, err = limits(row); err != nil {
		return a, err
	}
	calls, err := s.Spent(ctx, row.Name)
	if err != nil {
		return a, err
	}
	gens, err := s.Generations(ctx, row.Name)
	if err != nil {
		return a, err
	}
	end := time.Now()
	if row.Stopped != "" {
		end = row.Updated
	}
	a.Spent = model.Budget{Wall: end.Sub(row.Created), Sandbox: row.Cost.Sandbox, Tokens: calls.Tokens, Money: calls.Money}
	for _, g := range gens {
		a.Spent.Sandbox += g.Cost.Sandbox
	}
	return a, nil
}

// limits is the budget that a person gave the campaign, else that of its file.
func limits(row model.Campaign) (model.Budget, error) {
	if row.Budget != nil {
		return *row.Budget, nil
	}
	spec, err := campaign.FromJSON(row.Spec)
	if err != nil {
		return model.Budget{}, err
	}
	b := spec.Budget
	return model.Budget{Wall: b.Wall.Std(), Sandbox: b.Sandbox.Std(), Tokens: b.Tokens, Money: b.Cost}, nil
}

// SetBudget gives a campaign other limits, and returns those that count now. One
// that runs is told; one that ended for its budget, or with an error, has them when
// it goes on, and goes on only when somebody says so; any other that has ended is
// ErrRefused.
func (c *Controller) SetBudget(ctx context.Context, name string, b protocol.BudgetChange) (model.Budget, error) {
	row, err := c.steerable(ctx, name, b.By, protocol.CheckWhy(b.Why))
	if err != nil {
		return model.Budget{}, err
	}
	a, err := allowance(ctx, c.store, row)
	if err != nil {
		return model.Budget{}, err
	}
	a.Spent.Wall = time.Since(row.Created) // the wall time budget counts on after the end
	if err := b.Check(a.Spent); err != nil {
		return a.Limits, refused("campaign "+name, err)
	}
	switch row.Stopped {
	case "":
		if err := c.send(ctx, "campaign "+name, protocol.CampaignID(name), protocol.UpdateChangeBudget, b); err != nil {
			return a.Limits, err
		}
	case model.StopBudget, model.StopError:
		if err := c.writeBudget(ctx, name, b); err != nil {
			return a.Limits, err
		}
	default:
		return a.Limits, refused("campaign "+name, fmt.Errorf("it has ended (%s), and no budget makes it go on", row.Stopped))
	}
	a, err = Budget(ctx, c.store, name)
	return a.Limits, err
}

// writeBudget changes the row of a campaign whose workflow has ended.
func (c *Controller) writeBudget(ctx context.Context, name string, b protocol.BudgetChange) error {
	event := model.CampaignEvent{
		Campaign: name, Key: "control/" + uuid.NewString(), Kind: model.EventBudget, By: strings.TrimSpace(b.By), Why: b.Why, At: time.Now().UTC(),
	}
	_, _, err := c.store.SteerCampaign(ctx, event, func(row *model.Campaign, e *model.CampaignEvent) error {
		was, err := limits(*row)
		if err != nil {
			return err
		}
		is := b.Apply(was)
		row.Budget, e.Text = &is, protocol.BudgetText(was, is)
		return nil
	})
	return err
}

// Raised says whether a campaign has ended for its budget and was given one since
// in which there is room: then Start and Recover go on with it. It needs no Temporal.
func (c *Controller) Raised(ctx context.Context, name string) (bool, error) {
	row, err := c.store.Campaign(ctx, name)
	if err != nil {
		return false, err
	}
	return c.raised(ctx, row)
}

// raised says whether a campaign that ended for its budget was given another one
// since, in which there is room.
func (c *Controller) raised(ctx context.Context, row model.Campaign) (bool, error) {
	if row.Stopped != model.StopBudget {
		return false, nil
	}
	a, err := allowance(ctx, c.store, row)
	if err != nil {
		return false, err
	}
	a.Spent.Wall = time.Since(row.Created)
	if protocol.Reached(a.Limits, a.Spent) != "" {
		return false, nil
	}
	return c.changedSince(ctx, row)
}

// changedSince says whether the last word on the budget came after the last
// generation: while that ran it was heeded.
func (c *Controller) changedSince(ctx context.Context, row model.Campaign) (bool, error) {
	gens, err := c.store.Generations(ctx, row.Name)
	if err != nil {
		return false, err
	}
	events, err := c.store.CampaignEvents(ctx, row.Name)
	if err != nil {
		return false, err
	}
	var last time.Time
	for _, g := range gens {
		last = latest(last, g.Ended)
	}
	for _, e := range events {
		if e.Kind == model.EventBudget && e.At.After(last) {
			return true, nil
		}
	}
	return false, nil
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// raiseHint says how a campaign that ended for its budget goes on.
func raiseHint(row model.Campaign) string {
	if row.Stopped != model.StopBudget {
		return ""
	}
	return protocol.RaiseHint(row.Name)
}
