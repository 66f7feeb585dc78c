// Package sandboxtest is the contract of the package sandbox as one suite of
// tests, which every implementation passes. It lays a program of its own (the
// folder probe) into boxes, which tries what untrusted code might.
package sandboxtest

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// Harness is an implementation under test.
type Harness struct {
	Provider sandbox.Provider
	// Image is one that boxes can be opened from; it needs no program in it.
	Image string
	// Unreachable are addresses that work from the host but must not from a box.
	Unreachable []string
}

// Where the suite keeps its program in a box, owned by Builder.
const (
	probeDir  = sandbox.WorkDir + "/probe"
	probePath = probeDir + "/probe"
)

// patience bounds what must not take long; it is far more than is needed.
const patience = 2 * time.Minute

// brief is a limit that has to be waited for. Before it is over a busy machine must
// have got to where the limit is to strike.
const brief = 15 * time.Second

// smallLimits make exhausting a box quick.
var smallLimits = sandbox.Limits{
	CPUs: 1, Memory: 128 << 20, Pids: 64, Disk: 32 << 20, FileSize: 8 << 20, Lifetime: 10 * time.Minute,
}

type suite struct {
	Harness
	probe []byte
}

// Run runs the whole suite, parts of it at once; these go on until the test t ends.
func Run(t *testing.T, h Harness) {
	s := &suite{Harness: h, probe: Probe(t)}
	for _, group := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"Run", s.runs}, {"Stream", s.streams}, {"Outcome", s.outcomes}, {"Batch", s.batches}, {"BatchFault", s.batchFaults},
		{"Files", s.files}, {"Share", s.shares}, {"Input", s.inputs}, {"List", s.lists}, {"Escape", s.escapes}, {"Users", s.users}, {"Isolation", s.isolation},
		{"Limits", s.limits}, {"Memory", s.memory}, {"Reset", s.resets}, {"Hurry", s.hurries}, {"Life", s.life}, {"Refusal", s.refusals},
	} {
		t.Run(group.name, func(t *testing.T) {
			if group.name != "Isolation" { // it changes the environment
				t.Parallel()
			}
			group.run(t)
		})
	}
}

// Probe compiles the program that the suite lays into boxes.
func Probe(t testing.TB) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "probe")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "ratchet/sandbox/sandboxtest/probe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=")
	msg, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", msg)
	data, err := os.ReadFile(out)
	require.NoError(t, err)
	return data
}

// open opens a box with small limits and the probe in it.
func (s *suite) open(t *testing.T) sandbox.Box { return s.openWith(t, smallLimits, nil) }

func (s *suite) openWith(t *testing.T, l sandbox.Limits, env map[string]string) sandbox.Box {
	t.Helper()
	ctx := t.Context()
	b, err := s.Provider.Open(ctx, sandbox.Spec{Image: s.Image, Limits: l, Env: env, Purpose: t.Name()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	require.NoError(t, b.Put(ctx, probeDir, sandbox.Builder, []model.File{
		{Path: "probe", Mode: model.ModeExec, Data: s.probe}, {Path: "builders", Mode: model.ModeFile, Data: []byte("untouched")},
	}))
	return b
}

func probe(args ...string) sandbox.Command {
	return sandbox.Command{Argv: append([]string{probePath}, args...), Timeout: patience}
}

// try runs the probe as Runner, whatever comes of it.
func try(t *testing.T, b sandbox.Box, args ...string) sandbox.Outcome {
	t.Helper()
	o, err := b.Exec(t.Context(), probe(args...))
	require.NoError(t, err)
	return o
}

// must runs the probe as Runner and returns what it printed.
func must(t *testing.T, b sandbox.Box, args ...string) string {
	t.Helper()
	o := try(t, b, args...)
	require.True(t, o.OK(), "%v: %+v\n%s", args, o, o.Stderr)
	return string(o.Stdout)
}

// answer runs the probe as Runner and decodes the JSON that it printed.
func answer[T any](t *testing.T, b sandbox.Box, args ...string) T {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal([]byte(must(t, b, args...)), &v))
	return v
}

// hanging counts processes of the probe that were left behind.
func hanging(t *testing.T, b sandbox.Box) int {
	t.Helper()
	n := 0
	for _, p := range answer[[]string](t, b, "processes") {
		if strings.Contains(p, "hang") {
			n++
		}
	}
	return n
}

// batch runs commands and returns their outcomes by index.
func batch(t *testing.T, b sandbox.Box, c sandbox.Batch) []sandbox.Outcome {
	t.Helper()
	out := make([]sandbox.Outcome, len(c.Commands))
	seen := map[int]bool{}
	require.NoError(t, b.Batch(t.Context(), c, func(i int, o sandbox.Outcome) error {
		require.False(t, seen[i], "command %d was emitted twice", i)
		seen[i], out[i] = true, o
		return nil
	}))
	require.Len(t, seen, len(c.Commands))
	return out
}
