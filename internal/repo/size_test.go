package repo_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/repo"
)

// manyFiles makes a work tree of n Go files of about 3 KB, packed, and says what it holds.
func manyFiles(t testing.TB, n int) (dir string, want model.Tree) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "work")
	git(t, "", "init", "-q", "-b", "main", dir)
	var edits []model.Edit
	for i := range n {
		text := fmt.Sprintf("package d // %d\n\n%s", i, strings.Repeat(fmt.Sprintf("func f%d(x int) int { return x * %d }\n", i, i*i), 75))
		e := model.Edit{Path: fmt.Sprintf("d%02d/s%d/f%04d.go", i%40, i%7, i), Data: []byte(text)}
		edits = append(edits, e)
		write(t, dir, e.Path, text)
	}
	git(t, dir, "add", ".")
	git(t, dir, "-c", "gc.auto=0", "commit", "-qm", "all")
	git(t, dir, "gc", "-q")
	return dir, model.Tree{}.With(edits...)
}

// TestLargeTree imports, reads and changes 5,000 files.
func TestLargeTree(t *testing.T) {
	ctx := context.Background()
	dir, want := manyFiles(t, 5000)
	r := importTo(t, dir, repo.ImportOptions{})
	tip, err := r.Resolve(ctx, "main")
	require.NoError(t, err)
	got, err := r.Snapshot(ctx, tip)
	require.NoError(t, err)
	require.True(t, sameFiles(want, got))
	gone := model.Edit{Path: want.Files[7].Path, Delete: true}
	c, err := r.Commit(ctx, repo.CommitSpec{Parent: tip, Subject: "one", When: when, Edits: []model.Edit{gone}})
	require.NoError(t, err)
	after, err := r.Snapshot(ctx, c.Hash)
	require.NoError(t, err)
	require.True(t, sameFiles(got.With(gone), after))
}

// BenchmarkLargeTree compares importing and reading 5,000 files with what the
// git command takes for a clone and an archive: ratios, below 1 is faster.
func BenchmarkLargeTree(b *testing.B) {
	ctx := context.Background()
	dir, want := manyFiles(b, 5000)
	var imports, clones, reads, archives time.Duration
	for b.Loop() {
		imports += timed(func() {
			require.NoError(b, repo.Import(ctx, dir, filepath.Join(b.TempDir(), "r.git"), repo.ImportOptions{}))
		})
		clones += timed(func() { git(b, "", "clone", "-q", "--bare", dir, filepath.Join(b.TempDir(), "c.git")) })
		r, err := repo.Open(ctx, dir) // without the trees that another handle keeps
		require.NoError(b, err)
		reads += timed(func() {
			tip, err := r.Resolve(ctx, "main")
			require.NoError(b, err)
			got, err := r.Snapshot(ctx, tip)
			require.NoError(b, err)
			require.Len(b, got.Files, len(want.Files))
		})
		require.NoError(b, r.Close())
		archives += timed(func() {
			cmd := gitCommand(b, dir, "archive", "main")
			cmd.Stdout = io.Discard
			require.NoError(b, cmd.Run())
		})
	}
	b.ReportMetric(float64(imports)/float64(clones), "import/clone")
	b.ReportMetric(float64(reads)/float64(archives), "snapshot/archive")
	b.ReportMetric(float64(reads.Milliseconds())/float64(b.N), "snapshot-ms")
}

func timed(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

// TestLFSStaysAPointer documents what is done with Git LFS: the repository works,
// and the files can be named to the user.
func TestLFSStaysAPointer(t *testing.T) {
	ctx := context.Background()
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("ab", 32) + "\nsize 12345\n"
	src := workTree(t)
	write(t, src, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	write(t, src, "data/big.bin", pointer)
	write(t, src, "data/about.txt", "begins with "+pointer)
	git(t, src, "-c", "filter.lfs.clean=cat", "-c", "filter.lfs.process=", "add", ".")
	git(t, src, "commit", "-qm", "lfs")
	r := importTo(t, src, repo.ImportOptions{})
	tip, err := r.Resolve(ctx, "main")
	require.NoError(t, err)
	tree, err := r.Snapshot(ctx, tip)
	require.NoError(t, err)
	require.Equal(t, []string{"data/big.bin"}, repo.LFSPointers(tree))
	f, _ := tree.Find("data/big.bin")
	require.Equal(t, pointer, string(f.Data))
}
