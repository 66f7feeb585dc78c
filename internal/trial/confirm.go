package trial

import (
	"context"
	"fmt"
	"time"

	"ratchet/internal/decision"
	"ratchet/internal/model"
)

// Round is one paired measurement. Round 0 is the full one: every problem once
// on each side, as the suite runs them. Rounds from 1 hold the claims and
// suspects, each in a process of its own.
type Round struct {
	N         int       `json:"n"`
	Parent    model.Run `json:"parent"`
	Candidate model.Run `json:"candidate"`
}

// ConfirmInput is what a confirmation has to decide on.
type ConfirmInput struct {
	Problems []model.Problem  // all, search and held-out
	Claims   []decision.Claim // from Claims; every one of them among Problems
	Config   decision.Config  // zero fields mean defaults
	Level    float64          // decision.Level of this confirmation
	// Known is what is known of the parent, and optional. It never counts for the
	// decision; with it the verdict also names unclaimed problems as fixed.
	Known map[string]Rate
	// Have are rounds that an earlier attempt measured, from round 0 without a
	// gap. They are replayed, not run again, and lead to the same state.
	Have []Round
}

// Confirm measures a candidate against its parent on fresh, interleaved rounds
// until decision.Confirmation rules, at most Config.Rounds after the full one.
// Which side runs first alternates from round to round. emit, which may be nil,
// is called with each new round once both sides are measured and before it
// counts, so that the caller can store it; a confirmation that was cut off goes
// on from the stored rounds and ends as it would have.
//
// Without claims the verdict is "futile", and nothing is run. An error (of a
// bench, of emit, an incomplete result, a tampered parent) is no verdict.
// The benches are used from the calling goroutine, one at a time.
func Confirm(ctx context.Context, parent, candidate Bench, in ConfirmInput, emit func(Round) error) (Verdict, error) {
	c, err := newConfirm(in)
	if err != nil {
		return Verdict{}, err
	}
	for _, r := range in.Have {
		if err := c.take(r); err != nil {
			return Verdict{}, err
		}
	}
	for !c.fold.Status().Final() {
		r, err := c.measure(ctx, parent, candidate)
		if err != nil {
			return Verdict{}, err
		}
		if err := c.check(r); err != nil {
			return Verdict{}, err
		}
		if emit != nil {
			if err := emit(r); err != nil {
				return Verdict{}, &Error{Op: "confirm", Object: fmt.Sprintf("store round %d", r.N), Err: err}
			}
		}
		if err := c.take(r); err != nil {
			return Verdict{}, err
		}
	}
	return c.verdict(), nil
}

// confirm is a confirmation as it stands after some rounds.
type confirm struct {
	in        ConfirmInput
	byID      map[string]model.Problem
	fold      *decision.Confirmation
	rounds    int // taken, with the full one
	parent    []model.Run
	candidate []model.Run
	pairs     map[string]*pairs // evidence rounds of each problem
	tampered  string
	sandbox   time.Duration
}

// pairs are what one problem scored, or a metric measured, in the isolated rounds that ran it.
type pairs struct{ parent, candidate []float64 }

func newConfirm(in ConfirmInput) (*confirm, error) {
	if len(in.Problems) == 0 {
		return nil, &Error{Op: "confirm", Object: "problems", Err: fmt.Errorf("%w: there is none", ErrInput)}
	}
	fold, err := decision.New(in.Config, in.Level, in.Claims)
	if err != nil {
		return nil, &Error{Op: "confirm", Object: "claims", Err: err}
	}
	c := &confirm{in: in, fold: fold, byID: map[string]model.Problem{}, pairs: map[string]*pairs{}}
	for _, p := range in.Problems {
		c.byID[p.ID] = p
	}
	if len(c.byID) != len(in.Problems) {
		return nil, &Error{Op: "confirm", Object: "problems", Err: fmt.Errorf("%w: two have one id", ErrInput)}
	}
	for _, x := range in.Claims {
		if _, ok := c.byID[x.Problem]; !ok {
			return nil, &Error{Op: "confirm", Object: "claims", Err: fmt.Errorf("%w: no problem %s", ErrInput, x.Problem)}
		}
	}
	return c, nil
}

