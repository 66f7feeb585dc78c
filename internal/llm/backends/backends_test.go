package backends_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"ratchet/internal/llm"
)

func TestAnswers(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		for name, c := range map[string]struct {
			events []string
			text   string
			cut    bool
		}{
			"whole":            {[]string{d.start, d.text("one "), d.text("two"), d.end}, "one two", false},
			"cut":              {[]string{d.start, d.text("one "), d.cut}, "one ", true},
			"after thoughts":   {[]string{d.start, d.think("hm"), d.text("two"), d.end}, "two", false},
			"empty":            {[]string{d.start, d.end}, "", false},
			"signs of life":    {[]string{d.start, d.ping, d.text("one"), d.ping, d.end}, "one", false},
			"in many pieces":   {strings.SplitAfter(d.start+d.text("one")+d.end, ""), "one", false},
			"ends, then drops": {[]string{d.start, d.text("one"), d.end, "data: {\"half"}, "one", false},
		} {
			t.Run(name, func(t *testing.T) {
				b := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != d.path {
						t.Errorf("path %s", r.URL.Path)
					}
					stream(w, c.events...)
				})
				a, err := b.Complete(t.Context(), question(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if a.Text != c.text || a.Cut != c.cut || a.Usage != usage || a.Model != "served" || a.Endpoint != "here" {
					t.Errorf("answer %+v", a)
				}
				if c.text != "" && a.FirstToken <= 0 || a.Wall < a.FirstToken {
					t.Errorf("first token after %v of %v", a.FirstToken, a.Wall)
				}
			})
		}
	})
}

