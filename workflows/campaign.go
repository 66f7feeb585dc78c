package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

// Campaign improves one repository, generation after generation, until a stop
// rule holds. It keeps ids and counters; on each run it reads the rest from the
// store, so a campaign whose history is gone goes on where the store says.
func Campaign(ctx workflow.Context, in protocol.CampaignInput) (protocol.CampaignResult, error) {
	c := newCampaign(ctx, in)
	if err := c.listen(ctx); err != nil {
		return protocol.CampaignResult{}, err
	}
	return c.run(ctx)
}

// campaign is the state of one run of the workflow.
type campaign struct {
	name  string
	in    protocol.CampaignInput
	carry protocol.Carry
	view  protocol.OpenCampaignResult
	log   log.Logger

	phase    string
	stopping *protocol.Verdict   // set by StopCampaign
	cancel   workflow.CancelFunc // cancels the generation under way
	settled  map[string]model.ChangeState
	spent    model.Budget // in this run and before; wall time is counted when it is asked for

	steering  workflow.Mutex // one person's request after another
	steered   bool           // a pause or a resume in this run: the store's word on it may be older
	budget    *model.Budget  // as a person changed it in this run
	raises    int            // budget changes in this run
	exhausted bool           // the budget has no room for another model call
	ending    bool           // the end is being recorded
}

func newCampaign(ctx workflow.Context, in protocol.CampaignInput) *campaign {
	c := &campaign{
		name:    in.Name,
		in:      in,
		log:     workflow.GetLogger(ctx),
		settled: map[string]model.ChangeState{},
		phase:   "opening",

		steering: workflow.NewMutex(ctx),
	}
	if in.Carry != nil {
		c.carry = *in.Carry
	}
	return c
}

// run opens the campaign, measures the baseline once, and turns until it is told
// to stop. A failure is written into the store before the workflow ends with it.
func (c *campaign) run(ctx workflow.Context) (protocol.CampaignResult, error) {
	err := c.begin(ctx)
	if err == nil && c.view.Stopped != "" && c.view.Stopped != model.StopError {
		return c.result(c.view.Stopped, "it had ended before"), nil
	}
	for err == nil {
		stop, detail := c.stop(ctx)
		renew := workflow.GetInfo(ctx).GetContinueAsNewSuggested() && c.view.Waiting == nil
		switch {
		case (stop != "" || renew) && !workflow.AllHandlersFinished(ctx):
			err = drain(ctx) // what a person asks for may change the answer
		case stop != "":
			return c.finish(ctx, stop, detail)
		case renew:
			return protocol.CampaignResult{}, c.continueAsNew(ctx)
		default:
			err = c.step(ctx)
		}
	}
	if c.stopping != nil && temporal.IsCanceledError(err) {
		return c.finish(ctx, model.StopUser, c.stopDetail())
	}
	return c.fail(ctx, err)
}

// begin opens the campaign and makes sure of image and baseline.
func (c *campaign) begin(ctx workflow.Context) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	if c.view.Measured {
		return nil
	}
	c.tell(ctx, "preparing the sandbox image")
	var prepared protocol.PrepareTargetResult
	err := workflow.ExecuteActivity(sandboxed(ctx, "image for the trusted commit"),
		protocol.PrepareTarget, protocol.PrepareTargetInput{Campaign: c.name}).Get(ctx, &prepared)
	if err != nil {
		return err
	}
	c.tell(ctx, "measuring the baseline")
	var base protocol.MeasureBaselineResult
	err = workflow.ExecuteActivity(sandboxed(ctx, "baseline, before anything is changed"),
		protocol.MeasureBaseline, protocol.MeasureBaselineInput{Campaign: c.name, Busy: union(prepared.Spans)}).Get(ctx, &base)
	if err != nil {
		return err
	}
	return c.open(ctx)
}

// open reads where the campaign stands, after whatever was half done is finished.
func (c *campaign) open(ctx workflow.Context) error {
	err := workflow.ExecuteActivity(short(ctx, "compare branch, best and last receipt"),
		protocol.OpenCampaign, protocol.OpenCampaignInput{Campaign: c.name}).Get(ctx, &c.view)
	if err != nil {
		return err
	}
	c.opened()
	for _, n := range c.view.Notes {
		c.log.Warn("repaired while opening", "campaign", c.name, "note", n)
	}
	c.tell(ctx, "opened")
	return c.upsert(ctx)
}

// opened takes over what the store says, unless a person has said otherwise since
// it was read.
func (c *campaign) opened() {
	cost := c.view.Cost
	c.spent = model.Budget{Sandbox: cost.Sandbox, Tokens: cost.Tokens, Money: cost.Money}
	if c.view.Paused && !c.steered {
		c.carry.Paused = true
	}
	if c.carry.Fresh > 0 {
		c.view.Stale = min(c.view.Stale, max(0, c.view.Next-c.carry.Fresh))
	}
}

