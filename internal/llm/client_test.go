package llm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/internal/llm"
)

func TestRetriesAndFallback(t *testing.T) {
	broken := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"half"}}]}`+"\n\n")
	}
	for name, c := range map[string]struct {
		one, two         http.HandlerFunc
		calls, fallbacks int32
		answered         string
		want             error
	}{
		"answers":                     {ok, ok, 1, 0, "one", nil},
		"overloaded once":             {first(1, status(429), ok), ok, 2, 0, "one", nil},
		"unavailable twice":           {first(2, status(500), ok), ok, 3, 0, "one", nil},
		"broke off once":              {first(1, broken, ok), ok, 2, 0, "one", nil},
		"unavailable":                 {status(500), ok, 3, 1, "two", nil},
		"asks to be left alone":       {status(429, "Retry-After", "3600"), ok, 1, 1, "two", nil},
		"is left alone for a moment":  {first(1, status(503, "Retry-After", "0.01"), ok), ok, 2, 0, "one", nil},
		"bad key":                     {status(401), ok, 1, 1, "two", nil},
		"no such model":               {status(404), ok, 1, 1, "two", nil},
		"bad request":                 {status(400), ok, 1, 1, "two", nil},
		"no stream":                   {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") }, ok, 1, 1, "two", nil},
		"too long":                    {refuse(400, "maximum context length is 5"), ok, 1, 0, "", llm.ErrContext},
		"both fail, one may recover":  {status(401), status(500), 1, 3, "", llm.ErrUnavailable},
		"both fail for good":          {status(404), status(401), 1, 1, "", llm.ErrAuth},
		"down, and too long":          {status(500), refuse(400, "maximum context length is 5"), 3, 1, "", llm.ErrContext},
		"overloaded, and unavailable": {status(502), status(429), 3, 3, "", llm.ErrOverloaded},
	} {
		t.Run(name, func(t *testing.T) {
			one, two := newFake(t, c.one), newFake(t, c.two)
			m := &meter{}
			a, err := client(t, newPool(t), one.endpoint("one"), two.endpoint("two")).Complete(t.Context(), question(), m)
			if !errors.Is(err, c.want) || a.Endpoint != c.answered {
				t.Fatalf("answer %+v, error %v, want %v", a, err, c.want)
			}
			if one.calls.Load() != c.calls || two.calls.Load() != c.fallbacks {
				t.Errorf("%d calls to the first endpoint, %d to the second, want %d, %d", one.calls.Load(), two.calls.Load(), c.calls, c.fallbacks)
			}
			m.check(t, int(c.calls+c.fallbacks))
			if c.want != nil && (!strings.Contains(err.Error(), "one") || !strings.Contains(err.Error(), "two")) {
				t.Errorf("error %q does not name each endpoint", err)
			}
			if e := (*llm.Error)(nil); c.want != nil && (!errors.As(err, &e) || !errors.Is(e, c.want)) {
				t.Errorf("error %v holds no *Error of its kind", err)
			}
			for _, other := range []error{llm.ErrAuth, llm.ErrNoModel, llm.ErrUnavailable, llm.ErrOverloaded, llm.ErrContext} {
				if c.want != nil && other != c.want && errors.Is(err, other) {
					t.Errorf("error %v is of two kinds", err)
				}
			}
		})
	}
}

func TestLongPromptsGoWhereThereIsRoom(t *testing.T) {
	long := refuse(400, "maximum context length is 5")
	one, two, three := newFake(t, long), newFake(t, ok), newFake(t, ok)
	e1, e2, e3 := one.endpoint("one"), two.endpoint("two"), three.endpoint("three")
	e1.Context, e2.Context, e3.Context = 1000, 1000, 2000
	a, err := client(t, newPool(t), e1, e2, e3).Complete(t.Context(), question(), nil)
	if err != nil || a.Endpoint != "three" || two.calls.Load() != 0 {
		t.Errorf("answer %+v, error %v, %d calls to an endpoint without room", a, err, two.calls.Load())
	}
}

func TestAStalledEndpointDoesNotHoldARunUp(t *testing.T) {
	one, two := newFake(t, hang), newFake(t, ok)
	slow := one.endpoint("one")
	slow.FirstToken, slow.Parallel = 50*time.Millisecond, 2
	c := client(t, newPool(t, func(cfg *llm.PoolConfig) { cfg.Retry.OpenLeast, cfg.Retry.OpenMost = time.Hour, time.Hour }), slow, two.endpoint("two"))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if a, err := c.Complete(t.Context(), question(), nil); err != nil || a.Endpoint != "two" {
				t.Errorf("answer %+v, error %v", a, err)
			}
		})
	}
	wg.Wait()
	if n := one.calls.Load(); n > 3 {
		t.Errorf("%d calls to the endpoint that stalls, want the two that opened its breaker", n)
	}
	if st := c.Check(t.Context())[0]; st.Breaker != "open" || st.OpenFor <= 0 {
		t.Errorf("state %+v", st)
	}
}

func TestAnOpenBreakerIsWaitedFor(t *testing.T) {
	one := newFake(t, status(500))
	c := client(t, newPool(t), one.endpoint("one"))
	for range 2 { // three failures, then the fourth, which opens it
		_, err := c.Complete(t.Context(), question(), nil)
		if !errors.Is(err, llm.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	checks := one.checks.Load()
	if checks == 0 {
		t.Error("a call was made without a check, though the breaker was open")
	}
	one.set(ok)
	if a, err := c.Complete(t.Context(), question(), nil); err != nil || a.Text != "fine" {
		t.Errorf("answer %+v, error %v", a, err)
	}
	if one.checks.Load() <= checks {
		t.Error("the breaker was not half-opened by a check")
	}
	if st := c.Check(t.Context())[0]; st.Breaker != "closed" {
		t.Errorf("breaker %s after an answer", st.Breaker)
	}
}

func TestPatienceEnds(t *testing.T) {
	one := newFake(t, status(500))
	patient := func(cfg *llm.PoolConfig) {
		cfg.Retry.OpenLeast, cfg.Retry.OpenMost, cfg.Retry.Patience = time.Hour, time.Hour, 50*time.Millisecond
	}
	c := client(t, newPool(t, patient), one.endpoint("one"))
	for range 2 {
		_, _ = c.Complete(t.Context(), question(), nil)
	}
	calls := one.calls.Load()
	_, err := c.Complete(t.Context(), question(), nil)
	var e *llm.Error
	if !errors.Is(err, llm.ErrUnavailable) || !errors.As(err, &e) || !strings.Contains(e.Hint, one.URL) || e.RetryAfter <= 0 || one.calls.Load() != calls {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Complete(ctx, question(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v in a context that has ended", err)
	}
}

func TestCancelSettlesOnce(t *testing.T) {
	hung := make(chan struct{}, 100)
	one := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"half"}}]}`+"\n\n")
		w.(http.Flusher).Flush()
		hung <- struct{}{}
		<-r.Context().Done()
	})
	e := one.endpoint("one")
	e.Parallel = 4
	c := client(t, newPool(t), e)
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &meter{}
	var wg sync.WaitGroup
	for range 12 { // four are in flight, eight wait
		wg.Go(func() {
			if _, err := c.Complete(ctx, question(), m); !errors.Is(err, errGone) {
				t.Errorf("error %v", err)
			}
		})
	}
	for range 4 {
		<-hung
	}
	cancel(errGone)
	wg.Wait()
	m.check(t, -1) // one that waited may be let in before its own context has ended
	sent := 0
	for _, o := range m.outcomes {
		if o.Err == nil {
			t.Errorf("outcome %+v", o)
		}
		if o.Usage.Input > 0 {
			sent++
		}
	}
	if sent < 4 {
		t.Errorf("%d calls were charged, want the four that the server had", sent)
	}
	one.set(ok)
	if _, err := c.Complete(t.Context(), question(), m); err != nil {
		t.Errorf("cancelled calls are held against the endpoint: %v", err)
	}
	if st := c.Check(t.Context())[0]; st.InFlight != 0 || st.Waiting != 0 || st.Limit != 4 {
		t.Errorf("state %+v", st)
	}
}

