package llm

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/diagnose"
	"ratchet/internal/llm"
	"ratchet/internal/llm/backends"
	"ratchet/internal/llm/llmtest"
)

// served calls a scripted server through the real client.
type served struct {
	*llm.Client
	window int
}

func (s served) Window(context.Context) (int, error) { return s.window, nil }

func (s served) Call(ctx context.Context, _ string, r llm.Request) (llm.Answer, error) {
	return s.Complete(ctx, r, nil)
}

func serve(t *testing.T, window int, url string) served {
	t.Helper()
	pool, err := llm.NewPool(llm.PoolConfig{
		Backends: backends.All(), Retry: llm.RetryConfig{Attempts: 1, Patience: time.Millisecond},
	})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	c, err := pool.Client([]llm.Endpoint{{
		Name: "here", Protocol: "openai", URL: url, Model: "test-model", Parallel: 1,
		FirstToken: time.Minute, Stall: time.Minute, Total: time.Minute,
	}})
	require.NoError(t, err)
	return served{c, window}
}

// A server's prefix cache holds what samples and generations on one tree share.
func TestAServerFindsTheBeginningInItsCache(t *testing.T) {
	s := llmtest.Start(t, llmtest.Config{Script: llmtest.Say(says("x", 0.1, nil, edit{"lib/f00.go", "\tv := 0 // start", "\tv := 1 // start"}).Text)})
	p := newProposer(t, Config{}, serve(t, 1<<20, s.V1()))
	r := big(60, 8)
	got, err := p.Propose(t.Context(), r)
	require.NoError(t, err)
	require.Len(t, got.Candidates, 1)
	first := s.Stats()
	t.Logf("one generation: %.1f%% of %d prompt tokens came from the cache", 100*float64(first.Hits)/float64(first.Queries), first.Queries)
	require.Greater(t, float64(first.Hits), 0.8*float64(first.Queries))

	r.Brief.Generation, r.Brief.Tried = 2, append([]diagnose.TriedNote{{Hypothesis: "x", Outcome: "reverted"}}, r.Brief.Tried...)
	_, err = p.Propose(t.Context(), r)
	require.NoError(t, err)
	both := s.Stats()
	hits, queries := both.Hits-first.Hits, both.Queries-first.Queries
	t.Logf("the next one: %.1f%%", 100*float64(hits)/float64(queries))
	require.Greater(t, float64(hits), 0.9*float64(queries))
}

func TestAServerWithLessRoomThanItIsSaidToHave(t *testing.T) {
	s := llmtest.Start(t, llmtest.Config{Context: 12000, Script: llmtest.Say(says("x", 0.1, nil, edit{"lib/f00.go", "\tv := 0 // start", "\tv := 1 // start"}).Text)})
	got, err := newProposer(t, Config{PromptTokens: 16384}, serve(t, 1<<20, s.V1())).Propose(t.Context(), big(60, 2))
	require.NoError(t, err)
	require.Len(t, got.Candidates, 1)
	require.Contains(t, strings.Join(got.Notes, "\n"), "asked with half of it")
}

func TestAServerThatIsAway(t *testing.T) {
	_, err := newProposer(t, Config{}, serve(t, 1<<20, llmtest.Refused(t)+"/v1")).Propose(t.Context(), calc(2))
	require.ErrorIs(t, err, llm.ErrUnavailable)
}
