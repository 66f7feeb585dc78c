package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ratchet/sandbox/docker/internal/wire"
)

const (
	// stamp is where the go command notes when it last dropped old entries.
	stamp = "trim.txt"
	// indexName lists the entries of a warm cache, because to read hundreds of
	// folders of an image can take longer than everything else.
	indexName = "index"
)

// warmUp fills the builder's build cache from the image's, once. It comes with
// the builder's first helper, so that a box in which nothing is built does not
// pay for it.
func warmUp() error {
	cache := os.Getenv("GOCACHE")
	if os.Getuid() != wire.BuilderID || !inWorkDir(cache) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(cache, stamp)); err == nil {
		return nil
	}
	entries, err := cacheEntries(wire.WarmCache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return linkCache(wire.WarmCache, cache, entries)
}

// indexCache writes the index of the warm cache, when an image is frozen.
func indexCache() error {
	entries, err := listCache(wire.WarmCache)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(wire.WarmCache, indexName), []byte(strings.Join(entries, "\n")), 0o644)
}

// cacheEntries reads the index, or the cache itself when there is none.
func cacheEntries(src string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(src, indexName))
	if errors.Is(err, fs.ErrNotExist) {
		return listCache(src)
	}
	return strings.Fields(string(b)), err
}

// listCache lists the entries of a Go build cache as "shard/name".
func listCache(src string) ([]string, error) {
	shards, err := os.ReadDir(src)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, s := range shards {
		if !s.IsDir() {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(src, s.Name()))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			out = append(out, s.Name()+"/"+e.Name())
		}
	}
	return out, nil
}

// linkCache fills dst with symlinks to the entries of the warm Go build cache
// src. The go command writes new entries beside them. A fresh stamp keeps it
// from deleting entries that look old.
func linkCache(src, dst string, entries []string) error {
	made := map[string]bool{}
	for _, e := range entries {
		shard, _, _ := strings.Cut(e, "/")
		if !made[shard] {
			if err := os.MkdirAll(dst+"/"+shard, 0o755); err != nil {
				return err
			}
			made[shard] = true
		}
		// It is there already when an earlier helper was killed on the way.
		if err := syscall.Symlink(src+"/"+e, dst+"/"+e); err != nil && !errors.Is(err, fs.ErrExist) {
			return &os.LinkError{Op: "symlink", Old: src + "/" + e, New: dst + "/" + e, Err: err}
		}
	}
	now := strconv.FormatInt(time.Now().Unix(), 10)
	return os.WriteFile(filepath.Join(dst, stamp), []byte(now), 0o644)
}
