package sandboxtest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// runs checks what a command gets: arguments, folder, environment, input.
func (s *suite) runs(t *testing.T) {
	b := s.openWith(t, smallLimits, map[string]string{"BOX": "one", "BOTH": "box"})
	require.NotEmpty(t, b.ID())
	ctx := t.Context()

	require.Equal(t, "a b $HOME *", must(t, b, "echo", "a b", "$HOME", "*"))
	require.Equal(t, sandbox.WorkDir, must(t, b, "where"))

	c := probe("where")
	c.Dir = probeDir
	o, err := b.Exec(ctx, c)
	require.NoError(t, err)
	require.Equal(t, probeDir, string(o.Stdout))
	require.Positive(t, o.Wall)

	c = probe("env")
	c.Env = map[string]string{"COMMAND": "two", "BOTH": "command"}
	o, err = b.Exec(ctx, c)
	require.NoError(t, err)
	env := strings.Split(strings.TrimSpace(string(o.Stdout)), "\n")
	require.Subset(t, env, []string{"BOX=one", "COMMAND=two", "BOTH=command"})
	require.NotContains(t, env, "BOTH=box")

	c = probe("cat")
	c.Stdin = strings.NewReader(strings.Repeat("input ", 100_000))
	c.MaxOutput = 10 << 20
	o, err = b.Exec(ctx, c)
	require.NoError(t, err)
	require.True(t, o.OK())
	require.Equal(t, 600_000, len(o.Stdout))

	c = probe("echo", "input is not read")
	c.Stdin = strings.NewReader(strings.Repeat("input ", 100_000))
	o, err = b.Exec(ctx, c)
	require.NoError(t, err)
	require.Equal(t, "input is not read", string(o.Stdout))
	require.Equal(t, "again", must(t, b, "echo", "again"))
}

// outcomes checks that the ways in which a command can end are told apart.
func (s *suite) outcomes(t *testing.T) {
	b := s.open(t)
	ctx := t.Context()
	require.Equal(t, 7, try(t, b, "exit", "7").ExitCode)
	o := try(t, b, "exit", "137")
	require.Equal(t, 137, o.ExitCode)
	require.Empty(t, o.Signal)

	for number, name := range map[string]string{"9": "killed", "1": "hangup", "15": "terminated"} {
		o := try(t, b, "signal", number)
		require.Equal(t, name, o.Signal)
		require.Equal(t, -1, o.ExitCode)
		require.False(t, o.OK() || o.TimedOut || o.OutOfMemory)
	}

	o, err := b.Exec(ctx, sandbox.Command{Argv: []string{"/no/such/program"}, Timeout: patience})
	require.NoError(t, err)
	require.Equal(t, 127, o.ExitCode)
	require.Contains(t, string(o.Stderr), "cannot start")

	t.Run("output", func(t *testing.T) { s.floods(t, b) })
	t.Run("leftovers", func(t *testing.T) {
		must(t, b, "detach", "exit") // they hold standard output, but do not hold up the outcome
		require.Zero(t, hanging(t, b))
	})
	t.Run("timeout", func(t *testing.T) {
		c := probe("detach")
		c.Timeout = brief
		o, err := b.Exec(ctx, c)
		require.NoError(t, err)
		require.True(t, o.TimedOut)
		require.False(t, o.OutOfMemory || o.OK())
		require.Contains(t, string(o.Stdout), "hanging")
		require.Less(t, o.Wall, patience/2)
		_, err = b.Exec(ctx, probe("echo"))
		require.ErrorIs(t, err, sandbox.ErrDead)
	})
}

func (s *suite) floods(t *testing.T, b sandbox.Box) {
	c := probe("flood", "5000000")
	c.MaxOutput = 1000
	o, err := b.Exec(t.Context(), c)
	require.NoError(t, err)
	require.True(t, o.OK())
	require.True(t, o.Truncated)
	require.Len(t, o.Stdout, 1000)
	require.Len(t, o.Stderr, 1000)

	c.MaxOutput = 0
	o, err = b.Exec(t.Context(), c)
	require.NoError(t, err)
	require.Len(t, o.Stdout, 1<<20)

	o = try(t, b, "echo", "short")
	require.False(t, o.Truncated)

	endless := probe("flood")
	endless.Timeout = time.Second
	got := batch(t, b, sandbox.Batch{Commands: []sandbox.Command{endless}})
	require.True(t, got[0].TimedOut)
	require.True(t, got[0].Truncated)
	require.Len(t, got[0].Stdout, 1<<20)
}

