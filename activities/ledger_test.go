package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/llm"
	"ratchet/internal/llm/llmtest"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
)

// question has a bound on its answer that is easy to reckon with.
func question(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: text}}, MaxTokens: 100}
}

// ledger is that of the lab's proposer, in generation n.
func (l *lab) ledger(n int) *ledger {
	l.t.Helper()
	t, err := l.acts.load(l.t.Context(), l.spec.Name)
	require.NoError(l.t, err)
	l.t.Cleanup(t.close)
	b, err := l.acts.newBooks(l.t.Context(), t, store.Fence{}, n, &pulse{})
	require.NoError(l.t, err)
	c, err := b.caller(t.spec.Proposers[0])
	require.NoError(l.t, err)
	book := c.(*ledger)
	book.tell = func(format string, args ...any) { l.progress <- fmt.Sprintf(format, args...) }
	return book
}

func modelLab(t *testing.T, s *llmtest.Server, edit func(*campaign.Spec)) *lab {
	t.Helper()
	return newLab(t, func(c *campaign.Spec) {
		asking(c, s.V1(), false)
		if edit != nil {
			edit(c)
		}
	}, nil)
}

// bounded ends a test that waits for what does not come.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestLedgerAnswersFromItsRows(t *testing.T) {
	s := server(t, llmtest.Queue(llmtest.Say("first words"), llmtest.Say("other words")))
	l := modelLab(t, s, nil)
	for range 2 { // the second time as another process
		got, err := l.ledger(1).Call(bounded(t), "k", question("why?"))
		require.NoError(t, err)
		require.Equal(t, "first words", got.Text)
		require.Equal(t, "gpu", got.Endpoint)
		require.Positive(t, got.Usage.Output)
		l.restart()
	}
	require.Equal(t, 1, s.Stats().Calls)
	rows := l.calls()
	require.Len(t, rows, 1)
	c := rows[0]
	require.Equal(t, model.CallAnswered, c.Status)
	require.Equal(t, []string{"lab", "llm", "k", "gpu", "test-model"}, []string{c.Campaign, c.Proposer, c.Key, c.Endpoint, c.Model})
	stats := s.Stats()
	require.EqualValues(t, stats.Prompt+stats.Output, c.Tokens())
	require.InDelta(t, float64(stats.Prompt)/2+float64(stats.Output), c.Money, 1e-6, "at the endpoint's prices")
	require.False(t, c.Ended.Before(c.Started))

	other, err := l.ledger(2).Call(bounded(t), "k", question("why?"))
	require.NoError(t, err)
	require.Equal(t, "other words", other.Text, "keys are of one generation")
	l.clean()
}

func TestLedgerRefusesWhatTheBudgetHasNoRoomFor(t *testing.T) {
	s := server(t, llmtest.Say("words"))
	l := modelLab(t, s, func(c *campaign.Spec) { c.Budget.Tokens = 50 })
	book := l.ledger(1)
	_, err := book.Call(bounded(t), "k", question("why?"))
	require.ErrorIs(t, err, llm.ErrBudget)
	require.Zero(t, s.Stats().Calls, "no request was made")
	require.Empty(t, l.calls())
	require.NoError(t, book.failed(), "that is no fault of the accounts")

	more := int64(10_000)
	l.steer("raise", protocol.SteerCampaignInput{Kind: model.EventBudget, By: "ann", Budget: &protocol.BudgetChange{Tokens: &more}})
	_, err = book.Call(bounded(t), "k", question("why?"))
	require.NoError(t, err, "a budget that was raised counts at once")
}

// Calls that do not fit beside each other come one after the other.
func TestLedgerWaitsForRoom(t *testing.T) {
	gate := llmtest.NewGate()
	s := server(t, llmtest.Hold(gate, llmtest.Say("words")))
	l := modelLab(t, s, func(c *campaign.Spec) { c.Budget.Tokens = 1400 }) // one call may cost at most about 1150
	book := l.ledger(1)
	ctx := bounded(t)
	var wg sync.WaitGroup
	for _, key := range []string{"a", "b", "c"} {
		wg.Go(func() {
			if _, err := book.Call(ctx, key, question(key)); err != nil {
				t.Error(err)
			}
		})
	}
	require.NoError(t, s.Await(ctx, func(s llmtest.Stats) bool { return s.Held == 1 }))
	require.Len(t, l.calls(), 1, "the others have no row and no request")
	require.Equal(t, "llm: 0 model calls are done, 1 under way", <-l.progress)
	gate.Open()
	wg.Wait()
	require.Equal(t, "llm: 1 model calls are done, 0 under way", <-l.progress)
	require.Equal(t, 1, s.Stats().Peak)
	require.Len(t, l.calls(), 3)
}

