package llm_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/llm"
)

// A call that falls silent is beaten by one elsewhere, and counts as stalled: two
// open the breaker. The one elsewhere counts as what it is, an answer.
func TestSilentCallsAreHedged(t *testing.T) {
	for name, tokens := range map[string]int{"no first token": 0, "no second token": 1, "no further token": 9} {
		t.Run(name, func(t *testing.T) {
			s, m := play(t, []part{silent(tokens)}, []part{fine}), &meter{}
			for _, breaker := range []string{"closed", "open"} {
				a, err := s.Complete(t.Context(), question(), m)
				require.NoError(t, err)
				require.Equal(t, "b", a.Endpoint)
				s.idle(t, breaker, "closed")
			}
			s.made(t, 2, 2)
			m.check(t, 4)
			loser := m.outcomes[1] // the answer is settled first
			require.ErrorIs(t, loser.Err, llm.ErrDeadline)
			require.ErrorContains(t, loser.Err, "b answered first")
			require.Equal(t, llm.Usage{Input: 3, Guessed: true}, loser.Usage)
			require.Equal(t, 4, s.Check(t.Context())[0].Limit, "a stall halves what the server gets at once, once a moment")
		})
	}
}

// A leader that goes on in time wins, and its hedge counts as nothing. That was a
// false alarm, and the server is given more time from then on.
func TestHedgesMayLose(t *testing.T) {
	hedged := make(chan struct{})
	s, m := play(t, []part{when(hedged, fine)}, []part{telling(hedged, silent(0))}), &meter{}
	before, _ := s.Patience(0)
	a, err := s.Complete(t.Context(), question(), m)
	require.NoError(t, err)
	require.Equal(t, "a", a.Endpoint)
	s.idle(t, "closed", "closed")
	s.made(t, 1, 1)
	m.check(t, 2)
	require.ErrorIs(t, m.outcomes[1].Err, context.Canceled)
	require.ErrorContains(t, m.outcomes[1].Err, "a answered first")
	require.Equal(t, 8, s.Check(t.Context())[1].Limit)
	after, _ := s.Patience(0)
	require.Greater(t, after, before)
}

// A leader that spoke again while it was hedged is not stalled, although it lost.
func TestSlowLeadersAreNotStalled(t *testing.T) {
	hedged, spoke := make(chan struct{}), make(chan struct{})
	leader := when(hedged, func(ctx context.Context, token func()) (llm.Answer, error) {
		token()
		close(spoke)
		return silent(0)(ctx, token)
	})
	s, m := play(t, []part{leader}, []part{telling(hedged, when(spoke, fine))}), &meter{}
	before, _ := s.Patience(0)
	a, err := s.Complete(t.Context(), question(), m)
	require.NoError(t, err)
	require.Equal(t, "b", a.Endpoint)
	m.check(t, 2)
	require.ErrorIs(t, m.outcomes[1].Err, context.Canceled)
	require.Equal(t, 8, s.Check(t.Context())[0].Limit)
	after, _ := s.Patience(0)
	require.Greater(t, after, before)
}

func TestHedgesMayFail(t *testing.T) {
	for name, kind := range map[string]error{"for now": llm.ErrUnavailable, "for good": llm.ErrAuth, "for length": llm.ErrContext} {
		t.Run(name, func(t *testing.T) {
			hedged := make(chan struct{})
			s, m := play(t, []part{when(hedged, fine)}, []part{telling(hedged, fails(kind))}), &meter{}
			a, err := s.Complete(t.Context(), question(), m)
			require.NoError(t, err)
			require.Equal(t, "a", a.Endpoint)
			s.idle(t, "closed", "closed")
			s.made(t, 1, 1)
			m.check(t, 2)
		})
	}
}