func TestRefusalsHaveAKind(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   error
	}{
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000.","type":"BadRequestError","code":400}`, llm.ErrContext},
		{400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`, llm.ErrContext},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, llm.ErrContext},
		{413, `{"type":"error","error":{"type":"request_too_large","message":"big"}}`, llm.ErrContext},
		{400, `{"error":{"message":"bad value"}}`, llm.ErrRequest},
		{422, `{"detail":[{"loc":["body","n"],"msg":"must be 1","type":"value_error","input":"the context length of my prompt"}]}`, llm.ErrRequest},
		{401, `{"error":{"message":"bad key"}}`, llm.ErrAuth},
		{403, `no`, llm.ErrAuth},
		{402, ``, llm.ErrAuth},
		{429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, llm.ErrAuth},
		{404, `{"error":"model 'm' not found"}`, llm.ErrNoModel},
		{405, ``, llm.ErrNoModel},
		{301, ``, llm.ErrNoModel},
		{429, `{"error":{"message":"slow down"}}`, llm.ErrOverloaded},
		{503, ``, llm.ErrOverloaded},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.ErrOverloaded},
		{500, `Internal Server Error`, llm.ErrUnavailable},
		{502, `<html>bad gateway</html>`, llm.ErrUnavailable},
		{504, ``, llm.ErrUnavailable},
		{200, `{"error":{"message":"too many","type":"rate_limit_error"}}`, llm.ErrOverloaded},
		{200, `{"choices":[{"message":{"content":"not a stream"}}]}`, llm.ErrMalformed},
	} {
		each(t, func(t *testing.T, d dialect) {
			calls := 0
			b := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
				calls++
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Retry-After", "3")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			_, err := b.Complete(t.Context(), question(), nil)
			var e *llm.Error
			if !errors.As(err, &e) || !errors.Is(err, c.want) {
				t.Fatalf("%d %s: error %v, want %v", c.status, c.body, err, c.want)
			}
			if calls != 1 {
				t.Errorf("%d calls: retries belong to the client", calls)
			}
			if e.Endpoint != "here" || e.Op != "complete" || c.status != 200 && (e.Status != c.status || e.RetryAfter != 3*time.Second) {
				t.Errorf("error %+v", e)
			}
			if free := c.status != 200 && c.status != 504; free != (e.Usage == llm.Usage{}) {
				t.Errorf("%d used up %+v", c.status, e.Usage)
			}
		})
	}
}

func TestBrokenStreamsHaveAKind(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		for name, c := range map[string]struct {
			events []string
			want   error
		}{
			"nothing":             {nil, llm.ErrTruncated},
			"no end":              {[]string{d.start, d.text("half")}, llm.ErrTruncated},
			"done without a stop": {[]string{d.start, d.text("half"), "data: [DONE]\n\n"}, llm.ErrTruncated},
			"overloaded":          {[]string{d.start, d.text("half"), d.fault("overloaded_error", "Overloaded")}, llm.ErrOverloaded},
			"too long":            {[]string{d.start, d.fault("BadRequestError", "maximum context length is 10")}, llm.ErrContext},
			"engine died early":   {[]string{d.start, d.fault("InternalServerError", "engine died")}, llm.ErrUnavailable},
			"engine died late":    {[]string{d.start, d.text("half"), d.fault("InternalServerError", "engine died")}, llm.ErrTruncated},
			"bad key":             {[]string{d.fault("authentication_error", "no")}, llm.ErrAuth},
			"not JSON":            {[]string{d.start, d.text("half"), "event: message_delta\ndata: {broken\n\n"}, llm.ErrMalformed},
			"too big":             {[]string{d.start, strings.Repeat(d.text(strings.Repeat("x", 1<<20)), 5), d.end}, llm.ErrMalformed},
		} {
			t.Run(name, func(t *testing.T) {
				b := d.serve(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, c.events...) })
				a, err := b.Complete(t.Context(), question(), nil)
				if !errors.Is(err, c.want) || a != (llm.Answer{}) {
					t.Fatalf("answer %+v, error %v, want %v", a, err, c.want)
				}
				var e *llm.Error
				if errors.As(err, &e); e.Usage.Input <= 0 || !e.Usage.Guessed || strings.Contains(name, "late") && e.Usage.Output <= 0 {
					t.Errorf("used up %+v", e.Usage)
				}
			})
		}
	})
}

func TestConnectionsBreak(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		drop := func(after ...string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if len(after) > 0 {
					stream(w, after...)
				}
				panic(http.ErrAbortHandler)
			}
		}
		for name, c := range map[string]struct {
			handler http.HandlerFunc
			want    error
		}{
			"before the answer": {drop(), llm.ErrUnavailable},
			"within it":         {drop(d.start, d.text("half")), llm.ErrTruncated},
		} {
			_, err := d.serve(t, c.handler).Complete(t.Context(), question(), nil)
			var e *llm.Error
			if !errors.Is(err, c.want) || !errors.As(err, &e) || e.Usage.Input <= 0 {
				t.Errorf("%s: %v, used up %+v", name, err, e)
			}
		}
		if a, err := d.serve(t, drop(d.start, d.text("whole"), d.end)).Complete(t.Context(), question(), nil); err != nil || a.Text != "whole" {
			t.Errorf("a break after the end: %v", err)
		}
		gone := httptest.NewServer(nil)
		gone.Close()
		_, err := d.backend(t, gone.URL).Complete(t.Context(), question(), nil)
		var e *llm.Error
		if !errors.Is(err, llm.ErrUnavailable) || !errors.As(err, &e) || e.Usage != (llm.Usage{}) || !strings.Contains(e.Hint, gone.URL) {
			t.Errorf("nobody listens: %v", err)
		}
	})
}

func TestDeadlines(t *testing.T) {
	short := 50 * time.Millisecond
	each(t, func(t *testing.T, d dialect) {
		for name, c := range map[string]struct {
			change func(*llm.Endpoint)
			before []string
			again  string // sent for ever
			want   string
		}{
			"nothing comes":           {func(e *llm.Endpoint) { e.FirstToken = short }, nil, "", "no first token within 50ms"},
			"headers, no token":       {func(e *llm.Endpoint) { e.FirstToken = short }, []string{d.start}, "", "no first token"},
			"signs of life, no token": {func(e *llm.Endpoint) { e.FirstToken = short }, []string{d.start}, d.ping, "no first token"},
			"stall":                   {func(e *llm.Endpoint) { e.Stall = short }, []string{d.start, d.text("half")}, "", "no token for 50ms (stall)"},
			"trickle":                 {func(e *llm.Endpoint) { e.Stall = short }, []string{d.start, d.text("half")}, d.ping, "no token for 50ms (stall)"},
			"stall of thoughts":       {func(e *llm.Endpoint) { e.Stall = short }, []string{d.start, d.think("hm")}, d.ping, "(stall)"},
			"bytes of one line":       {func(e *llm.Endpoint) { e.Stall = short }, []string{d.start, d.text("half")}, ":", "(stall)"},
			"total":                   {func(e *llm.Endpoint) { e.Total = 4 * short }, []string{d.start}, d.text("x"), "not done within 200ms (total)"},
		} {
			t.Run(name, func(t *testing.T) {
				b := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
					if c.before != nil {
						stream(w, c.before...)
					}
					for c.again != "" && r.Context().Err() == nil {
						stream(w, c.again)
					}
					_, _ = io.Copy(io.Discard, r.Body)
					<-r.Context().Done()
				}, func(cfg *llm.BackendConfig) { c.change(&cfg.Endpoint) })
				_, err := b.Complete(t.Context(), question(), nil)
				var e *llm.Error
				if !errors.Is(err, llm.ErrDeadline) || !errors.As(err, &e) || !strings.Contains(e.Detail, c.want) || e.Usage.Input <= 0 {
					t.Fatalf("error %v", err)
				}
			})
		}
	})
}

// Whoever asks is told of tokens as they come, thoughts and text alike, and of
// nothing else.
func TestTokensAreTold(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		told, sent := make(chan struct{}), make(chan string)
		b := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
			for e := range sent {
				stream(w, e)
			}
		})
		done := make(chan error, 1)
		go func() {
			_, err := b.Complete(t.Context(), question(), func() { told <- struct{}{} })
			done <- err
		}()
		sent <- d.start
		for _, piece := range []string{d.think("hm"), d.text("one"), d.text("two")} {
			sent <- ": still here\n\n"
			sent <- piece
			<-told
		}
		sent <- d.end
		close(sent)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// A server that is slow, but never as slow as a deadline, is waited for.
func TestThoughtsKeepAStreamAlive(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		w := make(chan string)
		b := d.serve(t, func(rw http.ResponseWriter, r *http.Request) {
			for e := range w {
				stream(rw, e)
			}
		})
		go func() {
			defer close(w)
			w <- d.start
			for range 50 {
				w <- d.think("hm")
			}
			w <- d.text("done")
			w <- d.end
		}()
		if a, err := b.Complete(t.Context(), question(), nil); err != nil || a.Text != "done" {
			t.Errorf("answer %+v, error %v", a, err)
		}
	})
}

func TestCallersGoAway(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		ctx, cancel := context.WithCancel(t.Context())
		b := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
			stream(w, d.start, d.text("half"))
			cancel()
			<-r.Context().Done()
		})
		_, err := b.Complete(ctx, question(), nil)
		var e *llm.Error
		if !errors.Is(err, context.Canceled) || errors.Is(err, llm.ErrDeadline) || !errors.As(err, &e) || e.Usage.Input <= 0 {
			t.Errorf("error %v", err)
		}
	})
}

func TestLargeRefusalsAreNotReadWhole(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		b := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			for chunk := bytes.Repeat([]byte("x"), 1<<16); r.Context().Err() == nil; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		})
		_, err := b.Complete(t.Context(), question(), nil)
		if !errors.Is(err, llm.ErrUnavailable) || len(err.Error()) > 1000 {
			t.Errorf("error of %d bytes: %.200s", len(err.Error()), err)
		}
	})
}

func TestNothingIsLeftRunning(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		before := runtime.NumGoroutine()
		t.Run("calls", func(t *testing.T) {
			b := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
				stream(w, d.start, d.text("half"))
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			}, func(cfg *llm.BackendConfig) { cfg.Endpoint.Stall = 20 * time.Millisecond })
			for range 10 {
				if _, err := b.Complete(t.Context(), question(), nil); !errors.Is(err, llm.ErrDeadline) {
					t.Fatal(err)
				}
			}
		})
		for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
			}
		}
	})
}

func TestAnswersTeachTheSizeOfTokens(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		tokens := &llm.Calibration{}
		b := d.serve(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, d.start, d.end) }, func(c *llm.BackendConfig) { c.Tokens = tokens })
		if _, err := b.Complete(t.Context(), question(), nil); err != nil {
			t.Fatal(err)
		}
		if want := float64(question().Bytes()) / 40; tokens.BytesPerToken() != max(want, 1) {
			t.Errorf("%v bytes a token, want %v", tokens.BytesPerToken(), want)
		}
	})
}
