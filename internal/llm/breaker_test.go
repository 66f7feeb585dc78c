package llm

import (
	"context"
	"errors"
	"testing"
	"time"
)

func newBreaker() (*breaker, *hands) {
	clock := newHands()
	return &breaker{now: clock.now, least: 2 * time.Second, most: 8 * time.Second}, clock
}

func healthy(context.Context) error { return nil }

func (b *breaker) call(t *testing.T, o outcome) {
	t.Helper()
	p, _ := b.admit(t.Context(), healthy)
	if p == nil {
		t.Fatal("a call was not admitted")
	}
	b.done(p, o)
}

func (b *breaker) want(t *testing.T, want breakerState) {
	t.Helper()
	if got, _ := b.status(); got != want {
		t.Fatalf("breaker is %v, want %v", got, want)
	}
}

func TestBreakerOpens(t *testing.T) {
	fail, stall, ok := outcome{weight: weightFailure}, outcome{weight: weightStall}, outcome{}
	for name, c := range map[string]struct {
		calls []outcome
		want  breakerState
	}{
		"three failures":            {[]outcome{fail, fail, fail}, closed},
		"four failures":             {[]outcome{fail, fail, fail, fail}, open},
		"one stall":                 {[]outcome{stall}, closed},
		"two stalls":                {[]outcome{stall, stall}, open},
		"success between":           {[]outcome{fail, fail, fail, ok, fail, fail, fail}, closed},
		"nothing between":           {[]outcome{fail, fail, {nothing: true}, fail, fail}, open},
		"every second call":         {[]outcome{fail, ok, fail, ok, fail, ok, fail, ok, fail, ok}, closed},
		"half of them, a failure":   {[]outcome{ok, fail, ok, fail, ok, fail, ok, fail, ok, fail}, open},
		"a fifth of them":           {[]outcome{ok, ok, ok, ok, fail, ok, ok, ok, ok, fail, ok, ok, ok, ok, fail}, closed},
		"stalls weigh in the share": {[]outcome{ok, stall, ok, stall, ok, stall, ok, stall}, open},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := newBreaker()
			for _, o := range c.calls {
				b.call(t, o)
			}
			b.want(t, c.want)
		})
	}
}

func openedBreaker(t *testing.T) (*breaker, *hands) {
	b, clock := newBreaker()
	for range 2 {
		b.call(t, outcome{weight: weightStall})
	}
	b.want(t, open)
	return b, clock
}

func TestBreakerHalfOpensByACheck(t *testing.T) {
	b, clock := openedBreaker(t)
	checks := 0
	check := func(err error) func(context.Context) error {
		return func(context.Context) error { checks++; return err }
	}
	if p, wait := b.admit(t.Context(), check(nil)); p != nil || wait != 2*time.Second || checks != 0 {
		t.Fatalf("admitted %v, wait %v, %d checks while it is open", p, wait, checks)
	}
	clock.pass(2 * time.Second)
	if p, wait := b.admit(t.Context(), check(errors.New("down"))); p != nil || wait != 4*time.Second || checks != 1 {
		t.Fatalf("admitted %v, wait %v, %d checks of a server that is down", p, wait, checks)
	}
	clock.pass(4 * time.Second)
	p, _ := b.admit(t.Context(), check(nil))
	if p == nil || checks != 2 {
		t.Fatal("not admitted though the server is up")
	}
	b.want(t, halfOpen)
	if second, wait := b.admit(t.Context(), check(nil)); second != nil || wait != 0 {
		t.Error("a second call was admitted beside the trial")
	}
	b.done(p, outcome{})
	b.want(t, closed)
	if checks != 2 {
		t.Errorf("%d checks, want 2", checks)
	}
}

func TestBreakerTrials(t *testing.T) {
	b, clock := openedBreaker(t)
	clock.pass(2 * time.Second)
	p, _ := b.admit(t.Context(), healthy)
	b.done(p, outcome{nothing: true}) // the caller went away
	b.want(t, halfOpen)
	if p, _ = b.admit(t.Context(), func(context.Context) error { return errors.New("asked again") }); p == nil {
		t.Fatal("a trial that said nothing blocks the next")
	}
	b.done(p, outcome{weight: weightFailure, retryAfter: 7 * time.Second})
	if state, rest := b.status(); state != open || rest != 7*time.Second {
		t.Errorf("breaker is %v for %v after a failed trial, want open for 7s", state, rest)
	}
	clock.pass(time.Minute)
	b.call(t, outcome{})
	b.want(t, closed)
}

func TestBreakerIgnoresCallsOfAnOlderState(t *testing.T) {
	b, clock := newBreaker()
	var old []*pass
	for range 4 {
		p, _ := b.admit(t.Context(), healthy)
		old = append(old, p)
	}
	b.done(old[0], outcome{weight: weightStall})
	b.done(old[1], outcome{weight: weightStall})
	b.want(t, open)
	clock.pass(time.Minute)
	p, _ := b.admit(t.Context(), healthy)
	b.done(old[2], outcome{}) // began before it opened
	b.want(t, halfOpen)
	b.done(old[3], outcome{weight: weightStall})
	b.want(t, halfOpen)
	b.done(p, outcome{})
	b.want(t, closed)
}

func TestBreakerCheckOfACallerThatLeaves(t *testing.T) {
	b, clock := openedBreaker(t)
	clock.pass(2 * time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	if p, _ := b.admit(ctx, func(ctx context.Context) error { cancel(); return ctx.Err() }); p != nil {
		t.Fatal("admitted")
	}
	if p, _ := b.admit(t.Context(), healthy); p == nil {
		t.Error("a check that nobody waited for keeps it open")
	}
}

func TestBudgetOfExtraCalls(t *testing.T) {
	b := budget{left: mostExtra}
	n := 0
	for b.spend() {
		n++
	}
	if n != 10 {
		t.Errorf("%d calls at the start, want 10", n)
	}
	for range 6 {
		b.add(extraACall)
	}
	if !b.spend() || b.spend() {
		t.Error("six calls do not earn exactly one more")
	}
	if b.refund(); !b.spend() {
		t.Error("what was given back cannot be spent")
	}
}

func TestBreakerTellsQueues(t *testing.T) {
	b, clock := newBreaker()
	told := func(quit <-chan struct{}) bool {
		select {
		case <-quit:
			return true
		default:
			return false
		}
	}
	quit, _ := b.look()
	b.call(t, outcome{weight: weightStall})
	if quit == nil || told(quit) {
		t.Fatal("a queue was told to go though calls are admitted")
	}
	b.call(t, outcome{weight: weightStall})
	if !told(quit) {
		t.Error("a queue was not told that the breaker opened")
	}
	if quit, wait := b.look(); quit != nil || wait != 2*time.Second {
		t.Errorf("an open breaker is waited for: %v", wait)
	}
	clock.pass(2 * time.Second)
	quit, _ = b.look()
	p, _ := b.admit(t.Context(), healthy)
	if quit == nil || !told(quit) {
		t.Error("a queue was not told of the trial")
	}
	if again, _ := b.look(); again != nil {
		t.Error("a trial is waited for")
	}
	b.done(p, outcome{})
	if quit, _ = b.look(); quit == nil || told(quit) {
		t.Error("a closed breaker sends callers away")
	}
}
