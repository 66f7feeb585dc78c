package activities

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"time"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
	"ratchet/internal/store"
)

// byRatchet signs what no person decided.
const byRatchet = "ratchet"

// SelectCandidate makes the best attempt that passed the screen a change. The
// change's id follows from campaign, generation and patch, so a retry, or a
// second run of the generation, finds the same change.
func (a *Activities) SelectCandidate(ctx context.Context, in protocol.SelectCandidateInput) (out protocol.SelectCandidateResult, err error) {
	f, err := a.fence(ctx, fmt.Sprintf("%s/gen/%d", in.Campaign, in.Generation))
	if err != nil {
		return out, err
	}
	rows, err := a.store.Attempts(ctx, in.Campaign, in.Generation)
	if err != nil {
		return out, err
	}
	undone, err := a.undone(ctx, in.Campaign)
	if err != nil {
		return out, err
	}
	best, ok := bestAttempt(rows, undone)
	if !ok {
		return out, nil
	}
	row, err := a.store.Campaign(ctx, in.Campaign)
	if err != nil {
		return out, err
	}
	if err := a.inPlace(ctx, row); err != nil {
		return out, err
	}
	r, err := repo.Open(ctx, row.Repo)
	if err != nil {
		return out, err
	}
	defer r.Close()
	parent, err := r.Ref(ctx, protocol.BranchRef(in.Campaign))
	if err != nil {
		return out, err
	}
	c := model.Change{
		ID: changeID(in.Campaign, in.Generation, best.Key), Kind: model.ChangeCode, Campaign: in.Campaign,
		Generation: in.Generation, Attempt: best.Key, Hypothesis: best.Hypothesis, State: model.ChangeProposed,
		Parent: parent, Patch: best.Patch, Created: in.Now, Updated: in.Now,
	}
	if err := a.store.CreateChange(ctx, f, c, byRatchet, "best of the candidates that passed the screen"); err != nil {
		return out, err
	}
	return protocol.SelectCandidateResult{Change: c.ID, Hypothesis: best.Hypothesis}, nil
}

// undone names the patches that this campaign has reverted, on any parent.
func (a *Activities) undone(ctx context.Context, campaign string) (map[string]bool, error) {
	changes, err := a.store.Changes(ctx, store.ChangeFilter{Campaign: campaign, States: []model.ChangeState{model.ChangeRolledBack}})
	out := make(map[string]bool, len(changes))
	for _, c := range changes {
		out[c.Patch] = true
	}
	return out, err
}

// bestAttempt prefers what was not reverted before, then the higher score, then
// the proposer's own order. Only evidence on this parent retires an attempt, so
// one that failed on another may be tried again, but after everything else. An
// attempt that is landed already comes first: a second run of the generation
// goes on with it.
func bestAttempt(rows []model.Attempt, undone map[string]bool) (model.Attempt, bool) {
	var pool []model.Attempt
	for _, r := range rows {
		switch r.Status {
		case model.AttemptLanded:
			return r, true
		case model.AttemptPassed:
			pool = append(pool, r)
		}
	}
	sort.SliceStable(pool, func(i, j int) bool {
		if a, b := undone[pool[i].Patch], undone[pool[j].Patch]; a != b {
			return b
		}
		if pool[i].Score != pool[j].Score {
			return pool[i].Score > pool[j].Score
		}
		return pool[i].Order < pool[j].Order
	})
	if len(pool) == 0 {
		return model.Attempt{}, false
	}
	return pool[0], true
}

func changeID(campaign string, generation int, key string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s", campaign, generation, key))
	return fmt.Sprintf("c%x", sum[:6])
}

