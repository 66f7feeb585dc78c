package benchmarks

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
	"ratchet/sandbox/docker"
)

// openPyLab is a lab whose image has Python and pytest.
var openPyLab = sync.OnceValues(func() (lab, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	e, err := docker.New(ctx, docker.Config{Stack: "bench-py-test-" + strconv.Itoa(os.Getpid()), Epoch: 1})
	if err != nil {
		return lab{}, err
	}
	image, err := e.Prepare(ctx, docker.Target{Image: docker.HostPython}, nil)
	return lab{e, sandbox.Spec{
		Image: image.ID, Env: image.Env, Purpose: "test of benchmarks", Limits: sandbox.Limits{Memory: 512 << 20},
	}}, err
})

// pyBoxes returns the lab; without Docker it skips, or fails where CI is set.
func pyBoxes(t testing.TB) lab {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Docker")
	}
	l, err := openPyLab()
	if errors.Is(err, sandbox.ErrUnavailable) && os.Getenv("CI") == "" {
		t.Skipf("needs Docker (apt-get install docker.io): %v", err)
	}
	require.NoError(t, err)
	return l
}

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
