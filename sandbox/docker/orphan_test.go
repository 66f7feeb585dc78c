package docker

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/stretchr/testify/require"

	"ratchet/sandbox"
)

// ownerEnv makes this test binary open boxes for another process's test.
const ownerEnv = "RATCHET_TEST_OWNER"

// TestOwner is not a test but the process that the tests below kill: it opens
// a box, says so, and waits to be killed.
func TestOwner(t *testing.T) {
	args := strings.Fields(os.Getenv(ownerEnv))
	if len(args) == 0 {
		t.Skip("runs only as a child of other tests")
	}
	e, err := New(t.Context(), Config{Stack: args[0], Epoch: 1})
	require.NoError(t, err)
	_, err = e.Open(t.Context(), sandbox.Spec{Image: args[1], Purpose: "to be orphaned"})
	require.NoError(t, err)
	_, _ = os.Stdout.WriteString("opened\n")
	select {}
}

// orphaned starts an owner of a stack, kills it and returns its box's id.
func orphaned(t *testing.T, e *Engine, image string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestOwner$")
	cmd.Env = append(os.Environ(), ownerEnv+"="+e.cfg.Stack+" "+image)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "opened\n", line)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	ids := boxes(t, e)
	require.Len(t, ids, 1)
	return ids[0]
}

func boxes(t *testing.T, e *Engine) []string {
	t.Helper()
	list, err := e.api.ContainerList(context.Background(), container.ListOptions{All: true,
		Filters: filters.NewArgs(filters.Arg("label", labelStack+"="+e.cfg.Stack))})
	require.NoError(t, err)
	var ids []string
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestOrphansOfAKilledOwnerAreReapedByTheNextEpoch(t *testing.T) {
	e := engine(t)
	img := hostGo(t, e)
	ctx := t.Context()
	id := orphaned(t, e, img.ID)

	n, err := e.Reap(ctx) // of the same epoch: may be at work
	require.NoError(t, err)
	require.Zero(t, n)

	stranger := engine(t)
	_, err = stranger.Reap(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{id}, boxes(t, e), "another stack's box is not touched before its deadline")

	next, err := New(ctx, Config{Stack: e.cfg.Stack, Epoch: 2})
	require.NoError(t, err)
	defer next.Close()
	n, err = next.Reap(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Empty(t, boxes(t, e))
}

func TestAnotherStacksBoxIsReapedPastItsDeadline(t *testing.T) {
	e := engine(t)
	img := hostGo(t, e)
	ctx := t.Context()
	// A container that never ran cannot end by itself; its owner is long gone.
	cfg, host := e.containerConfig(sandbox.Spec{Image: img.ID, Limits: sandbox.DefaultLimits})
	cfg.Labels[labelDeadline] = time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
	late, err := e.api.ContainerCreate(ctx, cfg, host, nil, nil, "")
	require.NoError(t, err)
	stranger := engine(t)
	_, err = stranger.Reap(ctx)
	require.NoError(t, err)
	require.NotContains(t, boxes(t, e), late.ID)
}

func TestABoxWithoutOwnerEndsByItself(t *testing.T) {
	e := engine(t)
	img := hostGo(t, e)
	b, err := e.open(t.Context(), sandbox.Spec{Image: img.ID, Limits: sandbox.Limits{Lifetime: 2 * time.Second}}, false)
	require.NoError(t, err)
	removed, failed := e.api.ContainerWait(t.Context(), b.id, container.WaitConditionRemoved)
	select {
	case <-removed:
	case err := <-failed:
		require.ErrorContains(t, err, "No such container")
	}
	require.Empty(t, boxes(t, e))
	require.NoError(t, b.Close(t.Context()), "closing what has ended is no error")
}

func TestWhatABoxIsMadeOf(t *testing.T) {
	e := engine(t)
	img := hostGo(t, e)
	b, err := e.open(t.Context(), sandbox.Spec{Image: img.ID, Purpose: "look at me"}, false)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	c, err := e.api.ContainerInspect(t.Context(), b.id)
	require.NoError(t, err)
	require.Equal(t, map[string]string{labelStack: e.cfg.Stack, labelEpoch: "1", labelPurpose: "look at me"},
		pick(c.Config.Labels, labelStack, labelEpoch, labelPurpose))
	deadline, err := time.Parse(time.RFC3339, c.Config.Labels[labelDeadline])
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(sandbox.DefaultLimits.Lifetime), deadline, 2*time.Minute)
	h := c.HostConfig
	require.True(t, h.ReadonlyRootfs && h.AutoRemove)
	require.False(t, h.Privileged)
	require.Empty(t, h.Binds)
	require.Empty(t, c.Mounts, "nothing of the host is mounted")
	require.EqualValues(t, "none", h.NetworkMode)
	require.Equal(t, "none", h.LogConfig.Type, "output never reaches the host's disk")
	require.Equal(t, h.Memory, h.MemorySwap)
}

func pick(m map[string]string, keys ...string) map[string]string {
	out := map[string]string{}
	for _, k := range keys {
		out[k] = m[k]
	}
	return out
}
