package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ratchet/internal/llm"
	"ratchet/internal/model"
	"ratchet/internal/propose"
	"ratchet/internal/propose/bandit"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
)

// fromProposers has the proposers fill what is missing, unless the proposal of
// this generation is stored already.
func (d *draft) fromProposers(ctx context.Context, f store.Fence, p *pulse, out *protocol.ProposeCandidatesResult) error {
	stored, err := d.a.store.Proposed(ctx, d.in.Campaign, d.in.Generation)
	if err != nil || stored || d.open() <= 0 {
		return err
	}
	b, err := d.a.newBooks(ctx, d.t, f, d.in.Generation, p)
	if err != nil {
		return err
	}
	ps, err := d.a.proposers(d.t.spec, b.caller)
	if err != nil {
		return err
	}
	s := &sharing{d: d, books: b, pulse: p, out: out, arms: make([]arm, len(ps))}
	for i, p := range ps {
		s.arms[i] = arm{Proposer: p, model: d.t.asksModel(p.Name())}
	}
	return s.run(ctx)
}

// asksModel says whether a proposer of that name calls a model.
func (t *target) asksModel(name string) bool {
	for _, p := range t.spec.Proposers {
		if p.ID() == name {
			return p.Model()
		}
	}
	return false
}

// sharing is one generation's candidates, shared among the proposers.
type sharing struct {
	d     *draft
	books *books
	pulse *pulse
	out   *protocol.ProposeCandidatesResult
	arms  []arm
}

// arm is a proposer in one generation.
type arm struct {
	propose.Proposer
	model bool
	quota int
	more  bool  // it gave all that it was asked for, so it may have other ideas
	err   error // why it could not work
}

// run asks each proposer for its share. Places that one leaves empty go to the
// models after it, and what these leave to whoever may have more ideas without a
// model: a model is asked once, because the answers to the same questions are the same.
func (s *sharing) run(ctx context.Context) error {
	if err := s.allot(ctx); err != nil {
		return err
	}
	spare := 0
	for _, model := range []bool{false, true} {
		for i := range s.arms {
			a := &s.arms[i]
			if a.model != model {
				continue
			}
			n := a.quota
			if model {
				n, spare = n+spare, 0
			}
			got, err := s.ask(ctx, a, n)
			if err != nil {
				return err
			}
			spare += n - got
		}
	}
	for i := range s.arms {
		if a := &s.arms[i]; !a.model && a.more {
			if _, err := s.ask(ctx, a, s.d.open()); err != nil {
				return err
			}
		}
	}
	return s.verdict()
}

// allot shares the open places by what each proposer has gained for what it cost
// in earlier generations: an attempt that is made again asks the same questions.
func (s *sharing) allot(ctx context.Context) error {
	if len(s.arms) == 1 { // nothing to share, and the records grow with the campaign
		s.arms[0].quota = s.d.open()
		return nil
	}
	records, err := s.d.a.store.ProposerRecords(ctx, s.d.in.Campaign, s.d.in.Generation)
	if err != nil {
		return err
	}
	caps := budget(s.d.t.row, s.d.t.spec)
	arms := make([]bandit.Arm, len(s.arms))
	for i, a := range s.arms {
		arms[i].Name = a.Name()
		for _, r := range records {
			if r.Proposer == a.Name() {
				arms[i] = bandit.Arm{Name: r.Proposer, Candidates: r.Candidates, Passed: r.Passed, Kept: r.Kept, Gain: r.Gain, Cost: share(r, caps)}
			}
		}
	}
	for i, n := range bandit.Allocate(arms, s.d.open(), s.d.t.spec.Seed+int64(s.d.in.Generation)) {
		s.arms[i].quota = n
	}
	return nil
}

// share is what part of the campaign's budgets a proposer has used: that of the
// boxes, and that of its model calls by the tighter of tokens and money, which
// count the same calls. What has no limit costs nothing.
func share(r model.ProposerRecord, caps model.Budget) float64 {
	of := func(used, limit float64) float64 {
		if limit <= 0 {
			return 0
		}
		return used / limit
	}
	return of(r.Sandbox.Seconds(), caps.Sandbox.Seconds()) + max(of(float64(r.Tokens), float64(caps.Tokens)), of(r.Money, caps.Money))
}

