package repo_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/repo"
)

// workTree makes a repository with a work tree, packed and loose objects, tags
// and two branches, with the git command.
func workTree(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	git(t, "", "init", "-q", "-b", "main", dir)
	write(t, dir, "a.txt", "one\n")
	write(t, dir, "sub/b.txt", "b\n")
	require.NoError(t, os.Symlink("a.txt", filepath.Join(dir, "link")))
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "one")
	git(t, dir, "tag", "-a", "-m", "first", "v1")
	git(t, dir, "gc", "-q")
	write(t, dir, "a.txt", "two\n")
	git(t, dir, "commit", "-qam", "two")
	git(t, dir, "branch", "ratchet/earlier")
	git(t, dir, "branch", "feature/x", "HEAD~1")
	return dir
}

func write(t testing.TB, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

// fingerprint hashes names, modes, times and contents of everything in dir.
func fingerprint(t testing.TB, dir string) string {
	t.Helper()
	var lines []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		if info.Mode().IsRegular() {
			data, err = os.ReadFile(path)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %x", path, info.Mode(), info.ModTime(), sha256.Sum256(data)))
		return err
	}))
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func importTo(t testing.TB, src string, opt repo.ImportOptions) *repo.Repo {
	t.Helper()
	dst := filepath.Join(t.TempDir(), "campaign", "repo.git")
	require.NoError(t, repo.Import(context.Background(), src, dst, opt))
	return open(t, dst)
}

func TestImport(t *testing.T) {
	ctx := context.Background()
	src := workTree(t)
	bare := filepath.Join(t.TempDir(), "bare.git")
	git(t, "", "clone", "-q", "--mirror", src, bare)
	linked := filepath.Join(t.TempDir(), "linked")
	git(t, src, "worktree", "add", "-q", "-b", "linked", linked, "main")
	shared := filepath.Join(t.TempDir(), "shared")
	git(t, "", "clone", "-q", "--shared", src, shared) // its objects are alternates
	moved := workTree(t)
	git(t, moved, "init", "-q", "--separate-git-dir", filepath.Join(t.TempDir(), "elsewhere"))

	for name, c := range map[string]struct {
		src, head string
		opt       repo.ImportOptions
	}{
		"work tree": {src: src, head: "main"}, "copied": {src: src, head: "main", opt: repo.ImportOptions{Copy: true}},
		"git folder": {src: filepath.Join(src, ".git"), head: "main"}, "bare": {src: bare, head: "main"},
		"file URL": {src: "file://" + src, head: "main"}, "linked work tree": {src: linked, head: "linked"},
		"alternates": {src: shared, head: "main"}, "separate git folder": {src: moved, head: "main"},
	} {
		t.Run(name, func(t *testing.T) {
			local := strings.TrimPrefix(c.src, "file://")
			before := fingerprint(t, local) + fingerprint(t, src)
			r := importTo(t, c.src, c.opt)
			require.Equal(t, before, fingerprint(t, local)+fingerprint(t, src), "the source is not touched")

			fsck(t, r.Path())
			require.NoFileExists(t, filepath.Join(r.Path(), "objects", "info", "alternates"))
			require.Equal(t, "refs/heads/"+c.head, git(t, r.Path(), "symbolic-ref", "HEAD"))
			tip, err := r.Resolve(ctx, "main")
			require.NoError(t, err)
			tree, err := r.Snapshot(ctx, tip)
			require.NoError(t, err)
			require.Len(t, tree.Files, 3)
			require.Equal(t, "two\n", string(tree.Files[0].Data))
			first, err := r.Resolve(ctx, "v1")
			require.NoError(t, err)
			parent, err := r.Parent(ctx, tip)
			require.NoError(t, err)
			require.Equal(t, first, parent)

			c := commit(t, r, tip, "more", "new.txt", "new\n")
			require.NoError(t, r.SetRef(ctx, "refs/heads/ratchet/earlier", "", c.Hash), "the campaign's own branch is free")
			fsck(t, r.Path())
			require.Equal(t, before, fingerprint(t, local)+fingerprint(t, src), "nor is it by writing to the copy")
		})
	}
}

