package sandboxtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// streams checks a command that is talked to while it runs, and much input and output.
func (s *suite) streams(t *testing.T) {
	b := s.open(t)
	ctx := t.Context()
	t.Run("dialogue", func(t *testing.T) { s.dialogue(t, b) })

	var got bytes.Buffer
	c := probe("cat")
	c.Stdin, c.Stdout, c.MaxOutput = strings.NewReader(strings.Repeat("0123456789abcdef", 1<<19)), &got, 64<<20
	o, err := b.Exec(ctx, c)
	require.NoError(t, err)
	require.True(t, o.OK() && !o.Truncated)
	require.Empty(t, o.Stdout)
	require.Equal(t, strings.Repeat("0123456789abcdef", 1<<19), got.String())

	c = probe("flood", fmt.Sprint(64<<20))
	c.Stdin, c.MaxOutput = bytes.NewReader(make([]byte, 4<<20)), 64<<20 // which is not read
	o, err = b.Exec(ctx, c)
	require.NoError(t, err)
	require.True(t, o.OK() && !o.Truncated, "%+v", o.ExitCode)
	require.Len(t, o.Stdout, 64<<20)

	got.Reset()
	c.Stdout, c.MaxOutput = &got, 1000
	o, err = b.Exec(ctx, c)
	require.NoError(t, err)
	require.True(t, o.OK() && o.Truncated)
	require.Equal(t, 1000, got.Len())

	full := errors.New("full")
	c = probe("detach")
	c.Stdout = writer(func([]byte) (int, error) { return 0, full })
	_, err = b.Exec(ctx, c)
	require.ErrorIs(t, err, full)
	require.Zero(t, hanging(t, b), "what was running has ended with the writer")

	c = probe("echo")
	c.Stdout = io.Discard
	require.Error(t, b.Batch(ctx, sandbox.Batch{Commands: []sandbox.Command{c}}, nil))
	t.Run("timeout", func(t *testing.T) { s.streamsToTheEnd(t, b) })
}

// dialogue sends each line when the answer to the one before has come.
func (s *suite) dialogue(t *testing.T, b sandbox.Box) {
	in, lines := io.Pipe()
	answers, out := io.Pipe()
	c := probe("cat")
	c.Stdin, c.Stdout = in, out
	ended := make(chan error, 1)
	go func() {
		o, err := b.Exec(t.Context(), c)
		if err == nil && !o.OK() {
			err = fmt.Errorf("%+v", o)
		}
		out.Close()
		ended <- err
	}()
	answer := bufio.NewReader(answers)
	for i := range 20 {
		line := fmt.Sprintln("line", i)
		_, err := io.WriteString(lines, line)
		require.NoError(t, err)
		got, err := answer.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, line, got)
	}
	require.NoError(t, lines.Close())
	require.NoError(t, <-ended)
}

// streamsToTheEnd checks that a time-out ends a command with both streams open.
func (s *suite) streamsToTheEnd(t *testing.T, b sandbox.Box) {
	in, lines := io.Pipe()
	defer lines.Close()
	var got bytes.Buffer
	c := probe("detach")
	c.Stdin, c.Stdout, c.Timeout = in, &got, brief
	o, err := b.Exec(t.Context(), c)
	require.NoError(t, err)
	require.True(t, o.TimedOut)
	require.Contains(t, got.String(), "hanging")
	_, err = b.Exec(t.Context(), probe("echo"))
	require.ErrorIs(t, err, sandbox.ErrDead)
}

// inputs checks the standard input of the commands of a batch, read or not.
func (s *suite) inputs(t *testing.T) {
	b := s.open(t)
	much := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	cmds := []sandbox.Command{probe("cat"), probe("echo", "b"), probe("echo", "c"), probe("cat"), probe("cat"), probe("cat")}
	cmds[0].Input, cmds[2].Input, cmds[3].Input, cmds[4].Input = []byte("a"), much, much, []byte{}
	missing := probe("echo")
	missing.Argv, missing.Input = []string{"/no/such/program"}, much
	unlaid := probe("cat")
	unlaid.Input, unlaid.Files = much, []model.File{file("../up", "x")}
	for i := range cmds {
		cmds[i].MaxOutput = 4 << 20
	}
	outs := batch(t, b, sandbox.Batch{Commands: append(cmds, missing, probe("echo", "end"))})
	for i, want := range []string{"a", "b", "c", string(much), "", "", "", "end"} {
		require.Equal(t, want, string(outs[i].Stdout), "command %d", i)
	}
	require.Error(t, b.Batch(t.Context(), sandbox.Batch{Commands: []sandbox.Command{unlaid}}, nil))
	blocked := probe("cat")
	blocked.Input, blocked.Dir, blocked.Files = much, probeDir, []model.File{file("builders", "x")} // of another user
	require.Error(t, b.Batch(t.Context(), sandbox.Batch{Commands: []sandbox.Command{blocked, probe("echo")}, Parallel: 2},
		func(int, sandbox.Outcome) error { return nil }))
	require.Equal(t, "alive", must(t, b, "echo", "alive"))
	_, err := b.Exec(t.Context(), cmds[0])
	require.Error(t, err)
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
