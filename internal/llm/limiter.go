package llm

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// calm is how long after a decrease further overload says nothing new: those calls
// were admitted under the old limit.
const calm = time.Second

// limiter bounds the calls in flight at one server: additive increase,
// multiplicative decrease, between 1 and what the callers allow. It is our own
// because the adaptive limiters of failsafe-go follow latency, and the latency of a
// model call is mostly the length of its answer. Callers are served in the order in
// which they came. It is safe for concurrent use.
type limiter struct {
	now func() time.Time

	mu       sync.Mutex
	limit    float64 // 0 until the first caller has named its bound
	inflight int
	waiting  list.List // of *waiter
	lowered  time.Time
}

type waiter struct {
	parallel int
	ready    chan struct{}
}

// acquire waits for a place, or until quit, which may be nil, is closed. parallel is
// the most calls that this caller allows.
func (l *limiter) acquire(ctx context.Context, parallel int, quit <-chan struct{}) error {
	l.mu.Lock()
	if l.limit == 0 {
		l.limit = float64(parallel)
	}
	w := &waiter{parallel: parallel, ready: make(chan struct{})}
	place := l.waiting.PushBack(w)
	l.admit()
	l.mu.Unlock()
	select {
	case <-w.ready:
		if ctx.Err() == nil {
			return nil
		}
	case <-ctx.Done():
	case <-quit:
		l.leave(w, place)
		return errSkipped
	}
	l.leave(w, place)
	return ctx.Err()
}

// try takes a place if there is one at once.
func (l *limiter) try(parallel int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit == 0 {
		l.limit = float64(parallel)
	}
	if l.waiting.Len() > 0 || l.inflight >= min(int(l.limit), parallel) {
		return false
	}
	l.inflight++
	return true
}

// leave gives up a place in the queue, or one that was given in the same moment.
func (l *limiter) leave(w *waiter, place *list.Element) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-w.ready:
		l.inflight--
	default:
		l.waiting.Remove(place)
	}
	l.admit()
}

// admit lets in who is first, while there is room. It needs the lock.
func (l *limiter) admit() {
	for front := l.waiting.Front(); front != nil; front = l.waiting.Front() {
		w := front.Value.(*waiter)
		if l.inflight >= min(int(l.limit), w.parallel) {
			return
		}
		l.inflight++
		close(l.waiting.Remove(front).(*waiter).ready)
	}
}

// release gives a place back and learns from how the call went. A limit that was
// used to the full and served well grows by one a round of calls; overload halves
// it, once a moment.
func (l *limiter) release(v verdict, parallel int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	full := l.inflight >= int(l.limit)
	l.inflight--
	switch {
	case v == good && full && l.limit < float64(parallel):
		l.limit = min(l.limit+1/l.limit, float64(parallel))
	case v == crowded && l.now().Sub(l.lowered) >= calm:
		l.limit, l.lowered = max(1, l.limit/2), l.now()
	}
	l.admit()
}

// atFloor says whether the limit can go no lower.
func (l *limiter) atFloor() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit <= 1
}

// free says whether a caller would have a place at once.
func (l *limiter) free(parallel int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit == 0 || l.waiting.Len() == 0 && l.inflight < min(int(l.limit), parallel)
}

// slowed says whether a caller would wait for no other reason than that the limit
// was lowered.
func (l *limiter) slowed(parallel int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	full := l.waiting.Len() > 0 || l.inflight >= int(l.limit)
	return !l.lowered.IsZero() && int(l.limit) < parallel && full
}

// load is the limit and the calls in flight and waiting.
func (l *limiter) load() (limit, inflight, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.limit), l.inflight, l.waiting.Len()
}

// verdict is what a call says about how much a server can bear.
type verdict int

const (
	neutral verdict = iota // nothing: refused by a budget, given up by the caller
	good                   // it answered
	crowded                // it had too much to do
)
