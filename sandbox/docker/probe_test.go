package docker

import (
	"context"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/system"
	"github.com/stretchr/testify/require"

	"ratchet/sandbox"
)

func TestWhatAnEngineSaysOfItself(t *testing.T) {
	e := engine(t)
	f, err := Look(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, e.api.DaemonHost(), f.Address)
	require.NotEmpty(t, f.Version)
	require.NotEmpty(t, f.API)
	require.Equal(t, "linux", f.OS)
	require.Contains(t, []string{"1", "2"}, f.Cgroup)
	require.Empty(t, f.Missing, "New has connected, so nothing is")
	require.Equal(t, e.cpus, f.CPUs)
	require.Positive(t, f.Memory)
	require.True(t, filepath.IsAbs(f.Root), f.Root)
	require.False(t, f.Clock.IsZero())
	require.Positive(t, f.Trip)
	if f.Local && runtime.GOOS == "linux" { // one kernel, one clock
		require.LessOrEqual(t, f.Skew.Abs(), f.Trip+time.Second)
	}
}

func TestLimitsThatAnEngineLacks(t *testing.T) {
	all := system.Info{MemoryLimit: true, PidsLimit: true, CPUCfsQuota: true}
	require.Empty(t, factsOf(all).Missing)
	require.NoError(t, missingLimits(all))
	some := system.Info{PidsLimit: true}
	require.Equal(t, []string{"memory", "CPU quota"}, factsOf(some).Missing)
	require.ErrorIs(t, missingLimits(some), sandbox.ErrLimit)
	require.Equal(t, "1", factsOf(some).Cgroup, "old engines do not say")
	require.Equal(t, "2", factsOf(system.Info{CgroupVersion: "2"}).Cgroup)
}

func TestAnEngineThatCannotBeAsked(t *testing.T) {
	_, err := Look(t.Context(), "unix://"+filepath.Join(t.TempDir(), "none.sock"))
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	var typed *sandbox.Error
	require.ErrorAs(t, err, &typed)
	require.Equal(t, unreachable, typed.Hint)

	_, err = Look(t.Context(), "nonsense")
	require.ErrorAs(t, err, &typed)
	require.Contains(t, typed.Hint, "DOCKER_HOST")

	l, err := net.Listen("tcp", "127.0.0.1:0") // takes the connection and says nothing
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = Look(ctx, "tcp://"+l.Addr().String())
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestAHintForWhoMayNotUseTheEngine(t *testing.T) {
	require.Equal(t, forbidden, reachHint(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EACCES)}))
	require.Equal(t, forbidden, reachHint(fs.ErrPermission))
	require.Equal(t, unreachable, reachHint(syscall.ECONNREFUSED))
}

// TestReady: what Prepare would do is known before, and asking does none of it.
func TestReady(t *testing.T) {
	e := engine(t)
	img := hostGo(t, e)
	r, err := e.Ready(t.Context(), HostGo)
	require.NoError(t, err)
	require.Equal(t, Readiness{ID: img.ID, Found: "is on the engine"}, r)

	r, err = e.Ready(t.Context(), img.ID) // somebody names it
	require.NoError(t, err)
	require.Equal(t, img.ID, r.ID)

	_, err = e.Ready(t.Context(), "127.0.0.1:1/nobody/has:this")
	require.ErrorIs(t, err, sandbox.ErrNoImage)
	require.ErrorContains(t, err, "docker load")
}

func TestReadyWithoutTheHelper(t *testing.T) {
	e := engine(t)
	img := hostGo(t, e)
	name := "ratchet-test/" + e.cfg.Stack + ":latest"
	created, err := e.api.ContainerCreate(t.Context(), &container.Config{Image: img.ID}, nil, nil, nil, "")
	require.NoError(t, err)
	_, err = e.api.ContainerCommit(t.Context(), created.ID, container.CommitOptions{Reference: name, Config: &container.Config{Labels: map[string]string{labelHelper: "old"}}})
	require.NoError(t, err)
	require.NoError(t, e.remove(t.Context(), created.ID))
	t.Cleanup(func() {
		_, err := e.api.ImageRemove(context.Background(), name, image.RemoveOptions{PruneChildren: true})
		require.NoError(t, err)
	})
	for range 2 { // had the first made the image, the second would find it
		r, err := e.Ready(t.Context(), name)
		require.NoError(t, err)
		require.Empty(t, r.ID)
		require.Contains(t, r.Found, "helper is compiled into it")
	}
}

func TestReadyWithoutATool(t *testing.T) {
	e := engine(t)
	e.cfg.GoRoot = t.TempDir()
	_, err := e.Ready(t.Context(), HostGo)
	require.ErrorContains(t, err, "bin/go")
	_, err = e.goVersion(t.Context())
	require.ErrorContains(t, err, goHint)
	t.Setenv("PATH", t.TempDir())
	require.ErrorContains(t, debianTools(), "apt-get is missing")
}
