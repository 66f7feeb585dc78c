package llm

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// hands is a clock that a test moves.
type hands struct {
	mu sync.Mutex
	at time.Time
}

func newHands() *hands { return &hands{at: time.Unix(1e9, 0)} }

func (h *hands) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *hands) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = h.at.Add(d)
}

func (l *limiter) mustAcquire(t *testing.T, parallel, times int) {
	t.Helper()
	for range times {
		if err := l.acquire(t.Context(), parallel, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// queued waits until n callers wait.
func (l *limiter) queued(t *testing.T, n int) {
	t.Helper()
	waitFor(t, func() bool { _, _, waiting := l.load(); return waiting == n })
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to that")
		}
	}
}

func TestLimiterAdapts(t *testing.T) {
	clock := newHands()
	l := &limiter{now: clock.now}
	limit := func() int { n, _, _ := l.load(); return n }
	l.mustAcquire(t, 8, 8)
	if limit() != 8 {
		t.Fatalf("limit %d at the start", limit())
	}
	for range 3 { // one moment of overload counts once
		l.release(crowded, 8)
	}
	if limit() != 4 {
		t.Errorf("limit %d after overload, want 4", limit())
	}
	for range 5 {
		l.release(neutral, 8)
	}
	for range 5 {
		clock.pass(calm)
		l.mustAcquire(t, 8, 1)
		l.release(crowded, 8)
	}
	if limit() != 1 || !l.atFloor() {
		t.Errorf("limit %d after more overload, want 1", limit())
	}
	l.mustAcquire(t, 8, 1)
	l.release(good, 8)
	if limit() != 2 {
		t.Errorf("limit %d after one round that went well, want 2", limit())
	}
	for range 100 {
		n := limit()
		l.mustAcquire(t, 8, n)
		for range n {
			l.release(good, 8)
		}
	}
	if limit() != 8 {
		t.Errorf("limit %d after a long time, want 8", limit())
	}
}

func TestLimiterDoesNotGrowUnused(t *testing.T) {
	l := &limiter{now: newHands().now}
	l.mustAcquire(t, 8, 1)
	l.release(crowded, 8)
	for range 50 {
		l.mustAcquire(t, 8, 1)
		l.release(good, 8)
	}
	if n, _, _ := l.load(); n != 4 {
		t.Errorf("limit %d, want 4: one call at a time shows nothing of more", n)
	}
}

func TestLimiterServesInOrder(t *testing.T) {
	l := &limiter{now: newHands().now}
	l.mustAcquire(t, 1, 1)
	order := make(chan int, 5)
	for i := range 5 {
		go func() {
			if l.acquire(context.Background(), 1, nil) == nil {
				order <- i
			}
		}()
		l.queued(t, i+1)
	}
	for want := range 5 {
		l.release(neutral, 1)
		if got := <-order; got != want {
			t.Fatalf("caller %d was served, want %d", got, want)
		}
	}
}

func TestLimiterCallersLeave(t *testing.T) {
	l := &limiter{now: newHands().now}
	l.mustAcquire(t, 1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	left, served := make(chan error), make(chan error)
	go func() { left <- l.acquire(ctx, 1, nil) }()
	l.queued(t, 1)
	go func() { served <- l.acquire(context.Background(), 1, nil) }()
	l.queued(t, 2)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of who left", err)
	}
	l.release(good, 1)
	if err := <-served; err != nil {
		t.Errorf("who stayed was not served: %v", err)
	}
	l.release(good, 1)
	if _, inflight, waiting := l.load(); inflight != 0 || waiting != 0 {
		t.Errorf("%d in flight, %d waiting", inflight, waiting)
	}
}

func TestLimiterLosesNoPlaceToLeavers(t *testing.T) {
	l := &limiter{now: newHands().now}
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			if i%2 == 0 {
				go cancel()
			}
			defer cancel()
			if l.acquire(ctx, 3, nil) == nil {
				l.release(good, 3)
			}
		})
	}
	wg.Wait()
	if _, inflight, waiting := l.load(); inflight != 0 || waiting != 0 {
		t.Errorf("%d in flight, %d waiting", inflight, waiting)
	}
}

// Only a limit that was lowered makes callers look elsewhere.
func TestLimiterSaysWhyCallersWait(t *testing.T) {
	clock := newHands()
	l := &limiter{now: clock.now}
	check := func(what string, free, slowed bool) {
		t.Helper()
		if l.free(4) != free || l.slowed(4) != slowed {
			t.Errorf("%s: free %v, slowed %v", what, l.free(4), l.slowed(4))
		}
	}
	check("untouched", true, false)
	l.mustAcquire(t, 2, 2)
	check("another caller's bound is reached", false, false)
	l.release(neutral, 4)
	check("one place is free", true, false)
	l.release(crowded, 4)
	check("lowered, and nobody there", true, false)
	l.mustAcquire(t, 4, 1)
	check("lowered and full", false, true)
	for l.limit < 4 {
		l.release(good, 4)
		l.mustAcquire(t, 4, int(l.limit)-l.inflight)
	}
	check("recovered and full", false, false)
}
