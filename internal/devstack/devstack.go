// Package devstack runs everything that one machine needs in one process: the
// Temporal server on SQLite, its Web UI, and NATS with JetStream. All of it
// listens on the loopback interface only and keeps its state in one data folder,
// so that a process that was killed picks up its workflows when it starts again.
//
// It is the only package that imports the Temporal server.
package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
)

// Defaults of Config.
const (
	DefaultNamespace = "default"
	// DefaultRetention is how long the history of a closed workflow is kept.
	DefaultRetention = 90 * 24 * time.Hour
	// DefaultStopTimeout bounds Stop when its context has no earlier deadline.
	DefaultStopTimeout = 8 * time.Second
)

// Config says what to start. The zero value of every field but Dir is usable.
type Config struct {
	// Dir is the data folder; it is made when it does not exist.
	Dir string
	// Stack is the identity of the stack, for logs and for the info file.
	Stack string
	// Namespace is registered when it does not exist yet.
	Namespace string
	// SearchAttributes are registered in Namespace when they are missing. The
	// type of one that exists cannot be changed.
	SearchAttributes map[string]enumspb.IndexedValueType
	// UI starts the Web UI as well.
	UI bool
	// The ports to listen on: 0 takes any free one; any other that is busy makes
	// Start fail with ErrPortBusy.
	TemporalPort, UIPort, NATSPort int
	// Retention of closed workflows, at least an hour.
	Retention time.Duration
	// Logger receives what the stack itself has to say; the servers log to
	// temporal.log in Dir. The default discards.
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	var errs []error
	if c.Dir == "" {
		errs = append(errs, errors.New("no data folder: set Dir"))
	}
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if c.Retention == 0 {
		c.Retention = DefaultRetention
	}
	if c.Retention < time.Hour {
		errs = append(errs, fmt.Errorf("retention is %s: use at least 1h", c.Retention))
	}
	for name, port := range c.ports() {
		if port < 0 || port > 65535 {
			errs = append(errs, fmt.Errorf("%s port is %d: use 1 to 65535, or 0 for any free one", name, port))
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if err := errors.Join(errs...); err != nil {
		return c, fmt.Errorf("devstack: invalid configuration: %w", err)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, fmt.Errorf("devstack: resolve data folder %q: %w", c.Dir, err)
	}
	c.Dir = dir
	return c, nil
}

func (c Config) ports() map[string]int {
	return map[string]int{"Temporal": c.TemporalPort, "Web UI": c.UIPort, "NATS": c.NATSPort}
}

// Stack is a running stack. Its methods are safe for concurrent use.
type Stack struct {
	cfg      Config
	temporal *temporalServer
	ui       *uiServer
	nats     *natsServer

	stopOnce sync.Once
	stopErr  error
	lock     *fileLock
	steps    []stopStep // in the order of starting
}

type stopStep struct {
	name string
	stop func(context.Context) error
}

// Start starts the stack and returns when all of it is ready to serve. When it
// fails, or ctx ends first, whatever had started is stopped again. The caller
// ought to hold the data folder's Lock; a lock of its own on the database makes
// a second Start on the same folder fail with ErrLocked in any case.
func Start(ctx context.Context, cfg Config) (*Stack, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Stack{cfg: cfg}
	if err := s.start(ctx); err != nil {
		stopErr := s.Stop(context.WithoutCancel(ctx))
		return nil, errors.Join(fmt.Errorf("devstack: start in %s: %w", cfg.Dir, err), stopErr)
	}
	cfg.Logger.Info("stack is up", "temporal", s.TemporalAddress(), "ui", s.UIURL(), "nats", s.NATSURL())
	return s, nil
}

func (s *Stack) start(ctx context.Context) error {
	if err := os.MkdirAll(s.cfg.Dir, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	if err := s.lockDatabase(); err != nil {
		return err
	}
	logs, err := openServerLog(filepath.Join(s.cfg.Dir, "temporal.log"))
	if err != nil {
		return err
	}
	s.onStop("log", func(context.Context) error { return logs.Close() })

	if s.nats, err = startNATS(ctx, s.cfg, logs.Logger); err != nil {
		return err
	}
	s.onStop("NATS", s.nats.stop)
	if s.temporal, err = startTemporal(ctx, s.cfg, logs.Logger); err != nil {
		return err
	}
	s.onStop("Temporal", s.temporal.stop)
	if !s.cfg.UI {
		return nil
	}
	if s.ui, err = startUI(s.cfg, s.temporal.address, logs.Logger); err != nil {
		return err
	}
	s.onStop("Web UI", s.ui.stop)
	return nil
}

func (s *Stack) lockDatabase() error {
	path := filepath.Join(s.cfg.Dir, "temporal.lock")
	l, err := tryLock(path)
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	if l == nil {
		return &LockedError{Path: path}
	}
	s.lock = l
	return nil
}

func (s *Stack) onStop(name string, stop func(context.Context) error) {
	s.steps = append(s.steps, stopStep{name, stop})
}

// TemporalAddress is the host and port of the Temporal frontend.
func (s *Stack) TemporalAddress() string {
	if s.temporal == nil {
		return ""
	}
	return s.temporal.address
}

// UIURL is the address of the Web UI, empty when there is none.
func (s *Stack) UIURL() string {
	if s.ui == nil {
		return ""
	}
	return s.ui.url
}

// NATSURL is the address of the NATS server.
func (s *Stack) NATSURL() string {
	if s.nats == nil {
		return ""
	}
	return s.nats.url
}

// Namespace is the Temporal namespace that the stack registered.
func (s *Stack) Namespace() string { return s.cfg.Namespace }

// Stop stops everything, the last started first, and returns when that is done,
// ctx ends, or DefaultStopTimeout is over. A part that does not stop in time is
// named in the error and left behind, with the database locked until the process
// ends; its data is safe, as after a kill. Stop
// may be called twice, on a nil Stack, and from several goroutines: all wait for
// the one stop and get its error. Workers and clients ought to be closed before.
func (s *Stack) Stop(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.stopOnce.Do(func() { s.stopErr = s.stop(ctx) })
	return s.stopErr
}

func (s *Stack) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, DefaultStopTimeout)
	defer cancel()
	var errs []error
	for i := len(s.steps) - 1; i >= 0; i-- {
		if err := s.steps[i].stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("devstack: stop %s: %w", s.steps[i].name, err))
		}
	}
	if len(errs) > 0 || s.lock == nil {
		return errors.Join(errs...) // what is still in use stays locked until the process ends
	}
	return s.lock.unlock()
}

// within runs f and gives up waiting for it when ctx ends. The servers' own stop
// functions take no context, so f is then left to end by itself.
func within(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("still stopping: %w", ctx.Err())
	}
}
