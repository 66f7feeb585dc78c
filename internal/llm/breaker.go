package llm

import (
	"context"
	"sync"
	"time"
)

// Weights of failures and what opens a breaker. Two stalls open it, since each
// costs the caller minutes; of other failures it takes four in a row, or as much
// as half of what was counted lately.
const (
	weightFailure = 1
	weightStall   = 2
	opensInRow    = 4
	opensShare    = 0.5
	leastCounted  = 10
	memory        = 20 // outcomes after which the old ones count half
)

// breaker keeps calls from a server that fails. Unlike those of failsafe-go and
// gobreaker it is half-opened by a check and not by a caller's prompt, weighs
// stalls, opens for longer each time, and takes trials that said nothing, because
// the caller gave up or a budget refused, for what they are. It is safe for
// concurrent use.
type breaker struct {
	now         func() time.Time
	least, most time.Duration // how long it is open: doubled from the first to the second

	mu      sync.Mutex
	state   breakerState
	inRow   int
	ok, bad float64 // outcomes, fading
	span    time.Duration
	until   time.Time
	trial   bool          // a check or the one call of a half-open breaker is under way
	turn    int           // counts changes of state: what began before one says nothing after it
	quit    chan struct{} // closed when calls begin to be refused; nil when nobody asked for it
}

// pass is the permission for one call.
type pass struct{ turn int }

type breakerState int

const (
	closed breakerState = iota
	open
	halfOpen
)

func (s breakerState) String() string { return [...]string{"closed", "open", "half-open"}[s] }

// admit asks to make a call. When it is refused, wait is how long it makes no sense
// to ask again, 0 when the end of a trial must be waited for. When the breaker was
// open long enough, check is called, by one caller at a time, and its error keeps
// it open. An admitted call must be told to done.
func (b *breaker) admit(ctx context.Context, check func(context.Context) error) (p *pass, wait time.Duration) {
	p, wait, must := b.enter()
	if !must {
		return p, wait
	}
	return b.checked(ctx, check(ctx))
}

// pass admits a call while the breaker is closed; else it returns nil, and tries
// nothing.
func (b *breaker) pass() *pass {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != closed {
		return nil
	}
	return &pass{b.turn}
}

// look says whether calls are refused, and then for how long, as admit does. When
// they are not, quit is closed as soon as they are, so that nobody stays in a queue
// behind the one call that tries a server out.
func (b *breaker) look() (quit <-chan struct{}, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rest := b.until.Sub(b.now())
	switch {
	case b.state != closed && b.trial:
		return nil, 0
	case b.state == open && rest > 0:
		return nil, rest
	case b.quit == nil:
		b.quit = make(chan struct{})
	}
	return b.quit, 0
}

// refuse needs the lock.
func (b *breaker) refuse() {
	if b.quit != nil {
		close(b.quit)
		b.quit = nil
	}
}

// enter admits, refuses, or says that the server must be checked first.
func (b *breaker) enter() (p *pass, wait time.Duration, check bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch rest := b.until.Sub(b.now()); {
	case b.state == closed:
		return &pass{b.turn}, 0, false
	case b.trial:
		return nil, 0, false
	case b.state == open && rest > 0:
		return nil, rest, false
	}
	b.trial = true
	b.refuse()
	if b.state == halfOpen {
		return &pass{b.turn}, 0, false
	}
	return nil, 0, true
}

// checked takes the result of a check. A caller that went away has found out nothing.
func (b *breaker) checked(ctx context.Context, err error) (*pass, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.become(halfOpen)
		b.trial = true
		return &pass{b.turn}, 0
	}
	b.trial = false
	if ctx.Err() == nil {
		b.open(0)
	}
	return nil, max(b.until.Sub(b.now()), 0)
}

// become needs the lock.
func (b *breaker) become(s breakerState) {
	b.state, b.trial = s, false
	b.turn++
	b.inRow, b.ok, b.bad = 0, 0, 0
}

// outcome of an admitted call, for the breaker.
type outcome struct {
	weight     int // 0: it worked
	nothing    bool
	retryAfter time.Duration
}

// done takes the outcome of an admitted call.
func (b *breaker) done(p *pass, o outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.turn != b.turn {
		return
	}
	b.trial = false
	switch {
	case o.nothing:
	case o.weight == 0:
		b.succeed()
	default:
		b.fail(o)
	}
}

func (b *breaker) succeed() {
	b.inRow = 0
	b.count(1, 0)
	if b.state == halfOpen {
		b.become(closed)
		b.span = 0
	}
}

func (b *breaker) fail(o outcome) {
	b.inRow += o.weight
	b.count(0, float64(o.weight))
	total := b.ok + b.bad
	if b.state == halfOpen || b.inRow >= opensInRow || total >= leastCounted && b.bad >= opensShare*total {
		b.open(o.retryAfter)
	}
}

func (b *breaker) count(ok, bad float64) {
	b.ok, b.bad = b.ok+ok, b.bad+bad
	if b.ok+b.bad > memory {
		b.ok, b.bad = b.ok/2, b.bad/2
	}
}

// open needs the lock.
func (b *breaker) open(atLeast time.Duration) {
	b.span = min(max(2*b.span, b.least), b.most)
	b.become(open)
	b.refuse()
	b.until = b.now().Add(max(b.span, min(atLeast, b.most)))
}

// status is the state, and how long it stays open at least.
func (b *breaker) status() (breakerState, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != open {
		return b.state, 0
	}
	return b.state, max(b.until.Sub(b.now()), 0)
}
