// Package control is what a person may ask of campaigns and changes: start,
// pause, stop, recover, approve. It speaks to Temporal and the store.
package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
)

// Kinds of refusal, for errors.Is.
var (
	ErrNameInUse  = errors.New("the name is in use")
	ErrNotRunning = errors.New("it does not run")
	ErrRefused    = errors.New("refused")
)

// Controller drives campaigns. It is safe for concurrent use.
type Controller struct {
	temporal client.Client
	store    *store.Store
}

// New makes a controller.
func New(c client.Client, s *store.Store) *Controller { return &Controller{temporal: c, store: s} }

// Options of a start.
type Options struct {
	Push  bool // publish kept commits when the campaign ends
	Turns int  // end after this many generations; 0 for no such limit
}

// Start creates the campaign and starts its workflow. A campaign of that name
// which has the same file and has not ended is gone on with; one that has ended
// goes on only when Turns asks for more, when Turns had ended it early, or when it
// ended for its budget and has a larger one now; any other is ErrNameInUse. One
// that ended before its baseline was measured holds nothing: it begins anew, with
// the file and the repository as they are now.
func (c *Controller) Start(ctx context.Context, spec campaign.Spec, o Options) (resumed bool, err error) {
	if err := c.discard(ctx, spec.Name); err != nil {
		return false, err
	}
	row, err := c.create(ctx, spec, model.Campaign{})
	if err != nil {
		return false, err
	}
	return row.Base != "", c.enlist(ctx, row, spec.Search.Generations, o)
}

// create stores the campaign, or finds it; like holds what else its row says.
func (c *Controller) create(ctx context.Context, spec campaign.Spec, like model.Campaign) (model.Campaign, error) {
	data, err := campaign.JSON(spec)
	if err != nil {
		return like, err
	}
	now := time.Now().UTC()
	like.Name, like.Spec, like.Source, like.Phase, like.Created, like.Updated = spec.Name, data, spec.Repo, "created", now, now
	err = c.store.CreateCampaign(ctx, like)
	if errors.Is(err, store.ErrExists) {
		return like, fmt.Errorf("start campaign %s: %w by a campaign with another file (choose another name, or use the same file to go on)", spec.Name, ErrNameInUse)
	}
	if err != nil {
		return like, err
	}
	return c.store.Campaign(ctx, spec.Name)
}

// enlist starts the workflow of a stored campaign, unless it has ended for good.
func (c *Controller) enlist(ctx context.Context, row model.Campaign, generations int, o Options) error {
	if o.Push && !row.Push {
		_, err := c.store.UpdateCampaign(ctx, store.Fence{}, row.Name, func(x *model.Campaign) error {
			x.Push = true
			return nil
		})
		if err != nil {
			return err
		}
	}
	more, err := c.mayGoOn(ctx, row, generations)
	if err != nil {
		return err
	}
	if ended(row) && o.Turns == 0 && !more {
		return fmt.Errorf("start campaign %s: %w: it has ended (%s); choose another name for a new campaign, or see ratchet campaign report %s%s",
			row.Name, ErrNameInUse, row.Stopped, row.Name, raiseHint(row))
	}
	return c.launch(ctx, row, o)
}

// mayGoOn says whether a campaign that has ended has something left to do: it ended
// short of the generations in its file, or its budget is larger now.
func (c *Controller) mayGoOn(ctx context.Context, row model.Campaign, generations int) (bool, error) {
	early, err := c.endedEarly(ctx, row, generations)
	if err != nil || early {
		return early, err
	}
	return c.raised(ctx, row)
}

// discard frees the name of a campaign that ended before its baseline was
// measured. The repository goes first: without its row it would be taken for
// that of the next campaign of the name.
func (c *Controller) discard(ctx context.Context, name string) error {
	row, err := c.store.Campaign(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil || row.Stopped == "" || row.Baseline != nil {
		return err
	}
	if row.Repo != "" {
		if err := os.RemoveAll(row.Repo); err != nil {
			return fmt.Errorf("start campaign %s: remove its earlier copy of the repository: %w", name, err)
		}
	}
	return c.store.DiscardCampaign(ctx, name)
}

// endedEarly says whether a campaign ended after the generations that a start
// had asked for, short of those in its file.
func (c *Controller) endedEarly(ctx context.Context, row model.Campaign, most int) (bool, error) {
	if row.Stopped != model.StopGenerations {
		return false, nil
	}
	gens, err := c.store.Generations(ctx, row.Name)
	return len(gens) < most, err
}

// ended says whether a campaign came to an end that a new start does not mend.
func ended(row model.Campaign) bool {
	return row.Stopped != "" && row.Stopped != model.StopError
}

// launch starts the workflow, or finds it running.
func (c *Controller) launch(ctx context.Context, row model.Campaign, o Options) error {
	if row.Stopped != "" {
		_, err := c.store.UpdateCampaign(ctx, store.Fence{}, row.Name, func(x *model.Campaign) error {
			x.Stopped, x.Detail, x.Phase = "", "", "starting again"
			return nil
		})
		if err != nil {
			return err
		}
	}
	_, err := c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       protocol.CampaignID(row.Name),
		TaskQueue:                protocol.QueueMain,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "improve " + short(row.Source),
		StaticDetails:            "repository `" + row.Source + "`",
		TypedSearchAttributes: temporal.NewSearchAttributes(
			protocol.AttrCampaign.ValueSet(row.Name), protocol.AttrRepo.ValueSet(row.Source)),
	}, protocol.CampaignWorkflow, protocol.CampaignInput{Name: row.Name, Turns: o.Turns})
	if err != nil {
		return fmt.Errorf("start campaign %s: %w", row.Name, err)
	}
	return nil
}

