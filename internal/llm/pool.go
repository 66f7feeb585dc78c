package llm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// RetryConfig says how often and how soon failed calls are made again.
type RetryConfig struct {
	Attempts   int           // most calls to one endpoint for one question; default 3
	Backoff    time.Duration // before the first retry, doubled for each further one; default 1 s
	MaxBackoff time.Duration // default 30 s
	RetryAfter time.Duration // the longest wait that a server may ask for; default 1 min
	Patience   time.Duration // how long a call waits while every breaker is open; default 2 min
	OpenLeast  time.Duration // how long a breaker is open the first time; default 2 s
	OpenMost   time.Duration // and at most, after doubling; default 2 min
}

func (c RetryConfig) withDefaults() RetryConfig {
	fill := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	if c.Attempts <= 0 {
		c.Attempts = 3
	}
	fill(&c.Backoff, time.Second)
	fill(&c.MaxBackoff, 30*time.Second)
	fill(&c.RetryAfter, time.Minute)
	fill(&c.Patience, 2*time.Minute)
	fill(&c.OpenLeast, 2*time.Second)
	fill(&c.OpenMost, 2*time.Minute)
	return c
}

// PoolConfig is what a pool works with.
type PoolConfig struct {
	Backends  map[string]NewBackend // by protocol; package backends has them all
	Getenv    func(string) string   // where keys come from; default os.Getenv
	Transport http.RoundTripper     // default: one of the pool's own, with the proxy of the environment
	Logger    *slog.Logger          // default: none
	Now       func() time.Time      // for breakers and limits; default time.Now
	Retry     RetryConfig
}

// Validate returns an error when no endpoint could be used.
func (c PoolConfig) Validate() error {
	if len(c.Backends) == 0 {
		return errors.New("model pool: there is no protocol")
	}
	return nil
}

func (c PoolConfig) withDefaults() (PoolConfig, *http.Transport) {
	var own *http.Transport
	if c.Transport == nil {
		own = http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = 32
		c.Transport = own
	}
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Retry = c.Retry.withDefaults()
	return c, own
}

// Pool holds what one process knows of model servers: breakers, limits, what they
// refuse. Clients of the pool share it. It is safe for concurrent use.
type Pool struct {
	cfg  PoolConfig
	own  *http.Transport // nil when it was given
	ctx  context.Context // ends with Close
	stop context.CancelFunc

	mu      sync.Mutex
	servers map[serverKey]*server
	changed chan struct{} // closed and replaced when a breaker may have changed
	shut    bool
	calls   sync.WaitGroup
}

// serverKey tells servers apart whose state has nothing to do with each other.
type serverKey struct {
	protocol, url, model string
	key                  [sha256.Size]byte
}

// NewPool returns a pool without endpoints. It starts nothing; Close releases its
// connections.
func NewPool(cfg PoolConfig) (*Pool, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p := &Pool{servers: map[serverKey]*server{}, changed: make(chan struct{})}
	p.cfg, p.own = cfg.withDefaults()
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p, nil
}

// Close ends calls under way, waits for them and closes idle connections. Calls
// made later are ErrUnavailable. It may be called twice.
func (p *Pool) Close() {
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	p.stop()
	p.calls.Wait()
	if p.own != nil {
		p.own.CloseIdleConnections()
	}
}

// enter begins a call, whose context ends with the pool. leave must be called.
func (p *Pool) enter(ctx context.Context) (inner context.Context, leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut {
		return nil, nil, fmt.Errorf("ask a model: the pool is closed: %w", ErrUnavailable)
	}
	p.calls.Add(1)
	inner, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(p.ctx, cancel)
	return inner, func() { unhook(); cancel(); p.calls.Done() }, nil
}

// Client returns a client that asks the endpoints in order of preference; the last
// is the final fallback. The key of each is read now. A variable that is not set is
// an error when its endpoint is asked and not here: the others may do.
func (p *Pool) Client(endpoints []Endpoint) (*Client, error) {
	if len(endpoints) == 0 {
		return nil, errors.New("model client: there is no endpoint")
	}
	c := &Client{pool: p}
	names := map[string]bool{}
	var errs []error
	for _, e := range endpoints {
		e = e.WithDefaults()
		s, err := p.spot(e)
		if names[e.Name] {
			err = errors.Join(err, fmt.Errorf("endpoint %q: there are two of that name", e.Name))
		}
		names[e.Name] = true
		c.spots, errs = append(c.spots, s), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("model client: %w", err)
	}
	return c, nil
}

// spot is an endpoint as one client uses it.
type spot struct {
	endpoint Endpoint
	server   *server
	backend  Backend
	broken   error // why it cannot be asked at all; nil when it can
}

// free says whether a call would be made at once.
func (s *spot) free() bool {
	state, _ := s.server.breaker.status()
	return s.broken == nil && state == closed && s.server.limiter.free(s.endpoint.Parallel)
}

func (p *Pool) spot(e Endpoint) (*spot, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	build, ok := p.cfg.Backends[e.Protocol]
	if !ok {
		return nil, fmt.Errorf("endpoint %q: protocol %q is not known", e.Name, e.Protocol)
	}
	key, broken := p.key(e)
	s := &spot{endpoint: e, server: p.server(e, key), broken: broken}
	var err error
	s.backend, err = build(BackendConfig{
		Endpoint: e, Key: key, Transport: p.cfg.Transport, Learned: &s.server.learned, Tokens: &s.server.tokens,
	})
	return s, err
}

// key reads the key of an endpoint from the environment.
func (p *Pool) key(e Endpoint) (Secret, error) {
	if e.KeyEnv == "" {
		return Secret{}, nil
	}
	value := strings.TrimSpace(p.cfg.Getenv(e.KeyEnv))
	bad := strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' })
	if value != "" && !bad && len(value) <= maxKey {
		return NewSecret(value), nil
	}
	err := &Error{Op: "complete", Endpoint: e.Name, Kind: ErrAuth, Detail: "there is no key", Hint: "set the environment variable " + e.KeyEnv}
	switch {
	case bad:
		err.Detail, err.Hint = "the key is none that a header can hold", "correct the environment variable "+e.KeyEnv
	case value != "":
		err.Detail = fmt.Sprintf("the key has %d bytes, and may have %d", len(value), maxKey)
		err.Hint = "correct the environment variable " + e.KeyEnv
	}
	return Secret{}, err
}

func (p *Pool) server(e Endpoint, key Secret) *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := serverKey{e.Protocol, strings.TrimRight(e.URL, "/"), e.Model, key.digest()}
	if s, ok := p.servers[id]; ok {
		return s
	}
	s := newServer(p.cfg)
	p.servers[id] = s
	return s
}

// changes returns a channel that is closed when a breaker may have changed.
func (p *Pool) changes() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

func (p *Pool) announce() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
}
