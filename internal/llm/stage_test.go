package llm_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/llm"
)

// part is what a backend on a stage does in one call.
type part func(ctx context.Context, token func()) (llm.Answer, error)

// stage is endpoints in order of preference, named a, b, …, whose backends do what a
// test says, and which are known as quick. A silence of 20 ms is suspicious.
type stage struct {
	*llm.Client
	pool *llm.Pool

	mu    sync.Mutex
	calls map[string]int
}

// play sets a stage up. An endpoint does its parts one after the other, and the last
// for ever.
func play(t *testing.T, endpoints ...[]part) *stage {
	t.Helper()
	s := &stage{calls: map[string]int{}}
	s.pool = newPool(t, func(cfg *llm.PoolConfig) {
		cfg.Retry.OpenLeast, cfg.Retry.OpenMost = time.Hour, time.Hour
		cfg.Backends = map[string]llm.NewBackend{"stage": func(b llm.BackendConfig) (llm.Backend, error) {
			return &actor{stage: s, name: b.Endpoint.Name, parts: endpoints[b.Endpoint.Name[0]-'a']}, nil
		}}
	})
	var list []llm.Endpoint
	for i := range endpoints {
		name := string(rune('a' + i))
		list = append(list, llm.Endpoint{
			Name: name, Protocol: "stage", URL: "http://" + name, Model: "m", Parallel: 8, Price: llm.Price{Output: float64(i)},
			FirstToken: 200 * time.Millisecond, Stall: 200 * time.Millisecond, Total: time.Hour,
		})
	}
	s.Client = client(t, s.pool, list...)
	s.Teach()
	return s
}

type actor struct {
	stage *stage
	name  string
	parts []part
}

func (a *actor) Complete(ctx context.Context, _ llm.Request, token func()) (llm.Answer, error) {
	a.stage.mu.Lock()
	n := a.stage.calls[a.name]
	a.stage.calls[a.name]++
	a.stage.mu.Unlock()
	answer, err := a.parts[min(n, len(a.parts)-1)](ctx, token)
	answer.Endpoint = a.name
	if e := (*llm.Error)(nil); errors.As(err, &e) {
		e.Op, e.Endpoint = "complete", a.name
	}
	return answer, err
}

func (a *actor) Check(context.Context) (llm.ModelInfo, error) { return llm.ModelInfo{Model: "m"}, nil }

// made wants so many calls of each endpoint.
func (s *stage) made(t *testing.T, want ...int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, n := range want {
		require.Equal(t, n, s.calls[string(rune('a'+i))], "calls of endpoint %c", 'a'+i)
	}
}

// idle wants no call under way, and these states of the breakers.
func (s *stage) idle(t *testing.T, breakers ...string) {
	t.Helper()
	for i, st := range s.Check(t.Context()) {
		require.Zero(t, st.InFlight+st.Waiting, st.Endpoint.Name)
		if i < len(breakers) {
			require.Equal(t, breakers[i], st.Breaker, st.Endpoint.Name)
		}
	}
}

func fine(context.Context, func()) (llm.Answer, error) { return llm.Answer{Text: "fine"}, nil }

// fails ends a call with an error of a kind.
func fails(kind error) part {
	return func(context.Context, func()) (llm.Answer, error) {
		return llm.Answer{}, &llm.Error{Kind: kind, Usage: llm.Usage{Input: 1}}
	}
}

// gone is what a backend says when its caller gave up.
func gone(ctx context.Context) error {
	return &llm.Error{Kind: ctx.Err(), Usage: llm.Usage{Input: 3, Guessed: true}}
}

// silent says nothing until the caller goes away, after some tokens.
func silent(tokens int) part {
	return func(ctx context.Context, token func()) (llm.Answer, error) {
		for range tokens {
			token()
		}
		<-ctx.Done()
		return llm.Answer{}, gone(ctx)
	}
}

// when waits for a channel to be closed, and goes on with another part.
func when(ch <-chan struct{}, then part) part {
	return func(ctx context.Context, token func()) (llm.Answer, error) {
		select {
		case <-ch:
			return then(ctx, token)
		case <-ctx.Done():
			return llm.Answer{}, gone(ctx)
		}
	}
}

// telling closes a channel, and goes on with another part.
func telling(ch chan struct{}, then part) part {
	return func(ctx context.Context, token func()) (llm.Answer, error) {
		close(ch)
		return then(ctx, token)
	}
}
