package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/internal/llm"
)

func TestWindow(t *testing.T) {
	known, silent, gone := newFake(t, ok), newFake(t, ok), newFake(t, ok)
	silent.models = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }
	gone.Close()
	set := func(f *fake, tokens int) llm.Endpoint {
		e := f.endpoint(fmt.Sprintf("%s-%d", f.URL, tokens))
		e.Context = tokens
		return e
	}
	for name, c := range map[string]struct {
		endpoints []llm.Endpoint
		want      int
	}{
		"configured":         {[]llm.Endpoint{set(known, 9000)}, 9000},
		"asked":              {[]llm.Endpoint{set(known, 0)}, 4096},
		"the smallest":       {[]llm.Endpoint{set(known, 0), set(silent, 3000)}, 3000},
		"one says nothing":   {[]llm.Endpoint{set(silent, 0), set(known, 5000)}, 5000},
		"nobody knows":       {[]llm.Endpoint{set(silent, 0)}, llm.DefaultWindow},
		"one is not running": {[]llm.Endpoint{set(gone, 0), set(known, 0)}, 4096},
	} {
		if got, err := client(t, newPool(t), c.endpoints...).Window(t.Context()); err != nil || got != c.want {
			t.Errorf("%s: %d, error %v, want %d", name, got, err, c.want)
		}
	}
	c := client(t, newPool(t), set(known, 0))
	before := known.checks.Load()
	for range 3 {
		_, _ = c.Window(t.Context())
	}
	if n := known.checks.Load() - before; n != 1 {
		t.Errorf("the server was asked %d times, want once", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client(t, newPool(t), set(known, 0)).Window(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestCheckAndProbe(t *testing.T) {
	one, two := newFake(t, ok), newFake(t, status(401))
	two.models = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }
	e := two.endpoint("two")
	e.KeyEnv = "MISSING"
	c := client(t, newPool(t), one.endpoint("one"), two.endpoint("refused"), e)
	st := c.Check(t.Context())
	if len(st) != 3 || st[0].Err != nil || st[0].Info != (llm.ModelInfo{Model: "m", Context: 4096}) || st[0].Breaker != "closed" || st[0].BytesPerToken != 3.5 {
		t.Errorf("state %+v", st[0])
	}
	for _, s := range st[1:] {
		if !errors.Is(s.Err, llm.ErrAuth) {
			t.Errorf("state %+v", s)
		}
	}
	if a, err := c.Probe(t.Context(), 0); err != nil || a.Text != "fine" || a.Usage.Output != 2 {
		t.Errorf("answer %+v, error %v", a, err)
	}
	for i, want := range map[int]error{1: llm.ErrAuth, 2: llm.ErrAuth} {
		if _, err := c.Probe(t.Context(), i); !errors.Is(err, want) {
			t.Errorf("endpoint %d: error %v", i, err)
		}
	}
	for _, i := range []int{-1, 3} {
		if _, err := c.Probe(t.Context(), i); err == nil {
			t.Errorf("there is no endpoint %d", i)
		}
	}
	if two.calls.Load() != 1 {
		t.Errorf("%d calls, want one", two.calls.Load())
	}
}

func TestClientsThatCannotBe(t *testing.T) {
	good := llm.Endpoint{Name: "one", Protocol: "openai", URL: "http://127.0.0.1:1/v1", Model: "m"}
	with := func(f func(*llm.Endpoint)) []llm.Endpoint { e := good; f(&e); return []llm.Endpoint{e} }
	p := newPool(t)
	for want, list := range map[string][]llm.Endpoint{
		"no endpoint":            nil,
		"two of that name":       {good, good},
		"no name":                with(func(e *llm.Endpoint) { e.Name = "" }),
		"no model":               with(func(e *llm.Endpoint) { e.Model = "" }),
		`"grpc" is not known`:    with(func(e *llm.Endpoint) { e.Protocol = "grpc" }),
		"base URL of a server":   with(func(e *llm.Endpoint) { e.URL = "localhost:8000" }),
		"without a user":         with(func(e *llm.Endpoint) { e.URL = "http://user:canary@host/v1" }),
		"parallel is -1":         with(func(e *llm.Endpoint) { e.Parallel = -1 }),
		"a deadline is negative": with(func(e *llm.Endpoint) { e.Stall = -1 }),
		"the price -1 is none":   with(func(e *llm.Endpoint) { e.Price.Output = -1 }),
		"the price NaN is none":  with(func(e *llm.Endpoint) { e.Price.Input = math.NaN() }),
		"the price +Inf is none": with(func(e *llm.Endpoint) { e.Price.Cached = math.Inf(1) }),
		"context is -1":          with(func(e *llm.Endpoint) { e.Context = -1 }),
	} {
		if _, err := p.Client(list); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := llm.NewPool(llm.PoolConfig{}); err == nil {
		t.Error("a pool without protocols")
	}
}

func TestRequestsThatCannotBe(t *testing.T) {
	one := newFake(t, ok)
	c := client(t, newPool(t), one.endpoint("one"))
	for want, f := range map[string]func(*llm.Request){
		"no message":           func(r *llm.Request) { r.Messages = nil },
		"MaxTokens is 0":       func(r *llm.Request) { r.MaxTokens = 0 },
		"temperature":          func(r *llm.Request) { r.Temperature = math.NaN() },
		"unknown role":         func(r *llm.Request) { r.Messages = []llm.Message{{Role: "tool"}} },
		"cannot name":          func(r *llm.Request) { r.Schema = &llm.Schema{Name: "a b", JSON: json.RawMessage(`{}`)} },
		"is not a JSON object": func(r *llm.Request) { r.Schema = &llm.Schema{Name: "a", JSON: json.RawMessage(`[]`)} },
	} {
		r := question()
		f(&r)
		if _, err := c.Complete(t.Context(), r, nil); !errors.Is(err, llm.ErrRequest) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if one.calls.Load() != 0 {
		t.Error("a request that cannot be was sent")
	}
}

func TestEstimate(t *testing.T) {
	var c llm.Calibration
	r := question()
	r.Schema = &llm.Schema{Name: "x", JSON: json.RawMessage(`{"type":"object"}`)}
	bytes := int64(len(r.Messages[0].Text) + 1 + len(r.Schema.JSON))
	e := c.Estimate(r)
	if e.Likely.Input != int64(float64(bytes)/3.5)+1 || e.Most.Input < bytes || e.Likely.Output != 50 || e.Most.Output != 50 {
		t.Errorf("estimate %+v of %d bytes", e, bytes)
	}
	for range 100 {
		c.Observe(2000, 1000)
	}
	if got := c.BytesPerToken(); got != 2 {
		t.Errorf("%v bytes a token, want 2", got)
	}
	c.Observe(0, 5)
	c.Observe(5, 0)
	c.Observe(5, -1)
	if got := c.BytesPerToken(); got != 2 {
		t.Errorf("%v bytes a token after nonsense", got)
	}
	for range 100 {
		c.Observe(1, 1_000_000)
	}
	if got := c.Tokens(100); got != 101 {
		t.Errorf("%d tokens in 100 bytes: a token has one at least", got)
	}
	if e := c.Estimate(r); e.Likely.Input > e.Most.Input {
		t.Errorf("likely is more than most: %+v", e)
	}
}

func TestSecretsDoNotShow(t *testing.T) {
	const key = "sk-canary-1234567890"
	s := llm.NewSecret(key)
	holder := struct {
		Open   llm.Secret
		hidden llm.Secret
		list   []llm.Secret
		config *llm.BackendConfig
	}{s, s, []llm.Secret{s}, &llm.BackendConfig{Key: s}}
	raw, err := json.Marshal(holder.config.Key)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", s, "holder", holder, "config", *holder.config)
	out := ""
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		out += fmt.Sprintf(verb, holder) + fmt.Sprintf(verb, &holder) + fmt.Sprintf(verb, s)
	}
	out += fmt.Sprintf("%v %s %q %+v %#v %v %v", s, s, s, s, s, &s, *holder.config) + string(raw) + log.String()
	if strings.Contains(out, "canary") || strings.Contains(out, fmt.Sprintf("%x", key)) {
		t.Errorf("the key shows in %s", out)
	}
	if s.Reveal() != key || s.Empty() || !llm.NewSecret("").Empty() || llm.NewSecret("").Reveal() != "" {
		t.Error("the key is lost")
	}
	if got := llm.NewSecret("ollama").Scrubber().Scrub("ollama run"); got != "ollama run" {
		t.Errorf("a placeholder was scrubbed: %q", got)
	}
}

func FuzzScrub(f *testing.F) {
	f.Add("sk-canary-1234", "a ", " b")
	f.Add(`k.*+[]\Q\E"/12`, `\`, `u`)
	f.Fuzz(func(t *testing.T, key, before, after string) {
		s := llm.NewSecret(key)
		if len(key) < 8 || len(key) > 200 || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return
		}
		quoted, _ := json.Marshal(key)
		for _, form := range []string{key, string(quoted[1 : len(quoted)-1])} {
			if out := s.Scrubber().Scrub(before + form + after); strings.Contains(out, form) && !strings.Contains(before+after, "…") {
				t.Errorf("%q shows in %q", form, out)
			}
		}
	})
}

func TestNothingIsLeftRunning(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("calls", func(t *testing.T) {
		one := newFake(t, hang)
		e := one.endpoint("one")
		e.FirstToken, e.Parallel = 20*time.Millisecond, 3
		c := client(t, newPool(t), e)
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*10)*time.Millisecond)
				defer cancel()
				if _, err := c.Complete(ctx, question(), &meter{}); err == nil {
					t.Error("an answer from a server that gives none")
				}
			})
		}
		wg.Wait()
	})
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}
