package wire

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"ratchet/internal/llm"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "3", 3 * time.Second},
		{"Retry-After", " 0.5 ", 500 * time.Millisecond},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
		{"Retry-After", "Fri, 02 Jan 2026 03:05:05 GMT", time.Minute},
		{"Retry-After", "Fri, 02 Jan 2026 03:00:00 GMT", 0},
		{"Retry-After", "-5", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e300", 24 * time.Hour},
		{"Retry-After", "+Inf", 24 * time.Hour},
		{"Retry-After", "soon", 0},
		{"Retry-After", "", 0},
	} {
		if got := RetryAfter(http.Header{c.name: {c.value}}, now); got != c.want {
			t.Errorf("%s: %q is %v, want %v", c.name, c.value, got, c.want)
		}
	}
}

func TestReadFault(t *testing.T) {
	for body, want := range map[string]Fault{
		`{"error":{"message":"m","type":"t","code":400,"param":"p"}}`:                       {"m", "t", "400", "p", true},
		`{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}`: {"m", "BadRequestError", "400", "", true},
		`{"type":"error","error":{"type":"overloaded_error","message":"m"}}`:                {"m", "overloaded_error", "", "", true},
		`{"error":"m"}`:          {Message: "m", Stated: true},
		`{"detail":"Not Found"}`: {Message: "Not Found"},
		`{"detail":[{"loc":["body","seed"],"msg":"no","type":"extra_forbidden","input":"a secret prompt"}]}`: {Message: `["body","seed"] no extra_forbidden`},
		`{"detail":[{"loc":["a"],"msg":"x","type":"t"},{"loc":["b"],"msg":"y","type":"u"},7]}`:               {Message: `["a"] x t; ["b"] y u`},
		` plain `:   {Message: "plain"},
		`{"odd":1}`: {Message: `{"odd":1}`},
		`[1]`:       {Message: `[1]`},
		"bad \xff":  {Message: "bad �"},
		``:          {},
	} {
		if got := ReadFault([]byte(body)); got != want {
			t.Errorf("%s\n%+v, want\n%+v", body, got, want)
		}
	}
}

func FuzzReadFault(f *testing.F) {
	for _, s := range []string{
		``, `{"error":{"message":"m","code":400}}`, `{"error":"m"}`, `{"detail":[{"loc":["a"],"msg":"x"}]}`, `{"message":{"a":[1e300]}}`, "\xff{", `{"error":null,"type":[]}`,
		`{"choices":[{"error":{"code":429}}]}`, `{"choices":[null,{"error":[{}]}],"error":{"a":[]}}`,
	} {
		f.Add(200, []byte(s))
	}
	f.Add(400, []byte("\x1b]0;title\x07\x1b[2J\x9b31m\u202e\u200b\u2028 gone"))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		fault := ReadFault(body)
		if kindOfStatus(status, fault) == nil || kindOfEvent(fault, status > 300) == nil {
			t.Error("an error without a kind")
		}
		if inner, failed := EventFault("", body); failed && inner.Message == "" {
			t.Error("an error without words")
		}
		odd := func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }
		if line := Line(llm.Scrubber{}, fault.Message); !utf8.ValidString(line) || len(line) > maxDetail+len("…") || strings.ContainsFunc(line, odd) {
			t.Errorf("detail %q", line)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"3", "-1", "1e999", "NaN", "Fri, 02 Jan 2026 03:05:05 GMT", "0x10", ""} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, seconds, ms string) {
		d := RetryAfter(http.Header{"Retry-After": {seconds}, "Retry-After-Ms": {ms}}, time.Unix(1e9, 0))
		if d < 0 || d > maxRetryAfter {
			t.Errorf("%q, %q: %v", seconds, ms, d)
		}
	})
}
