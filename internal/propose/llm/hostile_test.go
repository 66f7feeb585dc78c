package llm

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/llm"
	"ratchet/internal/model"
	"ratchet/internal/patch"
)

// Half of a patch may look like a whole one.
func TestCutAnswersAreNotRead(t *testing.T) {
	half := says("x", 1, nil, mendSum).Text
	single := `{"path": "calc/sum.go", "search": "\ttotal := 1", "replace": "\ttotal := 0"}`
	for text, candidates := range map[string]int{half + " and": 0, single: 0, "[" + single + "]": 0, "patch:\n```diff\n--- a/calc/sum.go": 0, half: 1} {
		got, err := newProposer(t, Config{}, always(llm.Answer{Text: text, Cut: true})).Propose(t.Context(), calc(1))
		require.NoError(t, err)
		require.Len(t, got.Candidates, candidates, text)
	}
}

// A panic over one answer costs that answer, and says so.
func TestPanicOverAnAnswer(t *testing.T) {
	r := calc(2)
	r.Gate = func(c model.Candidate) *patch.Refusal {
		if bytes.Contains(c.Edits[0].Data, []byte("total := 0")) {
			panic("index out of range")
		}
		return gate(c)
	}
	c := &caller{answer: func(key string, _ llm.Request) (llm.Answer, error) {
		if key[:len("propose/llm/0")] == "propose/llm/0" {
			return says("the sum begins at 1", 0.1, nil, mendSum), nil
		}
		return says("the mean counts one too many", 0.1, nil, mendMean), nil
	}}
	got, err := newProposer(t, Config{}, c).Propose(t.Context(), r)
	require.NoError(t, err)
	require.Len(t, got.Candidates, 1)
	require.Len(t, got.Refused, 1)
	require.Contains(t, got.Refused[0].Reason, "panic: index out of range")
}

// An answer to a question about one tree answers none about another, even where
// both prompts show the same.
func TestKeysDifferByTheParent(t *testing.T) {
	keys := map[string]bool{}
	for _, parent := range []string{"tree", "other tree"} {
		r := calc(2)
		r.Brief.ParentTree = parent
		c := always(says("the sum begins at 1", 0.1, nil, mendSum))
		_, err := newProposer(t, Config{}, c).Propose(t.Context(), r)
		require.NoError(t, err)
		for _, k := range c.keys() {
			require.False(t, keys[k], k)
			keys[k] = true
		}
	}
	require.GreaterOrEqual(t, len(keys), 4)
}
