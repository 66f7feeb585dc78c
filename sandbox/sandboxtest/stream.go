package sandboxtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	c.Stdin, c.Stdout, c.Timeout = in, &got, 500*time.Millisecond
	o, err := b.Exec(t.Context(), c)
	require.NoError(t, err)
	require.True(t, o.TimedOut)
	require.Contains(t, got.String(), "hanging")
	_, err = b.Exec(t.Context(), probe("echo"))
	require.ErrorIs(t, err, sandbox.ErrDead)
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