func short(source string) string {
	if i := strings.LastIndexByte(strings.TrimRight(source, "/"), '/'); i >= 0 {
		return strings.TrimSuffix(source[i+1:], ".git")
	}
	return source
}

// Recover starts a campaign's workflow again from the store and the refs, when
// it is gone, and one that ended for its budget when it has a larger one now. One
// that runs is left alone.
func (c *Controller) Recover(ctx context.Context, name string) (started bool, err error) {
	row, err := c.store.Campaign(ctx, name)
	if err != nil {
		return false, err
	}
	raised, err := c.raised(ctx, row)
	if err != nil {
		return false, err
	}
	if ended(row) && !raised {
		return false, fmt.Errorf("recover campaign %s: %w: it has ended (%s)%s", name, ErrRefused, row.Stopped, raiseHint(row))
	}
	running, err := c.Running(ctx, name)
	if err != nil || running {
		return false, err
	}
	return true, c.launch(ctx, row, Options{})
}

// Running says whether the campaign's workflow is open.
func (c *Controller) Running(ctx context.Context, name string) (bool, error) {
	d, err := c.temporal.DescribeWorkflowExecution(ctx, protocol.CampaignID(name), "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("describe campaign %s: %w", name, err)
	}
	return d.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// Wait returns when the campaign's workflow has ended. How it ended is in the
// store; the error is one of waiting only.
func (c *Controller) Wait(ctx context.Context, name string) error {
	err := c.temporal.GetWorkflow(ctx, protocol.CampaignID(name), "").Get(ctx, nil)
	var failed *temporal.WorkflowExecutionError
	if errors.As(err, &failed) {
		return nil
	}
	return err
}

// send makes an update and waits until it is done.
func (c *Controller) send(ctx context.Context, what, workflowID, update string, message any) error {
	h, err := c.temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflowID, UpdateName: update, Args: []any{message},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = h.Get(ctx, nil)
	}
	var missing *serviceerror.NotFound
	var app *temporal.ApplicationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		return fmt.Errorf("%s: %w (ratchet campaign recover starts a campaign whose workflow is gone)", what, ErrNotRunning)
	case errors.As(err, &app):
		return fmt.Errorf("%s: %w: %s", what, ErrRefused, app.Message())
	}
	return fmt.Errorf("%s: %s: %w", what, update, err)
}

// Scoreboard asks a running campaign where it stands.
func (c *Controller) Scoreboard(ctx context.Context, name string) (protocol.Scoreboard, error) {
	var out protocol.Scoreboard
	v, err := c.temporal.QueryWorkflow(ctx, protocol.CampaignID(name), "", protocol.QueryScoreboard)
	if err != nil {
		return out, fmt.Errorf("query campaign %s: %w", name, err)
	}
	return out, v.Get(&out)
}

// Wake tells running campaigns on a repository that failures are stored up to
// cursor. A campaign that does not run is left alone: it reads them when it does.
func (c *Controller) Wake(ctx context.Context, _, repo string, cursor int64) error {
	rows, err := c.store.Campaigns(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, row := range rows {
		if row.Stopped != "" || row.Source != repo {
			continue
		}
		err := c.temporal.SignalWorkflow(ctx, protocol.CampaignID(row.Name), "",
			protocol.SignalFailuresArrived, protocol.FailuresArrived{Cursor: cursor})
		var missing *serviceerror.NotFound
		if err != nil && !errors.As(err, &missing) {
			errs = append(errs, fmt.Errorf("wake campaign %s: %w", row.Name, err))
		}
	}
	return errors.Join(errs...)
}
