// Package wire is what the protocols share below their libraries: deadlines that
// fire while a stream stalls, an HTTP client that keeps keys and sizes in bounds,
// and the reading of what servers say when they refuse.
package wire

import (
	"context"
	"fmt"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"ratchet/internal/llm"
)

// Overrun is the cause with which a call is ended that took too long.
type Overrun struct {
	Part  string // "first token", "stall" or "total"
	After time.Duration
}

func (o *Overrun) Error() string {
	switch o.Part {
	case partFirst:
		return fmt.Sprintf("no first token within %v", o.After)
	case partStall:
		return fmt.Sprintf("no token for %v (stall)", o.After)
	}
	return fmt.Sprintf("not done within %v (total)", o.After)
}

const (
	partFirst = "first token"
	partStall = "stall"
	partTotal = "total"
)

// Watch holds one call to an endpoint's deadlines. Only tokens count as progress:
// bytes, comments and empty events do not. When a deadline passes, the call's
// context ends, which ends the read that the call blocks in. Its methods may be
// called from several goroutines.
type Watch struct {
	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	total  *time.Timer
	start  time.Time
	stall  time.Duration
	heard  func() // told of tokens; nil for nobody
	sent   atomic.Bool

	mu     sync.Mutex
	next   *time.Timer // first token, then stall
	first  time.Duration
	tokens int64
	over   bool
}

// NewWatch starts the deadlines of e. heard, which may be nil, is called at each
// progress. Stop must be called.
func NewWatch(parent context.Context, e llm.Endpoint, heard func()) *Watch {
	w := &Watch{parent: parent, start: time.Now(), stall: e.Stall, heard: heard}
	ctx, cancel := context.WithCancelCause(parent)
	w.cancel = cancel
	w.ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() { w.sent.Store(true) },
	})
	w.total = time.AfterFunc(e.Total, func() { cancel(&Overrun{partTotal, e.Total}) })
	w.next = time.AfterFunc(e.FirstToken, func() { cancel(&Overrun{partFirst, e.FirstToken}) })
	return w
}

// checkTime bounds a check: it computes nothing.
const checkTime = 15 * time.Second

// NewCheck starts the one deadline of a call that computes no token.
func NewCheck(parent context.Context, e llm.Endpoint) *Watch {
	e.Total = min(e.FirstToken, checkTime)
	e.FirstToken = 2 * e.Total // never the first to pass
	return NewWatch(parent, e, nil)
}

// Context is the context of the call. It ends with an *Overrun as its cause when a
// deadline passes.
func (w *Watch) Context() context.Context { return w.ctx }

// Progress tells that tokens have come.
func (w *Watch) Progress() {
	if w.count() && w.heard != nil {
		w.heard()
	}
}

// count starts the next deadline, unless the watch was stopped.
func (w *Watch) count() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return false
	}
	w.tokens++
	w.next.Stop()
	if w.tokens == 1 {
		w.first = time.Since(w.start)
		w.next = time.AfterFunc(w.stall, func() { w.cancel(&Overrun{partStall, w.stall}) })
		return true
	}
	w.next.Reset(w.stall)
	return true
}

// lastWords is how long what may follow a finish reason is waited for: the usage and
// the end mark, which servers send at once or not at all. Some keep the connection
// open after them, and the answer must not wait for that.
const lastWords = 2 * time.Second

// Finished tells that the answer is whole. The call's context ends soon, unless
// tokens come after all.
func (w *Watch) Finished() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.next.Reset(min(w.stall, lastWords))
	}
}

// Stop ends the call's context and its timers. It may be called twice.
func (w *Watch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.next.Stop()
	w.total.Stop()
	w.cancel(context.Canceled)
}

// Times are how long the first token took and how long the call has taken.
func (w *Watch) Times() (first, wall time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.first, time.Since(w.start)
}

// Events is how often there was progress: at least so many tokens came.
func (w *Watch) Events() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tokens
}

// Sent says whether a request went out to the server.
func (w *Watch) Sent() bool { return w.sent.Load() }

// overrun is the deadline that passed, nil when none did.
func (w *Watch) overrun() *Overrun {
	if w.ctx.Err() == nil {
		return nil
	}
	o, _ := context.Cause(w.ctx).(*Overrun)
	return o
}
