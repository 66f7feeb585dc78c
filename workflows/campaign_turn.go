package workflows

import (
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

// generation runs one turn as a child workflow and takes its result in.
func (c *campaign) generation(ctx workflow.Context) error {
	in := protocol.GenerationInput{
		Campaign: c.name, N: c.view.Next,
		Candidates: c.view.Candidates, Parallel: c.view.Parallel, Proposers: c.view.Proposers,
		Coverage: c.carry.Coverage, Approval: c.view.Approval, Model: c.view.Model,
	}
	c.tell(ctx, fmt.Sprintf("generation %d", in.N))
	turn, cancel := workflow.WithCancel(ctx)
	c.cancel = cancel
	defer func() { c.cancel = nil; cancel() }()
	turn = workflow.WithChildOptions(turn, generationOptions(in, fmt.Sprintf("%s, generation %d", c.name, in.N)))
	raises := c.raises
	var out protocol.GenerationResult
	if err := workflow.ExecuteChildWorkflow(turn, protocol.GenerationWorkflow, in).Get(ctx, &out); err != nil {
		return err
	}
	c.carry.Coverage = out.Coverage
	c.spend(out.Sandbox, out.Tokens, out.Money)
	c.exhausted = out.Exhausted && c.raises == raises // a larger budget may have come since it was asked
	if out.Outcome == model.OutcomePending {
		c.view.Waiting = &protocol.ChangeInput{
			ID: out.Change, Campaign: c.name, Generation: in.N, Approval: in.Approval, Proposers: in.Proposers,
		}
		return nil
	}
	c.count(out.Note, out.Score)
	return c.upsert(ctx)
}

// spend adds sandbox time, and takes over what models have cost in all.
func (c *campaign) spend(sandbox time.Duration, tokens int64, money float64) {
	c.spent.Sandbox += sandbox
	c.spent.Tokens, c.spent.Money = max(c.spent.Tokens, tokens), max(c.spent.Money, money)
}

// count takes a finished generation into the counters.
func (c *campaign) count(note protocol.GenerationNote, score float64) {
	v := &c.view
	v.Next, v.Waiting = note.N+1, nil
	v.Recent = recent(v.Recent, note)
	v.Stale++
	c.carry.Turns++
	switch note.Outcome {
	case model.OutcomeKept:
		v.Kept++
		v.Stale, v.Score = 0, score
	case model.OutcomeReverted:
		v.Reverted++
	case model.OutcomeRejected:
		v.Rejected++
	}
}

// recentNotes is how many generations a scoreboard shows.
const recentNotes = 12

func recent(notes []protocol.GenerationNote, n protocol.GenerationNote) []protocol.GenerationNote {
	notes = append(notes, n)
	if len(notes) > recentNotes {
		notes = append([]protocol.GenerationNote(nil), notes[len(notes)-recentNotes:]...)
	}
	return notes
}

// awaitChange waits until the change that needs a person is settled, then closes
// its generation. The change's workflow is started again if it is gone.
func (c *campaign) awaitChange(ctx workflow.Context) error {
	w := *c.view.Waiting
	c.tell(ctx, "waiting for a person: change "+w.ID)
	if err := c.ensureChange(ctx, w); err != nil {
		return err
	}
	err := workflow.Await(ctx, func() bool { return c.settled[w.ID] != "" || c.stopping != nil })
	if err != nil {
		return err
	}
	if c.settled[w.ID] == "" {
		return c.abandon(ctx, w)
	}
	return c.closePending(ctx, w)
}

// ensureChange starts the change's workflow unless it runs: after a recovery it
// does not, while after a turn with a pending change it does.
func (c *campaign) ensureChange(ctx workflow.Context, w protocol.ChangeInput) error {
	if w.Proposers == nil {
		w.Proposers = c.view.Proposers
	}
	opts := changeOptions(w, "change "+w.ID)
	opts.WorkflowIDReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, opts), protocol.ChangeWorkflow, w)
	err := child.GetChildWorkflowExecution().Get(ctx, nil)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return nil
	}
	return err
}

// abandon undoes a change that still waits when the campaign is stopped.
func (c *campaign) abandon(ctx workflow.Context, w protocol.ChangeInput) error {
	cancel := workflow.RequestCancelExternalWorkflow(ctx, protocol.ChangeID(w.ID), "")
	if err := cancel.Get(ctx, nil); err != nil {
		return err
	}
	if err := workflow.Await(ctx, func() bool { return c.settled[w.ID] != "" }); err != nil {
		return err
	}
	return c.closePending(ctx, w)
}

// closePending writes the final row of a generation whose change has waited.
func (c *campaign) closePending(ctx workflow.Context, w protocol.ChangeInput) error {
	var out protocol.RecordGenerationResult
	err := workflow.ExecuteActivity(short(ctx, "close the generation"), protocol.RecordGeneration,
		protocol.RecordGenerationInput{Campaign: c.name, Generation: w.Generation, Ended: workflow.Now(ctx)}).Get(ctx, &out)
	if err != nil {
		return err
	}
	delete(c.settled, w.ID)
	c.spend(0, out.Tokens, out.Money)
	c.count(out.Note, out.Score)
	return c.upsert(ctx)
}