var errGone = errors.New("the caller has gone home")

func TestBudgetEndsACall(t *testing.T) {
	one, two := newFake(t, ok), newFake(t, ok)
	c := client(t, newPool(t), one.endpoint("one"), two.endpoint("two"))
	m := &meter{refuse: func(llm.Endpoint) error { return llm.ErrBudget }}
	_, err := c.Complete(t.Context(), question(), m)
	if !errors.Is(err, llm.ErrBudget) || one.calls.Load()+two.calls.Load() != 0 || !strings.Contains(err.Error(), "one") {
		t.Errorf("error %v, %d calls", err, one.calls.Load()+two.calls.Load())
	}
	m = &meter{settle: errors.New("the books are closed")}
	if _, err := c.Complete(t.Context(), question(), m); !errors.Is(err, m.settle) {
		t.Errorf("error %v of a call that could not be settled", err)
	}
	m.check(t, 1)
}

func TestKeysComeFromTheEnvironment(t *testing.T) {
	const key = "sk-canary-1234567890"
	var log bytes.Buffer
	one := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("the server did not get the key")
		}
		refuse(401, "no such key: "+key)(w, r)
	})
	env := map[string]string{"SET": key + "\n", "BAD": "a b"}
	p := newPool(t, func(cfg *llm.PoolConfig) {
		cfg.Getenv = func(name string) string { return env[name] }
		cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	for name, want := range map[string]string{"SET": "check the key in the environment variable SET", "MISSING": "set the environment variable MISSING", "BAD": "correct the environment variable BAD"} {
		e := one.endpoint("one")
		e.KeyEnv = name
		c := client(t, p, e)
		_, err := c.Complete(t.Context(), question(), nil)
		if !errors.Is(err, llm.ErrAuth) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", name, err)
		}
		out := fmt.Sprintf("%v %+v %+v %+v", err, c, p, c.Check(t.Context())) + log.String()
		if strings.Contains(out, "canary") || name == "SET" && log.Len() == 0 {
			t.Errorf("%s: the key shows, or nothing was logged: %s", name, out)
		}
	}
	if one.calls.Load() != 1 {
		t.Errorf("%d calls, want one: without a key there is none", one.calls.Load())
	}
}

