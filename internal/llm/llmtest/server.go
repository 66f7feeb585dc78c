// Package llmtest is a model server for tests: real HTTP on loopback, answers and
// faults from a script. It has the routes of vLLM and those of Anthropic's Messages
// API, counts tokens and its prefix cache truly, and keeps all requests.
package llmtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Config says what a server is like. The zero value is a healthy server that says "ok".
type Config struct {
	Script Script   // what calls are answered; nil: Say("ok")
	Models []string // that it has; nil: "test-model"
	// Context is how many tokens prompt and answer may have; 0: 32768. Calls that ask
	// for more are refused, as vLLM does.
	Context int
	Key     string // API key that callers must send; empty: none
	Slots   int    // answers computed at once; further ones wait; 0: 256
	Blocks  int    // blocks of 16 tokens that the cache has; 0: 4096
	// FlatErrors has the error bodies of older vLLM: {"object":"error","message":…}.
	FlatErrors bool
	Addr       string // where to listen; empty: a free port of 127.0.0.1
}

func (c Config) filled() Config {
	if c.Script == nil {
		c.Script = Say("ok")
	}
	if len(c.Models) == 0 {
		c.Models = []string{"test-model"}
	}
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	c.Context, c.Slots, c.Blocks = or(c.Context, 32768), or(c.Slots, 256), or(c.Blocks, 4096)
	return c
}

func or(n, standard int) int {
	if n <= 0 {
		return standard
	}
	return n
}

// Server is a running model server. It is safe for concurrent use.
type Server struct {
	cfg      Config
	listener net.Listener
	http     *http.Server
	stop     context.CancelCauseFunc // ends all handlers
	serving  sync.WaitGroup
	handlers sync.WaitGroup
	slots    chan struct{}

	asking sync.Mutex // held while the script decides; taken before mu

	mu      sync.Mutex
	closed  bool
	script  Script
	health  int // status of /health
	down    bool
	stats   Stats
	log     []*Request
	cache   *prefixCache
	held    int           // blocks of running calls
	changed chan struct{} // closed at the next change of stats
}

var errClosed = errors.New("the model server is closed")

// New starts a server. Close ends it.
func New(cfg Config) (*Server, error) {
	cfg = cfg.filled()
	l, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for a model server: %w", err)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	s := &Server{
		cfg: cfg, listener: l, stop: stop, slots: make(chan struct{}, cfg.Slots),
		script: cfg.Script, health: http.StatusOK, cache: newPrefixCache(cfg.Blocks), changed: make(chan struct{}),
	}
	s.http = &http.Server{Handler: s.routes(), BaseContext: func(net.Listener) context.Context { return ctx }, ReadHeaderTimeout: time.Minute}
	s.serving.Go(func() { _ = s.http.Serve(l) })
	return s, nil
}

// Start starts a server that is closed at the end of the test.
func Start(t testing.TB, cfg Config) *Server {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Close drops all connections, ends all handlers, also stalled ones, and waits for
// them. It may be called again.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop(errClosed)
	err := s.http.Close()
	s.serving.Wait()
	s.handlers.Wait()
	return err
}

// URL is the server's address without a path: the base URL of Anthropic's client.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// V1 is the base URL of OpenAI's client.
func (s *Server) V1() string { return s.URL() + "/v1" }

// Model is the first of the server's models.
func (s *Server) Model() string { return s.cfg.Models[0] }

// SetScript answers further calls by another script.
func (s *Server) SetScript(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// SetHealth sets the HTTP status of /health; calls are answered as before.
func (s *Server) SetHealth(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.health = code
}

// SetDown makes the server reset every connection at the next request, on all
// routes, as long as it is down. Calls under way go on.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Requests are the calls up to now, in the order in which they came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.log))
	for i, r := range s.log {
		out[i] = *r
	}
	return out
}

// Refused returns the base URL, without a path, of a port that refuses connections
// until the test ends: it is taken, but nobody listens there.
func Refused(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), l.Close() })
	return "http://" + c.LocalAddr().String()
}
