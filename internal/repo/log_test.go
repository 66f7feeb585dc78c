package repo_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/repo"
)

// story makes a branch of commits, each of which sets a file named like it.
func story(t testing.TB, r *repo.Repo, names ...string) []string {
	t.Helper()
	var out []string
	parent := ""
	for _, name := range names {
		c, err := r.Commit(context.Background(), repo.CommitSpec{Parent: parent, Subject: "Set " + name, Body: "Because.", When: when,
			Trailers: []repo.Trailer{{Key: "Ratchet-Change", Value: name}},
			Edits:    []model.Edit{{Path: name, Data: []byte(name)}, {Path: "last", Data: []byte(name)}}})
		require.NoError(t, err)
		parent = c.Hash
		out = append(out, parent)
	}
	return out
}

func TestLog(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t)
	hashes := story(t, r, "a", "b", "c", "d")
	log, err := r.Log(ctx, hashes[3], 2)
	require.NoError(t, err)
	require.Len(t, log, 2)
	tree, err := r.TreeHash(ctx, hashes[3])
	require.NoError(t, err)
	require.True(t, when.Equal(log[0].When))
	log[0].When = when
	require.Equal(t, repo.LogEntry{Hash: hashes[3], Tree: tree, Parents: []string{hashes[2]}, Subject: "Set d", Body: "Because.",
		Trailers: map[string]string{"Ratchet-Change": "d"}, When: when}, log[0])
	all, err := r.Log(ctx, hashes[3], 0)
	require.NoError(t, err)
	require.Len(t, all, 4)
	require.Empty(t, all[3].Parents)
	parent, err := r.Parent(ctx, hashes[0])
	require.NoError(t, err)
	require.Empty(t, parent)
	_, err = r.Log(ctx, strings.Repeat("1", 40), 0)
	require.ErrorIs(t, err, repo.ErrNoRef)
}

func TestFindTrailer(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t)
	h := story(t, r, "a", "b", "c", "d")
	for _, c := range []struct {
		stop, value, want string
	}{
		{"", "b", h[1]}, {h[0], "b", h[1]}, {h[1], "b", ""}, {h[2], "b", ""}, {"", "nope", ""}, {h[3], "d", ""},
	} {
		got, found, err := r.FindTrailer(ctx, h[3], c.stop, "Ratchet-Change", c.value)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
		require.Equal(t, c.want != "", found)
	}
}

func TestDescends(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t)
	base := commit(t, r, "", "base", "a", "1").Hash
	two := commit(t, r, base, "Two", "a", "2").Hash
	three := commit(t, r, two, "Three", "a", "3").Hash
	aside := commit(t, r, base, "Aside", "b", "1").Hash
	for _, x := range []struct {
		commit, ancestor string
		want             bool
	}{
		{three, base, true}, {three, two, true}, {two, two, true}, {two, three, false}, {aside, two, false}, {base, aside, false},
	} {
		got, err := r.Descends(ctx, x.commit, x.ancestor)
		require.NoError(t, err)
		require.Equal(t, x.want, got)
	}
	_, err := r.Descends(ctx, strings.Repeat("0", 40), base)
	require.ErrorIs(t, err, repo.ErrNoRef)
}

