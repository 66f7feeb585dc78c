package llm_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/llm"
	"ratchet/internal/llm/llmtest"
)

func TestPromptTooLongForAll(t *testing.T) {
	ctx := within(t)
	first := llmtest.Start(t, llmtest.Config{Context: 4096})
	second := llmtest.Start(t, llmtest.Config{Context: 4096})
	e1, e2 := serverEndpoint("first", llmtest.OpenAI, first), serverEndpoint("second", llmtest.OpenAI, second)
	e1.Context, e2.Context = 4096, 4096
	long := faultQuestion
	long.MaxTokens = 4090
	_, err := faultClient(t, faultPool(t, nil, generous), e1, e2).Complete(ctx, long, nil)
	require.ErrorIs(t, err, llm.ErrContext)
	require.Equal(t, 1, first.Stats().Calls)
	require.Zero(t, second.Stats().Calls, "it has no more room")
}

// TestFaultsInFlatBodies reads the error bodies of older vLLM.
func TestFaultsInFlatBodies(t *testing.T) {
	for _, c := range []struct {
		reply llmtest.Reply
		kind  error
	}{
		{llmtest.ContextLength(10), llm.ErrContext}, {llmtest.Unauthorized(), llm.ErrAuth}, {llmtest.NoModel(), llm.ErrNoModel},
		{llmtest.UnknownParameter("messages"), llm.ErrRequest}, {llmtest.TooMany(0), llm.ErrOverloaded}, {llmtest.ServerError(), llm.ErrUnavailable},
	} {
		t.Run(c.reply.Name(), func(t *testing.T) {
			s := llmtest.Start(t, llmtest.Config{Script: c.reply, FlatErrors: true})
			_, err := faultClient(t, faultPool(t, nil, generous), serverEndpoint("only", llmtest.OpenAI, s)).Complete(within(t), faultQuestion, nil)
			requireFault(t, err, fault{kind: c.kind, calls: 1}, s)
			require.NotContains(t, err.Error(), `"message"`, "the words are taken out of the body")
		})
	}
}

// TestServersLearnedByRefusal: what a server does not take is left out, for this
// question and all later ones, and the answer comes.
func TestServersLearnedByRefusal(t *testing.T) {
	const object = `{"n": 1}`
	for _, c := range []struct{ protocol, parameter string }{
		{llmtest.OpenAI, "response_format"}, {llmtest.OpenAI, "seed"}, {llmtest.OpenAI, "stream_options"}, {llmtest.OpenAI, "temperature"},
		{llmtest.Anthropic, "temperature"}, {llmtest.Anthropic, "tool_choice"},
	} {
		t.Run(c.protocol+"/"+c.parameter, func(t *testing.T) {
			s := llmtest.Start(t, llmtest.Config{Script: llmtest.First(
				llmtest.Sends(c.parameter).Then(llmtest.UnknownParameter(c.parameter)), llmtest.Otherwise(llmtest.Say(object)),
			)})
			client := faultClient(t, faultPool(t, nil, generous), serverEndpoint("only", c.protocol, s))
			r := faultQuestion
			r.Schema = &llm.Schema{Name: "number", JSON: []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)}
			for range 2 {
				answer, err := client.Complete(within(t), r, nil)
				require.NoError(t, err)
				require.Equal(t, object, answer.Text)
			}
			refused := 0
			for _, q := range s.Requests() {
				if q.Sends(c.parameter) {
					refused++
				}
			}
			last := s.Requests()[s.Stats().Calls-1]
			require.False(t, last.Sends(c.parameter))
			require.Less(t, refused, s.Stats().Calls-1, "the second question knows")
			require.Positive(t, refused)
		})
	}
}