// ask has one proposer write at most n candidates and returns how many places
// they took. That its model cannot be used is noted, not returned.
func (s *sharing) ask(ctx context.Context, a *arm, n int) (got int, err error) {
	if n <= 0 {
		return 0, nil
	}
	d := s.d
	var proposal propose.Proposal
	work := func() error {
		proposal, err = a.Propose(ctx, propose.Request{
			Brief: d.brief, Tree: d.view, Allowed: d.allowed, Skip: d.skip, Gate: d.gate, N: n, Seed: d.t.spec.Seed,
		})
		return err
	}
	if a.model {
		err = s.pulse.work(work) // a model is on another host: it disturbs no measurement here
	} else {
		err = s.pulse.busy(ctx, work)
	}
	if err := errors.Join(ctx.Err(), s.books.balance()); err != nil {
		return 0, err
	}
	if err := s.note(a, proposal, err); err != nil {
		return 0, err
	}
	before := d.open()
	if err := s.take(ctx, a, proposal); err != nil {
		return 0, err
	}
	a.more = len(proposal.Candidates) >= n
	return before - d.open(), nil
}

// take makes attempts of what a proposer came up with.
func (s *sharing) take(ctx context.Context, a *arm, p propose.Proposal) error {
	for _, c := range p.Candidates {
		c.Proposer = a.Name()
		if err := s.d.add(ctx, c); err != nil {
			return err
		}
	}
	for _, r := range p.Refused {
		s.d.refuse(a.Name(), r)
	}
	return nil
}

// note takes over a proposer's remarks, and its error when that is its model's.
func (s *sharing) note(a *arm, p propose.Proposal, err error) error {
	for _, n := range p.Notes {
		s.say(a.Name() + ": " + n)
	}
	s.out.Exhausted = s.out.Exhausted || p.Exhausted || errors.Is(err, llm.ErrBudget)
	switch {
	case err == nil || errors.Is(err, llm.ErrBudget):
		return nil
	case modelAway(err) || modelRefuses(err):
		a.err = err
		s.say(fmt.Sprintf("%s could not work: %v", a.Name(), err))
		s.d.a.log.Warn("a proposer could not work", "campaign", s.d.in.Campaign, "generation", s.d.in.Generation, "proposer", a.Name(), "error", err)
		return nil
	}
	return err
}

// mostNotes bounds the remarks of one proposal: they travel in its result.
const mostNotes = 20

func (s *sharing) say(note string) {
	if len(s.out.Notes) < mostNotes {
		s.out.Notes = append(s.out.Notes, note)
	}
}

// errorOf says whose error it is, unless it says so itself.
func errorOf(proposer string, err error) error {
	prefix := "proposer " + proposer + ": "
	if strings.HasPrefix(err.Error(), prefix) {
		return err
	}
	return fmt.Errorf("%s%w", prefix, err)
}

// verdict decides what it means that proposers could not work. With a candidate
// the generation goes on. Without one, a model server that is away is waited for:
// what else there is has no ideas left for this tree, and generations without
// candidates would end the campaign. A model that will never answer as things are
// is an error only when there is no other proposer.
func (s *sharing) verdict() error {
	var away, refused []error
	for _, a := range s.arms {
		switch {
		case a.err == nil:
		case modelAway(a.err):
			away = append(away, errorOf(a.Name(), a.err))
		default:
			refused = append(refused, errorOf(a.Name(), a.err))
		}
	}
	switch {
	case len(s.d.attempts) > 0 || s.out.Exhausted:
		return nil
	case len(away) > 0:
		return errors.Join(away...)
	case len(refused) == len(s.arms) && len(refused) > 0:
		return &BadInput{Op: "ask the models of campaign", Object: s.d.in.Campaign, Cause: errors.Join(refused...).Error(),
			Hint: "check url, model and key_env of the endpoints, and that the variable is set where ratchet runs"}
	}
	return nil
}
