package llm_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/llm"
	"ratchet/internal/llm/backends"
	"ratchet/internal/llm/llmtest"
)

const (
	faultText = "one two three four fünf six seven eight nine ten"
	faultKey  = "sk-secret-0123456789abcdef"
	generous  = 30 * time.Second // for deadlines that must not pass
	soon      = 100 * time.Millisecond
	tries     = 3 // calls to an endpoint for one question
)

// fault is what a server does and what a client makes of it.
type fault struct {
	reply llmtest.Reply
	// kind is the error of a client with one endpoint; nil for an answer.
	kind error
	// calls is how many calls the server sees for one question.
	calls int
	only  string // protocol; empty for both
	terms func(*llm.Endpoint)
	check func(*testing.T, llm.Answer)
	opens bool // the breaker, at once
}

func firstTokenSoon(e *llm.Endpoint) { e.FirstToken = soon }
func stallSoon(e *llm.Endpoint)      { e.Stall = soon }
func totalSoon(e *llm.Endpoint)      { e.Total = soon }

func answers(text string) func(*testing.T, llm.Answer) {
	return func(t *testing.T, a llm.Answer) {
		require.Equal(t, text, a.Text)
		require.False(t, a.Cut)
		require.False(t, a.Usage.Guessed)
		require.EqualValues(t, llmtest.CountTokens(text), a.Usage.Output)
		require.Positive(t, a.Usage.Input)
	}
}

func endedBy(reason string) llmtest.Reply {
	r := llmtest.Say(faultText)
	r.Finish = reason
	return r
}

func faults() []fault {
	hour, whole := time.Hour, answers(faultText)
	return []fault{
		{reply: llmtest.ContextLength(10), kind: llm.ErrContext, calls: 1},
		{reply: llmtest.ContextLengthNew(10), kind: llm.ErrContext, calls: 1},
		{reply: llmtest.Unauthorized(), kind: llm.ErrAuth, calls: 1},
		{reply: llmtest.Forbidden(), kind: llm.ErrAuth, calls: 1},
		{reply: llmtest.NoModel(), kind: llm.ErrNoModel, calls: 1},
		{reply: llmtest.Redirect("http://localhost:1/v1"), kind: llm.ErrNoModel, calls: 1},
		{reply: llmtest.Unprocessable(), kind: llm.ErrRequest, calls: 1},
		{reply: llmtest.UnknownParameter("messages"), kind: llm.ErrRequest, calls: 1},

		{reply: llmtest.TooMany(0), kind: llm.ErrOverloaded, calls: tries},
		{reply: llmtest.TooMany(hour), kind: llm.ErrOverloaded, calls: 1},
		{reply: llmtest.TooManyUntil(time.Now().Add(hour)), kind: llm.ErrOverloaded, calls: 1},
		{reply: llmtest.Unavailable(0), kind: llm.ErrOverloaded, calls: tries},
		{reply: llmtest.Unavailable(hour), kind: llm.ErrOverloaded, calls: 1},
		{reply: llmtest.Overloaded(), kind: llm.ErrOverloaded, calls: tries},
		{reply: llmtest.ServerError(), kind: llm.ErrUnavailable, calls: tries},
		{reply: llmtest.ProxyPage(502), kind: llm.ErrUnavailable, calls: tries},
		{reply: llmtest.Reset(), kind: llm.ErrUnavailable, calls: tries},

		{reply: llmtest.ErrorChunk(faultText, "CUDA out of memory"), kind: llm.ErrTruncated, calls: tries, only: llmtest.OpenAI},
		{reply: llmtest.ErrorChunk(faultText, "Overloaded"), kind: llm.ErrOverloaded, calls: tries, only: llmtest.Anthropic},
		{reply: llmtest.Truncated(faultText), kind: llm.ErrTruncated, calls: tries},
		{reply: llmtest.ResetAfter(faultText), kind: llm.ErrTruncated, calls: tries},
		{reply: llmtest.CleanEnd(faultText), kind: llm.ErrTruncated, calls: tries},
		{reply: llmtest.NoFinish(faultText), kind: llm.ErrTruncated, calls: tries},

		// Once more, because there is nobody else to ask; two stalls open the breaker.
		{reply: llmtest.Silence(), kind: llm.ErrDeadline, calls: 2, terms: firstTokenSoon, opens: true},
		{reply: llmtest.Stall(faultText, 0), kind: llm.ErrDeadline, calls: 2, terms: firstTokenSoon, opens: true},
		{reply: llmtest.KeepAlive(faultText, 0, time.Millisecond), kind: llm.ErrDeadline, calls: 2, terms: firstTokenSoon, opens: true},
		{reply: llmtest.SlowFirst(faultText, hour), kind: llm.ErrDeadline, calls: 2, terms: firstTokenSoon, opens: true},
		{reply: llmtest.Stall(faultText, 3), kind: llm.ErrDeadline, calls: 2, terms: stallSoon, opens: true},
		{reply: llmtest.KeepAlive(faultText, 3, time.Millisecond), kind: llm.ErrDeadline, calls: 2, terms: stallSoon, opens: true},
		{reply: llmtest.Trickle(strings.Repeat(faultText, 1000), time.Millisecond), kind: llm.ErrDeadline, calls: 2, terms: totalSoon, opens: true},

		{reply: llmtest.ProxyPage(200), kind: llm.ErrMalformed, calls: 1},
		{reply: llmtest.MalformedBody(), kind: llm.ErrMalformed, calls: 1},
		{reply: llmtest.MalformedChunk(faultText), kind: llm.ErrMalformed, calls: 1},
		{reply: llmtest.NotStreamed(faultText), kind: llm.ErrMalformed, calls: 1},
		{reply: llmtest.Huge(5 << 20), kind: llm.ErrMalformed, calls: 1},
		{reply: llmtest.HugeLine(40 << 20), kind: llm.ErrMalformed, calls: 1},

		{reply: llmtest.Say(faultText), calls: 1, check: whole},
		{reply: llmtest.NoDone(faultText), calls: 1, check: whole},
		{reply: llmtest.WrongType(faultText), calls: 1, check: whole},
		{reply: llmtest.Bytewise(faultText), calls: 1, check: whole},
		{reply: llmtest.CutUTF8(faultText), calls: 1, check: whole},
		{reply: llmtest.SlowFirst(faultText, 5*time.Millisecond), calls: 1, check: whole},
		{reply: llmtest.Trickle(faultText, time.Millisecond), calls: 1, check: whole},
		{reply: llmtest.Duplicated(faultText), calls: 1, check: whole},
		{reply: llmtest.Prose(), calls: 1, check: answers(llmtest.Prose().Text)},
		{reply: llmtest.WrongSchema(), calls: 1, check: answers(llmtest.WrongSchema().Text)},
		{reply: llmtest.Refusal("I cannot help with that."), calls: 1, check: func(t *testing.T, a llm.Answer) { require.Equal(t, "I cannot help with that.", a.Text) }},
		{reply: llmtest.EmptyAnswer(), calls: 1, check: func(t *testing.T, a llm.Answer) { require.Empty(t, a.Text) }},
		{reply: llmtest.CutShort(faultText), calls: 1, check: func(t *testing.T, a llm.Answer) {
			require.True(t, a.Cut)
			require.Equal(t, faultText, a.Text)
		}},
		{reply: endedBy("content_filter"), calls: 1, check: func(t *testing.T, a llm.Answer) { require.True(t, a.Cut, "it may lack its second half") }},
		{reply: llmtest.NoUsage(faultText), calls: 1, check: func(t *testing.T, a llm.Answer) {
			require.Equal(t, faultText, a.Text)
			require.True(t, a.Usage.Guessed)
			require.Positive(t, a.Usage.Input)
			require.Positive(t, a.Usage.Output)
		}},
		{reply: llmtest.EmptyChoices(), kind: llm.ErrTruncated, calls: tries, only: llmtest.OpenAI},
		{reply: llmtest.EmptyChoices(), calls: 1, only: llmtest.Anthropic, check: func(t *testing.T, a llm.Answer) { require.Empty(t, a.Text) }},
	}
}

