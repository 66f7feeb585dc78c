package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/sandbox/docker/internal/wire"
)

func TestLinkedCacheReadsThroughToTheWarmOne(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	for _, name := range []string{"00/a-d", "00/b-a", "ff/c-d"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(src, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(src, name), []byte(name), 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(src, stamp), []byte("1"), 0o644))
	entries, err := cacheEntries(src)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"00/a-d", "00/b-a", "ff/c-d"}, entries)
	for range 2 { // again after an interrupted first time
		require.NoError(t, linkCache(src, dst, entries))
	}
	got, err := os.ReadFile(filepath.Join(dst, "ff/c-d"))
	require.NoError(t, err)
	require.Equal(t, "ff/c-d", string(got))
	now, err := os.ReadFile(filepath.Join(dst, stamp))
	require.NoError(t, err)
	require.NotEqual(t, "1", string(now), "an old stamp would have the entries dropped")

	require.NoError(t, os.WriteFile(filepath.Join(src, indexName), []byte("00/a-d\nff/c-d"), 0o644))
	entries, err = cacheEntries(src)
	require.NoError(t, err)
	require.Equal(t, []string{"00/a-d", "ff/c-d"}, entries)
}

func TestTreesOfAnyDepthAreRemoved(t *testing.T) {
	dir := t.TempDir()
	top := filepath.Join(dir, "top")
	require.NoError(t, os.MkdirAll(filepath.Join(top, "a/b/c/d"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(top, "a/b/f"), nil, 0o000))
	require.NoError(t, os.Symlink("/etc", filepath.Join(top, "a/etc")))
	require.NoError(t, os.Chmod(filepath.Join(top, "a/b"), 0))
	require.NoError(t, removeTree(dir, top))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	require.DirExists(t, "/etc")
}

func TestSystemVTablesAreRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "shm")
	table := "       key      shmid perms                  size  cpid  lpid nattch   uid\n" +
		"      4711         3  1600                  4096    10    10      0 " + strconv.Itoa(os.Getuid()) + "\n" +
		"      4712         4  1600                  4096    10    10      0 99999\n"
	require.NoError(t, os.WriteFile(name, []byte(table), 0o644))
	require.Equal(t, []int{3}, ipcIDs(name))
	require.Empty(t, ipcIDs(name+"-missing"))
}

func TestPathsOutsideTheWorkAreaAreRefused(t *testing.T) {
	rel, err := relWork("/box/a/b")
	require.NoError(t, err)
	require.Equal(t, "a/b", rel)
	rel, err = relWork("/box")
	require.NoError(t, err)
	require.Equal(t, ".", rel)
	for _, p := range []string{"/", "/etc", "/boxes", "/box/../etc", "/box/", "/box//a", "box"} {
		_, err := relWork(p)
		require.Error(t, err, p)
		require.Equal(t, wire.FaultPath, faultOf(err).Fault, p)
	}
}
