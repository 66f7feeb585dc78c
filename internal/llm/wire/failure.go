package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"ratchet/internal/llm"
)

// Call is one call of a backend: what it needs to name its errors and to guess at
// what it used up.
type Call struct {
	Op      string
	Config  llm.BackendConfig
	Scrub   llm.Scrubber
	Watch   *Watch
	Bytes   int        // of the prompt
	Output  int        // bytes of text and reasoning that came
	Known   *llm.Usage // what the server said so far; nil for nothing
	Partial bool       // Known is from before the answer was done
	Stream  bool       // the response has begun
}

// Event is an error that a server sent within a stream.
type Event struct{ Fault Fault }

func (e *Event) Error() string { return e.Fault.Message }

// ErrNoEnd is the cause of a stream that ended without its end mark.
var ErrNoEnd = errors.New("the stream ended without its end mark")

// Fail makes an *llm.Error of whatever went wrong; one that is one already stays.
func (c *Call) Fail(err error) *llm.Error {
	if known := (*llm.Error)(nil); errors.As(err, &known) {
		return known
	}
	out := &llm.Error{Op: c.Op, Endpoint: c.Config.Endpoint.Name}
	out.Detail, out.Kind = c.classify(err)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		out.Status, out.RetryAfter = refusal.Status, refusal.RetryAfter
		c.Output += refusal.Computed
	}
	out.Detail = Line(c.Scrub, out.Detail)
	out.Hint = c.hint(out, err)
	out.Usage = c.used(out)
	return out
}

func (c *Call) classify(err error) (detail string, kind error) {
	var (
		refusal *Refusal
		event   *Event
	)
	switch {
	case c.Watch.parent.Err() != nil:
		return "", c.Watch.parent.Err()
	case c.Watch.overrun() != nil:
		return c.Watch.overrun().Error(), llm.ErrDeadline
	case errors.As(err, &refusal):
		return refusal.kind()
	case errors.As(err, &event):
		return event.Fault.Message, kindOfEvent(event.Fault, c.Watch.Events() > 0)
	case errors.Is(err, ErrNoEnd):
		return err.Error(), llm.ErrTruncated
	case malformed(err):
		return err.Error(), llm.ErrMalformed
	case c.Stream:
		return err.Error(), llm.ErrTruncated
	}
	return plain(err), llm.ErrUnavailable
}

func (r *Refusal) kind() (detail string, kind error) {
	switch {
	case r.Kind != nil:
		return r.Fault.Message, r.Kind
	case r.Status/100 != 2:
		return r.Fault.Message, kindOfStatus(r.Status, r.Fault)
	case r.Fault.Stated: // an error with the wrong status
		return r.Fault.Message, kindOfEvent(r.Fault, false)
	}
	return fmt.Sprintf("the response is %s and no stream of events: %s", r.NoStream, r.Fault.Message), llm.ErrMalformed
}

// malformed says whether err is that bytes are not what they should be.
func malformed(err error) bool {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	return errors.Is(err, ErrTooBig) || errors.Is(err, llm.ErrMalformed) || errors.As(err, &syntax) || errors.As(err, &typ) ||
		strings.Contains(err.Error(), "token too long") || strings.Contains(err.Error(), "malformed HTTP") || strings.Contains(err.Error(), "parsing response json")
}

// plain is the words of an error, without those that wrap it.
func plain(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the server closed the connection"
	}
	return err.Error()
}

