package repo_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/repo"
)

const main = "refs/heads/main"

func TestSetRef(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t)
	a := commit(t, r, "", "a", "f", "1").Hash
	b := commit(t, r, a, "b", "f", "2").Hash
	none := strings.Repeat("1", 40)
	require.ErrorIs(t, r.SetRef(ctx, main, a, b), repo.ErrConflict, "the ref does not exist")
	require.NoError(t, r.SetRef(ctx, main, "", a))
	require.NoError(t, r.SetRef(ctx, main, "", a), "it is at the new value")
	require.ErrorIs(t, r.SetRef(ctx, main, "", b), repo.ErrConflict)
	require.ErrorIs(t, r.SetRef(ctx, main, b, none), repo.ErrNoRef, "no such commit")
	require.ErrorIs(t, r.SetRef(ctx, main, "x", b), repo.ErrInvalid)
	require.NoError(t, r.SetRef(ctx, main, a, b))
	got, err := r.Ref(ctx, main)
	require.NoError(t, err)
	require.Equal(t, b, got)

	require.ErrorIs(t, r.SetRef(ctx, main+"/below", "", a), repo.ErrConflict, "main is a file")
	require.ErrorIs(t, r.SetRef(ctx, "refs/heads", "", a), repo.ErrConflict, "heads is a folder")
	require.ErrorIs(t, r.DeleteRef(ctx, main, a), repo.ErrConflict)
	require.NoError(t, r.DeleteRef(ctx, main, b))
	require.NoError(t, r.DeleteRef(ctx, main, b), "it is gone")
	_, err = r.Ref(ctx, main)
	require.ErrorIs(t, err, repo.ErrNoRef)
	require.NoError(t, r.SetRef(ctx, main+"/below", "", a))
	require.NoError(t, r.DeleteRef(ctx, main+"/below", a))
	require.NoError(t, r.SetRef(ctx, main, "", a), "an empty folder is not in the way")
}

func TestSymbolicRef(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t)
	a := commit(t, r, "", "a", "f", "1").Hash
	require.NoError(t, r.SetRef(ctx, main, "", a))
	git(t, r.Path(), "symbolic-ref", "refs/heads/alias", main)
	got, err := r.Ref(ctx, "refs/heads/alias")
	require.NoError(t, err)
	require.Equal(t, a, got)
	require.ErrorIs(t, r.SetRef(ctx, "refs/heads/alias", a, a), repo.ErrUnsupported)
	git(t, r.Path(), "symbolic-ref", main, "refs/heads/alias")
	_, err = r.Ref(ctx, main)
	require.ErrorIs(t, err, repo.ErrCorrupt)
}

func TestPackedRefs(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t)
	a := commit(t, r, "", "a", "f", "1").Hash
	b := commit(t, r, a, "b", "f", "2").Hash
	for _, name := range []string{main, "refs/heads/other", "refs/ratchet/x/best"} {
		require.NoError(t, r.SetRef(ctx, name, "", a))
	}
	git(t, r.Path(), "tag", "-a", "-m", "tag", "v1", a)
	git(t, r.Path(), "pack-refs", "--all")
	require.NoFileExists(t, filepath.Join(r.Path(), main))
	require.NoError(t, r.SetRef(ctx, main, a, b))
	require.ErrorIs(t, r.SetRef(ctx, main+"/below", "", a), repo.ErrConflict)
	require.ErrorIs(t, r.SetRef(ctx, "refs/heads/other/below", "", a), repo.ErrConflict, "other is packed only")
	require.NoError(t, r.DeleteRef(ctx, main, b))
	_, err := r.Ref(ctx, main)
	require.ErrorIs(t, err, repo.ErrNoRef, "the packed value must not come back")
	refs, err := r.Refs(ctx, "refs/")
	require.NoError(t, err)
	require.Len(t, refs, 3)
	require.Equal(t, a, git(t, r.Path(), "rev-parse", "refs/heads/other"))
	require.Equal(t, a, git(t, r.Path(), "rev-parse", "v1^{commit}"))
	fsck(t, r.Path())
}

func TestRefNames(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t)
	for _, name := range []string{
		"refs/heads/a", "refs/heads/a/b", "refs/heads/a.b", "refs/heads/ü", "refs/heads/@", "refs/heads/a@b", "refs/heads/-a", "refs/heads/a]",
		"refs/heads/", "refs/heads//a", "refs/heads/.a", "refs/heads/a..b", "refs/heads/a.", "refs/heads/a.lock", "refs/heads/a.lock/b", "refs/heads/a b",
		"refs/heads/a~1", "refs/heads/a^", "refs/heads/a:b", "refs/heads/a?", "refs/heads/*", "refs/heads/[a", `refs/heads/a\b`, "refs/heads/a@{1}",
		"refs/heads/a\x7f", "refs/heads/a\nb", "refs/../config", "refs/heads/../../config", "/refs/heads/a", "refs/heads/a/",
	} {
		_, err := r.Ref(ctx, name)
		valid := gitCommand(t, r.Path(), "check-ref-format", name).Run() == nil
		if valid {
			require.ErrorIs(t, err, repo.ErrNoRef, "%q", name)
		} else {
			require.ErrorIs(t, err, repo.ErrInvalid, "%q", name)
		}
	}
	_, err := r.Ref(ctx, "heads/main")
	require.ErrorIs(t, err, repo.ErrInvalid, "git allows it, but it is outside refs/")
}