// step does one thing: waits for a person or a resume, or runs a generation.
func (c *campaign) step(ctx workflow.Context) error {
	switch {
	case c.view.Waiting != nil:
		return c.awaitChange(ctx)
	case c.carry.Paused:
		c.tell(ctx, "paused")
		return workflow.Await(ctx, func() bool { return !c.carry.Paused || c.stopping != nil })
	default:
		return c.generation(ctx)
	}
}

// stop says whether a stop rule holds, and which.
func (c *campaign) stop(ctx workflow.Context) (model.StopReason, string) {
	v := &c.view
	switch {
	case c.stopping != nil:
		return model.StopUser, c.stopDetail()
	case v.Waiting != nil:
		return "", ""
	case v.Failing == 0 && v.Metrics == 0 && v.Next == 1:
		return model.StopScore, nothingToDo(v.Flaky)
	case v.Score >= v.StopScore:
		return model.StopScore, fmt.Sprintf("the score of %s has reached the goal of %s", percent(v.Score), percent(v.StopScore))
	case c.in.Turns > 0 && c.carry.Turns >= c.in.Turns:
		return model.StopGenerations, fmt.Sprintf("generations asked for and done: %d", c.in.Turns)
	case c.in.Turns == 0 && v.Next > v.Generations:
		return model.StopGenerations, fmt.Sprintf("%d generations are done", v.Generations)
	case c.exhausted:
		return model.StopBudget, protocol.NoRoom(c.limits(), c.used(ctx)) + protocol.RaiseHint(c.name)
	case c.in.Turns == 0 && v.Stale >= v.StopStale:
		return model.StopStale, fmt.Sprintf("%d generations in a row kept nothing", v.Stale)
	}
	if reached := protocol.Reached(c.limits(), c.used(ctx)); reached != "" {
		return model.StopBudget, reached + protocol.RaiseHint(c.name)
	}
	return "", ""
}

// limits is the budget that counts.
func (c *campaign) limits() model.Budget {
	if c.budget != nil {
		return *c.budget
	}
	v := &c.view
	return model.Budget{Wall: v.BudgetWall, Sandbox: v.BudgetSand, Tokens: v.BudgetToken, Money: v.BudgetMoney}
}

// used is what the campaign has used of its budget up to now.
func (c *campaign) used(ctx workflow.Context) model.Budget {
	spent := c.spent
	if !c.view.Created.IsZero() {
		spent.Wall = workflow.Now(ctx).Sub(c.view.Created)
	}
	return spent
}

// nothingToDo says why a campaign ends after its baseline. What fails only now and
// then is noise until somebody shows otherwise: no fault can be located by it.
func nothingToDo(flaky int) string {
	if flaky == 0 {
		return "every problem passes: there is nothing to improve, and nothing was changed"
	}
	return fmt.Sprintf("no problem fails every time, and %d pass only sometimes: there is nothing to improve on, and nothing was changed", flaky)
}

func (c *campaign) stopDetail() string {
	if c.stopping.Why == "" {
		return "stopped by " + c.stopping.By
	}
	return "stopped by " + c.stopping.By + ": " + c.stopping.Why
}

// drain waits until the handlers of updates have finished.
func drain(ctx workflow.Context) error {
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// continueAsNew starts a fresh history; no handler may be running.
func (c *campaign) continueAsNew(ctx workflow.Context) error {
	next := c.in
	next.Carry = &c.carry
	return workflow.NewContinueAsNewError(ctx, protocol.CampaignWorkflow, next)
}

// finish writes the report and ends the campaign.
func (c *campaign) finish(ctx workflow.Context, why model.StopReason, detail string) (protocol.CampaignResult, error) {
	ctx, done := workflow.NewDisconnectedContext(ctx)
	defer done()
	c.ending = true
	err := workflow.ExecuteActivity(short(ctx, "report: "+string(why)), protocol.FinishCampaign,
		protocol.FinishCampaignInput{Campaign: c.name, Stopped: why, Detail: detail, Now: workflow.Now(ctx)}).Get(ctx, nil)
	if err != nil {
		return protocol.CampaignResult{}, err
	}
	c.tell(ctx, "stopped: "+detail)
	if err := c.upsertPhase(ctx, "stopped: "+string(why)); err != nil {
		return protocol.CampaignResult{}, err
	}
	if err := drain(ctx); err != nil {
		return protocol.CampaignResult{}, err
	}
	return c.result(why, detail), nil
}

// fail records an error that no retry could mend; the campaign can be recovered.
func (c *campaign) fail(ctx workflow.Context, cause error) (protocol.CampaignResult, error) {
	if _, err := c.finish(ctx, model.StopError, rootMessage(cause)); err != nil {
		c.log.Error("could not record the end of the campaign", "campaign", c.name, "error", err)
	}
	return protocol.CampaignResult{}, cause
}

func (c *campaign) result(why model.StopReason, detail string) protocol.CampaignResult {
	return protocol.CampaignResult{Stopped: why, Detail: detail, Kept: c.view.Kept, Score: c.view.Score}
}

// rootMessage is the innermost message of an error: the one that an activity wrote.
func rootMessage(err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Message()
	}
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return "gave up: " + timeout.Error()
	}
	return err.Error()
}
