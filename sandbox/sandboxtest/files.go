package sandboxtest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

func file(path, data string) model.File {
	return model.File{Path: path, Mode: model.ModeFile, Data: []byte(data)}
}

type statAnswer struct{ UID, Mode uint32 }

// files checks Put and Get.
func (s *suite) files(t *testing.T) {
	b := s.open(t)
	ctx := t.Context()
	const dir = sandbox.WorkDir + "/in/here"
	big := bytes.Repeat([]byte{0, 1, 2, 255}, 1<<20)
	require.NoError(t, b.Put(ctx, dir, sandbox.Builder, []model.File{
		file("a/b/c.txt", "one"), file("a/empty", ""), {Path: "link", Mode: model.ModeSymlink, Data: []byte("a/b/c.txt")},
		{Path: "run", Mode: model.ModeExec, Data: []byte("x")}, {Path: "big", Mode: model.ModeFile, Data: big},
	}))
	require.Equal(t, "one", must(t, b, "read", dir+"/link"))
	plain, exec := answer[statAnswer](t, b, "stat", dir+"/a/b/c.txt"), answer[statAnswer](t, b, "stat", dir+"/run")
	require.EqualValues(t, 0o644, plain.Mode)
	require.EqualValues(t, 0o755, exec.Mode)

	got, err := b.Get(ctx, dir+"/big", int64(len(big)))
	require.NoError(t, err)
	require.Equal(t, big, got)
	_, err = b.Get(ctx, dir+"/big", int64(len(big))-1)
	require.Error(t, err)
	got, err = b.Get(ctx, dir+"/a/empty", 10)
	require.NoError(t, err)
	require.Empty(t, got)
	_, err = b.Get(ctx, dir+"/missing", 10)
	require.ErrorIs(t, err, sandbox.ErrMissing)

	require.NoError(t, b.Put(ctx, dir, sandbox.Builder, []model.File{file("link", "no longer a link"), file("a/b/c.txt", "two")}))
	require.Equal(t, "no longer a link", must(t, b, "read", dir+"/link"))
	require.Equal(t, "two", must(t, b, "read", dir+"/a/b/c.txt"))

	many := make([]model.File, 5000)
	for i := range many {
		many[i] = file(fmt.Sprintf("many/%d/%d", i%7, i), "x")
	}
	require.NoError(t, b.Put(ctx, dir, sandbox.Runner, many[:0]))
	require.NoError(t, b.Put(ctx, dir, sandbox.Builder, many))
	require.Equal(t, "x", must(t, b, "read", dir+"/many/1/4999"))

	err = b.Put(ctx, dir, sandbox.Builder, []model.File{{Path: "huge", Mode: model.ModeFile, Data: make([]byte, 40<<20)}})
	require.ErrorIs(t, err, sandbox.ErrNoSpace)
	require.Equal(t, "alive", must(t, b, "echo", "alive"))
}

// escapes checks that no path leads out of the work area, on the way in or out.
func (s *suite) escapes(t *testing.T) {
	b := s.open(t)
	ctx := t.Context()
	for _, p := range []string{"../up", "/etc/x", "a/../../x", "", ".", "a//b", "a/./b", "a/", "a\x00b"} {
		require.ErrorIs(t, b.Put(ctx, sandbox.WorkDir, sandbox.Builder, []model.File{file(p, "x")}), sandbox.ErrPath, "%q", p)
	}
	for _, target := range []string{"/etc/passwd", "../../etc", "..", ""} {
		link := model.File{Path: "l", Mode: model.ModeSymlink, Data: []byte(target)}
		require.ErrorIs(t, b.Put(ctx, sandbox.WorkDir, sandbox.Builder, []model.File{link}), sandbox.ErrPath, "%q", target)
	}
	through := []model.File{{Path: "l", Mode: model.ModeSymlink, Data: []byte("probe")}, file("l/builders", "rewritten")}
	require.ErrorIs(t, b.Put(ctx, sandbox.WorkDir, sandbox.Builder, through), sandbox.ErrPath)
	for _, dir := range []string{"/", "/etc", "/box/../etc", "work", "", "/boxes", "/tmp"} {
		require.ErrorIs(t, b.Put(ctx, dir, sandbox.Builder, []model.File{file("f", "x")}), sandbox.ErrPath, "%q", dir)
		_, err := b.Get(ctx, dir+"/passwd", 1000)
		require.ErrorIs(t, err, sandbox.ErrPath, "%q", dir)
	}

	// Links that the code under test has planted.
	must(t, b, "symlink", "/etc", "/box/etc")
	must(t, b, "symlink", "/etc/passwd", "/box/out")
	must(t, b, "symlink", "/box/probe", "/box/trap")
	must(t, b, "fifo", "/box/pipe")
	for _, p := range []string{"/box/etc/passwd", "/box/out", "/box/trap/builders", "/box/pipe", "/box/probe"} {
		_, err := b.Get(ctx, p, 1000)
		require.ErrorIs(t, err, sandbox.ErrPath, p)
	}
	for _, dir := range []string{"/box/trap", "/box/etc", "/box/trap/deeper"} {
		require.ErrorIs(t, b.Put(ctx, dir, sandbox.Builder, []model.File{file("builders", "rewritten")}), sandbox.ErrPath)
	}
	require.ErrorIs(t, b.Put(ctx, "/box", sandbox.Builder, []model.File{file("trap/builders", "rewritten")}), sandbox.ErrPath)
	require.Equal(t, "untouched", must(t, b, "read", probeDir+"/builders"))
}