func (c *Call) hint(e *llm.Error, cause error) string {
	env := c.Config.Endpoint.KeyEnv
	var via *relayed
	switch {
	case errors.As(cause, &via) && e.Status == http.StatusProxyAuthRequired:
		return "put a name and a password for the proxy" + via.proxy + " into its address in HTTP_PROXY or HTTPS_PROXY"
	case via != nil && errors.Is(e.Kind, llm.ErrUnavailable):
		return "does the proxy" + via.proxy + " run, and let requests through to " + c.Config.Endpoint.URL + "? NO_PROXY names hosts that need none"
	case errors.Is(e.Kind, llm.ErrAuth) && (e.Status == 402 || e.Status == 429 || e.Status == 400):
		return "the account has no credit or quota left"
	case errors.Is(e.Kind, llm.ErrAuth) && env == "":
		return "put the name of the variable that holds the key into key_env"
	case errors.Is(e.Kind, llm.ErrAuth):
		return "check the key in the environment variable " + env
	case errors.Is(e.Kind, llm.ErrContext):
		return "send a shorter prompt"
	case errors.Is(e.Kind, llm.ErrNoModel) && e.Status/100 == 3:
		return "the server sends requests elsewhere, and keys do not follow: name the final URL"
	case errors.Is(e.Kind, llm.ErrNoModel):
		return "check the endpoint's url and model"
	case errors.Is(e.Kind, llm.ErrUnavailable) && e.Status == 0:
		return "is the server running at " + c.Config.Endpoint.URL + "?"
	}
	return ""
}

// used is what a failed call may have used up. An error status in place of an
// answer is free, as it is with those who bill for tokens: a server that fails for
// a night must not use up a budget. One that tells of a time that has passed is
// not, since the time may have been spent on the answer.
func (c *Call) used(e *llm.Error) llm.Usage {
	late := e.Status == 408 || e.Status == 504 || e.Status == 524
	refused := e.Status >= 300 && !late
	if !c.Watch.Sent() || refused {
		return llm.Usage{}
	}
	return c.sofar()
}

// Usage is what an answer used up: what the server said, else a guess. A text of
// no token is nothing that a server counted.
func (c *Call) Usage() llm.Usage {
	if c.Known != nil && !c.Partial && (c.Known.Output > 0 || c.Output == 0) {
		return *c.Known
	}
	return c.sofar()
}

// sofar guesses what a call that is not done has used up: the prompt, and at least
// a token for each event that came.
func (c *Call) sofar() llm.Usage {
	u := llm.Usage{Input: c.Config.Tokens.Guess(c.Bytes), Guessed: true}
	if c.Known != nil {
		u = *c.Known
		u.Guessed = true
	}
	u.Output = max(u.Output, c.Config.Tokens.Guess(c.Output), c.Watch.Events())
	return u
}

// maxTokens is more than any call's: a larger number is a mistake, and sums of such
// numbers would overflow.
const maxTokens = 1 << 27

// Know takes what the server says of a usage, unless it cannot be. partial says
// that more may be computed.
func (c *Call) Know(u llm.Usage, partial bool) {
	c.Partial = true // what was said before, if this is nonsense
	if u.Input <= 0 || u.Output < 0 || u.Cached < 0 || u.Input > maxTokens || u.Output > maxTokens {
		return
	}
	u.Cached = min(u.Cached, u.Input)
	c.Known, c.Partial = &u, partial
}

// Take counts a piece of the answer, text or reasoning, and says whether there is
// room for it.
func (c *Call) Take(piece string) error {
	if piece == "" {
		return nil
	}
	c.Watch.Progress()
	if c.Output += len(piece); c.Output > MaxAnswer {
		return ErrTooBig
	}
	return nil
}

// Answer completes an answer: its usage, its times, and no key in it.
func (c *Call) Answer(a llm.Answer) llm.Answer {
	a.Usage = c.Usage()
	if !a.Usage.Guessed {
		c.Config.Tokens.Observe(c.Bytes, a.Usage.Input)
	}
	a.Endpoint = c.Config.Endpoint.Name
	if a.Model == "" {
		a.Model = c.Config.Endpoint.Model
	}
	a.Text, a.Model = c.Scrub.Scrub(a.Text), Line(c.Scrub, a.Model)
	a.FirstToken, a.Wall = c.Watch.Times()
	return a
}
