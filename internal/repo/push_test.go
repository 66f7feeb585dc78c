package repo_test

import (
	"context"
	"fmt"
	"io"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/repo"
)

// served serves a bare repository over HTTP with git's own server.
func served(t testing.TB, bare string) string {
	t.Helper()
	git(t, bare, "config", "http.receivepack", "true")
	backend := filepath.Join(git(t, bare, "--exec-path"), "git-http-backend")
	srv := httptest.NewServer(&cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(bare), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null"}, Stderr: io.Discard})
	t.Cleanup(srv.Close)
	return srv.URL + "/" + filepath.Base(bare)
}

func mirror(t testing.TB, src string) string {
	t.Helper()
	bare := filepath.Join(t.TempDir(), "remote.git")
	git(t, "", "clone", "-q", "--mirror", src, bare)
	return bare
}

func TestImportURL(t *testing.T) {
	ctx := context.Background()
	src := workTree(t)
	url := served(t, mirror(t, src))
	r := importTo(t, url, repo.ImportOptions{})
	fsck(t, r.Path())
	refs, err := r.Refs(ctx, "")
	require.NoError(t, err)
	tip := git(t, src, "rev-parse", "main")
	require.Equal(t, map[string]string{"refs/heads/main": tip, "refs/heads/feature/x": git(t, src, "rev-parse", "main~1"),
		"refs/tags/v1": git(t, src, "rev-parse", "v1"), "refs/remotes/source/ratchet/earlier": tip}, refs)
	require.Equal(t, "refs/heads/main", git(t, r.Path(), "symbolic-ref", "HEAD"))
	tree, err := r.Snapshot(ctx, tip)
	require.NoError(t, err)
	require.Len(t, tree.Files, 3)

	dst := filepath.Join(t.TempDir(), "repo.git")
	require.ErrorIs(t, repo.Import(ctx, url+"-not", dst, repo.ImportOptions{}), repo.ErrNotFound)
	empty := filepath.Join(t.TempDir(), "empty.git")
	git(t, "", "init", "-q", "--bare", empty)
	require.ErrorIs(t, repo.Import(ctx, served(t, empty), dst, repo.ImportOptions{}), repo.ErrEmpty)
	require.ErrorIs(t, repo.Import(ctx, "ftp://example.com/x", dst, repo.ImportOptions{}), repo.ErrUnsupported)
	require.NoDirExists(t, dst)
}

// TestPush pushes to a path and to a server; both must do the same.
func TestPush(t *testing.T) {
	for _, kind := range []string{"path", "file URL", "http"} {
		t.Run(kind, func(t *testing.T) {
			ctx := context.Background()
			src := workTree(t)
			bare := mirror(t, src)
			url := map[string]string{"path": bare, "file URL": "file://" + bare, "http": served(t, bare)}[kind]
			r := importTo(t, src, repo.ImportOptions{})
			base := git(t, src, "rev-parse", "main")
			const story, remote = "refs/heads/ratchet/c", "refs/heads/ratchet/pushed"
			tip := base
			for i := range 3 {
				c := commit(t, r, tip, fmt.Sprint(i), "dir/deep/"+fmt.Sprint(i), "x", "a.txt", fmt.Sprint(i))
				require.NoError(t, r.SetRef(ctx, story, map[bool]string{true: tip}[i > 0], c.Hash))
				tip = c.Hash
			}
			require.ErrorIs(t, r.Push(ctx, url, story, remote, base), repo.ErrConflict, "the lease says that the branch exists")
			require.NoError(t, r.Push(ctx, url, story, remote, ""))
			require.NoError(t, r.Push(ctx, url, story, remote, ""), "it is there already")
			require.Equal(t, tip, git(t, bare, "rev-parse", remote))
			fsck(t, bare)

			next := commit(t, r, base, "other line", "b", "x") // no fast-forward
			require.NoError(t, r.SetRef(ctx, story, tip, next.Hash))
			require.ErrorIs(t, r.Push(ctx, url, story, remote, ""), repo.ErrConflict)
			require.ErrorIs(t, r.Push(ctx, url, story, remote, base), repo.ErrConflict)
			require.Equal(t, tip, git(t, bare, "rev-parse", remote))
			require.NoError(t, r.Push(ctx, url, story, remote, tip))
			require.Equal(t, next.Hash, git(t, bare, "rev-parse", remote))
			fsck(t, bare)
			require.ErrorIs(t, r.Push(ctx, url, "refs/heads/nope", remote, ""), repo.ErrNoRef)
			require.ErrorIs(t, r.Push(ctx, url, story, "bad name", ""), repo.ErrInvalid)
		})
	}
}

func TestPushToEmpty(t *testing.T) {
	ctx := context.Background()
	src := workTree(t)
	r := importTo(t, src, repo.ImportOptions{})
	for _, kind := range []string{"path", "http"} {
		bare := filepath.Join(t.TempDir(), "empty.git")
		git(t, "", "init", "-q", "--bare", "-b", "main", bare)
		url := bare
		if kind == "http" {
			url = served(t, bare)
		}
		require.NoError(t, r.Push(ctx, url, main, main, ""), kind)
		require.Equal(t, git(t, src, "rev-parse", "main"), git(t, bare, "rev-parse", "main"))
		fsck(t, bare)
	}
}

// TestPushHistory sends merges and everything that the target lacks, after a
// push that was cut short.
func TestPushHistory(t *testing.T) {
	ctx := context.Background()
	src := workTree(t)
	bare := mirror(t, src)
	git(t, src, "checkout", "-q", "feature/x")
	for i := range 3 {
		write(t, src, fmt.Sprintf("f/%d", i), "f")
		git(t, src, "add", ".")
		git(t, src, "commit", "-qm", "f")
	}
	git(t, src, "merge", "-q", "--no-edit", "main")
	tip := git(t, src, "rev-parse", "HEAD")
	blob := git(t, src, "rev-parse", "HEAD:f/2")
	data, err := os.ReadFile(filepath.Join(src, ".git/objects", blob[:2], blob[2:]))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(bare, "objects", blob[:2]), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bare, "objects", blob[:2], blob[2:]), data, 0o444))
	r := importTo(t, src, repo.ImportOptions{})
	require.NoError(t, r.Push(ctx, bare, "refs/heads/feature/x", "refs/heads/new", ""))
	require.Equal(t, tip, git(t, bare, "rev-parse", "new"))
	fsck(t, bare)
}

