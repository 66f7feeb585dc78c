package llmtest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/llm/llmtest"
)

const text = "one two three four five six seven eight nine ten"

// TestFaultsReachTheClients checks that each fault is on the wire what its name says,
// as far as the official clients can tell. What they take for a right answer
// although it is none stands here too: their callers must look.
func TestFaultsReachTheClients(t *testing.T) {
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	status := func(code int) func(*testing.T, bool, said) {
		return func(t *testing.T, _ bool, got said) { require.Equal(t, code, got.status, got.err) }
	}
	whole := func(t *testing.T, _ bool, got said) {
		require.NoError(t, got.err)
		require.Equal(t, text, got.text)
		require.NotEmpty(t, got.finish)
	}
	broken := func(t *testing.T, _ bool, got said) { require.Error(t, got.err); require.Zero(t, got.status) }
	unfinished := func(t *testing.T, _ bool, got said) { require.NoError(t, got.err); require.Empty(t, got.finish) }
	for _, c := range []struct {
		reply llmtest.Reply
		want  func(t *testing.T, stream bool, got said)
	}{
		{llmtest.ContextLength(10), status(400)},
		{llmtest.ContextLengthNew(10), status(400)},
		{llmtest.Unauthorized(), status(401)},
		{llmtest.Forbidden(), status(403)},
		{llmtest.NoModel(), status(404)},
		{llmtest.Unprocessable(), status(422)},
		{llmtest.TooMany(time.Second), status(429)},
		{llmtest.TooManyUntil(time.Now()), status(429)},
		{llmtest.ServerError(), status(500)},
		{llmtest.Unavailable(0), status(503)},
		{llmtest.Unavailable(2 * time.Second), status(503)},
		{llmtest.Overloaded(), status(529)},
		{llmtest.ProxyPage(502), status(502)},
		{llmtest.Redirect(elsewhere.URL), func(t *testing.T, _ bool, got said) { require.Error(t, got.err) }},
		{llmtest.Reset(), broken},
		{llmtest.ResetAfter(text), broken},
		{llmtest.Truncated(text), broken},
		{llmtest.MalformedChunk(text), broken},
		{llmtest.HugeLine(40 << 20), broken},
		{llmtest.SlowFirst(text, time.Millisecond), whole},
		{llmtest.Trickle(text, time.Millisecond), whole},
		{llmtest.Bytewise(text), whole},
		{llmtest.Say(text), whole},
		{llmtest.NoFinish(text), unfinished},
		{llmtest.Refusal("I cannot help with that."), func(t *testing.T, _ bool, got said) {
			require.NoError(t, got.err)
			require.Equal(t, "I cannot help with that.", got.text)
		}},
		{llmtest.EmptyAnswer(), func(t *testing.T, _ bool, got said) { require.NoError(t, got.err); require.Empty(t, got.text) }},
		{llmtest.EmptyChoices(), func(t *testing.T, _ bool, got said) { require.NoError(t, got.err); require.Empty(t, got.text) }},
		{llmtest.CutShort(text), func(t *testing.T, _ bool, got said) {
			require.Contains(t, []string{"length", "max_tokens"}, got.finish)
		}},
		{llmtest.NoUsage(text), func(t *testing.T, _ bool, got said) { require.NoError(t, got.err); require.Zero(t, got.input) }},
		{llmtest.Huge(1 << 20), func(t *testing.T, stream bool, got said) {
			require.NoError(t, got.err)
			if stream {
				require.Greater(t, len(got.text), 1<<20)
			}
		}},
		{llmtest.ErrorChunk(text, "CUDA out of memory"), func(t *testing.T, stream bool, got said) {
			require.Error(t, got.err)
			if !stream {
				require.Equal(t, 500, got.status)
			}
		}},
	} {
		t.Run(c.reply.Name(), func(t *testing.T) {
			each(t, func(t *testing.T, _ string, stream bool, ask client) {
				s := llmtest.Start(t, llmtest.Config{Script: c.reply})
				got := ask(bounded(t), s, "hello")
				c.want(t, stream, got)
				require.NoError(t, s.Idle(bounded(t)))
				require.Equal(t, c.reply.Name(), s.Requests()[0].Reply)
				require.Equal(t, 1, s.Stats().Calls)
			})
		})
	}
}

func TestFaultsOfStreams(t *testing.T) {
	for _, c := range []struct {
		reply  llmtest.Reply
		text   string
		finish bool
	}{
		{llmtest.CleanEnd(text), text, false},
		{llmtest.NoDone(text), text, true},
		{llmtest.WrongType(text), text, true},
		{llmtest.NotStreamed(text), "", false},
		{llmtest.ProxyPage(200), "", false},
		{llmtest.MalformedBody(), "", false},
		{llmtest.CutUTF8("größer"), "größer", true},
	} {
		for name, ask := range map[string]client{"openai": openAIStream, "anthropic": anthropicStream} {
			t.Run(c.reply.Name()+"/"+name, func(t *testing.T) {
				s := llmtest.Start(t, llmtest.Config{Script: c.reply})
				got := ask(bounded(t), s, "hello")
				require.NoError(t, got.err)
				require.Equal(t, c.text, got.text)
				require.Equal(t, c.finish, got.finish != "")
			})
		}
	}
	s := llmtest.Start(t, llmtest.Config{Script: llmtest.Duplicated(text)})
	got := openAIStream(bounded(t), s, "hello")
	require.NoError(t, got.err)
	require.Equal(t, text, got.text)
}

