package repo_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/repo"
)

// when is the time of all commits in these tests.
var when = time.Unix(1700000000, 0)

// git runs the git command, which these tests compare with; without it they
// skip, or fail where CI is set.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := gitCommand(t, dir, args...).CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return strings.TrimRight(string(out), "\n")
}

func gitCommand(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("git is not installed: apt-get install git")
		}
		t.Skip("git is not installed: apt-get install git")
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsync", "GIT_CONFIG_VALUE_0=none", // these repositories need not last
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000")
	return cmd
}

// newRepo makes an empty bare repository.
func newRepo(t testing.TB) *repo.Repo {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bare.git")
	require.NoError(t, repo.Init(context.Background(), path))
	return open(t, path)
}

func open(t testing.TB, path string) *repo.Repo {
	t.Helper()
	r, err := repo.Open(context.Background(), path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// commit writes a commit of text files given as path, content, ….
func commit(t testing.TB, r *repo.Repo, parent, subject string, files ...string) repo.Commit {
	t.Helper()
	var edits []model.Edit
	for i := 0; i < len(files); i += 2 {
		edits = append(edits, model.Edit{Path: files[i], Data: []byte(files[i+1])})
	}
	c, err := r.Commit(context.Background(), repo.CommitSpec{Parent: parent, Edits: edits, Subject: subject, When: when})
	require.NoError(t, err)
	return c
}

// fsck has the git command check every object and ref.
func fsck(t testing.TB, path string) {
	t.Helper()
	out := git(t, path, "fsck", "--strict", "--full")
	for line := range strings.Lines(out) {
		harmless := strings.HasPrefix(line, "dangling ") || strings.HasPrefix(line, "notice: ")
		require.True(t, harmless, "git fsck: %s", out)
	}
}

func TestCommitAndSnapshot(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t)
	root, err := r.Commit(ctx, repo.CommitSpec{
		Subject: "Begin", Body: "Why.", When: when,
		Trailers: []repo.Trailer{{Key: "Ratchet-Change", Value: "c1"}},
		Edits: []model.Edit{
			{Path: "a.txt", Data: []byte("one\n")},
			{Path: "bin/run", Data: []byte("#!/bin/sh\n"), Mode: model.ModeExec},
			{Path: "link", Data: []byte("a.txt"), Mode: model.ModeSymlink},
			{Path: "dir/sub/ünï cödé.txt", Data: nil},
			{Path: "dir.txt", Data: []byte("sorts between\n")},
		},
	})
	require.NoError(t, err)
	tree, err := r.Snapshot(ctx, root.Hash)
	require.NoError(t, err)
	require.Equal(t, root.Tree, tree.Hash)
	require.Equal(t, []model.File{
		{Path: "a.txt", Mode: model.ModeFile, Data: []byte("one\n")},
		{Path: "bin/run", Mode: model.ModeExec, Data: []byte("#!/bin/sh\n")},
		{Path: "dir.txt", Mode: model.ModeFile, Data: []byte("sorts between\n")},
		{Path: "dir/sub/ünï cödé.txt", Mode: model.ModeFile, Data: []byte{}},
		{Path: "link", Mode: model.ModeSymlink, Data: []byte("a.txt")},
	}, tree.Files)
	require.NoError(t, r.SetRef(ctx, "refs/heads/main", "", root.Hash))
	fsck(t, r.Path())
	require.Equal(t, "c1", git(t, r.Path(), "log", "-1", "--format=%(trailers:key=Ratchet-Change,valueonly,separator=)"))
	require.Equal(t, root.Hash, git(t, r.Path(), "rev-parse", "main"))
}
