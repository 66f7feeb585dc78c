package llm

import (
	"context"
	"errors"
	"sync"
	"time"
)

// server is what is known of one model at one server.
type server struct {
	limiter limiter
	breaker breaker
	retries budget
	hedges  budget // of calls to this server, wherever they went
	pace    pace
	learned Learned
	tokens  Calibration

	mu    sync.Mutex
	info  ModelInfo
	fresh time.Time // until when info, or the failure to get it, is taken as it is
}

func newServer(cfg PoolConfig) *server {
	return &server{
		limiter: limiter{now: cfg.Now},
		breaker: breaker{now: cfg.Now, least: cfg.Retry.OpenLeast, most: cfg.Retry.OpenMost},
		retries: budget{left: mostExtra},
		hedges:  budget{left: mostExtra},
		pace:    pace{now: cfg.Now},
	}
}

const (
	infoFresh  = 10 * time.Minute // how long what a server says of its model is believed
	infoFailed = 30 * time.Second // how long it is not asked again after a failure
)

// knows remembers what a check found out.
func (s *server) knows(info ModelInfo, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.fresh = now.Add(infoFailed)
		return
	}
	s.info, s.fresh = info, now.Add(infoFresh)
}

// context is what the server said last of its model's context, 0 for nothing, and
// whether it may be asked again.
func (s *server) context(now time.Time) (tokens int, stale bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info.Context, now.After(s.fresh)
}

const (
	mostExtra  = 10.0
	extraACall = 0.2
)

// budget lets calls be made beside those that must be, a fifth as many over time:
// when everything fails, retries must not multiply the load, and when everything is
// slow, hedges must not. It is safe for concurrent use.
type budget struct {
	mu   sync.Mutex
	left float64
}

// add puts into the budget, and spend asks for one call.
func (b *budget) add(calls float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(b.left+calls, mostExtra)
}

func (b *budget) spend() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// refund gives back what was spent on a call that was not made.
func (b *budget) refund() { b.add(1) }

// earn is told of each attempt; fresh are those that are no retries.
func (s *server) earn(fresh bool) {
	s.hedges.add(extraACall)
	if fresh {
		s.retries.add(extraACall)
	}
}

// check asks a spot's server how it is.
func (p *Pool) check(ctx context.Context, s *spot) (ModelInfo, error) {
	if s.broken != nil {
		return ModelInfo{}, s.broken
	}
	info, err := s.backend.Check(ctx)
	if ctx.Err() == nil {
		s.server.knows(info, err, p.cfg.Now())
	}
	return info, err
}

// alive is nil when a server is up. A refusal of the question itself shows that,
// too: keys that may ask models may not list them.
func (p *Pool) alive(ctx context.Context, s *spot) error {
	_, err := p.check(ctx, s)
	if errors.Is(err, ErrAuth) || errors.Is(err, ErrNoModel) || errors.Is(err, ErrRequest) {
		return nil
	}
	return err
}