func TestPushToCheckedOutBranch(t *testing.T) {
	ctx := context.Background()
	src := workTree(t)
	linked := filepath.Join(t.TempDir(), "linked")
	git(t, src, "worktree", "add", "-q", "-b", "linked", linked, "main")
	r := importTo(t, src, repo.ImportOptions{})
	tip := git(t, src, "rev-parse", "main")
	c, err := r.Commit(ctx, repo.CommitSpec{Parent: tip, Subject: "s", When: when, Edits: []model.Edit{{Path: "n", Data: []byte("n")}}})
	require.NoError(t, err)
	require.NoError(t, r.SetRef(ctx, main, tip, c.Hash))
	for _, target := range []string{src, linked} {
		for _, branch := range []string{main, "refs/heads/linked"} {
			err := r.Push(ctx, target, main, branch, tip)
			require.ErrorIs(t, err, repo.ErrUnsupported)
			require.ErrorContains(t, err, "checked out")
			require.Equal(t, tip, git(t, src, "rev-parse", branch))
		}
	}
	require.NoError(t, r.Push(ctx, src, main, "refs/heads/ratchet/c", ""))
	require.Equal(t, c.Hash, git(t, src, "rev-parse", "ratchet/c"))
	require.Empty(t, git(t, src, "status", "--porcelain"))
	fsck(t, src)
}