// TestConcurrentSetRef has goroutines and processes put commits on one branch,
// beside a git that packs it, and beside one that commits to it: all commits must
// be in its history. Both at once is more than git itself bears: three processes of
// git update-ref beside git pack-refs lost 7 to 17 of 180 commits (git 2.39.5 on
// Linux 6.18), because a value that git packed and replaced within a second can be
// taken for the one before.
func TestConcurrentSetRef(t *testing.T) {
	for name, c := range map[string]struct {
		byGit int
		pack  bool
	}{"beside pack-refs": {pack: true}, "beside update-ref": {byGit: 25}} {
		t.Run(name, func(t *testing.T) { testConcurrentSetRef(t, c.byGit, c.pack) })
	}
}

func testConcurrentSetRef(t *testing.T, byGit int, pack bool) {
	ctx := context.Background()
	r := newRepo(t)
	require.NoError(t, r.SetRef(ctx, main, "", commit(t, r, "", "root", "f", "1").Hash))
	git(t, r.Path(), "config", "core.filesRefLockTimeout", "10000")
	git(t, r.Path(), "config", "core.packedRefsTimeout", "10000")

	const goroutines, processes, each = 3, 2, 25
	var writers, packer errgroup.Group
	for i := range goroutines {
		writers.Go(func() error { return addCommits(r, fmt.Sprintf("goroutine%d", i), each) })
	}
	for i := range processes {
		cmd := exec.Command(os.Args[0], r.Path(), fmt.Sprintf("process%d", i), fmt.Sprint(each))
		cmd.Env = append(os.Environ(), childTask+"=count")
		writers.Go(func() error {
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			return err
		})
	}
	writers.Go(func() error { return commitWithGit(t, r.Path(), byGit) })
	var done atomic.Bool
	packer.Go(func() error {
		for pack && !done.Load() {
			if out, err := gitCommand(t, r.Path(), "pack-refs", "--all").CombinedOutput(); err != nil {
				return fmt.Errorf("pack-refs: %w: %s", err, out)
			}
		}
		return nil
	})
	require.NoError(t, writers.Wait())
	done.Store(true)
	require.NoError(t, packer.Wait())

	tip, err := r.Ref(ctx, main)
	require.NoError(t, err)
	log, err := r.Log(ctx, tip, 0)
	require.NoError(t, err)
	subjects := map[string]bool{}
	for _, e := range log {
		subjects[e.Subject] = true
	}
	require.Equal(t, 1+(goroutines+processes)*each+byGit, len(log), "an update is lost")
	require.Len(t, subjects, len(log), "none is there twice")
	fsck(t, r.Path())
}

func addCommits(r *repo.Repo, name string, n int) error {
	for i := range n {
		if err := addCommit(r, fmt.Sprintf("%s-%d", name, i)); err != nil {
			return err
		}
	}
	return nil
}

// commitWithGit puts commits on main with the git command's compare-and-swap.
func commitWithGit(t *testing.T, path string, n int) error {
	for i := 0; i < n; {
		tip, err := gitCommand(t, path, "rev-parse", main).Output()
		if err != nil {
			return err
		}
		old := strings.TrimSpace(string(tip))
		c, err := gitCommand(t, path, "commit-tree", "-m", fmt.Sprintf("git-%d", i), "-p", old, old+"^{tree}").Output()
		if err != nil {
			return err
		}
		cmd := gitCommand(t, path, "update-ref", main, strings.TrimSpace(string(c)), old)
		if out, err := cmd.CombinedOutput(); err == nil {
			i++
		} else if !strings.Contains(string(out), "but expected") {
			return fmt.Errorf("update-ref: %w: %s", err, out)
		}
	}
	return nil
}