func TestRevert(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t)
	base := commit(t, r, "", "base", "keep", "k", "old", "o", "dir/x", "x").Hash
	one, err := r.Commit(ctx, repo.CommitSpec{Parent: base, Subject: "One", When: when, Edits: []model.Edit{
		{Path: "old", Delete: true}, {Path: "dir/x", Delete: true}, {Path: "dir", Data: []byte("a file now")}, {Path: "keep", Mode: model.ModeExec, Data: []byte("k")}}})
	require.NoError(t, err)
	two := commit(t, r, one.Hash, "Two", "other", "2")
	spec := repo.RevertSpec{Tip: one.Hash, Target: one.Hash, When: when, Trailers: []repo.Trailer{{Key: "Ratchet-Change", Value: "c"}}}

	tip, err := r.Revert(ctx, spec)
	require.NoError(t, err)
	again, err := r.Revert(ctx, spec)
	require.NoError(t, err)
	require.Equal(t, tip, again)
	want, err := r.TreeHash(ctx, base)
	require.NoError(t, err)
	require.Equal(t, want, tip.Tree, "the tree is the parent's")
	log, err := r.Log(ctx, tip.Hash, 1)
	require.NoError(t, err)
	require.Equal(t, `Revert "One"`, log[0].Subject)
	require.Equal(t, "This reverts commit "+one.Hash+".", log[0].Body)
	require.Equal(t, []string{one.Hash}, log[0].Parents)

	spec.Tip = two.Hash
	older, err := r.Revert(ctx, spec)
	require.NoError(t, err)
	tree, err := r.Snapshot(ctx, older.Hash)
	require.NoError(t, err)
	require.Equal(t, []model.File{
		{Path: "dir/x", Mode: model.ModeFile, Data: []byte("x")}, {Path: "keep", Mode: model.ModeFile, Data: []byte("k")},
		{Path: "old", Mode: model.ModeFile, Data: []byte("o")}, {Path: "other", Mode: model.ModeFile, Data: []byte("2")},
	}, tree.Files)

	changed := commit(t, r, two.Hash, "Three", "dir", "changed again")
	for name, c := range map[string]struct {
		tip, target string
		want        error
	}{
		"changed again":   {changed.Hash, one.Hash, repo.ErrConflict},
		"not an ancestor": {base, two.Hash, repo.ErrConflict},
		"root":            {two.Hash, base, repo.ErrUnsupported},
		"undone already":  {older.Hash, one.Hash, repo.ErrNoChange},
		"no such commit":  {two.Hash, strings.Repeat("1", 40), repo.ErrNoRef},
	} {
		_, err := r.Revert(ctx, repo.RevertSpec{Tip: c.tip, Target: c.target, When: when})
		require.ErrorIs(t, err, c.want, name)
	}
	require.NoError(t, r.SetRef(ctx, main, "", older.Hash))
	fsck(t, r.Path())
}

func TestRevertMerge(t *testing.T) {
	ctx := context.Background()
	src := workTree(t)
	git(t, src, "checkout", "-q", "feature/x")
	write(t, src, "f", "f")
	git(t, src, "add", ".")
	git(t, src, "commit", "-qm", "f")
	git(t, src, "merge", "-q", "--no-edit", "main")
	r := open(t, src)
	tip := git(t, src, "rev-parse", "HEAD")
	_, err := r.Revert(ctx, repo.RevertSpec{Tip: tip, Target: tip, When: when})
	require.ErrorIs(t, err, repo.ErrUnsupported)
}

// TestDiff applies the diff with the git command and compares trees.
func TestDiff(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t)
	long := strings.Repeat("line\n", 30)
	a := commit(t, r, "", "a", "keep", "k\n", "mod", "1\n"+long+"2\n", "gone", "g\n", "no end", "x", "dir/ü", "u\n", "mode", "m\n")
	b, err := r.Commit(ctx, repo.CommitSpec{Parent: a.Hash, Subject: "b", When: when, Edits: []model.Edit{
		{Path: "mod", Data: []byte("one\n" + long + "two\n")}, {Path: "gone", Delete: true}, {Path: "new", Data: []byte("n\n"), Mode: model.ModeExec},
		{Path: "no end", Data: []byte("y")}, {Path: "dir/ü", Data: []byte("u2\n")}, {Path: "mode", Data: []byte("m\n"), Mode: model.ModeExec}}})
	require.NoError(t, err)
	text, err := r.Diff(ctx, a.Hash, b.Hash)
	require.NoError(t, err)
	require.NotContains(t, text, "keep")
	require.NoError(t, r.SetRef(ctx, main, "", a.Hash))
	dir := filepath.Join(t.TempDir(), "w")
	git(t, "", "clone", "-q", r.Path(), dir)
	patch := filepath.Join(t.TempDir(), "patch")
	require.NoError(t, os.WriteFile(patch, []byte(text), 0o644))
	git(t, dir, "apply", "--index", patch)
	require.Equal(t, b.Tree, git(t, dir, "write-tree"), text)

	same, err := r.Diff(ctx, a.Hash, a.Hash)
	require.NoError(t, err)
	require.Empty(t, same)
	bin := commit(t, r, a.Hash, "bin", "keep", "\x00\x01")
	text, err = r.Diff(ctx, a.Hash, bin.Hash)
	require.NoError(t, err)
	require.Contains(t, text, "Binary files a/keep and b/keep differ")
}
