package sandboxtest

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// isolation checks what a box must not have.
func (s *suite) isolation(t *testing.T) {
	t.Setenv("RATCHET_HOST_SECRET", "hunter2")
	b := s.open(t)
	for _, u := range []sandbox.User{sandbox.Builder, sandbox.Runner} {
		c := probe("status")
		c.User = u
		o, err := b.Exec(t.Context(), c)
		require.NoError(t, err)
		for _, line := range []string{"CapInh:0", "CapPrm:0", "CapEff:0", "CapBnd:0", "CapAmb:0", "NoNewPrivs:1", "Seccomp:2"} {
			require.Contains(t, squeeze(string(o.Stdout)), line)
		}
	}
	require.Empty(t, answer[[]string](t, b, "forbidden"), "system calls that were not refused")

	net := answer[map[string]any](t, b, append([]string{"network", "1.1.1.1:53"}, s.Unreachable...)...)
	require.Equal(t, []any{"lo"}, net["interfaces"])
	require.Equal(t, true, net["loopback"])
	for _, addr := range append(s.Unreachable, "1.1.1.1:53") {
		require.Equal(t, false, net[addr], addr)
	}

	env := must(t, b, "env")
	require.NotContains(t, env, "hunter2")
	for _, line := range strings.Split(strings.TrimSpace(env), "\n") {
		name, value, _ := strings.Cut(line, "=")
		if host := os.Getenv(name); host != "" && name != "PATH" {
			require.NotEqual(t, host, value, "%s is the host's", name)
		}
	}
	require.NotContains(t, must(t, b, "exists", "/var/run/docker.sock", "/run/docker.sock"), "true")

	for _, p := range []string{"/new", "/etc/new", "/usr/new", "/.ratchet/new", "/dev/new", "/proc/sys/kernel/hostname", "/sys/fs/cgroup/new"} {
		require.Equal(t, 1, try(t, b, "write", p).ExitCode, p)
	}
	require.Equal(t, "out of reach", must(t, b, "parent", "inspect"))
}

func squeeze(s string) string {
	s = strings.NewReplacer("\t", "", " ", "").Replace(s)
	for strings.Contains(s, ":00") {
		s = strings.ReplaceAll(s, ":00", ":0")
	}
	return s
}

type filled struct {
	Bytes int64
	Why   string
}

// limits checks each limit on its own.
func (s *suite) limits(t *testing.T) {
	b := s.open(t)
	require.Equal(t, filled{smallLimits.FileSize, "too big"}, answer[filled](t, b, "fill", "/box/one"))
	var total int64
	for i := range 10 {
		f := answer[filled](t, b, "fill", "/box/more"+string(rune('a'+i)))
		total += f.Bytes
		if f.Why == "no space" {
			break
		}
	}
	require.Less(t, total, smallLimits.Disk)
	require.Greater(t, total, smallLimits.Disk/2)
	require.ErrorIs(t, b.Put(t.Context(), "/box", sandbox.Builder, []model.File{{Path: "f", Mode: model.ModeFile, Data: make([]byte, 1<<20)}}), sandbox.ErrNoSpace)
	require.NoError(t, b.Reset(t.Context()))
	require.NoError(t, b.Put(t.Context(), "/box", sandbox.Builder, []model.File{file("f", "x")}))

	rlimits := answer[map[string]uint64](t, b, "limits")
	require.Zero(t, rlimits["core"])
	require.LessOrEqual(t, rlimits["nofile"], uint64(1<<16))

	t.Run("processes", func(t *testing.T) {
		o := try(t, b, "bomb")
		require.Contains(t, string(o.Stdout), "started")
		require.Less(t, strings.Count(string(o.Stdout), "hanging"), int(smallLimits.Pids))
		require.Zero(t, hanging(t, b))

		c := probe("bomb", "hang") // a full table does not keep the box from being killed
		c.Timeout = 2 * time.Second
		o, err := b.Exec(t.Context(), c)
		require.NoError(t, err)
		require.True(t, o.TimedOut)
		other := s.open(t)
		require.Equal(t, "fine", must(t, other, "echo", "fine"))
	})
}

// memory checks that running out of memory is told from everything else.
func (s *suite) memory(t *testing.T) {
	t.Run("itself", func(t *testing.T) {
		b := s.open(t)
		require.Contains(t, must(t, b, "eat", "32"), "ate 32")
		o := try(t, b, "eat", "500")
		require.True(t, o.OutOfMemory, "%+v", o)
		require.False(t, o.TimedOut || o.OK())
		_, err := b.Exec(t.Context(), probe("echo"))
		require.ErrorIs(t, err, sandbox.ErrDead)
	})
	t.Run("child", func(t *testing.T) { // the command itself sees only a failure
		o := try(t, s.open(t), "eat", "500", "child")
		require.True(t, o.OutOfMemory, "%+v", o)
		require.Contains(t, string(o.Stdout), "killed")
	})
	t.Run("beside", func(t *testing.T) {
		got := batch(t, s.open(t), sandbox.Batch{Parallel: 2, Commands: []sandbox.Command{probe("eat", "500"), probe("echo", "fine")}})
		require.True(t, got[0].OutOfMemory, "%+v", got[0])
		require.True(t, got[1].OK(), "%+v", got[1])
	})
}

