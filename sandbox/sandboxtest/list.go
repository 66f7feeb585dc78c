package sandboxtest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// lists checks List.
func (s *suite) lists(t *testing.T) {
	b := s.open(t)
	ctx := t.Context()
	const dir = sandbox.WorkDir + "/tree"
	require.NoError(t, b.Put(ctx, dir, sandbox.Runner, []model.File{
		file("a/b/c.txt", "three"), file("empty", ""), {Path: "run", Mode: model.ModeExec, Data: []byte("x")},
	}))
	must(t, b, "symlink", "/etc", dir+"/out")
	must(t, b, "fifo", dir+"/pipe")
	must(t, b, "misname", dir)
	list := func(dir string, limit int) (map[string]sandbox.Entry, bool) {
		entries, complete, err := b.List(ctx, dir, limit)
		require.NoError(t, err)
		require.LessOrEqual(t, len(entries), limit)
		byPath := map[string]sandbox.Entry{}
		for _, e := range entries {
			require.NotContains(t, byPath, e.Path)
			byPath[e.Path] = e
		}
		return byPath, complete
	}
	got, complete := list(dir, 100)
	require.True(t, complete)
	want := map[string]sandbox.Entry{}
	for _, e := range []sandbox.Entry{
		{Path: "a", Kind: sandbox.EntryFolder}, {Path: "a/b", Kind: sandbox.EntryFolder},
		{Path: "a/b/c.txt", Kind: sandbox.EntryFile, Size: 5}, {Path: "empty", Kind: sandbox.EntryFile},
		{Path: "run", Kind: sandbox.EntryFile, Exec: true, Size: 1}, {Path: "out", Kind: sandbox.EntryOther},
		{Path: "pipe", Kind: sandbox.EntryOther}, {Path: "not?text", Kind: sandbox.EntryOther},
	} {
		want[e.Path] = e
	}
	require.Equal(t, want, got)
	_, complete = list(dir, len(want))
	require.True(t, complete)
	for _, limit := range []int{0, 1, len(want) - 1} {
		got, complete = list(dir, limit)
		require.Len(t, got, limit)
		require.False(t, complete)
	}

	many := make([]model.File, 3000)
	for i := range many {
		many[i] = file(fmt.Sprintf("many/%d/a-rather-long-name-so-that-one-frame-is-not-enough-%d", i%7, i), "")
	}
	require.NoError(t, b.Put(ctx, dir, sandbox.Runner, many))
	got, complete = list(dir+"/many", 10_000)
	require.True(t, complete)
	require.Len(t, got, len(many)+7)

	for _, bad := range []string{"/", "/etc", dir + "/out", dir + "/run", dir + "/pipe", dir + "/../..", "tree"} {
		_, _, err := b.List(ctx, bad, 10)
		require.ErrorIs(t, err, sandbox.ErrPath, bad)
	}
	_, _, err := b.List(ctx, dir+"/missing", 10)
	require.ErrorIs(t, err, sandbox.ErrMissing)
	must(t, b, "shut", dir+"/empty")
	_, err = b.Get(ctx, dir+"/empty", 10)
	require.ErrorIs(t, err, sandbox.ErrDenied)
	must(t, b, "shut", dir)
	_, _, err = b.List(ctx, dir, 10)
	require.ErrorIs(t, err, sandbox.ErrDenied)
	require.Equal(t, "alive", must(t, b, "echo", "alive"))
}
