package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ratchet/internal/decision"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
	"ratchet/internal/store"
	"ratchet/internal/trial"
)

// KeepChange moves best to the change's commit. It refuses unless the branch's
// tip is that commit. Each of its steps is skipped when it is done already:
// best ref, receipt, state, and the campaign's score and rates.
func (a *Activities) KeepChange(ctx context.Context, in protocol.SettleChangeInput) (protocol.SettleChangeResult, error) {
	return a.settle(ctx, in, model.DecisionKeep)
}

// RevertChange puts a revert commit on the branch, whose tree equals best's
// again. Each of its steps is skipped when it is done already.
func (a *Activities) RevertChange(ctx context.Context, in protocol.SettleChangeInput) (protocol.SettleChangeResult, error) {
	return a.settle(ctx, in, model.DecisionRevert)
}

// settlement is one decision on the way into refs and rows.
type settlement struct {
	a       *Activities
	in      protocol.SettleChangeInput
	t       *target
	change  model.Change
	verdict trial.Verdict
	fence   store.Fence
}

func (a *Activities) settle(ctx context.Context, in protocol.SettleChangeInput, d model.Decision) (out protocol.SettleChangeResult, err error) {
	s := &settlement{a: a, in: in}
	if s.fence, err = a.fence(ctx, "change/"+in.Change); err != nil {
		return out, err
	}
	if s.change, err = a.store.Change(ctx, in.Change); err != nil {
		return out, err
	}
	if s.t, err = a.load(ctx, s.change.Campaign); err != nil {
		return out, err
	}
	defer s.t.close()
	if in.Verdict != "" {
		if err := a.getJSON(ctx, in.Verdict, &s.verdict); err != nil {
			return out, err
		}
	}
	if done, err := a.store.Receipt(ctx, in.Change); err == nil {
		d = done.Decision // decided before: only what is left of that is done
	} else if !errors.Is(err, store.ErrNotFound) {
		return out, err
	}
	if d == model.DecisionKeep {
		return s.keep(ctx)
	}
	return s.revert(ctx)
}

func (s *settlement) keep(ctx context.Context) (out protocol.SettleChangeResult, err error) {
	c := s.change
	tip, err := s.t.repo.Ref(ctx, protocol.BranchRef(c.Campaign))
	if err != nil {
		return out, err
	}
	if tip != c.Commit {
		return out, &repo.Error{Op: "keep change " + c.ID + " on", Object: protocol.BranchRef(c.Campaign), Err: repo.ErrConflict,
			Hint: fmt.Sprintf("it is at %.12s, not at the candidate %.12s: something else has moved it; set it back, then run ratchet campaign recover", tip, c.Commit)}
	}
	if err := s.moveBest(ctx); err != nil {
		return out, err
	}
	s.a.reached(ctx, "best")
	if err := s.record(ctx, model.DecisionKeep, ""); err != nil {
		return out, err
	}
	return s.close(ctx, model.ChangeKept, c.Commit)
}

func (s *settlement) moveBest(ctx context.Context) error {
	ref := protocol.BestRef(s.change.Campaign)
	best, err := s.t.repo.Ref(ctx, ref)
	if err != nil {
		return err
	}
	return s.t.repo.SetRef(ctx, ref, best, s.change.Commit)
}

func (s *settlement) revert(ctx context.Context) (out protocol.SettleChangeResult, err error) {
	c := s.change
	tip, err := s.t.repo.Ref(ctx, protocol.BranchRef(c.Campaign))
	if err != nil {
		return out, err
	}
	if tip == c.Parent { // stopped before it was landed: nothing was measured, nothing is undone
		return s.close(ctx, model.ChangeRejected, c.Parent)
	}
	commit, err := s.revertCommit(ctx)
	if err != nil {
		return out, err
	}
	s.a.reached(ctx, "noted")
	if err := s.t.repo.SetRef(ctx, protocol.BranchRef(c.Campaign), c.Commit, commit); err != nil {
		return out, err
	}
	s.a.reached(ctx, "branch")
	if err := s.record(ctx, model.DecisionRevert, commit); err != nil {
		return out, err
	}
	return s.close(ctx, model.ChangeRolledBack, commit)
}

// revertCommit writes the commit that undoes the change, once: its hash is noted
// on the change before the branch moves, and a later attempt takes that one.
func (s *settlement) revertCommit(ctx context.Context) (string, error) {
	if s.change.Revert != "" {
		return s.change.Revert, nil
	}
	c := s.change
	made, err := s.t.repo.Revert(ctx, repo.RevertSpec{
		Tip: c.Commit, Target: c.Commit, Subject: subject("Revert \"" + c.Hypothesis + "\""),
		Body: s.in.Why, When: s.in.Now,
		Trailers: append(trailers(c), repo.Trailer{Key: protocol.TrailerReverts, Value: c.Commit}),
	})
	if err != nil {
		return "", err
	}
	s.a.reached(ctx, "commit")
	s.change, err = s.a.store.EditChange(ctx, s.fence, c.ID, func(x *model.Change) { x.Revert = made.Hash })
	return made.Hash, err
}

