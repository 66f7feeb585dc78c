package activities

import (
	"context"
	"errors"
	"fmt"
	"os"

	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
	"ratchet/internal/store"
)

// OpenCampaign imports the repository once, makes branch, best and the last
// receipt agree, and says where the campaign stands. Idempotent: what is right
// is left as it is; it may run at every start of the campaign's workflow.
func (a *Activities) OpenCampaign(ctx context.Context, in protocol.OpenCampaignInput) (protocol.OpenCampaignResult, error) {
	row, err := a.store.Campaign(ctx, in.Campaign)
	if err != nil {
		return protocol.OpenCampaignResult{}, err
	}
	spec, err := campaign.FromJSON(row.Spec)
	if err != nil {
		return protocol.OpenCampaignResult{}, err
	}
	if row, err = a.importRepo(ctx, row, spec); err != nil {
		return protocol.OpenCampaignResult{}, err
	}
	notes, err := a.reconcile(ctx, row)
	if err != nil {
		return protocol.OpenCampaignResult{}, err
	}
	return a.view(ctx, row, spec, notes)
}

// importRepo makes the bare repository and the two refs on the first opening. What
// an opening that failed has imported is old by now and is imported again.
func (a *Activities) importRepo(ctx context.Context, row model.Campaign, spec campaign.Spec) (model.Campaign, error) {
	if row.Base != "" {
		return row, nil
	}
	path := a.repoPath(row.Name)
	if err := os.RemoveAll(path); err != nil {
		return row, fmt.Errorf("import %s: remove what is left of an earlier import: %w", row.Source, err)
	}
	source, at, err := a.origin(ctx, row, spec)
	if err != nil {
		return row, err
	}
	if err := repo.Import(ctx, source, path, repo.ImportOptions{}); err != nil {
		return row, err
	}
	r, err := repo.Open(ctx, path)
	if err != nil {
		return row, err
	}
	defer r.Close()
	a.reached(ctx, "imported")
	// An import that was cut off may have left a lock behind, and nobody else
	// knows of this repository yet.
	if err := recoverRefs(ctx, r); err != nil {
		return row, err
	}
	base, err := r.Resolve(ctx, at)
	if err != nil {
		return row, err
	}
	if _, err := r.Snapshot(ctx, base); err != nil {
		return row, err
	}
	for _, ref := range []string{protocol.BestRef(row.Name), protocol.BranchRef(row.Name)} {
		if err := r.SetRef(ctx, ref, "", base); err != nil {
			return row, err
		}
	}
	a.reached(ctx, "refs")
	return a.store.UpdateCampaign(ctx, store.Fence{}, row.Name, func(c *model.Campaign) error {
		c.Repo, c.Base, c.Best, c.Branch = path, base, base, protocol.BranchRef(row.Name)
		return nil
	})
}

// origin is the repository that a campaign's own is made from, and what it starts
// at there. A fork starts in its parent's repository, at a commit that the source
// does not have; failures and pushes still go by the source.
func (a *Activities) origin(ctx context.Context, row model.Campaign, spec campaign.Spec) (source, at string, err error) {
	if row.Parent == "" {
		return row.Source, spec.Base, nil
	}
	parent, err := a.store.Campaign(ctx, row.Parent)
	if err != nil {
		return "", "", err
	}
	if parent.Repo == "" || row.ForkedAt == "" {
		return "", "", &BadInput{Op: "fork campaign", Object: row.Parent, Cause: "it has no repository or no commit to start from", Hint: "fork a campaign that has started"}
	}
	return parent.Repo, row.ForkedAt, nil
}

