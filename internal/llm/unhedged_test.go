package llm_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/llm"
)

// slow answers after many times the silence that would be suspicious.
func slow(ctx context.Context, token func()) (llm.Answer, error) {
	select {
	case <-time.After(200 * time.Millisecond):
		return fine(ctx, token)
	case <-ctx.Done():
		return llm.Answer{}, gone(ctx)
	}
}

// Nobody is hedged whose pace is not known, nor alone at a server that answers
// nobody, nor where nobody could help at once.
func TestWhatIsNotHedged(t *testing.T) {
	unknown := play(t, []part{slow}, []part{fine})
	unknown.Client = client(t, newStagePool(t, unknown), llm.Endpoint{Name: "a", Protocol: "stage", Model: "m"}, llm.Endpoint{Name: "b", Protocol: "stage", Model: "m2"})
	small := play(t, []part{slow}, []part{fine})
	narrow := small.Check(t.Context())[1].Endpoint
	narrow.Context = 55 // of which the answer may have 50
	small.Client = client(t, small.pool, small.Check(t.Context())[0].Endpoint, narrow)
	down := play(t, []part{slow}, []part{fails(llm.ErrUnavailable)})
	closeDown(t, down)
	for name, s := range map[string]*stage{
		"nothing is known": unknown, "alone": play(t, []part{slow}), "the prompt is too long for the other": small, "the other is left alone": down,
	} {
		t.Run(name, func(t *testing.T) {
			s.mu.Lock()
			before := s.calls["b"]
			s.mu.Unlock()
			m := &meter{}
			a, err := s.Complete(t.Context(), question(), m)
			require.NoError(t, err)
			require.Equal(t, "a", a.Endpoint)
			s.made(t, 1, before)
			m.check(t, 1)
		})
	}
}

// newStagePool is a pool that knows nothing of the servers of s.
func newStagePool(t *testing.T, s *stage) *llm.Pool {
	return newPool(t, func(cfg *llm.PoolConfig) {
		cfg.Backends = map[string]llm.NewBackend{"stage": func(b llm.BackendConfig) (llm.Backend, error) {
			return &actor{stage: s, name: b.Endpoint.Name, parts: map[string][]part{"a": {slow}, "b": {fine}}[b.Endpoint.Name]}, nil
		}}
	})
}

// closeDown opens the breaker of the second endpoint.
func closeDown(t *testing.T, s *stage) {
	t.Helper()
	c := client(t, s.pool, s.Check(t.Context())[1].Endpoint)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	for range 4 {
		go func() { _, _ = c.Complete(ctx, question(), nil); done <- struct{}{} }()
	}
	require.Eventually(t, func() bool { return s.Check(t.Context())[1].Breaker == "open" }, 20*time.Second, time.Millisecond)
	cancel()
	for range 4 {
		<-done
	}
}

// A server that has answered another during the silence is asked again where there
// is no other: it may be several behind one address.
func TestTheOnlyServerIsAskedAgain(t *testing.T) {
	sent := make(chan struct{})
	s, m := play(t, []part{telling(sent, silent(1)), fine}), &meter{}
	done := make(chan error, 1)
	go func() { _, err := s.Complete(t.Context(), question(), m); done <- err }()
	<-sent
	_, err := s.Complete(t.Context(), question(), nil) // another's
	require.NoError(t, err)
	require.NoError(t, <-done)
	s.made(t, 3)
	s.idle(t, "closed")
	m.check(t, 2)
}

// A server that is silent for all has a fifth of its calls hedged, and ten more.
func TestHedgesHaveABudget(t *testing.T) {
	var mu sync.Mutex
	beaten := 0
	leader := func(ctx context.Context, token func()) (llm.Answer, error) {
		answer, err := slow(ctx, token)
		if err != nil {
			mu.Lock()
			beaten++
			mu.Unlock()
		}
		return answer, err
	}
	s := play(t, []part{leader}, []part{fine})
	const calls = 30
	for range calls {
		_, err := s.Complete(t.Context(), question(), nil)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, beaten, 10+calls/5)
}
