package llm_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/internal/llm"
	"ratchet/internal/llm/backends"
)

// fast are retries without long pauses.
var fast = llm.RetryConfig{Backoff: time.Millisecond, MaxBackoff: 4 * time.Millisecond, OpenLeast: 30 * time.Millisecond, OpenMost: 100 * time.Millisecond, Patience: 20 * time.Second}

func newPool(t *testing.T, change ...func(*llm.PoolConfig)) *llm.Pool {
	t.Helper()
	cfg := llm.PoolConfig{Backends: backends.All(), Getenv: func(string) string { return "" }, Retry: fast}
	for _, c := range change {
		c(&cfg)
	}
	p, err := llm.NewPool(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// fake is a model server whose answers a test chooses.
type fake struct {
	*httptest.Server
	calls, checks atomic.Int32
	mu            sync.Mutex
	reply         http.HandlerFunc
	models        http.HandlerFunc
}

func newFake(t *testing.T, reply http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{reply: reply, models: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":[{"id":"m","max_model_len":4096}]}`)
	}}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		reply, models := f.reply, f.models
		f.mu.Unlock()
		switch r.URL.Path {
		case "/health":
			w.WriteHeader(404)
		case "/v1/models":
			f.checks.Add(1)
			models(w, r)
		default:
			f.calls.Add(1)
			_, _ = io.Copy(io.Discard, r.Body)
			reply(w, r)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) set(reply http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reply = reply
}

func (f *fake) endpoint(name string) llm.Endpoint {
	return llm.Endpoint{Name: name, Protocol: "openai", URL: f.URL + "/v1", Model: "m", FirstToken: 20 * time.Second, Stall: 20 * time.Second, Total: 30 * time.Second}
}

func ok(w http.ResponseWriter, _ *http.Request) { say("fine")(w, nil) }

func say(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}]}\n\n"+
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n", text)
	}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func refuse(code int, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, message, code) }
}

// hang answers nothing until the client is gone.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// first answers n times one way and then another.
func first(n int32, a, b http.HandlerFunc) http.HandlerFunc {
	var calls atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) <= n {
			a(w, r)
			return
		}
		b(w, r)
	}
}

func client(t *testing.T, p *llm.Pool, endpoints ...llm.Endpoint) *llm.Client {
	t.Helper()
	c, err := p.Client(endpoints)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func question() llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "What is wrong with this program?"}}, MaxTokens: 50}
}

// meter counts; a test can refuse.
type meter struct {
	mu       sync.Mutex
	reserved int
	settled  map[int]int // times, by ticket
	outcomes []llm.Outcome
	refuse   func(llm.Endpoint) error
	settle   error
	bad      []error
}

type ticket struct {
	m *meter
	n int
}

func (m *meter) Reserve(ctx context.Context, e llm.Endpoint, est llm.Estimate) (llm.Ticket, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if est.Likely.Input <= 0 || est.Most.Input < est.Likely.Input || est.Most.Output <= 0 {
		m.bad = append(m.bad, fmt.Errorf("estimate %+v", est))
	}
	if m.refuse != nil {
		if err := m.refuse(e); err != nil {
			return nil, err
		}
	}
	m.reserved++
	return &ticket{m, m.reserved}, nil
}

func (k *ticket) Settle(ctx context.Context, o llm.Outcome) error {
	k.m.mu.Lock()
	defer k.m.mu.Unlock()
	if ctx.Err() != nil {
		k.m.bad = append(k.m.bad, fmt.Errorf("settled in a context that has ended: %w", ctx.Err()))
	}
	if k.m.settled == nil {
		k.m.settled = map[int]int{}
	}
	k.m.settled[k.n]++
	k.m.outcomes = append(k.m.outcomes, o)
	return k.m.settle
}

// check fails unless every ticket was settled once.
func (m *meter) check(t *testing.T, attempts int) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if attempts >= 0 && m.reserved != attempts {
		t.Errorf("%d attempts were admitted, want %d", m.reserved, attempts)
	}
	for n := 1; n <= m.reserved; n++ {
		if m.settled[n] != 1 {
			t.Errorf("ticket %d was settled %d times", n, m.settled[n])
		}
	}
	for _, err := range m.bad {
		t.Error(err)
	}
}
