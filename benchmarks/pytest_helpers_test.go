package benchmarks

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func pytestSuite(t testing.TB, c Config) *pySuite {
	t.Helper()
	if c.Name == "" {
		c.Name = "unit"
	}
	c.Kind = KindPyTest
	s, err := New(c)
	require.NoError(t, err)
	return s.(*pySuite)
}

// discoverPy lists the problems of a tree in a box.
func (l lab) discoverPy(t testing.TB, s *pySuite, in model.Tree) []model.Problem {
	t.Helper()
	problems, err := s.Discover(t.Context(), Target{Boxes: l.boxes, Spec: l.spec, Trusted: in})
	require.NoError(t, err)
	return problems
}

// pyProblems are problems by node id, relative to the repository.
func pyProblems(s *pySuite, nodes ...string) []model.Problem {
	var out []model.Problem
	for _, n := range nodes {
		out = append(out, s.problem(n, n))
	}
	return out
}

// openPy lays code with the trusted harness into a box that is removed with the test.
func (l lab) openPy(t testing.TB, s *pySuite, trusted, code model.Tree, problems []model.Problem) Bench {
	t.Helper()
	b, err := s.Open(t.Context(), l.target(trusted, code, problems))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.WithoutCancel(t.Context()))) })
	return b
}

// runPy runs problems on code.
func (l lab) runPy(t testing.TB, s *pySuite, trusted, code model.Tree, problems []model.Problem) model.Run {
	t.Helper()
	run, err := l.openPy(t, s, trusted, code, problems).Run(t.Context(), problems, false)
	require.NoError(t, err)
	return run
}
