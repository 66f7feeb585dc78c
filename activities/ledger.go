package activities

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"ratchet/internal/artifact"
	"ratchet/internal/llm"
	"ratchet/internal/model"
	"ratchet/internal/store"
)

// ledger makes the model calls of one proposer in one generation and accounts for
// them: each attempt is a row that is reserved before the request is sent and
// settled after. A question that was answered before is answered from its row. It
// is safe for concurrent use.
type ledger struct {
	store     *store.Store
	artifacts artifact.Blobs
	client    *llm.Client
	room      *room
	fence     store.Fence // of the activity: a later attempt of it ends this one's calls
	caps      model.Budget
	campaign  string
	proposer  string
	number    int                              // of the generation
	poll      time.Duration                    // slowPoll, but in tests
	settle    time.Duration                    // settleLimit, but in tests
	tell      func(format string, args ...any) // progress
	reached   func(ctx context.Context, point string)

	mu     sync.Mutex
	flying int
	ended  int
	broken error
}

// Call asks a question, or finds its answer where the key was answered before.
func (l *ledger) Call(ctx context.Context, key string, r llm.Request) (llm.Answer, error) {
	if err := l.failed(); err != nil {
		return llm.Answer{}, err
	}
	c, err := l.store.AnsweredCall(ctx, l.campaign, l.number, l.proposer, key)
	if err == nil {
		return l.stored(ctx, c)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return llm.Answer{}, l.fail(ctx, err)
	}
	return l.client.Complete(ctx, r, &meter{l, key})
}

// Window is how many tokens prompt and answer may have together.
func (l *ledger) Window(ctx context.Context) (int, error) { return l.client.Window(ctx) }

// stored is the answer that a row holds.
func (l *ledger) stored(ctx context.Context, c model.Call) (llm.Answer, error) {
	text, err := l.artifacts.Get(ctx, c.Answer)
	if err != nil {
		return llm.Answer{}, l.fail(ctx, err)
	}
	return llm.Answer{
		Text: string(text), Usage: llm.Usage{Input: c.Input, Cached: c.Cached, Output: c.Output},
		Endpoint: c.Endpoint, Model: c.Model, Cut: c.Cut, Wall: c.Ended.Sub(c.Started),
	}, nil
}

// fail notes that the accounts cannot be kept. No call is made from then on: what
// is not written down would be spent beside the budget.
func (l *ledger) fail(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == nil {
		l.broken = err
	}
	return err
}

// failed is why the accounts cannot be kept; nil while they can.
func (l *ledger) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// count notes calls that began or ended, as progress.
func (l *ledger) count(began, ended int) {
	l.mu.Lock()
	l.flying, l.ended = l.flying+began-ended, l.ended+ended
	flying, done := l.flying, l.ended
	l.mu.Unlock()
	l.tell("%s: %d model calls are done, %d under way", l.proposer, done, flying)
}

// meter accounts for the attempts at one question.
type meter struct {
	ledger *ledger
	key    string
}

// slowPoll is how often a call that waits for room looks again: calls in flight in
// other processes are settled without a word to this one.
const slowPoll = 5 * time.Second

// Reserve waits until the budget admits the attempt.
func (m *meter) Reserve(ctx context.Context, e llm.Endpoint, est llm.Estimate) (llm.Ticket, error) {
	l, c := m.ledger, m.call(e, est)
	for {
		freed := l.room.watch() // before the question, so that no answer is missed
		if err := l.failed(); err != nil {
			return nil, err
		}
		err := l.reserve(ctx, c)
		switch {
		case err == nil:
			l.count(1, 0)
			return &ticket{l, c, e.Price}, nil
		case errors.Is(err, store.ErrNoBudget):
			return nil, &llm.Error{Op: "reserve a call of", Endpoint: e.Name, Kind: llm.ErrBudget, Detail: err.Error()}
		case !errors.Is(err, store.ErrWait):
			return nil, l.fail(ctx, err)
		}
		if err := wait(ctx, freed, l.poll); err != nil {
			return nil, err
		}
	}
}

// reserve writes the row of a call. It is not cut off when ctx ends, as that of a
// hedge does in the middle of a campaign: nobody would know whether the row is there,
// and one that is never settled keeps its room for ever.
func (l *ledger) reserve(ctx context.Context, c model.Call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	return l.store.ReserveCall(ctx, l.fence, c, l.caps)
}

func wait(ctx context.Context, freed <-chan struct{}, most time.Duration) error {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-freed:
	case <-t.C:
	}
	return nil
}

func (m *meter) call(e llm.Endpoint, est llm.Estimate) model.Call {
	cached := est.Most
	cached.Cached = cached.Input // which may cost more than what is not
	return model.Call{
		ID: rand.Text(), Campaign: m.ledger.campaign, Generation: m.ledger.number, Proposer: m.ledger.proposer, Key: m.key,
		Endpoint: e.Name, Model: e.Model, Status: model.CallReserved,
		Input: est.Likely.Input, Cached: est.Likely.Cached, Output: est.Likely.Output, Money: e.Price.Cost(est.Likely),
		MostTokens: est.Most.Input + est.Most.Output, MostMoney: max(e.Price.Cost(est.Most), e.Price.Cost(cached)), Started: time.Now(),
	}
}

// ticket is an attempt whose row is reserved.
type ticket struct {
	ledger *ledger
	call   model.Call
	price  llm.Price
}

// settleLimit bounds writing down that a call begins, and how it ended, when the
// call's own context may have ended already.
const settleLimit = time.Minute

// Settle writes down how the attempt ended, whoever waits for it or not.
func (t *ticket) Settle(ctx context.Context, o llm.Outcome) error {
	l := t.ledger
	l.reached(ctx, "answered")
	// That its own time is over must not look like the end of whoever asked.
	asked := context.WithoutCancel(ctx)
	ctx, cancel := context.WithTimeout(asked, l.settle)
	defer cancel()
	defer l.room.free()
	defer l.count(0, 1)
	c := t.call
	c.Status, c.Ended = model.CallAnswered, time.Now()
	c.Input, c.Cached, c.Output, c.Money = o.Usage.Input, o.Usage.Cached, o.Usage.Output, t.price.Cost(o.Usage)
	if o.Err != nil {
		c.Status, c.Error = model.CallFailed, o.Err.Error()
		return l.fail(asked, l.store.SettleCall(ctx, c))
	}
	if o.Answer.Model != "" {
		c.Model = o.Answer.Model
	}
	var err error
	if c.Answer, err = l.artifacts.Put(ctx, []byte(o.Answer.Text)); err != nil {
		return l.fail(asked, fmt.Errorf("keep an answer of %s: %w", c.Endpoint, err))
	}
	l.reached(ctx, "written")
	c.Cut = o.Answer.Cut
	if err = l.fail(asked, l.store.SettleCall(ctx, c)); err == nil {
		l.reached(ctx, "settled")
	}
	return err
}

// room tells who waits for room in a budget that a call has been settled. All
// campaigns of a process share one: a wake-up in vain costs one question.
type room struct {
	mu sync.Mutex
	ch chan struct{}
}

func newRoom() *room { return &room{ch: make(chan struct{})} }

// watch returns what is closed when the next call is settled.
func (r *room) watch() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ch
}

func (r *room) free() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.ch)
	r.ch = make(chan struct{})
}
