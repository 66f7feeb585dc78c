package suites

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// TestCodingIsGradedRightly proves each problem: the state that an agent starts
// from fails, the solution passes, and what only looks like one fails.
func TestCodingIsGradedRightly(t *testing.T) {
	l := boxes(t)
	s, err := Builtin("coding")
	require.NoError(t, err)
	grader := l.grader()
	for _, p := range s.Problems {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			if p.Answer != nil {
				answersAreJudged(t, p)
				return
			}
			grade := func(files model.Tree) Grade {
				g, err := grader.Grade(t.Context(), p, files, "")
				require.NoError(t, err)
				require.Equal(t, g.Solved, g.Outcome == model.Pass)
				return g
			}
			require.False(t, grade(p.Files).Solved, "nothing was done")
			g := grade(Overlay(p.Files, p.Solution))
			require.True(t, g.Solved, g.Message)
			for name, files := range p.Wrong {
				g := grade(Overlay(p.Files, files))
				require.Equal(t, model.Fail, g.Outcome, "%s: %s", name, g.Message)
				require.Contains(t, g.Message, "hidden tests fail")
			}
		})
	}
}

func answersAreJudged(t *testing.T, p Problem) {
	t.Helper()
	for name, files := range p.Wrong {
		require.Equal(t, model.Fail, p.Answer.grade(string(files[0].Data)).Outcome, name)
	}
	require.Equal(t, model.Missing, p.Answer.grade(" \n").Outcome)
}