func TestClientsOfAPoolShareState(t *testing.T) {
	one := newFake(t, status(500))
	p := newPool(t, func(cfg *llm.PoolConfig) { cfg.Retry.OpenLeast, cfg.Retry.OpenMost = time.Hour, time.Hour })
	a, other := client(t, p, one.endpoint("one")), one.endpoint("one")
	other.Model = "other"
	b := client(t, p, one.endpoint("alias"), other)
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, _ = a.Complete(ctx, question(), nil)
		cancel()
	}
	st := b.Check(t.Context())
	if st[0].Breaker != "open" || st[1].Breaker != "closed" {
		t.Errorf("breakers %s of the same model, %s of another", st[0].Breaker, st[1].Breaker)
	}
}

func TestClose(t *testing.T) {
	in := make(chan struct{})
	one := newFake(t, func(w http.ResponseWriter, r *http.Request) { close(in); hang(w, r) })
	p := newPool(t)
	c := client(t, p, one.endpoint("one"))
	done, m := make(chan error, 1), &meter{}
	go func() { _, err := c.Complete(context.Background(), question(), m); done <- err }()
	<-in
	p.Close()
	p.Close()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a call under way", err)
	}
	m.check(t, 1)
	if _, err := c.Complete(t.Context(), question(), nil); !errors.Is(err, llm.ErrUnavailable) {
		t.Errorf("error %v after the end", err)
	}
	if st := c.Check(t.Context()); !errors.Is(st[0].Err, llm.ErrUnavailable) {
		t.Errorf("state %+v after the end", st)
	}
}

func TestReplicasShareTheLoad(t *testing.T) {
	in := make(chan string, 10)
	hold := make(chan struct{})
	wait := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { in <- name; <-hold; ok(w, r) }
	}
	one, two, dear := newFake(t, wait("one")), newFake(t, wait("two")), newFake(t, wait("dear"))
	last := dear.endpoint("dear")
	last.Price.Output = 5
	c := client(t, newPool(t), one.endpoint("one"), two.endpoint("two"), last)
	var wg sync.WaitGroup
	var got []string
	for range 6 { // one by one, so that each sees the load of those before
		wg.Go(func() {
			if _, err := c.Complete(t.Context(), question(), nil); err != nil {
				t.Error(err)
			}
		})
		got = append(got, <-in)
	}
	close(hold)
	wg.Wait()
	if want := "one two one two one two"; strings.Join(got, " ") != want {
		t.Errorf("calls went to %v, want %s", got, want)
	}
}