// TestKilledSetRef kills a process that moves a ref, many times: the ref is
// always whole, and after Recover it can be moved again.
func TestKilledSetRef(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t)
	a := commit(t, r, "", "a", "f", "1").Hash
	b := commit(t, r, a, "b", "f", "2").Hash
	require.NoError(t, r.SetRef(ctx, main, "", a))
	locks := 0
	for i := range 30 {
		now, err := r.Ref(ctx, main)
		require.NoError(t, err)
		other := a
		if now == a {
			other = b
		}
		cmd := exec.Command(os.Args[0], r.Path(), now, other)
		cmd.Env = append(os.Environ(), childTask+"=flip")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for range 1 + i%7 {
			require.True(t, lines.Scan(), "the child moves the ref")
		}
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())

		got, err := r.Ref(ctx, main)
		require.NoError(t, err, "the ref is not torn")
		require.Contains(t, []string{a, b}, got)
		if _, err := os.Stat(filepath.Join(r.Path(), main+".lock")); err == nil {
			locks++
		}
		require.NoError(t, r.Recover(ctx))
		require.NoError(t, r.SetRef(ctx, main, got, a))
	}
	t.Logf("%d of 30 kills left a lock file", locks)
	require.NoError(t, r.SetRef(ctx, main, a, b))
	fsck(t, r.Path())
}

func TestStaleLock(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := newRepo(t)
	a := commit(t, r, "", "a", "f", "1").Hash
	lock := filepath.Join(r.Path(), main+".lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o644))
	cancel()
	require.ErrorIs(t, r.SetRef(ctx, main, "", a), context.Canceled)
	require.NoError(t, os.WriteFile(filepath.Join(r.Path(), "packed-refs.lock"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(r.Path(), "objects", "tmp_obj_ratchet_123"), nil, 0o644))
	require.NoError(t, r.Recover(context.Background()))
	require.NoFileExists(t, lock)
	require.NoFileExists(t, filepath.Join(r.Path(), "packed-refs.lock"))
	require.NoFileExists(t, filepath.Join(r.Path(), "objects", "tmp_obj_ratchet_123"))
	require.NoError(t, r.SetRef(context.Background(), main, "", a))
}

func TestTornRef(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t)
	a := commit(t, r, "", "a", "f", "1").Hash
	b := commit(t, r, a, "b", "f", "2").Hash
	require.NoError(t, r.SetRef(ctx, main, "", a))
	require.NoError(t, r.SetRef(ctx, "refs/heads/good", "", b))
	git(t, r.Path(), "pack-refs", "--all")
	for name, content := range map[string]string{main: "", "refs/ratchet/c/best": b[:17], "refs/heads/z": "ref: "} {
		path := filepath.Join(r.Path(), name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		_, err := r.Ref(ctx, name)
		require.ErrorIs(t, err, repo.ErrCorrupt)
		require.ErrorIs(t, r.SetRef(ctx, name, "", b), repo.ErrCorrupt, "a value that is not known is not overwritten")
	}
	got, err := r.Resolve(ctx, "good")
	require.NoError(t, err, "other refs can be read all the same")
	require.Equal(t, b, got)

	var torn *repo.TornError
	require.ErrorAs(t, r.Recover(ctx), &torn)
	require.Equal(t, []repo.TornRef{
		{Name: main, Now: a}, {Name: "refs/heads/z", Content: "ref: "}, {Name: "refs/ratchet/c/best", Content: b[:17]},
	}, torn.Refs)
	require.NoError(t, r.Recover(ctx), "there is nothing left to do")
	require.NoError(t, r.SetRef(ctx, main, a, b))
	require.NoError(t, r.SetRef(ctx, "refs/ratchet/c/best", "", b))
	fsck(t, r.Path())
}

func TestResolve(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t)
	_, err := r.Resolve(ctx, "main")
	require.ErrorIs(t, err, repo.ErrEmpty)
	a := commit(t, r, "", "a", "f", "1")
	b := commit(t, r, a.Hash, "b", "f", "2")
	require.NoError(t, r.SetRef(ctx, main, "", b.Hash))
	git(t, r.Path(), "tag", "light", a.Hash)
	git(t, r.Path(), "tag", "-a", "-m", "x", "heavy", a.Hash)
	git(t, r.Path(), "tag", "tree", a.Tree)
	for rev, want := range map[string]string{
		"main": b.Hash, "heads/main": b.Hash, main: b.Hash, "HEAD": b.Hash, "light": a.Hash, "heavy": a.Hash, "tags/heavy": a.Hash,
		a.Hash: a.Hash, a.Hash[:8]: a.Hash, a.Hash[:7]: a.Hash, git(t, r.Path(), "rev-parse", "heavy"): a.Hash,
	} {
		got, err := r.Resolve(ctx, rev)
		require.NoError(t, err, rev)
		require.Equal(t, want, got, rev)
	}
	for _, rev := range []string{"nope", "", "main~1", "../config", strings.Repeat("0", 40), "0000000"} {
		_, err := r.Resolve(ctx, rev)
		require.ErrorIs(t, err, repo.ErrNoRef, rev)
	}
	_, err = r.Resolve(ctx, "tree")
	require.ErrorIs(t, err, repo.ErrInvalid)
}