// eachFault runs a test with every fault in every protocol.
func eachFault(t *testing.T, test func(t *testing.T, protocol string, f fault)) {
	t.Helper()
	for _, f := range faults() {
		for _, protocol := range []string{llmtest.OpenAI, llmtest.Anthropic} {
			if f.only != "" && f.only != protocol {
				continue
			}
			t.Run(f.reply.Name()+"/"+protocol, func(t *testing.T) { test(t, protocol, f) })
		}
	}
}

// within bounds a test: whatever is wedged ends it.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*generous)
	t.Cleanup(cancel)
	return ctx
}

// faultPool retries at once, believes no Retry-After of an hour, and reopens soon.
func faultPool(t testing.TB, now func() time.Time, patience time.Duration) *llm.Pool {
	t.Helper()
	p, err := llm.NewPool(llm.PoolConfig{
		Backends: backends.All(), Now: now, Getenv: func(string) string { return faultKey },
		Retry: llm.RetryConfig{
			Attempts: tries, Backoff: time.Millisecond, MaxBackoff: 2 * time.Millisecond, RetryAfter: 5 * time.Second,
			Patience: patience, OpenLeast: 5 * time.Millisecond, OpenMost: 20 * time.Millisecond,
		},
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// faultEndpoint has deadlines that do not pass.
func faultEndpoint(name, protocol, url, model string) llm.Endpoint {
	if protocol == llmtest.OpenAI {
		url += "/v1"
	}
	return llm.Endpoint{
		Name: name, Protocol: protocol, URL: url, Model: model, KeyEnv: "KEY", Context: 8192,
		FirstToken: generous, Stall: generous, Total: generous,
	}
}

func serverEndpoint(name, protocol string, s *llmtest.Server) llm.Endpoint {
	return faultEndpoint(name, protocol, s.URL(), s.Model())
}

func faultClient(t testing.TB, p *llm.Pool, endpoints ...llm.Endpoint) *llm.Client {
	t.Helper()
	c, err := p.Client(endpoints)
	require.NoError(t, err)
	return c
}

var faultQuestion = llm.Request{
	Messages:  []llm.Message{{Role: llm.RoleSystem, Text: "You mend code."}, {Role: llm.RoleUser, Text: "Mend the function f."}},
	MaxTokens: 2048,
}

// tally is a meter that admits everything.
type tally struct{ reserved, settled, answered atomic.Int64 }

func (m *tally) Reserve(context.Context, llm.Endpoint, llm.Estimate) (llm.Ticket, error) {
	m.reserved.Add(1)
	return m, nil
}

func (m *tally) Settle(_ context.Context, o llm.Outcome) error {
	m.settled.Add(1)
	if o.Err == nil {
		m.answered.Add(1)
	}
	return nil
}

func TestEachFaultOfTheOnlyEndpoint(t *testing.T) {
	eachFault(t, func(t *testing.T, protocol string, f fault) {
		ctx, s := within(t), llmtest.Start(t, llmtest.Config{Script: f.reply, Key: faultKey})
		p, m := faultPool(t, nil, generous), &tally{}
		e := serverEndpoint("only", protocol, s)
		patient := faultClient(t, p, e)
		if f.terms != nil {
			f.terms(&e)
		}
		answer, err := faultClient(t, p, e).Complete(ctx, faultQuestion, m)
		if f.kind == nil {
			require.NoError(t, err)
			require.Equal(t, "only", answer.Endpoint)
			f.check(t, answer)
		} else {
			requireFault(t, err, f, s)
		}
		requireCalls(t, f, f.calls, s, m)
		requireBreaker(ctx, t, patient, f.opens)

		require.NoError(t, s.Idle(ctx), "a call is still under way at the server")
		s.SetScript(llmtest.Say("well again"))
		answer, err = patient.Complete(ctx, faultQuestion, m)
		require.NoError(t, err)
		require.Equal(t, "well again", answer.Text)
		require.Equal(t, m.reserved.Load(), m.settled.Load())
	})
}

// requireFault wants an *llm.Error of the fault's kind, without the key.
func requireFault(t *testing.T, err error, f fault, s *llmtest.Server) {
	t.Helper()
	require.ErrorIs(t, err, f.kind)
	var e *llm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "only", e.Endpoint)
	require.NotContains(t, err.Error(), faultKey)
	early := errors.Is(f.kind, llm.ErrDeadline) && s.Stats().Calls < f.calls // its last call never came to the server
	free := e.Status >= 300 || early && e.Usage == llm.Usage{}
	require.Equal(t, free, e.Usage == llm.Usage{}, "what may have been computed is counted: %+v", e.Usage)
}

// requireCalls wants each call to have been admitted and settled. A deadline can pass
// before a call is at the server.
func requireCalls(t *testing.T, f fault, want int, s *llmtest.Server, m *tally) {
	t.Helper()
	require.EqualValues(t, m.reserved.Load(), m.settled.Load())
	if errors.Is(f.kind, llm.ErrDeadline) {
		require.LessOrEqual(t, s.Stats().Calls, want)
		return
	}
	require.Equal(t, want, s.Stats().Calls)
	for _, r := range s.Requests() {
		require.Equal(t, f.reply.Name(), r.Reply)
	}
}

func requireBreaker(ctx context.Context, t *testing.T, c *llm.Client, open bool) {
	t.Helper()
	for _, st := range c.Check(ctx) {
		require.NoError(t, st.Err)
		require.Equal(t, map[bool]string{true: "open", false: "closed"}[open], st.Breaker)
		require.Zero(t, st.InFlight)
		require.Zero(t, st.Waiting)
	}
}

// TestEachFaultOfTheFirstEndpoint has a second endpoint answer, with more room.
func TestEachFaultOfTheFirstEndpoint(t *testing.T) {
	eachFault(t, func(t *testing.T, protocol string, f fault) {
		ctx, m := within(t), &tally{}
		first := llmtest.Start(t, llmtest.Config{Script: f.reply, Key: faultKey})
		second := llmtest.Start(t, llmtest.Config{Script: llmtest.Say("from the second")})
		e1, e2 := serverEndpoint("first", protocol, first), serverEndpoint("second", protocol, second)
		e2.Context *= 2
		if f.terms != nil {
			f.terms(&e1)
		}
		answer, err := faultClient(t, faultPool(t, nil, generous), e1, e2).Complete(ctx, faultQuestion, m)
		require.NoError(t, err)
		calls := f.calls
		if errors.Is(f.kind, llm.ErrDeadline) {
			calls = 1 // somebody else can be asked
		}
		if f.kind == nil {
			require.Equal(t, "first", answer.Endpoint)
			f.check(t, answer)
			require.Zero(t, second.Stats().Calls)
		} else {
			require.Equal(t, "second", answer.Endpoint)
			require.Equal(t, "from the second", answer.Text)
			require.Equal(t, 1, second.Stats().Calls)
		}
		requireCalls(t, f, calls, first, m)
		require.EqualValues(t, 1, m.answered.Load())
		require.NoError(t, first.Idle(ctx))
	})
}
