package llm

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// DefaultWindow is how many tokens prompt and answer are taken to have together
// where neither the configuration nor a server says.
const DefaultWindow = 8192

// Window is how many tokens prompt and answer may have together: the smallest of
// the contexts that are known, of endpoints whose breaker is closed, else of all;
// DefaultWindow when nobody knows one. Servers are asked where the configuration
// says nothing, at most every few minutes. The error is that of ctx.
func (c *Client) Window(ctx context.Context) (int, error) {
	inner, leave, err := c.pool.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	c.each(func(_ int, s *spot) {
		if _, stale := s.server.context(c.pool.cfg.Now()); s.endpoint.Context == 0 && stale {
			_, _ = c.pool.check(inner, s) // an endpoint that says nothing has no part in it
		}
	})
	if err := inner.Err(); err != nil {
		return 0, fmt.Errorf("ask models for their context: %w", context.Cause(inner))
	}
	if n := c.smallest(true); n > 0 {
		return n, nil
	}
	if n := c.smallest(false); n > 0 {
		return n, nil
	}
	return DefaultWindow, nil
}

func (c *Client) smallest(usable bool) int {
	least := 0
	for _, s := range c.spots {
		state, _ := s.server.breaker.status()
		n := s.known(c.pool)
		if n > 0 && (least == 0 || n < least) && (!usable || s.broken == nil && state == closed) {
			least = n
		}
	}
	return least
}

// known is the context of an endpoint as far as it is known, else 0.
func (s *spot) known(p *Pool) int {
	if s.endpoint.Context > 0 {
		return s.endpoint.Context
	}
	n, _ := s.server.context(p.cfg.Now())
	return n
}

// each calls f for every endpoint at once and waits.
func (c *Client) each(f func(int, *spot)) {
	var wg sync.WaitGroup
	for i, s := range c.spots {
		wg.Go(func() { f(i, s) })
	}
	wg.Wait()
}

// Estimate is what one attempt at r is likely to use up and can at most, by the
// endpoint that reckons with the most.
func (c *Client) Estimate(r Request) Estimate {
	var out Estimate
	for _, s := range c.spots {
		if e := s.server.tokens.Estimate(r); e.Likely.Input > out.Likely.Input {
			out = e
		}
	}
	return out
}

// EndpointState is how an endpoint is, for a person. It holds no key.
type EndpointState struct {
	Endpoint Endpoint
	Info     ModelInfo
	Err      error         // why it cannot be used, nil when it answers
	Took     time.Duration // to answer the check

	Breaker  string // closed, open or half-open
	OpenFor  time.Duration
	Limit    int // calls at once, as adapted; 0 before the first call
	InFlight int
	Waiting  int
	// BytesPerToken is what the server's counts so far come to.
	BytesPerToken float64
}

// Check asks every endpoint whether it is up and has its model. It computes nothing
// and changes no breaker.
func (c *Client) Check(ctx context.Context) []EndpointState {
	out := make([]EndpointState, len(c.spots))
	inner, leave, err := c.pool.enter(ctx)
	if err == nil {
		defer leave()
	}
	c.each(func(i int, s *spot) {
		st := s.state()
		start := time.Now()
		if st.Err = err; err == nil {
			st.Info, st.Err = c.pool.check(inner, s)
		}
		st.Took = time.Since(start)
		out[i] = st
	})
	return out
}

func (s *spot) state() EndpointState {
	st := EndpointState{Endpoint: s.endpoint, BytesPerToken: s.server.tokens.BytesPerToken()}
	state, rest := s.server.breaker.status()
	st.Breaker, st.OpenFor = state.String(), rest
	st.Limit, st.InFlight, st.Waiting = s.server.limiter.load()
	return st
}

// Probe has the endpoint of that number, counted from 0, compute one token, to show
// that it truly answers. No meter and no breaker has a part in it, nothing is retried.
func (c *Client) Probe(ctx context.Context, i int) (Answer, error) {
	if i < 0 || i >= len(c.spots) {
		return Answer{}, fmt.Errorf("probe a model: there are %d endpoints, and none of number %d", len(c.spots), i)
	}
	s := c.spots[i]
	if s.broken != nil {
		return Answer{}, s.broken
	}
	inner, leave, err := c.pool.enter(ctx)
	if err != nil {
		return Answer{}, err
	}
	defer leave()
	if err := s.server.limiter.acquire(inner, s.endpoint.Parallel, nil); err != nil {
		return Answer{}, fmt.Errorf("probe %s: %w", s.endpoint.Name, err)
	}
	defer s.server.limiter.release(neutral, s.endpoint.Parallel)
	return s.backend.Complete(inner, Request{Messages: []Message{{Role: RoleUser, Text: "Say ok."}}, MaxTokens: 1}, nil)
}
