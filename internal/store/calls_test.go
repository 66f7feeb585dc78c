package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// a call that is likely to cost likely tokens and at most most.
func call(id string, likely, most int64) model.Call {
	return model.Call{
		ID: id, Campaign: "c", Generation: 1, Proposer: "llm", Key: "key of " + id, Started: at,
		Input: likely, Money: float64(likely) / 100, MostTokens: most, MostMoney: float64(most) / 100,
	}
}

// settled is the call with what it cost in the end.
func settled(c model.Call, status model.CallStatus, tokens int64) model.Call {
	c.Status, c.Input, c.Output, c.Money, c.Ended = status, 0, tokens, float64(tokens)/100, at.Add(1)
	return c
}

func TestReserveCallRule(t *testing.T) {
	caps := map[string]model.Budget{"tokens": {Tokens: 100}, "money": {Money: 1}}
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		for name, cap := range caps {
			campaign(t, s, name)
			in := func(c model.Call) model.Call { c.Campaign, c.ID = name, name+c.ID; return c }
			reserve := func(c model.Call) error { return s.ReserveCall(ctx, Fence{}, in(c), cap) }

			one, two, three := call("one", 10, 60), call("two", 10, 40), call("three", 10, 20)
			require.NoError(t, reserve(one))
			require.NoError(t, reserve(one), "the same again")
			require.NoError(t, reserve(two), "both fit at their worst: 100")
			require.ErrorIs(t, reserve(three), ErrWait)
			require.NoError(t, s.SettleCall(ctx, in(settled(one, model.CallAnswered, 20))))
			require.NoError(t, reserve(three), "20 spent, 40 and 20 in flight")
			require.NoError(t, s.SettleCall(ctx, in(settled(two, model.CallFailed, 30))), "failed calls cost too")
			require.ErrorIs(t, reserve(call("four", 51, 60)), ErrNoBudget, "50 spent: no call in flight can make room for 51")
			require.ErrorIs(t, reserve(call("five", 45, 60)), ErrWait, "likely to fit, when nothing else is in flight")
			require.NoError(t, s.SettleCall(ctx, in(settled(three, model.CallAnswered, 0))))
			require.NoError(t, reserve(call("five", 45, 60)), "alone, it may take its chance")
			require.ErrorIs(t, reserve(call("six", 1, 1)), ErrWait)
			require.NoError(t, s.SettleCall(ctx, in(settled(call("five", 45, 60), model.CallAnswered, 60))))
			require.ErrorIs(t, reserve(call("six", 1, 1)), ErrNoBudget, "the limit was passed by what one call was misjudged")
			spent, err := s.Spent(ctx, name)
			require.NoError(t, err)
			require.Equal(t, model.Cost{Tokens: 110, Calls: 4}, model.Cost{Tokens: spent.Tokens, Calls: spent.Calls})
			require.InDelta(t, 1.1, spent.Money, 1e-9)
		}
	})
}

func TestReserveCallTakesTheBudgetThatCountsNow(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		reserve := func(id string) error { return s.ReserveCall(ctx, Fence{}, call(id, 50, 50), model.Budget{Tokens: 10}) }
		require.ErrorIs(t, reserve("a"), ErrNoBudget)
		set := func(b *model.Budget) {
			_, err := s.UpdateCampaign(ctx, Fence{}, "c", func(c *model.Campaign) error { c.Budget = b; return nil })
			require.NoError(t, err)
		}
		set(&model.Budget{Tokens: 60})
		require.NoError(t, reserve("a"), "a person raised it")
		require.ErrorIs(t, reserve("b"), ErrWait)
		set(&model.Budget{})
		require.NoError(t, reserve("b"), "a person took it away")
	})
}

// callers reserve and settle until the budget has no room. One waits where it is
// told to until some other has settled.
type callers struct {
	s       *Store
	caps    model.Budget
	mu      sync.Mutex
	settled *sync.Cond
	n       int // settled calls
	spent   int64
}

func (c *callers) run(ctx context.Context, id string, likely, most, cost int64) error {
	for {
		c.mu.Lock()
		seen := c.n
		c.mu.Unlock()
		err := c.s.ReserveCall(ctx, Fence{}, call(id, likely, most), c.caps)
		if err == nil {
			return c.make(ctx, id, likely, most, cost)
		}
		if !errors.Is(err, ErrWait) {
			return err
		}
		c.mu.Lock()
		for c.n == seen {
			c.settled.Wait()
		}
		c.mu.Unlock()
	}
}