func TestImportLinks(t *testing.T) {
	src := workTree(t)
	linked, copied := importTo(t, src, repo.ImportOptions{}), importTo(t, src, repo.ImportOptions{Copy: true})
	for file, links := range objectLinks(t, linked.Path()) {
		require.Greater(t, links, uint64(1), file)
	}
	for file, links := range objectLinks(t, copied.Path()) {
		require.Equal(t, uint64(1), links, file)
	}
}

// objectLinks counts the hard links of every object file.
func objectLinks(t testing.TB, path string) map[string]uint64 {
	t.Helper()
	out := map[string]uint64{}
	require.NoError(t, filepath.WalkDir(filepath.Join(path, "objects"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			out[path] = uint64(info.Sys().(*syscall.Stat_t).Nlink)
		}
		return err
	}))
	require.NotEmpty(t, out)
	return out
}

// TestImportAcrossDevices copies where hard links are impossible.
func TestImportAcrossDevices(t *testing.T) {
	src := workTree(t)
	dir, err := os.MkdirTemp("/dev/shm", "ratchet-test-")
	if err != nil {
		t.Skip("there is no second file system at /dev/shm")
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	dst := filepath.Join(dir, "repo.git")
	err = os.Link(filepath.Join(src, "a.txt"), filepath.Join(dir, "probe"))
	if !errors.Is(err, syscall.EXDEV) {
		t.Skip("/dev/shm is on the file system of the temporary folder")
	}
	require.NoError(t, repo.Import(context.Background(), src, dst, repo.ImportOptions{}))
	fsck(t, dst)
}

func TestImportRefs(t *testing.T) {
	ctx := context.Background()
	src := workTree(t)
	tip := git(t, src, "rev-parse", "main")
	git(t, src, "update-ref", "refs/remotes/origin/dev", tip)
	git(t, src, "update-ref", "refs/stash", tip)
	write(t, src, ".git/refs/heads/torn", "")
	write(t, src, ".git/refs/heads/gone", strings.Repeat("1", 40)+"\n")
	r := importTo(t, src, repo.ImportOptions{})
	refs, err := r.Refs(ctx, "")
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"refs/heads/main": tip, "refs/heads/feature/x": git(t, src, "rev-parse", "main~1"), "refs/tags/v1": git(t, src, "rev-parse", "v1"),
		"refs/remotes/origin/dev": tip, "refs/remotes/source/ratchet/earlier": tip,
	}, refs)
	for _, rev := range []string{"origin/dev", "ratchet/earlier"} {
		got, err := r.Resolve(ctx, rev)
		require.NoError(t, err)
		require.Equal(t, tip, got)
	}
}

func TestImportDetached(t *testing.T) {
	src := workTree(t)
	git(t, src, "checkout", "-q", "--detach", "main~1")
	r := importTo(t, src, repo.ImportOptions{})
	got, err := r.Resolve(context.Background(), "HEAD")
	require.NoError(t, err)
	require.Equal(t, git(t, src, "rev-parse", "HEAD"), got)
}

// TestImportPackNames covers packs whose names go-git would not see.
func TestImportPackNames(t *testing.T) {
	src := workTree(t)
	git(t, src, "repack", "-adq")
	packs, err := filepath.Glob(filepath.Join(src, ".git/objects/pack/pack-*"))
	require.NoError(t, err)
	require.NotEmpty(t, packs)
	for _, p := range packs {
		require.NoError(t, os.Rename(p, filepath.Join(filepath.Dir(p), "loose-"+strings.TrimPrefix(filepath.Base(p), "pack-"))))
	}
	r := importTo(t, src, repo.ImportOptions{})
	fsck(t, r.Path())
	tip, err := r.Resolve(context.Background(), "main")
	require.NoError(t, err)
	_, err = r.Snapshot(context.Background(), tip)
	require.NoError(t, err)
}

