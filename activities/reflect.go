package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"ratchet/internal/model"
	proposellm "ratchet/internal/propose/llm"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
)

// reflector is a proposer that can say what a generation taught; *proposellm.Proposer is one.
type reflector interface {
	Reflect(ctx context.Context, t proposellm.Turn) (model.Reflection, error)
}

// ReflectGeneration has a model say what a turn taught, for the briefs of later
// ones. Nothing rests on it: that no model can be used, or that the budget has no
// room, gives an empty result and is no error. Idempotent: the first reflection
// on a generation stays, and is not asked for again.
func (a *Activities) ReflectGeneration(ctx context.Context, in protocol.ReflectGenerationInput) (out protocol.ReflectGenerationResult, err error) {
	p := a.startPulse(ctx, stepLimit, "reflecting")
	defer func() { out.Spans = p.end() }()
	f, err := a.fence(ctx, fmt.Sprintf("%s/gen/%d", in.Campaign, in.Generation))
	if err != nil {
		return out, err
	}
	stored, err := a.store.Reflection(ctx, in.Campaign, in.Generation)
	if err == nil {
		out.Learnt = learnt(stored)
		return out, nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return out, err
	}
	t, err := a.load(ctx, in.Campaign)
	if err != nil {
		return out, err
	}
	defer t.close()
	r, err := a.reflect(ctx, t, f, in, p)
	if err != nil || r == nil {
		return out, err
	}
	saved, err := a.store.SaveReflection(ctx, f, *r)
	out.Learnt = learnt(saved)
	return out, err
}

// reflect asks the first proposer that can reflect; nil when there is no answer.
func (a *Activities) reflect(ctx context.Context, t *target, f store.Fence, in protocol.ReflectGenerationInput, p *pulse) (*model.Reflection, error) {
	b, err := a.newBooks(ctx, t, f, in.Generation, p)
	if err != nil {
		return nil, err
	}
	who, err := a.reflector(t, b)
	if who == nil || err != nil {
		return nil, err
	}
	turn, err := a.turn(ctx, t, in)
	if err != nil {
		return nil, err
	}
	var r model.Reflection
	asked := p.work(func() error {
		r, err = who.Reflect(ctx, turn)
		return err
	})
	if err := errors.Join(ctx.Err(), b.balance()); err != nil {
		return nil, err
	}
	if asked != nil {
		a.log.Info("a generation has no reflection", "campaign", in.Campaign, "generation", in.Generation, "cause", asked)
		return nil, nil
	}
	return &r, nil
}

func (a *Activities) reflector(t *target, b *books) (reflector, error) {
	ps, err := a.proposers(t.spec, b.caller)
	if err != nil {
		return nil, err
	}
	for _, p := range ps {
		if r, ok := p.(reflector); ok {
			return r, nil
		}
	}
	return nil, nil
}

// turn gathers what became of a generation, from the rows that its record is made
// from, without a word of held-out problems.
func (a *Activities) turn(ctx context.Context, t *target, in protocol.ReflectGenerationInput) (proposellm.Turn, error) {
	c, err := a.open(ctx, in.Campaign)
	if err != nil {
		return proposellm.Turn{}, err
	}
	g, err := a.generation(ctx, model.Generation{}, protocol.RecordGenerationInput{
		Campaign: in.Campaign, Generation: in.Generation, Started: in.Now, Ended: in.Now,
		Pending: c != nil && c.Generation == in.Generation && c.State == model.ChangeAwaiting,
	})
	if err != nil {
		return proposellm.Turn{}, err
	}
	rows, err := a.store.Attempts(ctx, in.Campaign, in.Generation)
	if err != nil {
		return proposellm.Turn{}, err
	}
	v := t.veil()
	out := proposellm.Turn{
		Campaign: in.Campaign, Generation: in.Generation, Outcome: g.Outcome, Reason: v.over(g.Reason),
		Fixed: v.list(g.Fixed), Broken: v.list(g.Broken), Before: g.ParentScore, At: in.Now,
	}
	if g.Commit != "" {
		out.Landed, out.After = g.Hypothesis, g.Score
	}
	for _, r := range rows {
		out.ParentTree = r.ParentTree
		out.Tried = append(out.Tried, proposellm.Try{
			Hypothesis: r.Hypothesis, ExpectedGain: r.ExpectedGain, Status: string(r.Status), Stage: r.Stage,
			Reason: v.over(r.Reason), Fixed: v.list(r.Fixed), Broken: v.list(r.Broken),
		})
	}
	return out, nil
}

// mostLearnt is how many characters of a reflection the story of a campaign shows.
const mostLearnt = 200

// learnt is a reflection in one line, for people.
func learnt(r model.Reflection) string {
	words := []rune(strings.Join(strings.Fields(cmp.Or(r.Learn, r.Failed, r.Surprised, r.Worked)), " "))
	if len(words) > mostLearnt {
		words = append(words[:mostLearnt-1], '…')
	}
	return string(words)
}
