package sandboxtest

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// Boxes that are hurried at once, and how often each. They keep a machine busy, which
// is when one thing in a box overtakes another.
const (
	hurried      = 4
	hurriedTimes = 4
)

// hurries checks that what a box does next never suffers from what it did last: a
// batch that was ended early still runs, input was left unread, a command has killed
// what supervises it, the box was reset.
func (s *suite) hurries(t *testing.T) {
	for i := range hurried {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			b := s.open(t)
			for range hurriedTimes {
				s.hurry(t, b)
			}
		})
	}
}

func (s *suite) hurry(t *testing.T, b sandbox.Box) {
	ctx := t.Context()
	stop := errors.New("enough")
	many := make([]sandbox.Command, 200)
	for i := range many {
		many[i] = probe("echo", "x")
	}
	err := b.Batch(ctx, sandbox.Batch{Commands: many}, func(int, sandbox.Outcome) error { return stop })
	require.ErrorIs(t, err, stop)
	require.Equal(t, "next", must(t, b, "echo", "next"))

	c := probe("echo", "unread")
	c.Stdin = strings.NewReader(strings.Repeat("input ", 50_000))
	o, err := b.Exec(ctx, c)
	require.NoError(t, err)
	require.Equal(t, "unread", string(o.Stdout))
	_, complete, err := b.List(ctx, probeDir, 100)
	require.NoError(t, err)
	require.True(t, complete)

	c = probe("cat")
	c.Input = []byte("in a batch")
	require.Equal(t, "in a batch", string(batch(t, b, sandbox.Batch{Commands: []sandbox.Command{probe("parent", "kill"), c}})[1].Stdout))
	require.NoError(t, b.Put(ctx, sandbox.WorkDir, sandbox.Runner, []model.File{file("mine", "x")}))
	for range 3 {
		require.NoError(t, b.Reset(ctx))
	}
	require.Equal(t, "after", must(t, b, "echo", "after"))
}
