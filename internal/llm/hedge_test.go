package llm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/llm"
	"ratchet/internal/llm/llmtest"
)

// hedgePair is a client of two servers that are known as quick, in order of
// preference, over one protocol. A silence of half a second is suspicious, and ten
// times that the deadline.
func hedgePair(t *testing.T, protocol string, first, second *llmtest.Server) *llm.Client {
	t.Helper()
	e1, e2 := serverEndpoint("first", protocol, first), serverEndpoint("second", protocol, second)
	for _, e := range []*llm.Endpoint{&e1, &e2} {
		e.FirstToken, e.Stall = 5*time.Second, 5*time.Second
	}
	e2.Price.Output = 1
	c := faultClient(t, faultPool(t, nil, generous), e1, e2)
	c.Teach()
	return c
}

func eachProtocol(t *testing.T, test func(t *testing.T, protocol string)) {
	for _, protocol := range []string{llmtest.OpenAI, llmtest.Anthropic} {
		t.Run(protocol, func(t *testing.T) { t.Parallel(); test(t, protocol) })
	}
}

// Each way in which a server can be silent has the question asked elsewhere.
func TestSilentServersAreHedged(t *testing.T) {
	for name, reply := range map[string]llmtest.Reply{
		"no header": llmtest.Silence(), "no first token": llmtest.Stall("too much", 0), "a stall": llmtest.Stall("too much", 1),
		"signs of life without tokens": llmtest.KeepAlive("too much", 1, 10*time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			eachProtocol(t, func(t *testing.T, protocol string) {
				ctx, m := within(t), &meter{}
				first, second := llmtest.Start(t, llmtest.Config{Script: reply}), llmtest.Start(t, llmtest.Config{Script: llmtest.Say("from the second")})
				c := hedgePair(t, protocol, first, second)
				answer, err := c.Complete(ctx, faultQuestion, m)
				require.NoError(t, err)
				require.Equal(t, "from the second", answer.Text)
				require.NoError(t, first.Idle(ctx), "the call goes on for nobody")
				require.Equal(t, 1, first.Stats().Calls)
				require.Equal(t, 1, second.Stats().Calls)
				requireBreaker(ctx, t, c, false)
				m.check(t, 2)
				loser := m.outcomes[1]
				require.ErrorIs(t, loser.Err, llm.ErrDeadline)
				require.ErrorContains(t, loser.Err, "second answered first")
				require.Positive(t, loser.Usage.Input, "the prompt was sent")
			})
		})
	}
}

// A server that answers after all, before the hedge does, has its answer taken.
func TestSlowServersMayWin(t *testing.T) {
	eachProtocol(t, func(t *testing.T, protocol string) {
		ctx, m, late, never := within(t), &meter{}, llmtest.NewGate(), llmtest.NewGate()
		first := llmtest.Start(t, llmtest.Config{Script: llmtest.Say("late").At(late)})
		second := llmtest.Start(t, llmtest.Config{Script: llmtest.Say("too late").At(never)})
		c := hedgePair(t, protocol, first, second)
		done := make(chan error, 1)
		var answer llm.Answer
		go func() {
			var err error
			answer, err = c.Complete(ctx, faultQuestion, m)
			done <- err
		}()
		require.NoError(t, second.Await(ctx, func(s llmtest.Stats) bool { return s.Held == 1 }))
		late.Open()
		require.NoError(t, <-done)
		require.Equal(t, "late", answer.Text)
		require.NoError(t, second.Idle(ctx), "the hedge goes on for nobody")
		requireBreaker(ctx, t, c, false)
		m.check(t, 2)
		patience, _ := c.Patience(0)
		require.Greater(t, patience, 500*time.Millisecond)
	})
}

// Where all are silent each is given up at its deadline, and the error names both.
func TestAllMayBeSilent(t *testing.T) {
	eachProtocol(t, func(t *testing.T, protocol string) {
		ctx, m := within(t), &meter{}
		stall := llmtest.Config{Script: llmtest.Stall("too much", 1)}
		first, second := llmtest.Start(t, stall), llmtest.Start(t, stall)
		c := hedgePair(t, protocol, first, second)
		_, err := c.Complete(ctx, faultQuestion, m)
		require.ErrorIs(t, err, llm.ErrDeadline)
		require.ErrorContains(t, err, "first: ")
		require.ErrorContains(t, err, "second: ")
		require.NoError(t, first.Idle(ctx))
		require.NoError(t, second.Idle(ctx))
		for _, st := range c.Check(ctx) {
			require.Zero(t, st.InFlight+st.Waiting)
		}
		m.check(t, -1)
	})
}