// LandChange commits the change on the branch. The commit is dated by the
// change's creation, so each retry makes the same hash; the row names it before
// the ref moves; and a branch that is there already is success.
func (a *Activities) LandChange(ctx context.Context, in protocol.LandChangeInput) (out protocol.LandChangeResult, err error) {
	f, err := a.fence(ctx, "change/"+in.Change)
	if err != nil {
		return out, err
	}
	c, err := a.store.Change(ctx, in.Change)
	if err != nil {
		return out, err
	}
	if c.State != model.ChangeProposed && c.State != model.ChangeApproved {
		return protocol.LandChangeResult{Commit: c.Commit}, nil
	}
	t, err := a.load(ctx, c.Campaign)
	if err != nil {
		return out, err
	}
	defer t.close()
	commit, err := a.commit(ctx, t, c)
	if err != nil {
		return out, err
	}
	a.reached(ctx, "commit")
	now := time.Now()
	_, err = a.store.MoveChange(ctx, f, c.ID, []model.ChangeState{model.ChangeProposed}, model.ChangeApproved, byRatchet,
		"it may be tried on the branch", now, func(x *model.Change) { x.Commit = commit })
	if err != nil {
		return out, err
	}
	a.reached(ctx, "approved")
	if err := t.repo.SetRef(ctx, protocol.BranchRef(c.Campaign), c.Parent, commit); err != nil {
		return out, err
	}
	a.reached(ctx, "branch")
	if err := a.markLanded(ctx, f, c); err != nil {
		return out, err
	}
	a.reached(ctx, "attempt")
	if err := t.repo.SetRef(ctx, protocol.TrialRef(c.Campaign, c.ID), "", commit); err != nil {
		return out, err
	}
	a.reached(ctx, "trial")
	_, err = a.store.MoveChange(ctx, f, c.ID, []model.ChangeState{model.ChangeApproved}, model.ChangeApplied, byRatchet,
		"landed on "+protocol.BranchName(c.Campaign), now, nil)
	return protocol.LandChangeResult{Commit: commit}, err
}

// commit writes the commit object of a change, with its trailers.
func (a *Activities) commit(ctx context.Context, t *target, c model.Change) (string, error) {
	code, err := t.repo.Snapshot(ctx, c.Parent)
	if err != nil {
		return "", err
	}
	edits, err := a.edits(ctx, code, c.Patch)
	if err != nil {
		return "", err
	}
	out, err := t.repo.Commit(ctx, repo.CommitSpec{
		Parent: c.Parent, Edits: edits, Subject: subject(c.Hypothesis), Body: c.Hypothesis,
		Trailers: trailers(c), When: c.Created,
	})
	return out.Hash, err
}

func trailers(c model.Change) []repo.Trailer {
	return []repo.Trailer{
		{Key: protocol.TrailerChange, Value: c.ID},
		{Key: protocol.TrailerCampaign, Value: c.Campaign},
		{Key: protocol.TrailerGeneration, Value: strconv.Itoa(c.Generation)},
	}
}

// subject is the first line of a commit message, at most 72 characters.
func subject(s string) string {
	r := []rune(s)
	if len(r) <= 72 {
		return s
	}
	return string(r[:71]) + "…"
}

func (a *Activities) markLanded(ctx context.Context, f store.Fence, c model.Change) error {
	rows, err := a.store.Attempts(ctx, c.Campaign, c.Generation)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Key == c.Attempt {
			r.Status = model.AttemptLanded
			return a.store.UpdateAttempt(ctx, f, r)
		}
	}
	return fmt.Errorf("attempt %s of change %s: %w", c.Attempt, c.ID, store.ErrNotFound)
}

// RequestApproval moves a proven change to the state in which it waits for a
// person. The first deadline that is recorded counts: asking again keeps it.
func (a *Activities) RequestApproval(ctx context.Context, in protocol.RequestApprovalInput) (out protocol.RequestApprovalResult, err error) {
	f, err := a.fence(ctx, "change/"+in.Change)
	if err != nil {
		return out, err
	}
	c, err := a.store.Change(ctx, in.Change)
	if err != nil {
		return out, err
	}
	if c.State != model.ChangeAwaiting {
		c, err = a.store.MoveChange(ctx, f, in.Change, []model.ChangeState{model.ChangeProbation}, model.ChangeAwaiting, byRatchet,
			"proven; a person decides", in.Now, func(x *model.Change) { x.Deadline = &in.Deadline })
		if err != nil {
			return out, err
		}
	}
	if c.Deadline == nil {
		return out, errors.New("change " + c.ID + " waits without a deadline")
	}
	return protocol.RequestApprovalResult{Deadline: *c.Deadline}, nil
}