// batches checks order, files, parallelism and how a batch is ended.
func (s *suite) batches(t *testing.T) {
	b := s.open(t)
	ctx := t.Context()
	require.NoError(t, b.Batch(ctx, sandbox.Batch{}, nil))

	var order []int
	cmds := make([]sandbox.Command, 20)
	for i := range cmds {
		cmds[i] = probe("read", "own/f")
		cmds[i].Files = []model.File{{Path: "own/f", Mode: model.ModeFile, Data: []byte{byte('a' + i)}}}
	}
	require.NoError(t, b.Batch(ctx, sandbox.Batch{Commands: cmds}, func(i int, o sandbox.Outcome) error {
		order = append(order, i)
		require.Equal(t, string(rune('a'+i)), string(o.Stdout))
		return nil
	}))
	require.IsIncreasing(t, order)
	require.Len(t, order, len(cmds))

	// Two that wait for each other can only end when both run at once.
	var beside []sandbox.Command
	for range 2 {
		beside = append(beside, probe("fifo", "/box/nothing"), probe("exists", "/box"))
	}
	for _, o := range batch(t, b, sandbox.Batch{Commands: beside, Parallel: 3}) {
		require.False(t, o.TimedOut)
	}

	stop := errors.New("enough")
	var calls atomic.Int32
	err := b.Batch(ctx, sandbox.Batch{Commands: []sandbox.Command{probe("echo"), probe("hang"), probe("echo")}}, func(int, sandbox.Outcome) error {
		calls.Add(1)
		return stop
	})
	require.ErrorIs(t, err, stop)
	require.EqualValues(t, 1, calls.Load())
	require.Zero(t, hanging(t, b), "what was running has ended with the batch")

	c := probe("echo")
	c.Timeout = 0
	require.Error(t, b.Batch(ctx, sandbox.Batch{Commands: []sandbox.Command{c}}, nil), "a time limit is required")

	t.Run("cancel", func(t *testing.T) {
		ctx, cancel := context.WithCancel(ctx)
		err := b.Batch(ctx, sandbox.Batch{Commands: []sandbox.Command{probe("echo"), probe("hang")}}, func(int, sandbox.Outcome) error {
			cancel()
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, b.Batch(t.Context(), sandbox.Batch{Commands: []sandbox.Command{probe("echo")}}, nil), sandbox.ErrDead)
	})
}

// batchFaults checks that a command that goes wrong costs only itself.
func (s *suite) batchFaults(t *testing.T) {
	b := s.open(t)
	slow := probe("detach")
	slow.Timeout = 300 * time.Millisecond
	got := batch(t, b, sandbox.Batch{Commands: []sandbox.Command{
		slow, probe("processes"), probe("bomb"), probe("processes"), probe("eat", "500"), probe("echo", "on"),
		probe("parent", "kill"), probe("echo", "and on"), probe("parent", "everyone"), probe("detach", "exit"), probe("processes"), probe("exit", "3"),
	}})
	require.True(t, got[0].TimedOut)
	for _, i := range []int{1, 3, 10} {
		require.True(t, got[i].OK(), "%+v", got[i])
		require.NotContains(t, string(got[i].Stdout), "hang", "command %d finds processes of the one before", i)
	}
	require.Contains(t, string(got[2].Stdout), "started")
	require.True(t, got[4].OutOfMemory, "%+v", got[4])
	require.False(t, got[4].TimedOut)
	require.Equal(t, "on", string(got[5].Stdout))
	require.Equal(t, "and on", string(got[7].Stdout))
	require.False(t, got[6].OutOfMemory || got[8].OutOfMemory)
	require.True(t, got[9].OK())
	require.Equal(t, 3, got[11].ExitCode)
	require.Equal(t, "still there", must(t, b, "echo", "still there"))
}