// The hedge of a call that fails is the next attempt: no third is made beside it.
func TestHedgesTakeOver(t *testing.T) {
	for name, kind := range map[string]error{"for now": llm.ErrUnavailable, "too slow": llm.ErrDeadline, "for good": llm.ErrRequest} {
		t.Run(name, func(t *testing.T) {
			hedged, failed := make(chan struct{}), make(chan struct{})
			leader := when(hedged, telling(failed, fails(kind)))
			s, m := play(t, []part{leader}, []part{telling(hedged, when(failed, fine))}, []part{fine}), &meter{}
			a, err := s.Complete(t.Context(), question(), m)
			require.NoError(t, err)
			require.Equal(t, "b", a.Endpoint)
			s.made(t, 1, 1, 0)
			m.check(t, 2)
		})
	}
}

// When a call and its hedge fail, the question goes on as ever, and its error names
// everybody.
func TestBothMayFail(t *testing.T) {
	for name, c := range map[string]struct {
		third part
		want  error
	}{"and the third answers": {fine, nil}, "and the third, too": {fails(llm.ErrNoModel), llm.ErrNoModel}} {
		t.Run(name, func(t *testing.T) {
			hedged := make(chan struct{})
			leader := when(hedged, fails(llm.ErrAuth))
			s, m := play(t, []part{leader}, []part{telling(hedged, fails(llm.ErrRequest))}, []part{c.third}), &meter{}
			a, err := s.Complete(t.Context(), question(), m)
			if c.want == nil {
				require.NoError(t, err)
				require.Equal(t, "c", a.Endpoint)
			} else {
				require.ErrorIs(t, err, llm.ErrAuth)
				for _, kind := range []error{llm.ErrAuth, llm.ErrRequest, llm.ErrNoModel} {
					require.ErrorContains(t, err, kind.Error())
				}
			}
			s.made(t, 1, 1, 1)
			s.idle(t)
			m.check(t, 3)
		})
	}
}

// A budget without room for two lets the first call go on alone.
func TestHedgesNeedABudget(t *testing.T) {
	refused := make(chan struct{})
	s := play(t, []part{when(refused, fine)}, []part{fine})
	m := &meter{refuse: func(e llm.Endpoint) error {
		if e.Name != "b" {
			return nil
		}
		close(refused) // once
		return llm.ErrBudget
	}}
	a, err := s.Complete(t.Context(), question(), m)
	require.NoError(t, err)
	require.Equal(t, "a", a.Endpoint)
	s.made(t, 1, 0)
	s.idle(t, "closed", "closed")
	m.check(t, 1)
}

// single admits one attempt at a time, as a budget does that is nearly spent.
type single struct {
	meter
	room    chan struct{}
	waiting chan struct{} // gets a value from who waits
}

func newSingle() *single {
	return &single{room: make(chan struct{}, 1), waiting: make(chan struct{}, 1)}
}

