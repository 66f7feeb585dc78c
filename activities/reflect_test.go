package activities

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"ratchet/internal/campaign"
	"ratchet/internal/diagnose"
	"ratchet/internal/llm/llmtest"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/report"
)

func (l *lab) brief(ref string) (b diagnose.Brief) {
	l.t.Helper()
	require.NoError(l.t, l.acts.getJSON(l.t.Context(), ref, &b))
	return b
}

func (l *lab) reflect(n int) (out protocol.ReflectGenerationResult) {
	l.t.Helper()
	in := protocol.ReflectGenerationInput{Campaign: l.spec.Name, Generation: n, Now: time.Unix(1_700_000_002, 0)}
	require.NoError(l.t, l.run(l.acts.RegisterLLM, protocol.ReflectGeneration, in, &out))
	return out
}

func (l *lab) record(n int) (out protocol.RecordGenerationResult) {
	l.t.Helper()
	at := time.Unix(1_700_000_000, 0)
	in := protocol.RecordGenerationInput{Campaign: l.spec.Name, Generation: n, Started: at, Ended: at.Add(time.Minute)}
	require.NoError(l.t, l.run(func(r worker.ActivityRegistry) { l.acts.RegisterMain(r) }, protocol.RecordGeneration, in, &out))
	return out
}

const lesson = `{"worked": "", "failed": "the patch of part a", "surprised": "nothing", "learn": "look at\n part b"}`

func turnScript(reflection llmtest.Script) llmtest.Script {
	return llmtest.First(llmtest.When("look back on one generation").Then(reflection), llmtest.Otherwise(llmtest.Say(mend("a"))))
}

func TestReflectGenerationIsKeptAndPaidForOnce(t *testing.T) {
	s := server(t, turnScript(llmtest.Queue(llmtest.Say(lesson), llmtest.Say("never asked for"))))
	l := modelLab(t, s, nil)
	_, err := l.propose(1)
	require.NoError(t, err)
	proposing := s.Stats()
	for range 2 {
		require.Equal(t, "look at part b", l.reflect(1).Learnt)
	}
	require.Equal(t, proposing.Calls+1, s.Stats().Calls)
	r, err := l.store.Reflection(t.Context(), "lab", 1)
	require.NoError(t, err)
	require.Equal(t, []string{"llm", "rejected", "the patch of part a"}, []string{r.Proposer, r.Outcome, r.Failed})
	require.Equal(t, time.Unix(1_700_000_002, 0).UTC(), r.At)

	// The turn's record has what all of its calls cost, the reflection too.
	stats := s.Stats()
	tokens := int64(stats.Prompt + stats.Output)
	out := l.record(1)
	require.Equal(t, tokens, out.Tokens)
	g, err := l.store.Generation(t.Context(), "lab", 1)
	require.NoError(t, err)
	require.Equal(t, tokens, g.Cost.Tokens)
	require.EqualValues(t, stats.Calls, g.Cost.Calls)
	require.InDelta(t, float64(stats.Prompt)/2+float64(stats.Output), g.Cost.Money, 1e-6)
	rep, err := report.Build(t.Context(), l.store, "lab")
	require.NoError(t, err)
	require.Equal(t, []int64{tokens, tokens}, []int64{rep.Cost.Tokens, rep.Generations[0].Cost.Tokens})
	require.Equal(t, out, l.record(1), "again")
	l.clean()
}

func TestReflectGenerationIsNeverAnError(t *testing.T) {
	for name, script := range map[string]llmtest.Script{"server away": llmtest.ServerError(), "no reflection": llmtest.Prose(), "no key": llmtest.Unauthorized()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server(t, turnScript(script))
			l := modelLab(t, s, nil)
			_, err := l.propose(1)
			require.NoError(t, err)
			require.Empty(t, l.reflect(1).Learnt)
		})
	}
	t.Run("no budget", func(t *testing.T) {
		s := server(t, llmtest.Say(mend("a")))
		l := modelLab(t, s, nil)
		_, err := l.propose(1)
		require.NoError(t, err)
		little := int64(1)
		l.steer("k", protocol.SteerCampaignInput{Kind: model.EventBudget, By: "ann", Budget: &protocol.BudgetChange{Tokens: &little}})
		calls := s.Stats().Calls
		require.Empty(t, l.reflect(1).Learnt)
		require.Equal(t, calls, s.Stats().Calls)
	})
	t.Run("no model", func(t *testing.T) {
		var asked []int
		l := newLab(t, func(*campaign.Spec) {}, beside(scripted{ideas: 1, asked: &asked}))
		_, err := l.propose(1)
		require.NoError(t, err)
		require.Empty(t, l.reflect(1).Learnt)
	})
}

func TestLearntIsOneLine(t *testing.T) {
	require.Equal(t, "a b", learnt(model.Reflection{Learn: " a\n\tb "}))
	require.Equal(t, "f", learnt(model.Reflection{Failed: "f", Worked: "w"}))
	require.Empty(t, learnt(model.Reflection{}))
	long := learnt(model.Reflection{Learn: strings.Repeat("é", 500)})
	require.Equal(t, mostLearnt, utf8.RuneCountInString(long))
}