// shares checks that Runner can add to what is laid for both, and change nothing of it.
func (s *suite) shares(t *testing.T) {
	b := s.open(t)
	const dir = sandbox.WorkDir + "/both"
	require.NoError(t, b.Put(t.Context(), dir, sandbox.Shared, []model.File{file("a/theirs", "untouched"), file("top", "x")}))
	must(t, b, "write", dir+"/a/mine")
	must(t, b, "write", dir+"/mine")
	for _, args := range [][]string{{"write", dir + "/a/theirs"}, {"remove", dir + "/a/theirs"}, {"remove", dir + "/top"}} {
		require.Equal(t, 1, try(t, b, args...).ExitCode, "%v", args)
	}
	c := probe("write", dir+"/a/built")
	c.User = sandbox.Builder
	o, err := b.Exec(t.Context(), c)
	require.NoError(t, err)
	require.True(t, o.OK())
	require.NoError(t, b.Reset(t.Context()))
	entries, complete, err := b.List(t.Context(), dir, 100)
	require.NoError(t, err)
	require.True(t, complete)
	var left []string
	for _, e := range entries {
		left = append(left, e.Path)
	}
	require.ElementsMatch(t, []string{"a", "a/theirs", "a/built", "top"}, left)
	require.Equal(t, "untouched", must(t, b, "read", dir+"/a/theirs"))
}

// users checks that what one user made the other can read and run, but not change.
func (s *suite) users(t *testing.T) {
	b := s.open(t)
	ctx := t.Context()
	for _, args := range [][]string{
		{"write", probeDir + "/builders"}, {"write", probeDir + "/new"}, {"remove", probeDir + "/builders"}, {"write", probePath},
	} {
		require.Equal(t, 1, try(t, b, args...).ExitCode, "%v", args)
	}
	require.Equal(t, "untouched", must(t, b, "read", probeDir+"/builders"))

	as := func(u sandbox.User, args ...string) sandbox.Outcome {
		c := probe(args...)
		c.User = u
		o, err := b.Exec(ctx, c)
		require.NoError(t, err)
		return o
	}
	for _, u := range []sandbox.User{sandbox.Builder, sandbox.Runner} {
		require.True(t, as(u, "write", "/box/by-"+string(u)).OK())
		status := string(as(u, "status").Stdout)
		require.NotRegexp(t, `(?m)^Uid:.*\b0\b`, status)
		require.NotRegexp(t, `(?m)^Gid:.*\b0\b`, status)
	}
	builder, runner := answer[statAnswer](t, b, "stat", "/box/by-builder"), answer[statAnswer](t, b, "stat", "/box/by-runner")
	require.NotEqual(t, builder.UID, runner.UID)
	require.Equal(t, 1, as(sandbox.Runner, "remove", "/box/by-builder").ExitCode)
	require.True(t, as(sandbox.Builder, "read", "/box/by-runner").OK())

	// Settings that programs read from a home folder must not come from the other user.
	homes := map[string]bool{}
	for _, u := range []sandbox.User{sandbox.Builder, sandbox.Runner} {
		for _, line := range bytes.Split(as(u, "env").Stdout, []byte("\n")) {
			if home, ok := bytes.CutPrefix(line, []byte("HOME=")); ok {
				homes[string(home)] = true
				require.True(t, as(u, "write", string(home)+"/setting").OK())
			}
		}
	}
	require.Len(t, homes, 2)
	for home := range homes {
		if answer[statAnswer](t, b, "stat", home).UID == builder.UID {
			require.Equal(t, 1, as(sandbox.Runner, "write", home+"/setting").ExitCode)
		}
	}
}