// Room that another process makes is found without a word from it.
func TestLedgerWaitsForAnotherProcess(t *testing.T) {
	gate := llmtest.NewGate()
	s := server(t, llmtest.Hold(gate, llmtest.Say("words")))
	l := modelLab(t, s, func(c *campaign.Spec) { c.Budget.Tokens = 1400 })
	ctx := bounded(t)
	books := []*ledger{l.ledger(1), nil}
	l.restart()
	books[1] = l.ledger(0) // an earlier generation, so that calls of the first are not given up
	require.NotSame(t, books[0].room, books[1].room)
	var wg sync.WaitGroup
	for _, book := range books {
		book.poll = 5 * time.Millisecond
		wg.Go(func() {
			if _, err := book.Call(ctx, "k", question("why?")); err != nil {
				t.Error(err)
			}
		})
	}
	require.NoError(t, s.Await(ctx, func(s llmtest.Stats) bool { return s.Held == 1 }))
	gate.Open()
	wg.Wait()
	require.Equal(t, 1, s.Stats().Peak)
}

// A call that waits for room goes on as soon as a person makes some.
func TestLedgerGoesOnWhenTheBudgetIsRaised(t *testing.T) {
	gate := llmtest.NewGate()
	s := server(t, llmtest.Hold(gate, llmtest.Say("words")))
	l := modelLab(t, s, func(c *campaign.Spec) { c.Budget.Tokens = 1400 })
	book, ctx := l.ledger(1), bounded(t)
	var wg sync.WaitGroup
	for _, key := range []string{"a", "b"} {
		wg.Go(func() {
			if _, err := book.Call(ctx, key, question(key)); err != nil {
				t.Error(err)
			}
		})
	}
	require.NoError(t, s.Await(ctx, func(s llmtest.Stats) bool { return s.Held == 1 }))
	none := int64(0)
	l.steer("no limit", protocol.SteerCampaignInput{Kind: model.EventBudget, By: "ann", Budget: &protocol.BudgetChange{Tokens: &none}})
	require.NoError(t, s.Await(ctx, func(s llmtest.Stats) bool { return s.Held == 2 }), "both are in flight")
	gate.Open()
	wg.Wait()
}

func TestLedgerCountsFailedAttempts(t *testing.T) {
	s := server(t, llmtest.Queue(llmtest.ServerError(), llmtest.Say("words")))
	l := modelLab(t, s, nil)
	got, err := l.ledger(1).Call(bounded(t), "k", question("why?"))
	require.NoError(t, err)
	require.Equal(t, "words", got.Text)
	rows := l.calls()
	require.Len(t, rows, 2, "each attempt is a row")
	require.Equal(t, []model.CallStatus{model.CallFailed, model.CallAnswered}, []model.CallStatus{rows[0].Status, rows[1].Status})
	require.NotEmpty(t, rows[0].Error)
	spent, err := l.store.Spent(t.Context(), "lab")
	require.NoError(t, err)
	require.EqualValues(t, 2, spent.Calls)
}

// What a server says of a key is nowhere: neither in rows nor in artifacts.
func TestLedgerKeepsKeysOut(t *testing.T) {
	s := llmtest.Start(t, llmtest.Config{Script: llmtest.Queue(llmtest.Unauthorized(), llmtest.Say("I have read "+labKey+" somewhere"))})
	l := modelLab(t, s, nil)
	book := l.ledger(1)
	_, err := book.Call(bounded(t), "k", question("why?"))
	require.ErrorIs(t, err, llm.ErrAuth)
	require.NotContains(t, err.Error(), labKey)
	got, err := book.Call(bounded(t), "again", question("why?"))
	require.NoError(t, err)
	require.Contains(t, got.Text, "I have read")
	require.NotContains(t, got.Text, labKey)
	require.Equal(t, []model.CallStatus{model.CallFailed, model.CallAnswered}, []model.CallStatus{l.calls()[0].Status, l.calls()[1].Status})
	l.clean()
}

// A call that was in flight when its process died counts, and is made again.
func TestLedgerGivesUpCallsOfAnEarlierAttempt(t *testing.T) {
	s := server(t, llmtest.Say("words"))
	l := modelLab(t, s, nil)
	book := l.ledger(1)
	ticket, err := (&meter{book, "k"}).Reserve(bounded(t), llm.Endpoint{Name: "gpu", Price: llm.Price{Input: 1e6}},
		llm.Estimate{Likely: llm.Usage{Input: 40, Output: 2}, Most: llm.Usage{Input: 400, Output: 100}})
	require.NoError(t, err)
	l.restart()
	again := l.ledger(1)
	require.Equal(t, model.CallLost, l.calls()[0].Status)
	spent, err := l.store.Spent(t.Context(), "lab")
	require.NoError(t, err)
	require.Equal(t, model.Cost{Tokens: 42, Money: 40, Calls: 1}, spent)
	_, err = again.Call(bounded(t), "k", question("why?"))
	require.NoError(t, err)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, ticket.Settle(ended, llm.Outcome{Answer: llm.Answer{Text: "late"}, Usage: llm.Usage{Input: 7}}), "it was alive after all")
	require.Equal(t, model.CallAnswered, l.calls()[0].Status)
	got, err := again.Call(bounded(t), "k", question("why?"))
	require.NoError(t, err)
	require.Equal(t, "words", got.Text, "the first answer stays")
}

