package benchmarks

import (
	"cmp"
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

// lab is what tests share: an engine, and an image.
type lab struct {
	boxes sandbox.Provider
	spec  sandbox.Spec
	limit time.Duration // of one problem; ample when it is zero
}

// Labs with the Go tool chain of the host, and with Python and pytest.
var (
	openGoLab = labWith(docker.HostGo, 768<<20)
	openPyLab = labWith(docker.HostPython, 512<<20)
)

// labWith sets a lab up when it is first called for.
func labWith(image string, memory int64) func() (lab, error) {
	return sync.OnceValues(func() (lab, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute) // a busy machine compiles for long
		defer cancel()
		e, err := docker.New(ctx, docker.Config{Stack: "bench-test-" + image + "-" + strconv.Itoa(os.Getpid()), Epoch: 1})
		if err != nil {
			return lab{}, err
		}
		made, err := e.Prepare(ctx, docker.Target{Image: image}, nil)
		return lab{boxes: e, spec: sandbox.Spec{
			Image: made.ID, Env: made.Env, Purpose: "test of benchmarks", Limits: sandbox.Limits{Memory: memory},
		}}, err
	})
}

func boxes(t testing.TB) lab { return ready(t, openGoLab) }

func pyBoxes(t testing.TB) lab { return ready(t, openPyLab) }

// ready returns a lab; without Docker it skips, or fails where CI is set.
func ready(t testing.TB, open func() (lab, error)) lab {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Docker")
	}
	l, err := open()
	if errors.Is(err, sandbox.ErrUnavailable) && os.Getenv("CI") == "" {
		t.Skipf("needs Docker (apt-get install docker.io): %v", err)
	}
	require.NoError(t, err)
	return l
}

// Limits of one problem. Where each comes to an end by itself, the limit is one that
// a busy machine does not meet; where one never does, the test waits for its limit.
const (
	ample = time.Minute
	brief = 10 * time.Second
)

func (l lab) target(trusted, code model.Tree, problems []model.Problem) Target {
	return Target{Boxes: l.boxes, Spec: l.spec, Trusted: trusted, Code: code, Problems: problems, Limit: cmp.Or(l.limit, ample)}
}

// hanging is a lab for code that never ends.
func (l lab) hanging() lab {
	l.limit = brief
	return l
}

// open builds code with the trusted harness; the box is removed with the test.
func (l lab) open(t testing.TB, s *goSuite, trusted, code model.Tree) Bench {
	t.Helper()
	b, err := s.Open(t.Context(), l.target(trusted, code, discover(t, s, trusted)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.WithoutCancel(t.Context()))) })
	return b
}

// run runs all problems of the trusted tree on code.
func (l lab) run(t testing.TB, s *goSuite, trusted, code model.Tree) model.Run {
	t.Helper()
	run, err := l.open(t, s, trusted, code).Run(t.Context(), discover(t, s, trusted), false)
	require.NoError(t, err)
	return run
}

// outcomes indexes outcomes by problem id, having checked the results themselves.
func outcomes(t testing.TB, results []model.Result) map[string]model.Outcome {
	t.Helper()
	out := map[string]model.Outcome{}
	for _, r := range results {
		require.NotContains(t, out, r.Problem, "one result each")
		require.Equal(t, r.Outcome == model.Pass, r.Score == 1, "%+v", r)
		require.Equal(t, r.Outcome == model.Timeout, r.TimedOut, "%+v", r)
		require.LessOrEqual(t, len(r.Message), model.MaxMessage)
		out[r.Problem] = r.Outcome
	}
	return out
}
