package activities

import (
	"context"
	"errors"
	"fmt"

	"ratchet/internal/campaign"
	"ratchet/internal/diagnose"
	"ratchet/internal/model"
	"ratchet/internal/patch"
	"ratchet/internal/propose"
	"ratchet/internal/propose/search"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
	"ratchet/internal/trial"
)

// Proposers makes the proposers that a specification names.
func Proposers(spec campaign.Spec) ([]propose.Proposer, error) {
	var out []propose.Proposer
	for _, p := range spec.Proposers {
		if p.Kind != campaign.ProposerSearch {
			return nil, &BadInput{Op: "set up proposer", Object: string(p.Kind), Cause: "unknown kind", Hint: "known: search"}
		}
		s, err := search.New(search.Config{})
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// ProposeCandidates fills a generation with attempts: first those that screened
// well before and were never landed, then new ones. Idempotent: a generation
// whose proposal is stored returns that.
func (a *Activities) ProposeCandidates(ctx context.Context, in protocol.ProposeCandidatesInput) (out protocol.ProposeCandidatesResult, err error) {
	p := a.startPulse(ctx, stepLimit, "proposing")
	defer func() { out.Spans = p.end() }()
	f, err := a.fence(ctx, fmt.Sprintf("%s/gen/%d", in.Campaign, in.Generation))
	if err != nil {
		return out, err
	}
	t, err := a.load(ctx, in.Campaign)
	if err != nil {
		return out, err
	}
	defer t.close()
	var brief diagnose.Brief
	if err := a.getJSON(ctx, in.Brief, &brief); err != nil {
		return out, err
	}
	d, err := a.newDraft(ctx, t, in, brief)
	if err != nil {
		return out, err
	}
	if err := d.fromQueue(ctx); err != nil {
		return out, err
	}
	if err := p.busy(ctx, func() error { return d.fromProposers(ctx) }); err != nil {
		return out, err
	}
	rows, err := a.store.AddAttempts(ctx, f, in.Campaign, in.Generation, d.attempts)
	if err != nil {
		return out, err
	}
	a.reached(ctx, "attempts")
	if err := d.supersede(ctx, f); err != nil {
		return out, err
	}
	out.Candidates = len(rows)
	for _, r := range rows {
		if r.Status == model.AttemptRefused {
			out.Refused++
		}
	}
	return out, nil
}

// draft collects the attempts of one generation.
type draft struct {
	a        *Activities
	t        *target
	in       protocol.ProposeCandidatesInput
	brief    diagnose.Brief
	view     model.Tree
	code     model.Tree
	failing  map[string]bool // problems that do not always pass on the parent
	tried    map[string]model.AttemptStatus
	taken    map[string]bool
	attempts []model.Attempt
	old      []model.Attempt // rows that are taken up again here
}

func (a *Activities) newDraft(ctx context.Context, t *target, in protocol.ProposeCandidatesInput, brief diagnose.Brief) (*draft, error) {
	d := &draft{a: a, t: t, in: in, brief: brief, failing: map[string]bool{}, taken: map[string]bool{}}
	var err error
	if d.view, err = t.view(ctx, brief.Parent); err != nil {
		return nil, err
	}
	if d.code, err = t.repo.Snapshot(ctx, brief.Parent); err != nil {
		return nil, err
	}
	if d.tried, err = a.store.TriedKeys(ctx, t.row.Name, brief.ParentTree); err != nil {
		return nil, err
	}
	for _, w := range brief.Weakest {
		d.failing[w.Problem] = true
	}
	return d, nil
}

// fromQueue takes up candidates that passed a screen on an earlier parent, when
// they still apply to this one and something that they aim at still fails.
func (d *draft) fromQueue(ctx context.Context) error {
	queue, err := d.a.store.Queue(ctx, d.t.row.Name, d.in.Candidates)
	if err != nil {
		return err
	}
	for _, q := range queue {
		if q.Generation >= d.in.Generation {
			continue // its own, when this generation is run again
		}
		diff, err := d.a.artifacts.Get(ctx, q.Patch)
		if err != nil {
			return err
		}
		d.old = append(d.old, q)
		edits, err := patch.Apply(d.code, string(diff))
		if err != nil || !d.aims(q.Targets) {
			continue
		}
		c := model.Candidate{Proposer: q.Proposer, Hypothesis: q.Hypothesis, ExpectedGain: q.ExpectedGain, Targets: q.Targets, Edits: edits}
		c.Key = patch.Key(edits, d.code)
		if err := d.add(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) aims(targets []string) bool {
	for _, t := range targets {
		if d.failing[t] {
			return true
		}
	}
	return false
}

// fromProposers asks each proposer in turn for what is missing.
func (d *draft) fromProposers(ctx context.Context) error {
	ps, err := d.a.proposers(d.t.spec)
	if err != nil {
		return err
	}
	for _, p := range ps {
		missing := d.in.Candidates - len(d.attempts)
		if missing <= 0 {
			return nil
		}
		cs, err := p.Propose(ctx, propose.Request{
			Brief: d.brief, Tree: d.view, Allowed: d.allowed, Skip: d.skip, N: missing, Seed: d.t.spec.Seed,
		})
		if err != nil {
			return err
		}
		for _, c := range cs {
			if err := d.add(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *draft) allowed(path string) bool { return d.t.policy().Allowed(path) }

func (d *draft) skip(key string) bool {
	_, tried := d.tried[key]
	return tried || d.taken[key]
}

// add puts a candidate through the gates and makes it an attempt. Its patch is
// kept as a diff, so that it can be applied to a later parent.
func (d *draft) add(ctx context.Context, c model.Candidate) error {
	if d.skip(c.Key) {
		return nil
	}
	d.taken[c.Key] = true
	at := model.Attempt{
		Campaign: d.in.Campaign, Generation: d.in.Generation, Key: c.Key, Order: len(d.attempts),
		ParentTree: d.brief.ParentTree, Proposer: c.Proposer, Hypothesis: c.Hypothesis,
		ExpectedGain: c.ExpectedGain, Targets: c.Targets, Status: model.AttemptProposed,
	}
	if r := patch.Gate(d.code, c, d.t.policy()); r != nil {
		at.Status, at.Stage, at.Reason = model.AttemptRefused, "gate", r.String()
		d.attempts = append(d.attempts, at)
		return nil
	}
	diff, err := patch.Diff(d.code, c.Edits)
	if err != nil {
		return err
	}
	if at.Patch, err = d.a.artifacts.Put(ctx, []byte(diff)); err != nil {
		return err
	}
	d.attempts = append(d.attempts, at)
	return nil
}

// supersede takes the queue's rows out of the queue: what still holds of them
// are attempts of this generation now.
func (d *draft) supersede(ctx context.Context, f store.Fence) error {
	for _, q := range d.old {
		q.Status = model.AttemptSuperseded
		q.Reason = fmt.Sprintf("taken up again in generation %d", d.in.Generation)
		if err := d.a.store.UpdateAttempt(ctx, f, q); err != nil {
			return err
		}
	}
	return nil
}

// edits reads an attempt's patch and applies it to its parent.
func (a *Activities) edits(ctx context.Context, code model.Tree, ref string) ([]model.Edit, error) {
	diff, err := a.artifacts.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	return patch.Apply(code, string(diff))
}

// weak is what is known of the parent, as the judge of a screen needs it.
func (a *Activities) weak(ctx context.Context, t *target) (map[string]trial.Rate, error) {
	rates, err := a.rates(ctx, t.row)
	if err == nil && len(rates) == 0 {
		err = errors.New("no baseline is stored for campaign " + t.row.Name)
	}
	return rates, err
}
