package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"ratchet/sandbox/docker/internal/wire"
)

// hold is the first process of a box. It prepares the work area, reports what
// the kernel enforces, then reaps orphans until the lifetime is over; its end
// is the end of every process in the box.
func hold(lifetime string) error {
	d, err := time.ParseDuration(lifetime)
	if err != nil {
		return err
	}
	deadline := time.After(d)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGTERM)
	r := report()
	if err := prepare(); err != nil {
		r.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return err
	}
	for {
		select {
		case <-deadline:
			return nil
		case s := <-signals:
			if s == syscall.SIGTERM {
				return nil
			}
			reap()
		}
	}
}

// reap collects every orphan that has ended; hold has no child of its own.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// prepare makes the folders of the builder, as whom this runs, before any code
// under test could put others in their place, and fills the build cache.
func prepare() error {
	if err := makeHome(); err != nil {
		return err
	}
	cache := os.Getenv("GOCACHE")
	if !inWorkDir(cache) {
		return nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	if err := quietGo(); err != nil {
		return err
	}
	if _, err := os.Stat(wire.WarmCache); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return linkCache(wire.WarmCache, cache)
}

// quietGo keeps the go command from counting its own use, for which it would
// start a process of its own.
func quietGo() error {
	dir := filepath.Join(os.Getenv("HOME"), ".config", "go", "telemetry")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "mode"), []byte("off"), 0o644)
}

func inWorkDir(path string) bool {
	rel, err := filepath.Rel(wire.WorkDir, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// makeHome makes this user's home folder when it is in the work area.
func makeHome() error {
	if home := os.Getenv("HOME"); inWorkDir(home) {
		return os.MkdirAll(home, 0o755)
	}
	return nil
}

// linkCache fills dst with symlinks to the entries of the warm Go build cache
// src. The Go tool writes new entries beside them. A fresh trim.txt keeps it
// from deleting entries that look old.
func linkCache(src, dst string) error {
	shards, err := os.ReadDir(src)
	if err != nil {
		return err
	}
	for _, s := range shards {
		if !s.IsDir() {
			continue
		}
		if err := linkShard(filepath.Join(src, s.Name()), filepath.Join(dst, s.Name())); err != nil {
			return err
		}
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	return os.WriteFile(filepath.Join(dst, "trim.txt"), []byte(stamp), 0o644)
}

func linkShard(src, dst string) error {
	if err := os.Mkdir(dst, 0o755); err != nil {
		return err
	}
	d, err := os.Open(src)
	if err != nil {
		return err
	}
	names, err := d.Readdirnames(-1)
	d.Close()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Symlink(filepath.Join(src, name), filepath.Join(dst, name)); err != nil {
			return err
		}
	}
	return nil
}