// An attempt that a later one has taken over from makes no more calls.
func TestLedgerIsFenced(t *testing.T) {
	s := server(t, llmtest.Say("words"))
	l := modelLab(t, s, nil)
	book := l.ledger(1)
	book.fence = store.Fence{Scope: "scope", Run: "r", Attempt: 1}
	require.NoError(t, l.store.Claim(t.Context(), book.fence))
	require.NoError(t, l.store.Claim(t.Context(), store.Fence{Scope: "scope", Run: "r", Attempt: 2}))
	for range 2 {
		_, err := book.Call(bounded(t), "k", question("why?"))
		require.ErrorIs(t, err, store.ErrFenced)
	}
	require.ErrorIs(t, book.failed(), store.ErrFenced)
	require.Zero(t, s.Stats().Calls)
}

// Waiting for room ends with its context, and leaves no row.
func TestLedgerStopsWaiting(t *testing.T) {
	gate := llmtest.NewGate()
	defer gate.Open()
	s := server(t, llmtest.Hold(gate, llmtest.Say("words")))
	l := modelLab(t, s, func(c *campaign.Spec) { c.Budget.Tokens = 1400 })
	book := l.ledger(1)
	ctx, cancel := context.WithCancel(bounded(t))
	errs := make(chan error, 2)
	for _, key := range []string{"a", "b"} {
		go func() {
			_, err := book.Call(ctx, key, question(key))
			errs <- err
		}()
	}
	require.NoError(t, s.Await(ctx, func(s llmtest.Stats) bool { return s.Held == 1 }))
	cancel()
	for range 2 {
		require.True(t, errors.Is(<-errs, context.Canceled))
	}
	require.NoError(t, book.failed())
	rows := l.calls()
	require.Len(t, rows, 1)
	require.Equal(t, model.CallFailed, rows[0].Status, "the one in flight was settled, although its context had ended")
}

// leaving is a context that ends as soon as somebody has asked whether it has.
type leaving struct {
	context.Context
	cancel context.CancelFunc
}

func (e leaving) Err() error {
	defer e.cancel()
	return e.Context.Err()
}

// midway is a meter whose caller goes away in the middle of a reservation.
type midway struct {
	*meter
	cancel context.CancelFunc
}

func (m midway) Reserve(ctx context.Context, e llm.Endpoint, est llm.Estimate) (llm.Ticket, error) {
	return m.meter.Reserve(leaving{ctx, m.cancel}, e, est)
}

// A caller that goes away while a row is written leaves none that keeps its room.
func TestLedgerFinishesReservations(t *testing.T) {
	s := server(t, llmtest.Say("words"))
	l := modelLab(t, s, nil)
	book := l.ledger(1)
	ctx, cancel := context.WithCancel(bounded(t))
	_, err := book.client.Complete(ctx, question("why?"), midway{&meter{book, "k"}, cancel})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, book.failed())
	rows := l.calls()
	require.Len(t, rows, 1, "the row was written whole")
	require.Equal(t, model.CallFailed, rows[0].Status, "and settled")
	require.Zero(t, rows[0].Tokens(), "nothing was sent")
	require.Zero(t, s.Stats().Calls)
}

// The bound of a call holds whatever part of its prompt the server had in its cache.
func TestBoundOfACallCountsTheDearerInput(t *testing.T) {
	est := llm.Estimate{Likely: llm.Usage{Input: 100, Output: 10}, Most: llm.Usage{Input: 1000, Output: 10}}
	for _, p := range []llm.Price{{Input: 1e6, Output: 1e6}, {Input: 1e6, Cached: 1e5, Output: 1e6}, {Input: 1e6, Cached: 3e6, Output: 1e6}, {}} {
		c := (&meter{&ledger{}, "k"}).call(llm.Endpoint{Price: p}, est)
		for _, cached := range []int64{0, 500, 1000} {
			require.GreaterOrEqual(t, c.MostMoney, p.Cost(llm.Usage{Input: 1000, Cached: cached, Output: 10}), "%+v", p)
		}
	}
}

// A call that cannot be settled in time holds its part of the budget: no other call
// may wait for that.
func TestLedgerStopsWhenACallCannotBeSettled(t *testing.T) {
	s := server(t, llmtest.ServerError())
	l := modelLab(t, s, nil)
	book := l.ledger(1)
	book.settle = time.Nanosecond
	for range 2 {
		_, err := book.Call(bounded(t), "k", question("why?"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	require.ErrorIs(t, book.failed(), context.DeadlineExceeded)
	require.Equal(t, 1, s.Stats().Calls)
	l.restart()
	l.ledger(1)
	require.Equal(t, model.CallLost, l.calls()[0].Status, "it is given up by the next attempt, and counts")
}