// wanted are the problems of the coming round, and whether each is isolated.
func (c *confirm) wanted() (problems []model.Problem, isolate bool) {
	if c.rounds == 0 {
		return c.in.Problems, false
	}
	for _, id := range c.fold.Next() {
		problems = append(problems, c.byID[id])
	}
	return problems, true
}

// measure runs one round. It alternates which side goes first, so that
// whatever the first run does to the host favours neither.
func (c *confirm) measure(ctx context.Context, parent, candidate Bench) (Round, error) {
	problems, isolate := c.wanted()
	r := Round{N: c.rounds}
	sides := []struct {
		name  string
		bench Bench
		run   *model.Run
	}{{"parent", parent, &r.Parent}, {"candidate", candidate, &r.Candidate}}
	if r.N%2 == 1 {
		sides[0], sides[1] = sides[1], sides[0]
	}
	for _, s := range sides {
		run, err := s.bench.Run(ctx, problems, isolate)
		if err != nil {
			return Round{}, &Error{Op: "confirm", Object: fmt.Sprintf("round %d, %s", r.N, s.name), Err: err}
		}
		*s.run = run
	}
	return r, nil
}

// check says whether a round can be taken as it is.
func (c *confirm) check(r Round) error {
	object := fmt.Sprintf("round %d", r.N)
	if r.N != c.rounds {
		return &Error{Op: "confirm", Object: object, Err: fmt.Errorf("%w: want round %d", ErrRounds, c.rounds)}
	}
	if c.fold.Status().Final() {
		return &Error{Op: "confirm", Object: object, Err: fmt.Errorf("%w: it was decided in round %d", ErrRounds, c.rounds-1)}
	}
	if r.Parent.Tampered != "" {
		return &Error{
			Op: "confirm", Object: object + ", parent", Err: fmt.Errorf("%w: %s", ErrTampered, r.Parent.Tampered),
			Hint: "the parent passed this check before; look at the host, and at the commit that is the best so far",
		}
	}
	problems, _ := c.wanted()
	if err := complete(r.Parent, problems); err != nil {
		return &Error{Op: "confirm", Object: object + ", parent", Err: err}
	}
	if r.Candidate.Tampered != "" {
		return nil // it is refused whatever else it reports
	}
	if err := complete(r.Candidate, problems); err != nil {
		return &Error{Op: "confirm", Object: object + ", candidate", Err: err}
	}
	return nil
}

// take counts a round. It is the same for a fresh and for a replayed one.
func (c *confirm) take(r Round) error {
	if err := c.check(r); err != nil {
		return err
	}
	problems, isolate := c.wanted()
	c.rounds++
	c.sandbox += r.Parent.Sandbox + r.Candidate.Sandbox
	c.parent = append(c.parent, r.Parent)
	if r.Candidate.Tampered != "" {
		c.tampered = r.Candidate.Tampered
		c.fold.Tamper()
		return nil
	}
	c.candidate = append(c.candidate, r.Candidate)
	ids, gains, harms := c.compare(problems, r)
	var err error
	if isolate {
		c.note(problems, r)
		_, err = c.fold.ObserveBoth(gains, harms)
	} else {
		_, err = c.fold.Guard(ids, harms)
	}
	if err != nil {
		return &Error{Op: "confirm", Object: fmt.Sprintf("round %d", r.N), Err: err}
	}
	return nil
}

// compare returns the differences of each problem, candidate - parent; see difference.
func (c *confirm) compare(problems []model.Problem, r Round) (ids []string, gains, harms []float64) {
	before, after := r.Parent.ByProblem(), r.Candidate.ByProblem()
	for _, p := range problems {
		gain, harm := difference(p, before[p.ID], after[p.ID])
		ids, gains, harms = append(ids, p.ID), append(gains, gain), append(harms, harm)
	}
	return ids, gains, harms
}

// note keeps the scores and values of an isolated round for the verdict.
func (c *confirm) note(problems []model.Problem, r Round) {
	before, after := r.Parent.ByProblem(), r.Candidate.ByProblem()
	for _, p := range problems {
		x := c.pairs[p.ID]
		if x == nil {
			x = &pairs{}
			c.pairs[p.ID] = x
		}
		x.parent = append(x.parent, figure(p, before[p.ID]))
		x.candidate = append(x.candidate, figure(p, after[p.ID]))
	}
}
