package activities

import (
	"context"
	"fmt"

	"ratchet/internal/campaign"
	"ratchet/internal/llm"
	"ratchet/internal/model"
	"ratchet/internal/propose"
	proposellm "ratchet/internal/propose/llm"
	"ratchet/internal/propose/search"
	"ratchet/internal/store"
)

// Callers gives a proposer that calls a model what it calls it with.
type Callers func(campaign.Proposer) (proposellm.Caller, error)

// Proposers makes the proposers that a specification names, in its order. The
// callers of those that call a model come from callers.
func Proposers(spec campaign.Spec, callers Callers) ([]propose.Proposer, error) {
	var out []propose.Proposer
	for _, p := range spec.Proposers {
		made, err := proposer(spec, p, callers)
		if err != nil {
			return nil, err
		}
		if made.Name() != p.ID() {
			made = named{made, p.ID()}
		}
		out = append(out, made)
	}
	return out, nil
}

func proposer(spec campaign.Spec, p campaign.Proposer, callers Callers) (propose.Proposer, error) {
	switch p.Kind {
	case campaign.ProposerSearch:
		return search.New(search.Config{})
	case campaign.ProposerLLM:
		c, err := callers(p)
		if err != nil {
			return nil, err
		}
		return proposellm.New(proposellm.Config{
			Name: p.ID(), Samples: p.Samples, Temperatures: p.Temperatures, MaxTokens: p.MaxTokens, PromptTokens: p.PromptTokens,
			Allow: spec.Paths.Allow, Deny: spec.Paths.Deny,
		}, c)
	}
	return nil, &BadInput{Op: "set up proposer", Object: string(p.Kind), Cause: "unknown kind", Hint: "known: search, llm"}
}

// named is a proposer under the name that the campaign file gives it.
type named struct {
	propose.Proposer
	name string
}

func (n named) Name() string { return n.name }

// books keeps the accounts of one activity's model calls.
type books struct {
	a       *Activities
	t       *target
	fence   store.Fence
	number  int // of the generation
	pulse   *pulse
	ledgers []*ledger
}

// newBooks gives up the calls of earlier attempts, for which nobody waits any more.
func (a *Activities) newBooks(ctx context.Context, t *target, f store.Fence, generation int, p *pulse) (*books, error) {
	b := &books{a: a, t: t, fence: f, number: generation, pulse: p}
	return b, a.loseCalls(ctx, f, t.row.Name, generation)
}

func (a *Activities) loseCalls(ctx context.Context, f store.Fence, campaign string, generation int) error {
	n, err := a.store.LoseCalls(ctx, f, campaign, generation)
	if n > 0 {
		a.log.Warn("model calls were under way when their process or attempt ended; their likely cost counts as spent",
			"campaign", campaign, "generation", generation, "calls", n)
		a.room.free()
	}
	return err
}

// caller makes the ledger of one proposer.
func (b *books) caller(p campaign.Proposer) (proposellm.Caller, error) {
	ends := endpoints(b.t.spec.EndpointsOf(p))
	client, err := b.a.models.Client(ends)
	if err != nil {
		return nil, &BadInput{Op: "set up proposer", Object: p.ID(), Cause: err.Error(), Hint: "check the endpoints in the campaign file"}
	}
	limit := stepLimit
	for _, e := range ends {
		limit = max(limit, 2*e.Total)
	}
	l := &ledger{
		store: b.a.store, artifacts: b.a.artifacts, client: client, room: b.a.room, fence: b.fence,
		caps: budget(model.Campaign{}, b.t.spec), campaign: b.t.row.Name, proposer: p.ID(), number: b.number, poll: slowPoll, settle: settleLimit,
		tell:    func(format string, args ...any) { b.pulse.tell(limit, format, args...) },
		reached: b.a.reached,
	}
	b.ledgers = append(b.ledgers, l)
	return l, nil
}

// balance fails when a call could not be written down.
func (b *books) balance() error {
	for _, l := range b.ledgers {
		if err := l.failed(); err != nil {
			return fmt.Errorf("keep account of the model calls of %s: %w", l.proposer, err)
		}
	}
	return nil
}

// budget is what counts for a campaign: what a person made of it, else its file's.
func budget(row model.Campaign, spec campaign.Spec) model.Budget {
	if row.Budget != nil {
		return *row.Budget
	}
	b := spec.Budget
	return model.Budget{Wall: b.Wall.Std(), Sandbox: b.Sandbox.Std(), Tokens: b.Tokens, Money: b.Cost}
}

func endpoints(all []campaign.Endpoint) []llm.Endpoint {
	out := make([]llm.Endpoint, len(all))
	for i, e := range all {
		out[i] = llm.Endpoint{
			Name: e.Name, Protocol: string(e.Protocol), URL: e.URL, Model: e.Model, KeyEnv: e.KeyEnv,
			Context: e.Context, Parallel: e.Parallel, Price: llm.Price(e.Price),
			FirstToken: e.Deadline.FirstToken.Std(), Stall: e.Deadline.Stall.Std(), Total: e.Deadline.Total.Std(),
		}
	}
	return out
}