// TestSchemasReachTheServer in the form of either protocol, and answers come back.
func TestSchemasReachTheServer(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`
	for _, protocol := range []string{llmtest.OpenAI, llmtest.Anthropic} {
		s := llmtest.Start(t, llmtest.Config{Script: llmtest.Say(`{"n": 1}`)})
		r := faultQuestion
		r.Schema, r.Temperature, r.Seed = &llm.Schema{Name: "number", JSON: []byte(schema)}, 0.25, 11
		answer, err := faultClient(t, faultPool(t, nil, generous), serverEndpoint("only", protocol, s)).Complete(within(t), r, nil)
		require.NoError(t, err)
		require.Equal(t, `{"n": 1}`, answer.Text)
		q := s.Requests()[0]
		require.JSONEq(t, schema, string(q.Schema))
		require.Equal(t, []llmtest.Message{{Role: "system", Text: "You mend code."}, {Role: "user", Text: "Mend the function f."}}, q.Messages)
		require.InDelta(t, 0.25, *q.Temperature, 0)
		require.Equal(t, r.MaxTokens, q.MaxTokens)
		if protocol == llmtest.OpenAI {
			require.EqualValues(t, 11, *q.Seed)
		}
	}
}

// TestRedirectsTakeNoKeyAlong to another host.
func TestRedirectsTakeNoKeyAlong(t *testing.T) {
	for _, protocol := range []string{llmtest.OpenAI, llmtest.Anthropic} {
		elsewhere := llmtest.Start(t, llmtest.Config{})
		s := llmtest.Start(t, llmtest.Config{Script: llmtest.Redirect(elsewhere.V1() + "/chat/completions")})
		_, err := faultClient(t, faultPool(t, nil, generous), serverEndpoint("only", protocol, s)).Complete(within(t), faultQuestion, nil)
		require.ErrorIs(t, err, llm.ErrNoModel)
		require.Equal(t, faultKey, s.Requests()[0].Key())
		require.Zero(t, elsewhere.Stats().Calls)
	}
}

func TestRetryAfterIsKept(t *testing.T) {
	s := llmtest.Start(t, llmtest.Config{Script: llmtest.Queue(llmtest.TooMany(time.Second), llmtest.Say("ok"))})
	start := time.Now()
	answer, err := faultClient(t, faultPool(t, nil, generous), serverEndpoint("only", llmtest.OpenAI, s)).Complete(within(t), faultQuestion, nil)
	require.NoError(t, err)
	require.Equal(t, "ok", answer.Text)
	require.GreaterOrEqual(t, time.Since(start), time.Second, "not sooner than the server asked")
	require.Equal(t, 2, s.Stats().Calls)
}

// TestStallIsBetweenTokens: an answer may take longer than the deadline of a stall.
func TestStallIsBetweenTokens(t *testing.T) {
	const stall, gap = 2 * time.Second, 20 * time.Millisecond
	text := strings.Repeat(" word", int(stall/gap)*5/4)
	s := llmtest.Start(t, llmtest.Config{Script: llmtest.Trickle(text, gap)})
	e := serverEndpoint("only", llmtest.OpenAI, s)
	e.Stall = stall
	answer, err := faultClient(t, faultPool(t, nil, generous), e).Complete(within(t), faultQuestion, nil)
	require.NoError(t, err)
	require.Equal(t, text, answer.Text)
	require.Greater(t, answer.Wall, stall)
}

func TestFaultsThatPass(t *testing.T) {
	for _, protocol := range []string{llmtest.OpenAI, llmtest.Anthropic} {
		for _, passing := range []llmtest.Reply{
			llmtest.TooMany(0), llmtest.Unavailable(0), llmtest.ServerError(), llmtest.Reset(), llmtest.Truncated(faultText), llmtest.CleanEnd(faultText),
		} {
			t.Run(passing.Name()+"/"+protocol, func(t *testing.T) {
				s, m := llmtest.Start(t, llmtest.Config{Script: llmtest.Queue(passing, passing, llmtest.Say("at last"))}), &tally{}
				answer, err := faultClient(t, faultPool(t, nil, generous), serverEndpoint("only", protocol, s)).Complete(within(t), faultQuestion, m)
				require.NoError(t, err)
				require.Equal(t, "at last", answer.Text)
				require.Equal(t, 3, s.Stats().Calls)
				require.EqualValues(t, 3, m.settled.Load())
			})
		}
	}
}

func TestNobodyListens(t *testing.T) {
	for _, protocol := range []string{llmtest.OpenAI, llmtest.Anthropic} {
		nobody := faultEndpoint("nobody", protocol, llmtest.Refused(t), "m")
		_, err := faultClient(t, faultPool(t, nil, generous), nobody).Complete(within(t), faultQuestion, nil)
		require.ErrorIs(t, err, llm.ErrUnavailable)
		var e *llm.Error
		require.ErrorAs(t, err, &e)
		require.Zero(t, e.Usage)

		s := llmtest.Start(t, llmtest.Config{})
		answer, err := faultClient(t, faultPool(t, nil, generous), nobody, serverEndpoint("second", protocol, s)).Complete(within(t), faultQuestion, nil)
		require.NoError(t, err)
		require.Equal(t, "second", answer.Endpoint)
	}
}

// TestOutage follows a breaker by a clock that stands still: while it is open the
// server is left alone, then it is checked, and only a good check lets a call through.
func TestOutage(t *testing.T) {
	ctx := within(t)
	var shift atomic.Int64
	start := time.Now()
	p := faultPool(t, func() time.Time { return start.Add(time.Duration(shift.Load())) }, 20*time.Millisecond)
	s := llmtest.Start(t, llmtest.Config{})
	c := faultClient(t, p, serverEndpoint("only", llmtest.OpenAI, s))
	ask := func() error { _, err := c.Complete(ctx, faultQuestion, nil); return err }
	require.NoError(t, ask())

	s.SetScript(llmtest.Reset())
	for range 2 {
		require.ErrorIs(t, ask(), llm.ErrUnavailable)
	}
	calls := s.Stats().Calls
	require.Equal(t, 1+4, calls, "four failures in a row open the breaker")
	require.ErrorIs(t, ask(), llm.ErrUnavailable)
	require.Equal(t, calls, s.Stats().Calls, "it is left alone")

	s.SetScript(llmtest.Say("ok"))
	s.SetHealth(http.StatusServiceUnavailable)
	shift.Add(int64(time.Hour))
	require.ErrorIs(t, ask(), llm.ErrUnavailable)
	require.Equal(t, calls, s.Stats().Calls, "it is checked, and not by a question")

	s.SetHealth(http.StatusOK)
	shift.Add(int64(time.Hour))
	require.NoError(t, ask())
	requireBreaker(ctx, t, c, false)
}

// TestOneStalledEndpointWedgesNothing: all callers get all their answers, and few of
// them have to find out that the endpoint stalls.
func TestOneStalledEndpointWedgesNothing(t *testing.T) {
	ctx := within(t)
	var shift atomic.Int64
	start := time.Now()
	p := faultPool(t, func() time.Time { return start.Add(time.Duration(shift.Load())) }, generous)
	bad := llmtest.Start(t, llmtest.Config{Script: llmtest.Stall(faultText, 2)})
	well := llmtest.Start(t, llmtest.Config{Script: llmtest.Say(faultText)})
	e1, e2 := serverEndpoint("bad", llmtest.OpenAI, bad), serverEndpoint("well", llmtest.OpenAI, well)
	stallSoon(&e1)
	errs := askInParallel(8, 10, func() error {
		a, err := faultClient(t, p, e1, e2).Complete(ctx, faultQuestion, nil)
		if err == nil && a.Endpoint != "well" {
			err = errors.New("answered by " + a.Endpoint)
		}
		return err
	})
	require.NoError(t, errs)
	require.NoError(t, bad.Idle(ctx))
	require.Equal(t, 80, well.Stats().Calls)
	require.LessOrEqual(t, bad.Stats().Calls, llm.DefaultParallel, "what was under way when the breaker opened")
	require.LessOrEqual(t, bad.Stats().Peak, llm.DefaultParallel)
}

// askInParallel has callers ask k questions each, and joins what fails.
func askInParallel(callers, k int, ask func() error) error {
	var wg sync.WaitGroup
	errs := make([]error, callers)
	for i := range callers {
		wg.Go(func() {
			for range k {
				errs[i] = errors.Join(errs[i], ask())
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
