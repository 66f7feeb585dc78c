package suites

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/benchmarks"
	"ratchet/internal/model"
	"ratchet/sandbox"
	"ratchet/sandbox/docker"
)

// lab is what tests share: an engine, a box with the Go tool chain of the host, and
// one with Python.
type lab struct {
	boxes  sandbox.Provider
	spec   sandbox.Spec
	python sandbox.Spec
}

var openLab = sync.OnceValues(func() (lab, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute) // a busy machine compiles for long
	defer cancel()
	e, err := docker.New(ctx, docker.Config{Stack: "suites-test-" + strconv.Itoa(os.Getpid()), Epoch: 1})
	if err != nil {
		return lab{}, err
	}
	l := lab{boxes: e}
	for image, spec := range map[string]*sandbox.Spec{docker.HostGo: &l.spec, docker.HostPython: &l.python} {
		img, err := e.Prepare(ctx, docker.Target{Image: image}, nil)
		if err != nil {
			return l, err
		}
		*spec = sandbox.Spec{Image: img.ID, Env: img.Env, Purpose: "test of suites", Limits: sandbox.Limits{Memory: 768 << 20}}
	}
	return l, nil
})

// boxes returns the lab; without Docker it skips, or fails where CI is set.
func boxes(t testing.TB) lab {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Docker")
	}
	l, err := openLab()
	if errors.Is(err, sandbox.ErrUnavailable) && os.Getenv("CI") == "" {
		t.Skipf("needs Docker (apt-get install docker.io): %v", err)
	}
	require.NoError(t, err)
	return l
}

func (l lab) grader() *Grader {
	return &Grader{Boxes: l.boxes, Specs: map[string]sandbox.Spec{benchmarks.KindGoTest: l.spec, benchmarks.KindPyTest: l.python}}
}

// agent is the program in testdata, with a patch beside it.
func agent(t testing.TB) Agent {
	t.Helper()
	out := filepath.Join(t.TempDir(), "agent")
	cmd := exec.Command("go", "build", "-trimpath", "-o", out, "./testdata/agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=")
	msg, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", msg)
	data, err := os.ReadFile(out)
	require.NoError(t, err)
	return Agent{
		Argv: []string{agentDir + "/agent"}, Env: map[string]string{"RATCHET_PROBLEM": "not this one"},
		Files: []model.File{
			{Path: "agent", Mode: model.ModeExec, Data: data},
			{Path: "patches/add.go", Mode: model.ModeFile, Data: []byte("package add\n\nfunc Add(a, b int) int { return b + a }\n")},
		},
	}
}
