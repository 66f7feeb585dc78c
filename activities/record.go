package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/report"
	"ratchet/internal/store"
)

// RecordGeneration closes a generation's row from the attempts and the receipt
// that the store holds. Idempotent: the final row of a generation never changes.
func (a *Activities) RecordGeneration(ctx context.Context, in protocol.RecordGenerationInput) (out protocol.RecordGenerationResult, err error) {
	f, err := a.fence(ctx, fmt.Sprintf("%s/gen/%d", in.Campaign, in.Generation))
	if err != nil {
		return out, err
	}
	g, err := a.store.Generation(ctx, in.Campaign, in.Generation)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return out, err
	}
	if err == nil && g.Outcome != model.OutcomePending {
		return a.recorded(ctx, g)
	}
	// Whoever made calls in this turn is done or has been given up.
	if err := a.loseCalls(ctx, f, in.Campaign, in.Generation); err != nil {
		return out, err
	}
	if g, err = a.generation(ctx, g, in); err != nil {
		return out, err
	}
	if err := a.store.SaveGeneration(ctx, f, g); err != nil {
		return out, err
	}
	a.reached(ctx, "row")
	if err := a.phase(ctx, f, in.Campaign, fmt.Sprintf("generation %d: %s", g.N, g.Outcome)); err != nil {
		return out, err
	}
	return a.recorded(ctx, g)
}

// recorded is a generation's row in short, with what models have cost in all.
func (a *Activities) recorded(ctx context.Context, g model.Generation) (protocol.RecordGenerationResult, error) {
	spent, err := a.store.Spent(ctx, g.Campaign)
	return protocol.RecordGenerationResult{
		Note: note(g), State: g.Outcome, Score: g.Score, Tokens: spent.Tokens, Money: spent.Money,
	}, err
}

func (a *Activities) phase(ctx context.Context, f store.Fence, campaign, phase string) error {
	_, err := a.store.UpdateCampaign(ctx, f, campaign, func(c *model.Campaign) error {
		c.Phase = phase
		return nil
	})
	return err
}

// generation fills in the row. old is the pending row of a change that waited.
func (a *Activities) generation(ctx context.Context, old model.Generation, in protocol.RecordGenerationInput) (model.Generation, error) {
	row, err := a.store.Campaign(ctx, in.Campaign)
	if err != nil {
		return old, err
	}
	g := old
	if g.N == 0 {
		g = model.Generation{
			Campaign: in.Campaign, N: in.Generation, Started: in.Started,
			Cost: model.Cost{Sandbox: in.Sandbox, Wall: in.Ended.Sub(in.Started)},
		}
		g.Cost.Orchestration = max(0, g.Cost.Wall-in.Busy)
	}
	spent, err := a.store.SpentIn(ctx, in.Campaign, in.Generation)
	if err != nil {
		return g, err
	}
	g.Cost.Tokens, g.Cost.Money, g.Cost.Calls = spent.Tokens, spent.Money, spent.Calls
	g.Ended, g.Fixed, g.Broken = in.Ended, []string{}, []string{}
	if row.Current != nil {
		g.ParentScore, g.Score = row.Current.Score, row.Current.Score
	}
	rows, err := a.store.Attempts(ctx, in.Campaign, in.Generation)
	if err != nil {
		return g, err
	}
	countAttempts(&g, rows)
	if in.Pending {
		g.Outcome, g.Reason = model.OutcomePending, "proven; waits for a person"
		return g, a.pending(ctx, &g)
	}
	return g, a.decided(ctx, &g)
}

// countAttempts describes a generation by its attempts alone.
func countAttempts(g *model.Generation, rows []model.Attempt) {
	g.Candidates, g.Screened = len(rows), 0
	near := model.Attempt{Score: -1}
	for _, r := range rows {
		if r.Status == model.AttemptRefused || r.Status == model.AttemptProposed {
			continue
		}
		g.Screened++
		if r.Score > near.Score {
			near = r
		}
	}
	if len(rows) == 0 {
		g.Outcome, g.Reason = model.OutcomeNone, "no proposer had an idea for this tree that was not tried"
		return
	}
	g.Outcome = model.OutcomeRejected
	g.Hypothesis, g.Proposer, g.ExpectedGain = near.Hypothesis, near.Proposer, near.ExpectedGain
	g.Reason = fmt.Sprintf("none of %d candidates passed the screen", len(rows))
	if near.Reason != "" {
		g.Reason += "; the nearest: " + near.Reason
	}
	if g.Screened == 0 {
		g.Hypothesis, g.Proposer = rows[0].Hypothesis, rows[0].Proposer
		g.Reason = fmt.Sprintf("all %d candidates were refused; the first: %s", len(rows), rows[0].Reason)
	}
}