func (c *callers) make(ctx context.Context, id string, likely, most, cost int64) error {
	err := c.s.SettleCall(ctx, settled(call(id, likely, most), model.CallAnswered, cost))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spent += cost
	c.n++
	c.settled.Broadcast()
	return err
}

// However many reserve at once, a limit is exceeded by no more than what one call
// costs beyond its likely cost, and is used up as far as calls are likely to fit.
func TestReserveCallSideBySide(t *testing.T) {
	const likely, most, limit = 10, 40, 500
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		c := &callers{s: s, caps: model.Budget{Tokens: limit}}
		c.settled = sync.NewCond(&c.mu)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for j := 0; ; j++ {
					cost := []int64{10, 40, 5, 25}[(i+j)%4]
					err := c.run(ctx, fmt.Sprintf("%d-%d", i, j), likely, most, cost)
					if errors.Is(err, ErrNoBudget) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		require.LessOrEqual(t, c.spent, int64(limit+most-likely))
		require.Greater(t, c.spent+likely, int64(limit), "no room was left for another")
		sum, err := s.Spent(ctx, "c")
		require.NoError(t, err)
		require.Equal(t, c.spent, sum.Tokens)
		require.EqualValues(t, c.n, sum.Calls)
	})
}

func TestSettleCall(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		a := call("a", 10, 20)
		require.NoError(t, s.ReserveCall(ctx, Fence{}, a, model.Budget{}))
		done := settled(a, model.CallAnswered, 15)
		require.ErrorIs(t, s.SettleCall(ctx, settled(a, model.CallLost, 1)), ErrInvalid)
		require.NoError(t, s.SettleCall(ctx, done))
		require.NoError(t, s.SettleCall(ctx, done), "the same again")
		require.ErrorIs(t, s.SettleCall(ctx, settled(a, model.CallAnswered, 16)), ErrConflict)
		other := done
		other.Key = "another"
		require.ErrorIs(t, s.SettleCall(ctx, other), ErrConflict)
		require.ErrorIs(t, s.ReserveCall(ctx, Fence{}, other, model.Budget{}), ErrConflict)
		require.NoError(t, s.ReserveCall(ctx, Fence{}, a, model.Budget{Tokens: 1}), "it was admitted before")
		all, err := s.Calls(ctx, "c")
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, model.CallAnswered, all[0].Status)
	})
}

func TestLostCallsCountUntilTheyAreSettled(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		later := call("later", 7, 9)
		later.Generation = 2
		for _, c := range []model.Call{call("a", 10, 90), call("b", 10, 90), later} {
			require.NoError(t, s.ReserveCall(ctx, Fence{}, c, model.Budget{}))
		}
		require.NoError(t, s.SettleCall(ctx, settled(call("b", 10, 90), model.CallAnswered, 1)))
		for _, want := range []int64{1, 0} {
			n, err := s.LoseCalls(ctx, Fence{}, "c", 1)
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
		sum := func() model.Cost {
			c, err := s.SpentIn(ctx, "c", 1)
			require.NoError(t, err)
			return c
		}
		require.EqualValues(t, 11, sum().Tokens)
		require.EqualValues(t, 2, sum().Calls)
		require.NoError(t, s.SettleCall(ctx, settled(call("a", 10, 90), model.CallAnswered, 30)), "it came back after all")
		require.EqualValues(t, 31, sum().Tokens)
		all, err := s.Spent(ctx, "c")
		require.NoError(t, err)
		require.EqualValues(t, 31, all.Tokens, "the call of a later generation is still in flight")
	})
}

