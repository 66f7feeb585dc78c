package ingest

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"ratchet/internal/natsx"
)

// Waker wakes what waits for the failures of an agent. The cursor is that of the
// newest event; what was stored up to it can be read from the store. Wake must be
// safe for concurrent use and idempotent: it may be called again with the same
// cursor, or with a lower one after a restart. An error means: try again later.
type Waker interface {
	Wake(ctx context.Context, agent, repo string, cursor int64) error
}

const (
	wakeTimeout  = 30 * time.Second // of one call of Wake
	wakeFinish   = 3 * time.Second  // that outstanding wake-ups get when the service stops
	wakeParallel = 8                // calls of Wake at a time, over all agents
)

// target is who is woken: at most one call is outstanding for each.
type target struct{ agent, repo string }

// dispatcher coalesces wake-ups: while one is outstanding, later events only
// raise the cursor of the next.
type dispatcher struct {
	waker    Waker
	min, max time.Duration
	log      *slog.Logger
	slots    chan struct{}

	ctx      context.Context // of the goroutines; ends when close gives up on them
	cancel   context.CancelFunc
	closing  chan struct{} // closed when close begins: no more retries
	wg       sync.WaitGroup
	mu       sync.Mutex
	cursors  map[target]int64 // the newest cursor of each target with a goroutine
	isClosed bool
}

func newDispatcher(w Waker, lo, hi time.Duration, log *slog.Logger) *dispatcher {
	d := &dispatcher{
		waker: w, min: lo, max: hi, log: log,
		slots: make(chan struct{}, wakeParallel), closing: make(chan struct{}), cursors: make(map[target]int64),
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// notify says that the events of an agent reach up to cursor. It never blocks.
func (d *dispatcher) notify(agent, repo string, cursor int64) {
	if d.waker == nil {
		return
	}
	t := target{agent, repo}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isClosed {
		return
	}
	old, outstanding := d.cursors[t]
	d.cursors[t] = max(old, cursor)
	if !outstanding {
		d.wg.Add(1)
		go func() {
			defer d.wg.Done()
			d.wakeAll(t)
		}()
	}
}

// wakeAll wakes t until it has been told of the newest cursor.
func (d *dispatcher) wakeAll(t target) {
	told := int64(0)
	for failed := 0; ; {
		cursor, more := d.next(t, told)
		if !more {
			return
		}
		err := d.wake(t, cursor)
		if err == nil {
			told, failed = cursor, 0
			continue
		}
		wait := natsx.Backoff(failed, d.min, d.max)
		d.log.Warn("cannot wake up for new failures, trying again", "agent", t.agent, "repo", t.repo, "cursor", cursor, "wait", wait, "error", err)
		if failed++; !d.pause(wait) {
			d.forget(t)
			return
		}
	}
}

// next returns the newest cursor of t, or false, forgetting t, when it is told.
func (d *dispatcher) next(t target, told int64) (int64, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if cursor := d.cursors[t]; cursor > told {
		return cursor, true
	}
	delete(d.cursors, t)
	return 0, false
}

func (d *dispatcher) forget(t target) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.cursors, t)
}

func (d *dispatcher) wake(t target, cursor int64) error {
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-d.ctx.Done():
		return d.ctx.Err()
	}
	ctx, cancel := context.WithTimeout(d.ctx, wakeTimeout)
	defer cancel()
	return d.waker.Wake(ctx, t.agent, t.repo, cursor)
}

// pause waits, and says whether there is to be another try.
func (d *dispatcher) pause(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.closing:
	}
	return false
}

// close gives outstanding calls a moment to end, then cancels them, and returns
// when all goroutines have ended.
func (d *dispatcher) close() {
	d.mu.Lock()
	d.isClosed = true
	d.mu.Unlock()
	close(d.closing)
	timer := time.AfterFunc(wakeFinish, d.cancel)
	defer timer.Stop()
	d.wg.Wait()
	d.cancel()
}