// resets checks that Reset leaves nothing of Runner, and everything of Builder.
func (s *suite) resets(t *testing.T) {
	b := s.openWith(t, sandbox.Limits{Pids: 128, Disk: 64 << 20}, nil)
	for range 2 {
		must(t, b, "litter")
		require.NotEmpty(t, answer[[]string](t, b, "owned"))
		require.NoError(t, b.Reset(t.Context()))
		require.Empty(t, answer[[]string](t, b, "owned"))
		require.Zero(t, hanging(t, b))
		require.Equal(t, "untouched", must(t, b, "read", probeDir+"/builders"))
	}
	require.Equal(t, "collected", must(t, b, "orphans"))
}

// life checks how boxes end.
func (s *suite) life(t *testing.T) {
	ctx := t.Context()
	t.Run("close", func(t *testing.T) {
		b := s.open(t)
		require.NoError(t, b.Close(ctx))
		require.NoError(t, b.Close(ctx))
		_, err := b.Exec(ctx, probe("echo"))
		require.ErrorIs(t, err, sandbox.ErrDead)
		require.ErrorIs(t, b.Put(ctx, "/box", sandbox.Runner, nil), sandbox.ErrDead)
		require.ErrorIs(t, b.Reset(ctx), sandbox.ErrDead)
		_, err = b.Get(ctx, probePath, 1)
		require.ErrorIs(t, err, sandbox.ErrDead)
	})
	t.Run("close while running", func(t *testing.T) {
		b := s.open(t)
		done, cancel := context.WithCancel(ctx)
		cancel()
		var closing sync.WaitGroup
		err := b.Batch(ctx, sandbox.Batch{Commands: []sandbox.Command{probe("echo"), probe("hang")}}, func(int, sandbox.Outcome) error {
			for range 3 { // a context that is done does not keep the box from being closed
				closing.Go(func() { _ = b.Close(done) })
			}
			return nil
		})
		require.ErrorIs(t, err, sandbox.ErrDead)
		closing.Wait()
	})
	t.Run("cancel", func(t *testing.T) {
		b := s.open(t)
		c := probe("hang")
		ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		_, err := b.Exec(ctx, c)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = b.Exec(t.Context(), probe("echo"))
		require.ErrorIs(t, err, sandbox.ErrDead)
	})
	t.Run("lifetime", func(t *testing.T) {
		l := smallLimits
		l.Lifetime = brief
		b := s.openWith(t, l, nil)
		_, err := b.Exec(ctx, probe("hang"))
		require.ErrorIs(t, err, sandbox.ErrDead)
	})
	t.Run("helper stopped", func(t *testing.T) { // by code under test, so that nobody inside keeps the time
		b := s.open(t)
		c := probe("parent", "stop")
		c.Timeout = time.Second
		o, err := b.Exec(ctx, c)
		require.NoError(t, err)
		require.True(t, o.TimedOut)
	})
}

// refusals checks what Open and Exec do not accept.
func (s *suite) refusals(t *testing.T) {
	ctx := t.Context()
	for name, spec := range map[string]sandbox.Spec{
		"image":   {Image: "ratchet.invalid/no-such-image:1"},
		"nothing": {},
	} {
		_, err := s.Provider.Open(ctx, spec)
		require.ErrorIs(t, err, sandbox.ErrNoImage, name)
		var typed *sandbox.Error
		require.ErrorAs(t, err, &typed)
		require.NotEmpty(t, typed.Hint)
	}
	for name, l := range map[string]sandbox.Limits{
		"cpus": {CPUs: -1}, "many cpus": {CPUs: 100_000}, "memory": {Memory: 1}, "pids": {Pids: -1}, "disk": {Disk: -1},
		"file size": {FileSize: -5}, "lifetime": {Lifetime: -time.Second},
	} {
		_, err := s.Provider.Open(ctx, sandbox.Spec{Image: s.Image, Limits: l})
		require.ErrorIs(t, err, sandbox.ErrLimit, name)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err := s.Provider.Open(done, sandbox.Spec{Image: s.Image})
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Provider.Open(ctx, sandbox.Spec{Image: s.Image, Network: "everything"})
	require.Error(t, err)

	b := s.open(t)
	for name, c := range map[string]sandbox.Command{
		"no program": {Timeout: patience}, "no time limit": {Argv: []string{probePath}},
		"files": {Argv: []string{probePath}, Timeout: patience, Files: []model.File{file("f", "x")}},
	} {
		_, err := b.Exec(ctx, c)
		require.Error(t, err, name)
	}
	require.Equal(t, "alive", must(t, b, "echo", "alive"))
}