func TestAnsweredCallIsTheFirst(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		for i, id := range []string{"z", "a", "failed"} {
			c := call(id, 1, 1)
			c.Key = "k"
			require.NoError(t, s.ReserveCall(ctx, Fence{}, c, model.Budget{}))
			end := settled(c, model.CallAnswered, 1)
			end.Answer, end.Cut, end.Ended = id, true, at.Add(1000*1000*1000*1)
			if id == "failed" {
				end.Status, end.Ended = model.CallFailed, at
			}
			if i == 1 {
				end.Ended = end.Ended.Add(1000 * 1000)
			}
			require.NoError(t, s.SettleCall(ctx, end))
		}
		got, err := s.AnsweredCall(ctx, "c", 1, "llm", "k")
		require.NoError(t, err)
		require.Equal(t, "z", got.Answer)
		require.True(t, got.Cut)
		for _, other := range []struct {
			generation    int
			proposer, key string
		}{{2, "llm", "k"}, {1, "other", "k"}, {1, "llm", "j"}} {
			_, err = s.AnsweredCall(ctx, "c", other.generation, other.proposer, other.key)
			require.ErrorIs(t, err, ErrNotFound, "%+v", other)
		}
	})
}

func TestProposerRecords(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		campaign(t, s, "other")
		attempt := func(key, proposer string, status model.AttemptStatus) model.Attempt {
			return model.Attempt{Key: key, Proposer: proposer, Status: status, Sandbox: 10}
		}
		addAttempts(t, s, 1, attempt("1", "search", model.AttemptFailed), attempt("2", "search", model.AttemptPassed),
			attempt("3", "llm", model.AttemptLanded), attempt("4", "llm", model.AttemptRefused), attempt("5", "llm", model.AttemptSuperseded))
		for n, g := range []model.Generation{
			{Outcome: model.OutcomeKept, Proposer: "llm", RealisedGain: 0.25}, {Outcome: model.OutcomeKept, Proposer: "llm", RealisedGain: 0.5},
			{Outcome: model.OutcomeReverted, Proposer: "search", RealisedGain: 0.5},
		} {
			g.Campaign, g.N = "c", n+1
			require.NoError(t, s.SaveGeneration(ctx, Fence{}, g))
		}
		for _, id := range []string{"a", "b"} {
			require.NoError(t, s.ReserveCall(ctx, Fence{}, call(id, 10, 10), model.Budget{}))
		}
		require.NoError(t, s.SettleCall(ctx, settled(call("a", 10, 10), model.CallAnswered, 50)))
		got, err := s.ProposerRecords(ctx, "c", 0)
		require.NoError(t, err)
		require.Equal(t, []model.ProposerRecord{
			{Proposer: "llm", Candidates: 3, Passed: 2, Kept: 2, Gain: 0.75, Sandbox: 30, Tokens: 50, Money: 0.5},
			{Proposer: "search", Candidates: 2, Passed: 1, Sandbox: 20},
		}, got)
		got, err = s.ProposerRecords(ctx, "c", 2)
		require.NoError(t, err)
		require.Equal(t, []float64{0.25, 0}, []float64{got[0].Gain, got[1].Gain}, "of the first generation")
		for name, before := range map[string]int{"c": 1, "other": 0} {
			got, err = s.ProposerRecords(ctx, name, before)
			require.NoError(t, err)
			require.Empty(t, got, name)
		}
	})
}

// BenchmarkReserveCall reports what reserving and settling a call costs in a
// campaign that has made 10,000 calls over one that has made 100: every
// reservation adds up the campaign's calls, from an index alone.
func BenchmarkReserveCall(b *testing.B) {
	ctx := context.Background()
	counts := [2]int{100, 10_000}
	var stores [2]*Store
	for i, n := range counts {
		stores[i] = open(b, Config{Path: b.TempDir() + "/x.db"})
		campaign(b, stores[i], "c")
		rows := make([]model.Call, n)
		for j := range rows {
			rows[j] = settled(call(fmt.Sprint("before", j), 10, 20), model.CallAnswered, 15)
		}
		_, err := callTable.insert(ctx, stores[i].writer, "", rows...)
		require.NoError(b, err)
	}
	var costs [2][]time.Duration
	for n := 0; b.Loop(); n++ {
		for i, s := range stores {
			c := call(fmt.Sprint("now", n), 10, 20)
			costs[i] = append(costs[i], timed(b, s, n, func(b *testing.B, s *Store, _ int) {
				require.NoError(b, s.ReserveCall(ctx, Fence{}, c, model.Budget{Tokens: 1 << 40}))
				require.NoError(b, s.SettleCall(ctx, settled(c, model.CallAnswered, 15)))
			}))
		}
	}
	few, many := median(costs[0]), median(costs[1])
	b.ReportMetric(float64(many)/float64(few), "many/few")
	b.ReportMetric(float64(many.Microseconds()), "many-µs")
}