// TestStallsEndWithTheCaller and with the server, whatever they do.
func TestStallsEndWithTheCaller(t *testing.T) {
	for _, reply := range []llmtest.Reply{
		llmtest.Silence(), llmtest.Stall(text, 0), llmtest.Stall(text, 3), llmtest.KeepAlive(text, 0, time.Millisecond),
		llmtest.KeepAlive(text, 2, time.Millisecond), llmtest.SlowFirst(text, time.Hour), llmtest.Trickle(text, time.Hour),
		llmtest.Say(text).At(llmtest.NewGate()),
	} {
		t.Run(reply.Name(), func(t *testing.T) {
			each(t, func(t *testing.T, _ string, _ bool, ask client) {
				s := llmtest.Start(t, llmtest.Config{Script: reply})
				ctx, cancel := context.WithCancel(bounded(t))
				done := make(chan said)
				go func() { done <- ask(ctx, s, "hello") }()
				require.NoError(t, s.Await(ctx, func(s llmtest.Stats) bool { return s.InFlight == 1 }))
				cancel()
				require.Error(t, (<-done).err)
				require.NoError(t, s.Idle(bounded(t)))
				require.Equal(t, llmtest.Stats{Calls: 1, Done: 1, Canceled: 1, Peak: 1}, forget(s.Stats()))

				go func() { done <- ask(bounded(t), s, "hello") }()
				require.NoError(t, s.Await(bounded(t), func(s llmtest.Stats) bool { return s.Calls == 2 }))
				require.NoError(t, s.Close())
				require.Error(t, (<-done).err)
				require.Zero(t, s.Stats().InFlight)
				require.NoError(t, s.Close(), "a second time")
			})
		})
	}
}

// forget leaves out what depends on the prompt.
func forget(s llmtest.Stats) llmtest.Stats {
	s.Prompt, s.Output, s.Queries, s.Hits = 0, 0, 0, 0
	return s
}

func TestServerThatIsAway(t *testing.T) {
	ask := openAIStream
	s := llmtest.Start(t, llmtest.Config{})
	require.NoError(t, ask(bounded(t), s, "hello").err)
	s.SetDown(true)
	require.Error(t, ask(bounded(t), s, "hello").err)
	_, err := http.Get(s.URL() + "/health")
	require.Error(t, err)
	s.SetDown(false)
	require.NoError(t, ask(bounded(t), s, "hello").err)
	require.Equal(t, 2, s.Stats().Calls)

	require.Equal(t, 200, health(t, s))
	s.SetHealth(503)
	require.Equal(t, 503, health(t, s))

	_, err = http.Get(llmtest.Refused(t))
	require.ErrorContains(t, err, "refused")
}

func health(t *testing.T, s *llmtest.Server) int {
	t.Helper()
	r, err := http.Get(s.URL() + "/health")
	require.NoError(t, err)
	defer r.Body.Close()
	return r.StatusCode
}

func TestErrorBodies(t *testing.T) {
	ask := func(s *llmtest.Server) (*http.Response, string) {
		body := `{"model":"test-model","messages":[{"role":"user","content":"hi"}]}`
		r, err := http.Post(s.V1()+"/chat/completions", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		defer r.Body.Close()
		var b strings.Builder
		_, err = copyTo(&b, r)
		require.NoError(t, err)
		return r, b.String()
	}
	r, body := ask(llmtest.Start(t, llmtest.Config{Script: llmtest.TooMany(1500 * time.Millisecond), FlatErrors: true}))
	require.JSONEq(t, `{"object":"error","message":"Rate limit reached for requests.","type":"RateLimitError","param":null,"code":429}`, body)
	require.Equal(t, "2", r.Header.Get("Retry-After"))
	at := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	r, body = ask(llmtest.Start(t, llmtest.Config{Script: llmtest.TooManyUntil(at)}))
	require.JSONEq(t, `{"error":{"message":"Rate limit reached for requests.","type":"RateLimitError","param":null,"code":429}}`, body)
	require.Equal(t, "Mon, 03 Feb 2031 04:05:06 GMT", r.Header.Get("Retry-After"))
	_, body = ask(llmtest.Start(t, llmtest.Config{Script: llmtest.ContextLengthNew(3)}))
	require.Contains(t, body, "your prompt contains at least ")
}