// reconcile repairs torn refs and checks that the branch is where the store
// says: at the last decision, or at the change that is under way.
func (a *Activities) reconcile(ctx context.Context, row model.Campaign) (notes []string, err error) {
	r, err := repo.Open(ctx, row.Repo)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	expected, err := a.expect(ctx, row)
	if err != nil {
		return nil, err
	}
	for _, want := range expected {
		note, err := restore(ctx, r, want)
		if err != nil {
			return notes, err
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	return notes, nil
}

// inPlace makes sure that nothing is built on a branch or a best that somebody
// else has moved, while the campaign ran or while its process was away.
func (a *Activities) inPlace(ctx context.Context, row model.Campaign) error {
	notes, err := a.reconcile(ctx, row)
	for _, n := range notes {
		a.log.Warn("repaired", "campaign", row.Name, "note", n)
	}
	return err
}

// expectation is what a ref may hold: the first commit is what it is set to when
// the ref is lost; the others are where an interrupted step may have left it.
type expectation struct {
	ref     string
	commits []string
}

// expect derives the legal positions of both refs from the store.
func (a *Activities) expect(ctx context.Context, row model.Campaign) ([]expectation, error) {
	best, tip := row.Base, row.Base
	last, err := a.store.LastReceipt(ctx, row.Name)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return nil, err
	default:
		best, tip = row.Best, last.Commit
		if last.Decision == model.DecisionRevert {
			tip = last.RevertCommit
		}
	}
	branch := expectation{ref: protocol.BranchRef(row.Name), commits: []string{tip}}
	bestRef := expectation{ref: protocol.BestRef(row.Name), commits: []string{best}}
	c, err := a.open(ctx, row.Name)
	if err != nil || c == nil {
		return []expectation{branch, bestRef}, err
	}
	branch.commits = positions(tip, *c)
	bestRef.commits = append(bestRef.commits, present(c.Commit)...)
	return []expectation{branch, bestRef}, nil
}

// positions lists where the branch may be while a change is under way, the one
// that its state calls for first.
func positions(tip string, c model.Change) []string {
	switch {
	case c.Revert != "":
		return append([]string{c.Commit, c.Revert}, tip)
	case c.State == model.ChangeProposed || c.State == model.ChangeApproved:
		return append([]string{tip}, present(c.Commit)...)
	}
	return append(present(c.Commit), tip)
}

func present(commit string) []string {
	if commit == "" {
		return nil
	}
	return []string{commit}
}

// open returns the campaign's change that is not settled, if there is one.
func (a *Activities) open(ctx context.Context, campaign string) (*model.Change, error) {
	changes, err := a.store.Changes(ctx, store.ChangeFilter{Campaign: campaign, States: []model.ChangeState{
		model.ChangeProposed, model.ChangeApproved, model.ChangeApplied, model.ChangeProbation, model.ChangeAwaiting,
	}})
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	return &changes[0], nil
}

// restore sets a lost ref again and refuses one that somebody else has moved.
func restore(ctx context.Context, r *repo.Repo, want expectation) (string, error) {
	have, err := r.Ref(ctx, want.ref)
	if errors.Is(err, repo.ErrNoRef) || errors.Is(err, repo.ErrCorrupt) {
		if err := recoverRefs(ctx, r); err != nil {
			return "", err
		}
		if err := r.SetRef(ctx, want.ref, "", want.commits[0]); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s was lost and is set to %.12s again", want.ref, want.commits[0]), nil
	}
	if err != nil {
		return "", err
	}
	for _, c := range want.commits {
		if have == c {
			return "", nil
		}
	}
	return "", &repo.Error{
		Op: "open", Object: want.ref, Err: repo.ErrConflict,
		Hint: fmt.Sprintf("it is at %.12s, the store says %.12s: something else has moved it; set it back, then run ratchet campaign recover", have, want.commits[0]),
	}
}

// view is the state that the workflow drives on, all of it from the store.
func (a *Activities) view(ctx context.Context, row model.Campaign, spec campaign.Spec, notes []string) (protocol.OpenCampaignResult, error) {
	out := protocol.OpenCampaignResult{
		Repo: row.Source, Base: row.Base,
		Generations: spec.Search.Generations, Candidates: spec.Search.Candidates, Parallel: spec.Search.Parallel,
		StopScore: spec.Search.Stop.Score, StopStale: spec.Search.Stop.Stale, Model: spec.Model(),
		Approval: approval(spec), Created: row.Created, Stopped: row.Stopped, Notes: notes, Cost: row.Cost, Next: 1,
	}
	caps := budget(row, spec)
	out.BudgetWall, out.BudgetSand, out.BudgetToken, out.BudgetMoney = caps.Wall, caps.Sandbox, caps.Tokens, caps.Money
	for _, p := range spec.Proposers {
		out.Proposers = append(out.Proposers, p.ID())
	}
	if row.Baseline != nil && row.Current != nil {
		out.Measured, out.Baseline, out.Score = true, row.Baseline.Score, row.Current.Score
		out.Failing, out.Flaky = len(row.Current.Failing), len(row.Current.Flaky)
	}
	problems, err := a.store.Problems(ctx, row.Name)
	if err != nil {
		return out, err
	}
	for _, p := range problems {
		if p.Metric != nil && p.Split == model.SplitSearch {
			out.Metrics++
		}
	}
	gens, err := a.store.Generations(ctx, row.Name)
	if err != nil {
		return out, err
	}
	for _, g := range gens {
		tally(&out, g)
	}
	return out, errors.Join(a.steered(ctx, row.Name, &out), a.waiting(ctx, row.Name, &out))
}

// steered takes over what people did, and what models have cost: calls are counted
// whether or not their generation was recorded.
func (a *Activities) steered(ctx context.Context, campaign string, out *protocol.OpenCampaignResult) error {
	spent, err := a.store.Spent(ctx, campaign)
	if err != nil {
		return err
	}
	out.Cost.Tokens, out.Cost.Money, out.Cost.Calls = spent.Tokens, spent.Money, spent.Calls
	events, err := a.store.CampaignEvents(ctx, campaign)
	if err != nil {
		return err
	}
	for _, e := range events {
		switch e.Kind {
		case model.EventPaused:
			out.Paused = true
		case model.EventResumed:
			out.Paused = false
		}
	}
	return nil
}

// tally counts one stored generation.
func tally(out *protocol.OpenCampaignResult, g model.Generation) {
	out.Cost = out.Cost.Add(g.Cost)
	if g.Outcome == model.OutcomePending {
		return
	}
	out.Next = g.N + 1
	out.Recent = append(out.Recent, note(g))
	if len(out.Recent) > recentGenerations {
		out.Recent = out.Recent[1:]
	}
	out.Stale++
	switch g.Outcome {
	case model.OutcomeKept:
		out.Kept++
		out.Stale = 0
	case model.OutcomeReverted:
		out.Reverted++
	case model.OutcomeRejected:
		out.Rejected++
	}
}

// recentGenerations is how many generations a scoreboard shows.
const recentGenerations = 12

func note(g model.Generation) protocol.GenerationNote {
	return protocol.GenerationNote{
		N: g.N, Outcome: g.Outcome, Hypothesis: g.Hypothesis,
		Before: g.ParentScore, After: g.Score, Reason: g.Reason, Proposer: g.Proposer,
	}
}

// waiting fills in the change that waits for a person, if one does.
func (a *Activities) waiting(ctx context.Context, campaign string, out *protocol.OpenCampaignResult) error {
	c, err := a.open(ctx, campaign)
	if err != nil || c == nil || c.State != model.ChangeAwaiting {
		return err
	}
	out.Waiting = &protocol.ChangeInput{ID: c.ID, Campaign: campaign, Generation: c.Generation, Approval: out.Approval}
	return nil
}

func approval(spec campaign.Spec) protocol.Approval {
	a := spec.Approval
	out := protocol.Approval{Person: a.Keep == campaign.KeepPerson, Deadline: a.Deadline.Std(), Then: model.DecisionRevert}
	if a.Then == campaign.ThenKeep {
		out.Then = model.DecisionKeep
	}
	return out
}

// RepairRefs clears stale locks and torn refs of every campaign that has not
// ended, or has ended with an error, before its workflow goes on. The caller holds the data folder's lock. A
// repository that cannot be repaired is left for its campaign to report.
func (a *Activities) RepairRefs(ctx context.Context) error {
	rows, err := a.store.Campaigns(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.Repo == "" || row.Base == "" || row.Stopped != "" && row.Stopped != model.StopError {
			continue
		}
		notes, err := a.repair(ctx, row)
		if err != nil {
			a.log.Warn("the campaign's repository needs a look", "campaign", row.Name, "error", err)
		}
		for _, n := range notes {
			a.log.Warn("repaired", "campaign", row.Name, "note", n)
		}
	}
	return nil
}

func (a *Activities) repair(ctx context.Context, row model.Campaign) ([]string, error) {
	r, err := repo.Open(ctx, row.Repo)
	if err != nil {
		return nil, err
	}
	err = errors.Join(recoverRefs(ctx, r), r.Close())
	if err != nil {
		return nil, err
	}
	return a.reconcile(ctx, row)
}

// recoverRefs clears stale locks and removes torn refs, which are set again from
// the store by whoever calls it.
func recoverRefs(ctx context.Context, r *repo.Repo) error {
	err := r.Recover(ctx)
	var torn *repo.TornError
	if errors.As(err, &torn) {
		return nil
	}
	return err
}
