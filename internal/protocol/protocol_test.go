package protocol

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func TestCheckPerson(t *testing.T) {
	proposers := []string{"coder", "Zweiter Versuch"}
	for _, name := range []string{"ada", " Ada Lovelace ", "coder-2", "searcher", "李", "Ünal", "Alma", "Софья", "Σοφία", "coder 2", strings.Repeat("é", MostName)} {
		require.NoError(t, CheckPerson(name, proposers), name)
	}
	for _, name := range []string{
		"", " ", "\u00a0", "coder", "CODER", "\u2003coder\n", "zweiter versuch", "search", "Llm", "AGENT", "ratchet", "evidence",
		"deadline", "stop", "a\nb", "\x1b[1mada", "co\u200dder", "ada\u202e",
		"с\u043eder", "ѕеаrсһ", "LLМ", "ｓｅａｒｃｈ", "c0der", "1lm", "co der", "coder.", "_search_", "séarch", "zweıter versuch", "ratсhet", "\xff", strings.Repeat("é", MostName+1),
	} {
		require.Error(t, CheckPerson(name, proposers), "%q", name)
	}
}

func FuzzCheckPerson(f *testing.F) {
	for _, s := range []string{"ada", "Coder ", "co\u200dder", "\xff", "\u212aoder"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if CheckPerson(name, []string{"coder"}) != nil {
			return
		}
		seen := strings.TrimSpace(name)
		require.NotEmpty(t, seen)
		for _, r := range append([]string{"coder"}, reserved...) {
			require.False(t, strings.EqualFold(seen, r))
			require.NotEqual(t, r, strings.ToLower(seen))
		}
		require.NotContains(t, seen, "\n")
	})
}

func TestReached(t *testing.T) {
	limit := model.Budget{Wall: 8 * time.Hour, Sandbox: 90 * time.Minute, Tokens: 1000, Money: 2.5}
	for want, spent := range map[string]model.Budget{
		"":                                      {Wall: 8*time.Hour - 1, Sandbox: time.Hour, Tokens: 999, Money: 2.49},
		"the wall time budget of 8h is used up": {Wall: 8 * time.Hour},
		"the sandbox time budget of 1h30m is used up":          {Sandbox: 2 * time.Hour},
		"the budget of 1000 tokens is used up: 1200 are spent": {Tokens: 1200},
		"the cost budget of 2.5 is used up: 2.75 are spent":    {Money: 2.75},
	} {
		require.Equal(t, want, Reached(limit, spent))
		require.Empty(t, Reached(model.Budget{}, spent), "0 is no limit")
	}
}

func TestBudgetChange(t *testing.T) {
	was := model.Budget{Wall: 8 * time.Hour, Tokens: 1000, Money: 1}
	none, more, nan := time.Duration(0), int64(5000), math.NaN()
	b := BudgetChange{Wall: &none, Tokens: &more}
	require.NoError(t, b.Check(model.Budget{Wall: 99 * time.Hour, Tokens: 5000}))
	is := b.Apply(was)
	require.Equal(t, model.Budget{Tokens: 5000, Money: 1}, is)
	require.Equal(t, "wall 8h → no limit, tokens 1000 → 5000", BudgetText(was, is))
	require.Equal(t, "as it was", BudgetText(is, is))
	require.Error(t, b.Check(model.Budget{Tokens: 5001}))
	require.Error(t, BudgetChange{Money: &nan}.Check(model.Budget{}))
}
