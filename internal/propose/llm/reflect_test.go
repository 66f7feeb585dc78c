package llm

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"ratchet/internal/llm"
	"ratchet/internal/model"
)

func turn() Turn {
	return Turn{
		Campaign: "night", Generation: 4, ParentTree: "tree", Outcome: model.OutcomeReverted, Reason: "the gain was not confirmed in 20 rounds",
		Landed: "the sum starts at one", Fixed: []string{"unit/calc/TestSum"}, Broken: []string{"unit/calc/TestMean"}, Before: 0.5, After: 0.55,
		At: time.Unix(100, 0),
		Tried: []Try{
			{Hypothesis: "the sum starts at one", ExpectedGain: 0.1, Status: "reverted", Stage: "search", Fixed: []string{"unit/calc/TestSum"}},
			{Hypothesis: "the mean divides by too much", Status: "screened_out", Stage: "targets", Reason: "unit/calc/TestMean still fails"},
		},
	}
}

const reflected = `{"worked": "Starting at 0 mends TestSum.", "failed": "The mean.", "surprised": "", "learn": "Why the mean differs."}`

func TestReflectAsksWhatWasLearnt(t *testing.T) {
	c := always(llm.Answer{Text: reflected})
	p := newProposer(t, Config{}, c)
	got, err := p.Reflect(t.Context(), turn())
	require.NoError(t, err)
	require.Equal(t, model.Reflection{
		Campaign: "night", Generation: 4, Proposer: "llm", Task: "the sum starts at one", Outcome: "reverted",
		Worked: "Starting at 0 mends TestSum.", Failed: "The mean.", Learn: "Why the mean differs.", At: time.Unix(100, 0),
	}, got)
	require.Len(t, c.asked, 1)
	for key, r := range c.asked {
		require.True(t, strings.HasPrefix(key, "reflect/4/llm/"), key)
		require.Equal(t, &reflectionSchema, r.Schema)
		require.Equal(t, 1024, r.MaxTokens)
		for _, want := range []string{"unit/calc/TestMean still fails", "reverted", "screened_out targets", "0.5 before, 0.55 after", "the gain was not confirmed"} {
			require.Contains(t, r.Messages[1].Text, want)
		}
		for _, q := range reflectionNames {
			require.Contains(t, r.Messages[0].Text, "- "+q+":")
		}
	}
	again := always(llm.Answer{Text: reflected})
	_, err = newProposer(t, Config{}, again).Reflect(t.Context(), turn())
	require.NoError(t, err)
	require.Equal(t, c.keys(), again.keys())
}

func TestNothingIsReflectedOnWhenNothingWasTried(t *testing.T) {
	c := always(llm.Answer{Text: reflected})
	x := turn()
	x.Tried = nil
	_, err := newProposer(t, Config{}, c).Reflect(t.Context(), x)
	require.ErrorIs(t, err, ErrNothing)
	require.Empty(t, c.asked)
}

func TestReflectionErrors(t *testing.T) {
	c := &caller{answer: func(string, llm.Request) (llm.Answer, error) { return llm.Answer{}, kinded(llm.ErrBudget) }}
	_, err := newProposer(t, Config{}, c).Reflect(t.Context(), turn())
	require.ErrorIs(t, err, llm.ErrBudget)
	_, err = newProposer(t, Config{}, always(llm.Answer{Text: "I am sorry."})).Reflect(t.Context(), turn())
	require.ErrorIs(t, err, ErrReflection)
}

func TestAReflectionObeysNothing(t *testing.T) {
	x := turn()
	x.Reason, x.Landed, x.Outcome = hostile("reason"), hostile("landed"), model.GenerationOutcome(hostile("outcome"))
	x.Fixed, x.Broken = []string{hostile("fixed")}, []string{hostile("broken")}
	for range 200 {
		x.Tried = append(x.Tried, Try{Hypothesis: hostile("hypothesis"), Status: hostile("status"), Stage: hostile("stage"), Reason: hostile("why"), Fixed: []string{hostile("f")}})
	}
	o := newObedient(t, reflected)
	p := newProposer(t, Config{}, o)
	got, err := p.Reflect(t.Context(), x)
	require.NoError(t, err)
	require.Empty(t, o.obeyed)
	require.LessOrEqual(t, len(got.Task), maxTask)
	for _, r := range o.asked {
		require.Contains(t, r.Messages[1].Text, "OBEY: hypothesis")
		require.LessOrEqual(t, tokens(weighAll(r.Messages)), reflectionPrompt)
	}
}

func TestReflectionsAreReadHoweverTheyAreWritten(t *testing.T) {
	want := [4]string{"a", "b", "c", "d"}
	for name, text := range map[string]string{
		"plain":    `{"worked":"a","failed":"b","surprised":"c","learn":"d"}`,
		"fenced":   "Here it is:\n```json\n{\"worked\":\"a\",\"failed\":\"b\",\"surprised\":\"c\",\"learn\":\"d\"}\n```\nDone.",
		"names":    `{"What worked":"a","what_failed":"b","Surprised":"c","to_learn":"d","extra":1}`,
		"lists":    `{"worked":["a"],"failed":["b"],"surprised":["c"],"learn":["d"]}`,
		"brace":    `I used {x} here: {"worked":"a","failed":"b","surprised":"c","learn":"d"}`,
		"lines":    "**Worked:** a\n**Failed:** b\n**Surprised:** c\n**Learn:** d\n",
		"headings": "## What worked:\na\n## What failed:\nb\n- surprised: c\n4. What is still to learn: d",
	} {
		r, ok := readReflection(text)
		require.True(t, ok, name)
		require.Equal(t, want, [4]string{r.Worked, r.Failed, r.Surprised, r.Learn}, name)
	}
	for _, text := range []string{"", "{}", `{"worked":"","failed":"none","surprised":"N/A"}`, "I cannot.", `["worked"]`, `{"worked": 3}`} {
		_, ok := readReflection(text)
		require.False(t, ok, text)
	}
	r, ok := readReflection(`{"worked":"` + strings.Repeat("é", 5000) + `"}`)
	require.True(t, ok)
	require.LessOrEqual(t, len(r.Worked), maxReflection)
	require.Greater(t, len(r.Worked), maxReflection-10)
}

func FuzzReadReflection(f *testing.F) {
	f.Add(reflected)
	f.Add("**Worked:** a\nFailed: b")
	f.Add(`{"worked":{"learn":[["x"]]}}`)
	f.Add(strings.Repeat("{", 100))
	f.Fuzz(func(t *testing.T, text string) {
		r, ok := readReflection(text)
		if ok == (r.Worked+r.Failed+r.Surprised+r.Learn == "") {
			t.Fatal(errors.New("it says that there is a reflection, or that there is none, wrongly"))
		}
		for _, s := range []string{r.Worked, r.Failed, r.Surprised, r.Learn} {
			require.LessOrEqual(t, len(s), maxReflection)
			require.True(t, utf8.ValidString(s))
			require.NotContains(t, s, "\n")
		}
	})
}
