package activities

import (
	"context"
	"errors"
	"fmt"

	"ratchet/internal/diagnose"
	"ratchet/internal/model"
	"ratchet/internal/patch"
	"ratchet/internal/propose"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
	"ratchet/internal/trial"
)

// ProposeCandidates fills a generation with attempts: first those that screened
// well before and were never landed, then new ones. Idempotent: a generation
// whose proposal is stored returns that, and until then a question that a model
// has answered is not asked again.
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
	if err := d.fromProposers(ctx, f, p, &out); err != nil {
		return out, err
	}
	stored, err := a.store.AddProposal(ctx, f, in.Campaign, in.Generation,
		model.Proposal{Attempts: d.attempts, Notes: out.Notes, Exhausted: out.Exhausted})
	if err != nil {
		return out, err
	}
	a.reached(ctx, "attempts")
	if err := d.supersede(ctx, f, stored.Attempts); err != nil {
		return out, err
	}
	count(stored, &out)
	return out, nil
}

// count makes a result of what is stored, so that it is the same whenever it is
// asked for again.
func count(p model.Proposal, out *protocol.ProposeCandidatesResult) {
	out.Candidates, out.Notes, out.Exhausted = len(p.Attempts), p.Notes, p.Exhausted
	for _, r := range p.Attempts {
		if r.Status == model.AttemptRefused {
			out.Refused++
		}
	}
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
	old      []taken // rows that are taken up again here
}

// taken is a row of the queue and the key that its patch has on this parent; empty
// when it does not hold here.
type taken struct {
	row model.Attempt
	key string
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
		edits, err := patch.Apply(d.code, string(diff))
		if err != nil || !d.aims(q.Targets) {
			d.old = append(d.old, taken{row: q})
			continue
		}
		c := model.Candidate{Proposer: q.Proposer, Hypothesis: q.Hypothesis, ExpectedGain: q.ExpectedGain, Targets: q.Targets, Edits: edits}
		c.Key = patch.Key(edits, d.code)
		d.old = append(d.old, taken{q, c.Key})
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

func (d *draft) allowed(path string) bool { return d.t.policy().Allowed(path) }

func (d *draft) skip(key string) bool {
	_, tried := d.tried[key]
	return tried || d.taken[key]
}

func (d *draft) gate(c model.Candidate) *patch.Refusal { return patch.Gate(d.code, c, d.t.policy()) }

// open is how many candidates may still be added. Those that the gates refused
// take no box, so they take no place either.
func (d *draft) open() int {
	n := d.in.Candidates
	for _, at := range d.attempts {
		if at.Status == model.AttemptProposed {
			n--
		}
	}
	return n
}

// add puts a candidate through the gates and makes it an attempt. Its patch is
// kept as a diff, so that it can be applied to a later parent.
func (d *draft) add(ctx context.Context, c model.Candidate) error {
	if d.skip(c.Key) {
		return nil
	}
	at := d.attempt(c)
	if r := d.gate(c); r != nil {
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

// refuse records an answer that never became a candidate. The same answer in an
// earlier generation is no reason to leave it out: it was paid for again.
func (d *draft) refuse(proposer string, r propose.Refused) {
	if d.taken[r.Key] {
		return
	}
	at := d.attempt(model.Candidate{Key: r.Key, Proposer: proposer, Hypothesis: r.Hypothesis})
	at.Status, at.Stage, at.Reason = model.AttemptRefused, "answer", r.Reason
	d.attempts = append(d.attempts, at)
}

func (d *draft) attempt(c model.Candidate) model.Attempt {
	d.taken[c.Key] = true
	return model.Attempt{
		Campaign: d.in.Campaign, Generation: d.in.Generation, Key: c.Key, Order: len(d.attempts),
		ParentTree: d.brief.ParentTree, Proposer: c.Proposer, Hypothesis: c.Hypothesis,
		ExpectedGain: c.ExpectedGain, Targets: c.Targets, Status: model.AttemptProposed,
	}
}

// supersede takes the queue's rows out of the queue: what still holds of them are
// attempts of this generation now. What is not among those, because an earlier run
// of this proposal was stored without it, stays in the queue.
func (d *draft) supersede(ctx context.Context, f store.Fence, rows []model.Attempt) error {
	stored := map[string]bool{"": true}
	for _, r := range rows {
		stored[r.Key] = true
	}
	for _, q := range d.old {
		if _, tried := d.tried[q.key]; !stored[q.key] && !tried {
			continue
		}
		q.row.Status = model.AttemptSuperseded
		q.row.Reason = fmt.Sprintf("taken up again in generation %d", d.in.Generation)
		if err := d.a.store.UpdateAttempt(ctx, f, q.row); err != nil {
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
