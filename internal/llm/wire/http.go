package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ratchet/internal/llm"
)

const (
	// maxRefusal is how much of the body of a refusal is read.
	maxRefusal = 64 << 10
	// maxStream bounds the bytes of one response, marks of the protocol included: an
	// event of some 300 bytes for each of 200,000 tokens.
	maxStream = 64 << 20
	// maxList bounds a response that is no answer: a list of models, or of one.
	maxList = 4 << 20
	// maxEvent bounds the bytes of one event. The libraries hold several copies of it.
	maxEvent = MaxAnswer
	// MaxAnswer bounds the text of one answer, reasoning included, in bytes.
	MaxAnswer = 4 << 20
)

// ErrTooBig is the cause of an answer that was cut off for its size.
var ErrTooBig = errors.New("the answer is larger than any that could be used")

// Client returns an HTTP client for one endpoint. auth puts the key into the
// headers of a request; nothing else does, and only requests to the endpoint's own
// server get it. Redirects are refused, responses bounded, and what is not 2xx, or
// no stream where one was asked for, is a *Refusal.
func Client(cfg llm.BackendConfig, base *url.URL, auth func(http.Header)) *http.Client {
	return &http.Client{
		Transport:     guard{next: cfg.Transport, base: base, auth: auth},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type guard struct {
	next http.RoundTripper
	base *url.URL
	auth func(http.Header)
}

func (g guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != g.base.Scheme || req.URL.Host != g.base.Host {
		return nil, fmt.Errorf("a request to %s was held back: the endpoint is at %s", req.URL.Host, g.base.Host)
	}
	out := req.Clone(req.Context())
	for _, name := range []string{"Authorization", "X-Api-Key", "Cookie"} {
		out.Header.Del(name)
	}
	g.auth(out.Header)
	res, err := g.next.RoundTrip(out)
	if err != nil {
		return nil, relay(g.next, req, err)
	}
	res.Request = req // without the key
	if refusal := refusalOf(req, res); refusal != nil {
		if res.StatusCode == http.StatusProxyAuthRequired {
			return nil, relay(g.next, req, refusal)
		}
		return nil, refusal
	}
	res.Body = &bounded{ReadCloser: res.Body, left: most(req)}
	return res, nil
}

// most is how many bytes a response to a request may have, unpacked.
func most(req *http.Request) int64 {
	if req.Method == http.MethodPost {
		return maxStream
	}
	return maxList
}

// refusalOf reads what a server says instead of an answer, nil when it answers.
func refusalOf(req *http.Request, res *http.Response) error {
	ok := res.StatusCode/100 == 2
	packed := res.Header.Get("Content-Encoding")
	known := packed == "" || strings.EqualFold(packed, "identity")
	if ok && known && (req.Method != http.MethodPost || streams(res.Header.Get("Content-Type"))) {
		return nil
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusSwitchingProtocols {
		// What follows is the bare connection, a read of which no context ends.
		return &Refusal{Status: res.StatusCode, Fault: Fault{Message: "the server wants to speak another protocol"}}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	if err != nil && len(body) == 0 && req.Context().Err() != nil {
		return err
	}
	r := &Refusal{Status: res.StatusCode, Fault: ReadFault(body)}
	if !known {
		r.Fault = Fault{Message: "the response is packed as " + packed + ", which was not asked for"}
	}
	switch {
	case !ok:
		r.RetryAfter = RetryAfter(res.Header, time.Now())
		return r
	case !known:
		r.Kind = llm.ErrMalformed
	}
	// The type stays as it is written: a key in it must be found.
	r.NoStream, _, _ = strings.Cut(res.Header.Get("Content-Type"), ";")
	if !r.Fault.Stated {
		r.Computed = len(body)
	}
	return r
}

// streams says whether a content type can be a stream of events. Some servers
// name none, or plain text.
func streams(contentType string) bool {
	switch mediaType(contentType) {
	case "", "text/event-stream", "text/plain", "application/octet-stream":
		return true
	}
	return false
}

func mediaType(contentType string) string {
	if contentType == "" {
		return ""
	}
	if t, _, err := mime.ParseMediaType(contentType); err == nil {
		return t
	}
	t, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// bounded ends a body that is too long, or has an event that is, with ErrTooBig.
type bounded struct {
	io.ReadCloser
	left  int64
	event int // bytes since the last blank line
	line  int // bytes of the line so far
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 || b.event > maxEvent {
		return 0, ErrTooBig
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	b.count(p[:n])
	return n, err
}

// count measures the event that the body is in. A blank line ends one.
func (b *bounded) count(p []byte) {
	for {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		b.event += len(line) + 1
		b.line += len(bytes.TrimRight(line, "\r"))
		if !ended {
			return
		}
		if b.line == 0 {
			b.event = 0
		}
		b.line, p = 0, rest
	}
}
