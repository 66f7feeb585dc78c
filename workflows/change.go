package workflows

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

// Change is the life of one landed candidate: applied, on probation, perhaps
// waiting for a person, and in the end kept or rolled back. Cancelling it at any
// moment rolls it back.
func Change(ctx workflow.Context, in protocol.ChangeInput) (protocol.ChangeResult, error) {
	c := &change{in: in}
	if err := c.listen(ctx); err != nil {
		return c.out, err
	}
	return c.run(ctx)
}

type change struct {
	in      protocol.ChangeInput
	out     protocol.ChangeResult
	verdict protocol.ConfirmChangeResult
	waiting bool
	answer  *answer
}

// answer is what a person, or a passed deadline, decided.
type answer struct {
	keep    bool
	by, why string
}

func (c *change) run(ctx workflow.Context) (protocol.ChangeResult, error) {
	err := c.evidence(ctx)
	switch {
	case temporal.IsCanceledError(err):
		return c.undo(ctx, "stop", "the campaign was stopped before the evidence was complete")
	case err != nil:
		return c.out, err
	case c.verdict.Decided != "":
		return c.settle(ctx, answer{keep: c.verdict.Keep, by: c.verdict.Decided, why: c.verdict.Reason})
	case !c.verdict.Keep:
		return c.settle(ctx, answer{keep: false, by: "evidence", why: c.verdict.Reason})
	case !c.in.Approval.Person:
		return c.settle(ctx, answer{keep: true, by: "evidence", why: c.verdict.Reason})
	}
	a, err := c.person(ctx)
	if temporal.IsCanceledError(err) {
		return c.undo(ctx, "stop", "the campaign was stopped while the change waited for a person")
	}
	if err != nil {
		return c.out, err
	}
	return c.settle(ctx, a)
}

// evidence lands the commit and measures it against its parent.
func (c *change) evidence(ctx workflow.Context) error {
	workflow.SetCurrentDetails(ctx, "landing the commit on the branch")
	var landed protocol.LandChangeResult
	err := workflow.ExecuteActivity(short(ctx, "commit on the branch"), protocol.LandChange,
		protocol.LandChangeInput{Change: c.in.ID}).Get(ctx, &landed)
	if err != nil {
		return err
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("commit `%.12s` is on probation: measured against its parent, interleaved, on fresh runs", landed.Commit))
	err = workflow.ExecuteActivity(sandboxed(ctx, "fresh evidence, parent against candidate"), protocol.ConfirmChange,
		protocol.ConfirmChangeInput{Change: c.in.ID}).Get(ctx, &c.verdict)
	c.out.Spans, c.out.Sandbox = c.verdict.Spans, c.verdict.Sandbox
	return err
}

// person asks for approval and waits for it until the deadline.
func (c *change) person(ctx workflow.Context) (answer, error) {
	var req protocol.RequestApprovalResult
	now := workflow.Now(ctx)
	err := workflow.ExecuteActivity(short(ctx, "ask a person"), protocol.RequestApproval,
		protocol.RequestApprovalInput{Change: c.in.ID, Deadline: now.Add(c.in.Approval.Deadline), Now: now}).Get(ctx, &req)
	if err != nil {
		return answer{}, err
	}
	c.waiting = true
	c.tellGeneration(ctx)
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("**proven, waiting for a person** until %s\n\n%s\n\n`ratchet change approve %s`",
		req.Deadline.UTC().Format(time.RFC3339), c.verdict.Reason, c.in.ID))
	answered, err := workflow.AwaitWithTimeout(ctx, req.Deadline.Sub(workflow.Now(ctx)), func() bool { return c.answer != nil })
	c.waiting = false
	if err != nil {
		return answer{}, err
	}
	if !answered {
		keep := c.in.Approval.Then == model.DecisionKeep
		c.answer = &answer{keep: keep, by: "deadline", why: "nobody answered before the deadline"}
	}
	return *c.answer, nil
}

// tellGeneration lets the turn end. It is gone when the campaign was recovered
// while the change waited, and then there is nobody to tell.
func (c *change) tellGeneration(ctx workflow.Context) {
	id := protocol.GenerationID(c.in.Campaign, c.in.Generation)
	err := workflow.SignalExternalWorkflow(ctx, id, "", protocol.SignalChangeAwaits,
		protocol.ChangeAwaits{ID: c.in.ID, Spans: c.out.Spans, Sandbox: c.out.Sandbox}).Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Info("no generation waits for this change", "change", c.in.ID, "cause", err)
	}
	c.out.Spans, c.out.Sandbox = nil, 0
}

// undo rolls the change back although its own context is cancelled.
func (c *change) undo(ctx workflow.Context, by, why string) (protocol.ChangeResult, error) {
	ctx, done := workflow.NewDisconnectedContext(ctx)
	defer done()
	return c.settle(ctx, answer{keep: false, by: by, why: why})
}

// settle keeps or reverts, and tells the campaign if it waits for that.
func (c *change) settle(ctx workflow.Context, a answer) (protocol.ChangeResult, error) {
	activity, summary := protocol.RevertChange, "git revert: "+a.by
	if a.keep {
		activity, summary = protocol.KeepChange, "keep: "+a.by
	}
	var out protocol.SettleChangeResult
	err := workflow.ExecuteActivity(short(ctx, summary), activity, protocol.SettleChangeInput{
		Change: c.in.ID, Verdict: c.verdict.Verdict, By: a.by, Why: a.why, Now: workflow.Now(ctx),
	}).Get(ctx, &out)
	if err != nil {
		return c.out, err
	}
	c.out.State = out.State
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("**%s** by %s: %s", out.State, a.by, a.why))
	if !c.in.Approval.Person {
		return c.out, nil
	}
	// The campaign may wait for this change, and not its generation: that is so
	// from when a person is asked, also when the campaign was recovered since.
	err = workflow.SignalExternalWorkflow(ctx, protocol.CampaignID(c.in.Campaign), "", protocol.SignalChangeSettled,
		protocol.ChangeSettled{ID: c.in.ID, State: out.State}).Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Warn("the campaign could not be told", "change", c.in.ID, "cause", err)
	}
	return c.out, nil
}

// listen registers the updates by which a person answers.
func (c *change) listen(ctx workflow.Context) error {
	err := workflow.SetUpdateHandlerWithOptions(ctx, protocol.UpdateApproveChange, c.approve,
		workflow.UpdateHandlerOptions{Validator: c.check, Description: "keep the proven change"})
	if err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, protocol.UpdateRejectChange, c.reject,
		workflow.UpdateHandlerOptions{Validator: c.check, Description: "revert the change"})
}

func (c *change) approve(_ workflow.Context, v protocol.Verdict) error {
	c.answer = &answer{keep: true, by: strings.TrimSpace(v.By), why: orElse(v.Why, "approved")}
	return nil
}

func (c *change) reject(_ workflow.Context, v protocol.Verdict) error {
	c.answer = &answer{keep: false, by: strings.TrimSpace(v.By), why: orElse(v.Why, "rejected")}
	return nil
}

func (c *change) check(v protocol.Verdict) error {
	if err := errors.Join(protocol.CheckPerson(v.By, c.in.Proposers), protocol.CheckWhy(v.Why)); err != nil {
		return refused(err)
	}
	switch {
	case c.answer != nil:
		return refuse("the change is decided already, by " + c.answer.by + ": " + c.answer.why)
	case !c.waiting:
		return refuse("the change does not wait for a person")
	}
	return nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
