package docker

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// BenchmarkPutTree compares laying a tree of 5,000 files into a box with
// `git archive | tar x` of the same tree into memory of this machine:
// "ratio" is that of the medians, measured in turns.
func BenchmarkPutTree(b *testing.B) {
	e := engine(b)
	files := manyFiles(5000)
	repo := gitRepo(b, files)
	x, err := e.Open(b.Context(), sandbox.Spec{Image: hostGo(b, e).ID})
	require.NoError(b, err)
	defer func() { require.NoError(b, x.Close(context.Background())) }()
	require.NoError(b, x.Put(b.Context(), sandbox.WorkDir, sandbox.Runner, files[:1])) // starts the helper
	var put, unpack []time.Duration
	for b.Loop() {
		put = append(put, timed(func() {
			require.NoError(b, x.Put(b.Context(), sandbox.WorkDir+"/src", sandbox.Runner, files))
		}))
		require.NoError(b, x.Reset(b.Context()))
		require.NoError(b, x.Put(b.Context(), sandbox.WorkDir, sandbox.Runner, files[:1]))
		dir := inMemory(b)
		unpack = append(unpack, timed(func() {
			out, err := exec.Command("sh", "-c", `git -C "$1" archive HEAD | tar x -C "$2"`, "sh", repo, dir).CombinedOutput()
			require.NoError(b, err, "%s", out)
		}))
		require.NoError(b, os.RemoveAll(dir))
	}
	slices.Sort(put)
	slices.Sort(unpack)
	p, u := put[len(put)/2], unpack[len(unpack)/2]
	b.ReportMetric(p.Seconds()*1000, "put-ms")
	b.ReportMetric(u.Seconds()*1000, "archive-ms")
	b.ReportMetric(p.Seconds()/u.Seconds(), "ratio")
}

// inMemory is a folder on a tmpfs, as the work area is, where the machine has one.
func inMemory(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "ratchet-bench-")
	if err != nil {
		dir = b.TempDir()
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// manyFiles are n files of source-like sizes, 0.5 to 16 kB, in folders of 20.
func manyFiles(n int) []model.File {
	random := rand.New(rand.NewPCG(1, 2))
	var out []model.File
	for i := range n {
		line := fmt.Appendf(nil, "line of file %d, %d\n", i, random.Uint64())
		data := bytes.Repeat(line, 512<<random.IntN(6)/len(line)+1)
		out = append(out, model.File{Path: fmt.Sprintf("pkg%d/sub%d/file%d.py", i/200, i/20, i), Mode: model.ModeFile, Data: data})
	}
	return out
}

// gitRepo commits files with the git command.
func gitRepo(b *testing.B, files []model.File) string {
	b.Helper()
	dir := b.TempDir()
	for _, f := range files {
		require.NoError(b, writeFile(filepath.Join(dir, f.Path), f.Data))
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."},
		{"-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "files"}, {"gc", "-q"},
	} {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		require.NoError(b, err, "%s", out)
	}
	return dir
}
