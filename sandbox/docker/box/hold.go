package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
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
// under test could put others in their place.
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
	return quietGo()
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
