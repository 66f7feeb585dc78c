package backends_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ratchet/internal/llm"
)

// usageOf is a stream in which a server says what it used, at its end.
var usageOf = map[string]func(input, cached, output string) string{
	"openai": func(input, cached, output string) string {
		return `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
			fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":%s,"completion_tokens":%s,"prompt_tokens_details":{"cached_tokens":%s}}}`, input, output, cached) + "\n\ndata: [DONE]\n\n"
	},
	"anthropic": func(input, cached, output string) string {
		return anthropicEvent("message_delta", fmt.Sprintf(`"delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":%s,"cache_read_input_tokens":%s,"output_tokens":%s}`, input, cached, output)) +
			anthropicEvent("message_stop", `"x":1`)
	},
}

// What a server says of its usage is added up for months: nonsense is not believed,
// and what is counted in its place is no less than what came.
func TestAbsurdUsage(t *testing.T) {
	const text = "some words that were computed"
	each(t, func(t *testing.T, d dialect) {
		for name, u := range map[string][3]string{
			"huge":             {"1000000000000000000", "0", "1000000000000000000"},
			"the largest":      {"9223372036854775807", "9223372036854775807", "9223372036854775807"},
			"huge output":      {"40", "0", "1000000000000000000"},
			"negative":         {"-5", "-5", "-5"},
			"negative output":  {"40", "0", "-1000000"},
			"negative cache":   {"40", "-1000000", "7"},
			"a float":          {"1e18", "0", "1e18"},
			"no tokens":        {"0", "0", "0"},
			"text of no token": {"40", "0", "0"},
		} {
			t.Run(name, func(t *testing.T) {
				b := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
					stream(w, d.text(text)+usageOf[d.name](u[0], u[1], u[2]))
				})
				a, err := b.Complete(t.Context(), question(), nil)
				if err != nil {
					t.Fatal(err)
				}
				got := a.Usage
				if got.Input < 10 || got.Input > 1000 || got.Output < 5 || got.Output > 1000 || got.Cached < 0 || got.Cached > got.Input {
					t.Errorf("usage %+v", got)
				}
				if cost := (llm.Price{Input: 1, Cached: 1, Output: 1}).Cost(got); !(cost > 0 && cost < 1) {
					t.Errorf("cost %v", cost)
				}
			})
		}
	})
}

// A usage that is reported before the end is not all.
func TestUsageBeforeTheEnd(t *testing.T) {
	early := `data: {"choices":[{"index":0,"delta":{"content":"one"}}],"usage":{"prompt_tokens":40,"completion_tokens":1}}` + "\n\n"
	end := `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	d := dialects()[0]
	b := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		stream(w, early+strings.Repeat(d.text(" and more words"), 50)+end)
	})
	a, err := b.Complete(t.Context(), question(), nil)
	if err != nil || !a.Usage.Guessed || a.Usage.Input != 40 || a.Usage.Output < 50 {
		t.Errorf("usage %+v, error %v", a.Usage, err)
	}
}

// Packed responses are bounded by what they unpack to.
func TestBombs(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		b := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodPost {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			z := gzip.NewWriter(w)
			defer z.Close()
			_, _ = z.Write([]byte(`{"data":["`))
			zeros := make([]byte, 1<<20)
			for range 200 {
				if _, err := z.Write(zeros); err != nil {
					return
				}
			}
		})
		_, err := b.Complete(t.Context(), question(), nil)
		known(t, err)
		if err == nil {
			t.Error("a bomb is an answer")
		}
		if _, err := b.Check(t.Context()); !errors.Is(err, llm.ErrMalformed) {
			t.Errorf("check: %v", err)
		}
	})
}