func TestImportRepeated(t *testing.T) {
	ctx := context.Background()
	src := workTree(t)
	dst := filepath.Join(t.TempDir(), "repo.git")
	stale := filepath.Join(filepath.Dir(dst), ".repo.git.new-1")
	require.NoError(t, os.MkdirAll(filepath.Join(stale, "objects"), 0o755))
	var g errgroup.Group
	for range 4 {
		g.Go(func() error { return repo.Import(ctx, src, dst, repo.ImportOptions{}) })
	}
	require.NoError(t, g.Wait())
	fsck(t, dst)
	left, err := os.ReadDir(filepath.Dir(dst))
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary folder is left")

	r := open(t, dst)
	require.NoError(t, r.SetRef(ctx, "refs/ratchet/x/best", "", git(t, src, "rev-parse", "main")))
	require.NoError(t, repo.Import(ctx, src, dst, repo.ImportOptions{}))
	_, err = r.Ref(ctx, "refs/ratchet/x/best")
	require.NoError(t, err, "a complete repository is left as it is")
}

func TestImportRefused(t *testing.T) {
	src := workTree(t)
	temp := t.TempDir()
	in := func(name string) string { return filepath.Join(temp, name) }
	require.NoError(t, os.MkdirAll(in("plain/sub"), 0o755))
	write(t, temp, "file", "x")
	write(t, temp, "broken/.git", "gitdir: /nowhere\n")
	git(t, "", "init", "-q", in("empty"))
	git(t, "", "init", "-q", "--object-format=sha256", in("sha256"))
	git(t, "", "clone", "-q", "--depth=1", "file://"+src, in("shallow"))
	git(t, "", "clone", "-q", src, in("future"))
	git(t, in("future"), "config", "core.repositoryformatversion", "1")
	git(t, in("future"), "config", "extensions.refstorage", "reftable")
	git(t, src, "config", "uploadpack.allowFilter", "true")
	git(t, "", "clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+src, in("partial"))
	git(t, "", "clone", "-q", "--shared", src, in("alternates"))
	write(t, in("alternates"), ".git/objects/info/alternates", "/nowhere/objects\n")

	for name, c := range map[string]struct {
		src  string
		want error
		says string
	}{
		"missing":         {in("nope"), repo.ErrNotFound, "no such folder"},
		"no repository":   {in("plain"), repo.ErrNotFound, "git init"},
		"a file":          {in("file"), repo.ErrNotFound, "a file"},
		"broken link":     {in("broken"), repo.ErrNotFound, "/nowhere"},
		"sub-folder":      {filepath.Join(src, "sub"), repo.ErrNotFound, "inside the repository " + src},
		"nothing":         {"", repo.ErrInvalid, "path or URL"},
		"empty":           {in("empty"), repo.ErrEmpty, "commit something"},
		"sha256":          {in("sha256"), repo.ErrUnsupported, "objectformat"},
		"shallow":         {in("shallow"), repo.ErrUnsupported, "--unshallow"},
		"reftable":        {in("future"), repo.ErrUnsupported, "refstorage"},
		"partial":         {in("partial"), repo.ErrUnsupported, "without --filter"},
		"lost alternates": {in("alternates"), repo.ErrCorrupt, "/nowhere/objects"},
		"lost file URL":   {"file:///nowhere/at/all", repo.ErrNotFound, "no such folder"},
	} {
		t.Run(name, func(t *testing.T) {
			dst := filepath.Join(t.TempDir(), "repo.git")
			err := repo.Import(context.Background(), c.src, dst, repo.ImportOptions{})
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
			require.NoDirExists(t, dst)
			var typed *repo.Error
			require.ErrorAs(t, err, &typed)
			left, err := os.ReadDir(filepath.Dir(dst))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

func TestImportCancelled(t *testing.T) {
	src := workTree(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dst := filepath.Join(t.TempDir(), "repo.git")
	require.ErrorIs(t, repo.Import(ctx, src, dst, repo.ImportOptions{}), context.Canceled)
	require.NoDirExists(t, dst)
}

func TestImportOntoSomethingElse(t *testing.T) {
	src := workTree(t)
	dst := t.TempDir()
	write(t, dst, "precious", "x")
	require.ErrorIs(t, repo.Import(context.Background(), src, dst, repo.ImportOptions{}), repo.ErrConflict)
	require.FileExists(t, filepath.Join(dst, "precious"))
}