func (s *single) Reserve(ctx context.Context, e llm.Endpoint, est llm.Estimate) (llm.Ticket, error) {
	select {
	case s.room <- struct{}{}:
	default:
		s.waiting <- struct{}{}
		select {
		case s.room <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	k, err := s.meter.Reserve(ctx, e, est)
	return &leaving{k, s}, err
}

type leaving struct {
	llm.Ticket
	s *single
}

func (l *leaving) Settle(ctx context.Context, o llm.Outcome) error {
	defer func() { <-l.s.room }()
	return l.Ticket.Settle(ctx, o)
}

// A hedge that waits for the budget keeps nobody waiting: not the call that has the
// budget, and when that fails it is the next.
func TestHedgesWaitForTheBudget(t *testing.T) {
	for name, c := range map[string]struct {
		leader   part
		answered string
		calls    int
	}{"the first answers": {fine, "a", 0}, "the first fails": {fails(llm.ErrAuth), "b", 1}} {
		t.Run(name, func(t *testing.T) {
			m := newSingle()
			s := play(t, []part{when(m.waiting, c.leader)}, []part{fine})
			a, err := s.Complete(t.Context(), question(), m)
			require.NoError(t, err)
			require.Equal(t, c.answered, a.Endpoint)
			s.made(t, 1, c.calls)
			s.idle(t, "closed", "closed")
			m.check(t, -1) // one may have been admitted in vain
		})
	}
}

// It does not keep its place at its server for long, either.
func TestHedgesStopWaitingForTheBudget(t *testing.T) {
	m, end := newSingle(), make(chan struct{})
	s := play(t, []part{when(end, fine)}, []part{fine})
	done := make(chan error, 1)
	go func() { _, err := s.Complete(t.Context(), question(), m); done <- err }()
	<-m.waiting
	require.Eventually(t, func() bool { return s.Check(t.Context())[1].InFlight == 0 }, 20*time.Second, time.Millisecond)
	close(end)
	require.NoError(t, <-done)
	s.made(t, 1, 0)
	m.check(t, 1)
}

// What cannot be settled ends the question, whichever call it was.
func TestHedgesMustBeSettled(t *testing.T) {
	for name, parts := range map[string][2]part{"the winner": {silent(0), fine}, "the loser": {fine, silent(0)}} {
		t.Run(name, func(t *testing.T) {
			hedged := make(chan struct{})
			s := play(t, []part{when(hedged, parts[0])}, []part{telling(hedged, parts[1])})
			m := &meter{settle: errors.New("the books are closed")}
			_, err := s.Complete(t.Context(), question(), m)
			require.ErrorIs(t, err, m.settle)
			s.idle(t)
			m.check(t, 2)
		})
	}
}

func TestHedgedCallsEndWithTheirCaller(t *testing.T) {
	for name, end := range map[string]func(*stage, context.CancelFunc){
		"context": func(_ *stage, cancel context.CancelFunc) { cancel() },
		"pool":    func(s *stage, _ context.CancelFunc) { s.pool.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			hedged := make(chan struct{})
			s, m := play(t, []part{silent(1)}, []part{telling(hedged, silent(1))}), &meter{}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() { _, err := s.Complete(ctx, question(), m); done <- err }()
			<-hedged
			end(s, cancel)
			require.ErrorIs(t, <-done, context.Canceled)
			m.check(t, 2)
			for i, st := range s.Check(t.Context()) {
				require.Zero(t, st.InFlight)
				require.Equal(t, "closed", st.Breaker)
				require.Equal(t, 8, st.Limit, "endpoint %d", i)
			}
		})
	}
}

// Whatever servers do, each ticket is settled once, nothing stays under way, and no
// caller waits for ever.
func TestEveryTicketIsSettled(t *testing.T) {
	const callers, questions = 8, 25
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	kinds := []error{llm.ErrUnavailable, llm.ErrTruncated, llm.ErrDeadline, llm.ErrOverloaded, llm.ErrAuth, llm.ErrMalformed}
	any := func(ctx context.Context, token func()) (llm.Answer, error) {
		for range pick(3) {
			token()
		}
		after := make(chan struct{})
		timer := time.AfterFunc(time.Duration(pick(60))*time.Millisecond, func() { close(after) })
		defer timer.Stop()
		if n := pick(3 * len(kinds)); n < len(kinds) {
			return when(after, fails(kinds[n]))(ctx, token)
		}
		return when(after, fine)(ctx, token)
	}
	s, m := play(t, []part{any}, []part{any}, []part{fine}), &meter{}
	m.refuse = func(llm.Endpoint) error {
		if pick(20) == 0 {
			return llm.ErrBudget
		}
		return nil
	}
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range questions {
				ctx, cancel := context.WithCancel(t.Context())
				timer := time.AfterFunc(time.Duration(pick(200))*time.Millisecond, cancel)
				_, _ = s.Complete(ctx, question(), m)
				timer.Stop()
				cancel()
			}
		})
	}
	wg.Wait()
	s.idle(t)
	m.check(t, -1)
}