// pending describes a generation whose change waits.
func (a *Activities) pending(ctx context.Context, g *model.Generation) error {
	c, err := a.open(ctx, g.Campaign)
	if err != nil || c == nil {
		return err
	}
	g.Change, g.Commit, g.ParentCommit, g.Hypothesis = c.ID, c.Commit, c.Parent, c.Hypothesis
	return nil
}

// decided describes a generation by the receipt of its change, if it has one.
func (a *Activities) decided(ctx context.Context, g *model.Generation) error {
	r, err := a.store.LastReceipt(ctx, g.Campaign)
	if errors.Is(err, store.ErrNotFound) || err == nil && r.Generation != g.N {
		return a.stoppedEarly(ctx, g)
	}
	if err != nil {
		return err
	}
	g.Outcome = model.OutcomeReverted
	if r.Decision == model.DecisionKeep {
		g.Outcome = model.OutcomeKept
	}
	g.Change, g.Commit, g.ParentCommit, g.Hypothesis, g.Reason = r.Change, r.Commit, r.Parent, r.Hypothesis, r.Reason
	g.EValue, g.Level, g.Rounds, g.Fixed, g.Broken = r.EValue, r.Level, r.Rounds, r.Fixed, r.Broken
	g.RevertCommit = r.RevertCommit
	if r.Score.Problems > 0 {
		g.ParentScore, g.Score = r.ParentScore.Score, r.Score.Score
		g.RealisedGain = g.Score - g.ParentScore
	}
	return a.describeAttempt(ctx, g, r.Change)
}

// stoppedEarly describes a generation whose change was given up before it landed.
func (a *Activities) stoppedEarly(ctx context.Context, g *model.Generation) error {
	rejected, err := a.store.Changes(ctx, store.ChangeFilter{Campaign: g.Campaign, States: []model.ChangeState{model.ChangeRejected}})
	if err != nil || len(rejected) == 0 {
		return err
	}
	if c := rejected[len(rejected)-1]; c.Generation == g.N {
		g.Change, g.Hypothesis, g.Reason = c.ID, c.Hypothesis, "the campaign was stopped before the change landed"
	}
	return nil
}

func (a *Activities) describeAttempt(ctx context.Context, g *model.Generation, change string) error {
	c, err := a.store.Change(ctx, change)
	if err != nil {
		return err
	}
	rows, err := a.store.Attempts(ctx, g.Campaign, g.N)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Key == c.Attempt {
			g.Proposer, g.ExpectedGain = r.Proposer, r.ExpectedGain
		}
	}
	return nil
}

// FinishCampaign marks the campaign as ended and stores its report. Idempotent:
// the first end that is recorded stays, but for an error, after which a recovered
// campaign may end again.
func (a *Activities) FinishCampaign(ctx context.Context, in protocol.FinishCampaignInput) (protocol.CampaignResult, error) {
	row, err := a.store.UpdateCampaign(ctx, store.Fence{}, in.Campaign, func(c *model.Campaign) error {
		if c.Stopped == "" || c.Stopped == model.StopError {
			c.Stopped, c.Detail, c.Updated, c.Phase = in.Stopped, in.Detail, time.Now(), "stopped: "+string(in.Stopped)
		}
		return nil
	})
	if err != nil {
		return protocol.CampaignResult{}, err
	}
	out := protocol.CampaignResult{Stopped: row.Stopped, Detail: row.Detail}
	if err := a.saveReport(ctx, row); err != nil {
		return out, err
	}
	if row.Push && row.Best != row.Base && in.Stopped != model.StopError {
		if err := a.push(ctx, row); err != nil {
			return out, err
		}
	}
	return out, nil
}

// saveReport stores the report as it is at the end.
func (a *Activities) saveReport(ctx context.Context, row model.Campaign) error {
	r, err := report.Build(ctx, a.store, row.Name)
	if err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return a.store.SaveReport(ctx, store.Fence{}, row.Name, data)
}

// push publishes the best commit to the repository that the campaign came from.
// The branch there is expected to be where the last push left it, or absent.
func (a *Activities) push(ctx context.Context, row model.Campaign) error {
	t, err := a.load(ctx, row.Name)
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.repo.Push(ctx, row.Source, protocol.BestRef(row.Name), protocol.BranchRef(row.Name), row.Pushed); err != nil {
		return err
	}
	_, err = a.store.UpdateCampaign(ctx, store.Fence{}, row.Name, func(c *model.Campaign) error {
		c.Pushed = c.Best
		return nil
	})
	return err
}