// record writes the receipt, then the campaign's score and rates.
func (s *settlement) record(ctx context.Context, d model.Decision, revert string) error {
	_, err := s.a.store.Receipt(ctx, s.change.ID)
	if errors.Is(err, store.ErrNotFound) {
		var receipt model.Receipt
		if receipt, err = s.receipt(ctx, d, revert); err == nil {
			err = s.a.store.SaveReceipt(ctx, s.fence, receipt)
		}
	}
	if err != nil {
		return err
	}
	s.a.reached(ctx, "receipt")
	return s.learn(ctx, d)
}

func (s *settlement) receipt(ctx context.Context, d model.Decision, revert string) (model.Receipt, error) {
	c, v := s.change, s.verdict
	diff, err := s.a.artifacts.Get(ctx, c.Patch)
	if err != nil {
		return model.Receipt{}, err
	}
	j, err := s.a.store.CountConfirmations(ctx, c.Campaign)
	if err != nil {
		return model.Receipt{}, err
	}
	r := model.Receipt{
		Change: c.ID, Campaign: c.Campaign, Generation: c.Generation, Decision: d, Reason: s.in.Why,
		DecidedBy: s.in.By, Parent: c.Parent, Commit: c.Commit, RevertCommit: revert, Patch: string(diff),
		Hypothesis: c.Hypothesis, EValue: v.EValue, Level: v.Level, Confirmation: j + 1, Rounds: v.Rounds,
		Claims: v.Claims, Suspects: v.Suspects, ParentScore: v.ParentScore, Score: v.Score,
		Fixed: v.Fixed, Broken: v.Broken, Cost: model.Cost{Sandbox: v.Sandbox}, At: s.in.Now,
	}
	if r.Level == 0 {
		r.Level = decision.Level(s.t.spec.Gate.Alpha, r.Confirmation)
	}
	return r, nil
}

// learn takes the runs of the confirmation into what is known of the best
// commit's problems, once for each change.
func (s *settlement) learn(ctx context.Context, d model.Decision) error {
	rates, err := s.a.rates(ctx, s.t.row)
	if err != nil {
		return err
	}
	runs, err := s.a.store.Runs(ctx, s.change.Campaign, "change/"+s.change.ID)
	if err != nil {
		return err
	}
	ref, err := s.a.putRates(ctx, learned(rates, runs, s.verdict, d))
	if err != nil {
		return err
	}
	_, err = s.a.store.UpdateCampaign(ctx, s.fence, s.change.Campaign, func(row *model.Campaign) error {
		if row.Settled == s.change.ID {
			return nil
		}
		row.Rates, row.Settled = ref, s.change.ID
		s.score(row, d)
		return nil
	})
	return err
}

// score moves the campaign's score on, and names problems that this confirmation
// has shown to be flaky on one and the same tree.
func (s *settlement) score(row *model.Campaign, d model.Decision) {
	v := s.verdict
	if d == model.DecisionKeep {
		row.Best = s.change.Commit
	}
	if v.ParentScore.Problems == 0 {
		return
	}
	if d == model.DecisionKeep {
		score := v.Score
		row.Current = &score
	}
	if row.Baseline != nil {
		base := *row.Baseline
		base.Flaky = merge(base.Flaky, v.ParentScore.Flaky)
		row.Baseline = &base
	}
}

func merge(a, b []string) []string {
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

// learned adds the parent's runs to what is known; when the change is kept, its
// own runs take the place of the parent's on the problems that it fixed and on
// metrics, which any change may move a little, and are added on the others.
func learned(rates map[string]trial.Rate, runs []store.StoredRun, v trial.Verdict, d model.Decision) map[string]trial.Rate {
	var parent, candidate []model.Run
	for _, r := range runs {
		if r.Side == sideParent {
			parent = append(parent, r.Run)
		} else {
			candidate = append(candidate, r.Run)
		}
	}
	out := addRates(rates, trial.Rates(parent...))
	if d != model.DecisionKeep {
		return out
	}
	now := trial.Rates(candidate...)
	// What the change made different is known from its own runs alone.
	for id, before := range trial.Rates(parent...) {
		after, ok := now[id]
		fixed := slices.Contains(v.Fixed, id) || before.Passed == 0 && after.Passed == after.Runs
		if ok && (fixed || after.IsMetric()) {
			delete(out, id)
		}
	}
	return addRates(out, now)
}

func addRates(a, b map[string]trial.Rate) map[string]trial.Rate {
	out := make(map[string]trial.Rate, len(a))
	for id, r := range a {
		out[id] = r
	}
	for id, r := range b {
		out[id] = out[id].Add(r)
	}
	return out
}

// close drops the trial ref and moves the change to its final state.
func (s *settlement) close(ctx context.Context, state model.ChangeState, tip string) (protocol.SettleChangeResult, error) {
	s.a.reached(ctx, "campaign")
	c := s.change
	trial := protocol.TrialRef(c.Campaign, c.ID)
	if at, err := s.t.repo.Ref(ctx, trial); err == nil {
		if err := s.t.repo.DeleteRef(ctx, trial, at); err != nil {
			return protocol.SettleChangeResult{}, err
		}
	}
	s.a.reached(ctx, "trial")
	from := []model.ChangeState{model.ChangeProposed, model.ChangeApproved, model.ChangeApplied, model.ChangeProbation, model.ChangeAwaiting}
	_, err := s.a.store.MoveChange(ctx, s.fence, c.ID, from, state, s.in.By, s.in.Why, s.in.Now, nil)
	return protocol.SettleChangeResult{State: state, Tip: tip}, err
}
