package wire_test

import (
	"bufio"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"ratchet/internal/llm"
	"ratchet/internal/llm/wire"
)

// ask posts to a server that answers raw bytes, and returns what the client makes of it.
func ask(t *testing.T, answer func(io.Writer)) (*http.Response, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop); _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if req, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			_, _ = io.Copy(io.Discard, req.Body)
		}
		answer(c)
		<-stop // the connection stays open
	}()
	base, _ := url.Parse("http://" + l.Addr().String() + "/v1/")
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	client := wire.Client(llm.BackendConfig{Transport: tr}.WithDefaults(), base, func(http.Header) {})
	return client.Post(base.String()+"x", "application/json", strings.NewReader("{}"))
}

func refusal(t *testing.T, err error) *wire.Refusal {
	t.Helper()
	var r *wire.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("%v is no refusal", err)
	}
	return r
}

// A connection that became another protocol's has no end, and no context ends a read
// of it: the test would not end either.
func TestAnotherProtocolIsNotRead(t *testing.T) {
	_, err := ask(t, func(w io.Writer) {
		_, _ = io.WriteString(w, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	})
	if r := refusal(t, err); r.Status != 101 || r.Fault.Message == "" {
		t.Errorf("refusal %+v", r)
	}
}

func TestPackingThatWasNotAskedFor(t *testing.T) {
	for status, kind := range map[int]error{200: llm.ErrMalformed, 429: nil} {
		_, err := ask(t, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "HTTP/1.1 %d X\r\nContent-Type: text/event-stream\r\nContent-Encoding: br\r\nRetry-After: 7\r\nContent-Length: 3\r\n\r\n\x8b\x02\x80", status)
		})
		r := refusal(t, err)
		if r.Kind != kind || !strings.Contains(r.Fault.Message, "packed as br") || status == 429 && r.RetryAfter != 7*time.Second {
			t.Errorf("%d: refusal %+v", status, r)
		}
	}
}

func TestAnErrorInsteadOfAnAnswerIsNoComputedAnswer(t *testing.T) {
	for body, want := range map[string]int{`{"error":"the model does not fit"}`: 0, `{"choices":[]}`: 14} {
		_, err := ask(t, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Type: application/JSON; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		})
		if r := refusal(t, err); r.Computed != want || r.NoStream != "application/JSON" {
			t.Errorf("%s: refusal %+v", body, r)
		}
	}
}

// An event may not be larger than an answer, packed or not, in one line or in many;
// a body may.
func TestEventsAreBounded(t *testing.T) {
	const size = wire.MaxAnswer * 2
	for name, c := range map[string]struct {
		part string
		fits bool
	}{
		"one line":   {strings.Repeat("x", 1024), false},
		"many lines": {"data: x\ndata: y\n", false},
		"with CRLF":  {"data: x\r\n", false},
		"events":     {"data: x\n\n", true},
		"CRLF":       {"data: x\r\n\r\n", true},
		"blanks":     {"\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				block := strings.Repeat(c.part, 64<<10/len(c.part))
				for sent := 0; sent < size && r.Context().Err() == nil; sent += len(block) {
					_, _ = io.WriteString(z, block)
				}
				_ = z.Close()
			}))
			defer s.Close()
			base, _ := url.Parse(s.URL)
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			res, err := wire.Client(llm.BackendConfig{Transport: tr}.WithDefaults(), base, func(http.Header) {}).Post(s.URL, "application/json", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			n, err := io.Copy(io.Discard, res.Body)
			if c.fits != (err == nil) || err != nil && !errors.Is(err, wire.ErrTooBig) || !c.fits && n > wire.MaxAnswer+64<<10 {
				t.Errorf("%d bytes, error %v", n, err)
			}
		})
	}
}

func TestKeysDoNotShowInWords(t *testing.T) {
	const key = `sk-canary-Zq7/+x9Y"k3W1234567890abcdef`
	scrub := llm.NewSecret(key).Scrubber()
	b64 := base64.StdEncoding.EncodeToString
	var pieces []string
	for i := 0; i < len(key); i += 4 {
		pieces = append(pieces, key[i:min(i+4, len(key))])
	}
	for name, form := range map[string]string{
		"plain": key, "broken": key[:12] + "\n" + key[12:], "in pieces": strings.Join(pieces, " "), "HTML": html.EscapeString(key), "HTML slashes": strings.ReplaceAll(html.EscapeString(key), "/", "&#47;"),
		"base64": b64([]byte(key)), "with a user": b64([]byte("user:" + key)), "with a word": b64([]byte("Bearer " + key)), "after letters": "x/" + b64([]byte(key)),
		"for URLs": base64.RawURLEncoding.EncodeToString([]byte(key)), "hexadecimal": hex.EncodeToString([]byte(key)), "no letters between": strings.Join(strings.Split(key, ""), "\u200b"),
	} {
		got := wire.Line(scrub, "no such key: "+form+" .")
		if strings.Contains(got, "canary") || strings.Contains(got, "567890") || strings.Contains(got, form) || !strings.Contains(got, "…") || strings.Contains(got, b64([]byte(key))[:20]) {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, words := range []string{"the model qwen3-coder-30b-a3b-instruct does not exist", "0123456789abcdef0123456789abcdef", "&lt;html&gt; 502 Bad Gateway", "a b c d"} {
		if got := wire.Line(scrub, words); got != words {
			t.Errorf("%q became %q", words, got)
		}
	}
}

func TestFormsOfFaults(t *testing.T) {
	for body, want := range map[string]wire.Fault{
		`[{"error":{"code":400,"message":"Unknown name \"seed\"","status":"INVALID_ARGUMENT"}}]`: {Message: `Unknown name "seed"`, Code: "400", Stated: true},
		`{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted","input":"the prompt"}]},"type":"invalid_request_error"}`: {
			Message: `["body","seed"] Extra inputs are not permitted extra_forbidden`, Type: "invalid_request_error", Stated: true},
		`[]`: {Message: "[]"}, `[7]`: {Message: "[7]"}, `null`: {Message: "null"},
	} {
		if got := wire.ReadFault([]byte(body)); got != want {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
	}
}

// The words of servers for a prompt that is too long, as they were seen.
func TestOverflows(t *testing.T) {
	for _, words := range []string{
		"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 1000 `max_new_tokens`",
		"Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
		"Input length (40000 tokens) exceeds the maximum allowed length (32768 tokens). Use a shorter input or enable --allow-auto-truncate.",
		"The input (40000 tokens) is longer than the model's context length (32768 tokens).",
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
		"too many tokens: total number of tokens in the prompt cannot exceed 4081",
		"The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
		"the request exceeds the available context size, try increasing it",
		"The number of tokens to keep from the initial prompt is greater than the context length.",
	} {
		if !(wire.Fault{Message: words}).Overflow() {
			t.Errorf("%s", words)
		}
	}
	for _, words := range []string{"max_tokens must be at most 8192", "rate limit reached: 30000 tokens per minute", "too many requests"} {
		if (wire.Fault{Message: words}).Overflow() {
			t.Errorf("%s", words)
		}
	}
}
