package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"ratchet/activities"
	"ratchet/internal/artifact"
	"ratchet/internal/control"
	"ratchet/internal/devstack"
	"ratchet/internal/natsx"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
	"ratchet/sandbox/docker"
	"ratchet/workers/ingest"
)

// StackConfig says what a one-machine stack needs.
type StackConfig struct {
	Data   string // data folder
	UI     bool   // start the Temporal Web UI too
	UIPort int    // 0 for any free one
	// Transient tells other processes that the stack ends with the command that opens it.
	Transient bool
	Logger    *slog.Logger
	// Services are used in place of embedded servers and of the data folder's own
	// store; nil for a machine that stands alone. The data folder holds the
	// repositories and the artifacts all the same, so it belongs to one process.
	Services *Services
	// Getenv is where the keys of model servers come from; os.Getenv when nil.
	Getenv func(string) string
	// Adapt may replace parts of the activities before they are made; nil leaves them.
	Adapt func(*activities.Config)
}

// Stack is everything that one machine needs, in this process: the embedded
// servers, or connections to those that others run, the sandbox engine, the store,
// the ingest of failures, and the workers.
type Stack struct {
	Info      devstack.Info
	Temporal  client.Client
	Store     *store.Store
	Artifacts *artifact.Store
	Boxes     *docker.Engine
	Control   *control.Controller

	closers []closer
}

type closer struct {
	name  string
	close func(context.Context) error
}

// Open starts the stack on a data folder: it takes the folder's lock, kills
// sandboxes that earlier owners left, repairs refs, and starts the workers last.
// When it fails, what had started is stopped. Errors of the environment (Docker,
// ports, the lock) keep their types.
func Open(ctx context.Context, cfg StackConfig) (*Stack, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Services != nil {
		if err := cfg.Services.Validate(); err != nil {
			return nil, err
		}
	}
	s := &Stack{}
	if err := s.open(ctx, cfg); err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Stack) open(ctx context.Context, cfg StackConfig) error {
	lock, err := devstack.Acquire(cfg.Data)
	if err != nil {
		return err
	}
	s.onClose("lock", func(context.Context) error { return lock.Release() })
	if err := s.openBoxes(ctx, cfg, lock); err != nil {
		return err
	}
	if err := s.openStore(ctx, cfg); err != nil {
		return err
	}
	servers := s.openServers
	if cfg.Services != nil {
		servers = s.joinServices
	}
	if err := servers(ctx, cfg, lock); err != nil {
		return err
	}
	return s.openWorkers(ctx, cfg)
}

// openBoxes connects to the sandbox engine and ends what earlier owners left.
func (s *Stack) openBoxes(ctx context.Context, cfg StackConfig, lock *devstack.Lock) error {
	engine, err := docker.New(ctx, docker.Config{Stack: lock.Stack(), Epoch: lock.Epoch(), Logger: cfg.Logger})
	if err != nil {
		return err
	}
	s.Boxes = engine
	s.onClose("sandbox engine", func(context.Context) error { return engine.Close() })
	n, err := engine.Reap(ctx)
	if n > 0 {
		cfg.Logger.Info("removed sandboxes that an earlier process left", "count", n)
	}
	return err
}

func (s *Stack) openStore(ctx context.Context, cfg StackConfig) (err error) {
	where := store.Config{Path: StorePath(cfg.Data)}
	if cfg.Services != nil {
		where = cfg.Services.Store
	}
	if s.Store, err = store.Open(ctx, where); err != nil {
		return err
	}
	s.onClose("store", func(context.Context) error { return s.Store.Close() })
	s.Artifacts, err = artifact.Open(filepath.Join(cfg.Data, "artifacts"))
	return err
}

// StorePath is where the store of a data folder lies.
func StorePath(data string) string { return filepath.Join(data, "ratchet.db") }

// openServers starts Temporal, its UI and NATS, and connects to Temporal.
func (s *Stack) openServers(ctx context.Context, cfg StackConfig, lock *devstack.Lock) error {
	servers, err := devstack.Start(ctx, devstack.Config{
		Dir: cfg.Data, Stack: lock.Stack(), SearchAttributes: protocol.SearchAttributes(),
		UI: cfg.UI, UIPort: cfg.UIPort, Logger: cfg.Logger,
	})
	if err != nil {
		return err
	}
	s.onClose("servers", servers.Stop)
	s.Info = servers.Info(lock)
	s.Info.Transient = cfg.Transient
	s.Temporal, err = client.DialContext(ctx, client.Options{
		HostPort: s.Info.TemporalAddress, Namespace: s.Info.Namespace, Logger: log.NewStructuredLogger(quiet(cfg.Logger)),
	})
	if err != nil {
		return fmt.Errorf("connect to Temporal at %s: %w", s.Info.TemporalAddress, err)
	}
	s.onClose("Temporal client", func(context.Context) error { s.Temporal.Close(); return nil })
	s.Control = control.New(s.Temporal, s.Store)
	return nil
}

// quiet silences the SDK unless everything is to be said: what it reports, such
// as activities that are cut off by a stop, the campaign's record tells better.
func quiet(l *slog.Logger) *slog.Logger {
	if l.Enabled(context.Background(), slog.LevelDebug) {
		return l
	}
	return slog.New(slog.DiscardHandler)
}

// openWorkers repairs the campaigns' refs, then starts ingest and workers.
func (s *Stack) openWorkers(ctx context.Context, cfg StackConfig) error {
	ac := activities.Config{
		Store: s.Store, Artifacts: s.Artifacts, Boxes: s.Boxes,
		Repos: filepath.Join(cfg.Data, "repos"), Logger: cfg.Logger, Getenv: cfg.Getenv,
	}
	if ac.Getenv == nil {
		ac.Getenv = os.Getenv
	}
	if cfg.Adapt != nil {
		cfg.Adapt(&ac)
	}
	acts, err := activities.New(ac)
	if err != nil {
		return err
	}
	s.onClose("model clients", func(context.Context) error { acts.Close(); return nil })
	if err := acts.RepairRefs(ctx); err != nil {
		return err
	}
	nats, err := natsx.Connect(ctx, cfg.nats(s.Info.NATSURL))
	if err != nil {
		return err
	}
	s.onClose("NATS client", func(context.Context) error { nats.Close(); return nil })
	in, err := ingest.New(ingest.Config{Client: nats, Store: s.Store, Waker: s.Control, Logger: cfg.Logger})
	if err != nil {
		return err
	}
	if err := in.Start(ctx); err != nil {
		return err
	}
	s.onClose("ingest", in.Stop)
	if cfg.Services == nil { // others may work for a Temporal that is not ours
		s.takeOver(ctx, cfg)
	}
	w, err := New(Config{Temporal: s.Temporal, Activities: acts, Logger: cfg.Logger})
	if err != nil {
		return err
	}
	if err := w.Start(); err != nil {
		return err
	}
	s.onClose("workers", func(context.Context) error { w.Stop(); return nil })
	return devstack.WriteInfo(cfg.Data, s.Info)
}

// nats says how the ingest connects.
func (c StackConfig) nats(url string) natsx.Config {
	out := natsx.Config{URL: url}
	if c.Services != nil {
		out = c.Services.NATS
	}
	out.Name, out.Logger = "ratchet ingest", c.Logger
	return out
}

// takeOver has activities that an earlier process was in run again at once. When
// that fails they do so later, after their time-outs.
func (s *Stack) takeOver(ctx context.Context, cfg StackConfig) {
	n, err := s.Control.Takeover(ctx, s.Info.Namespace)
	if err != nil {
		cfg.Logger.Warn("could not take over all activities of an earlier process", "error", err)
	}
	if n > 0 {
		cfg.Logger.Info("took over activities that an earlier process was in", "count", n)
	}
}

func (s *Stack) onClose(name string, f func(context.Context) error) {
	s.closers = append(s.closers, closer{name, f})
}

// closeTimeout bounds the whole of Close.
const closeTimeout = 20 * time.Second

// Close stops everything in the reverse order. Campaigns under way go on when a
// stack is opened on the folder again. It is safe twice.
func (s *Stack) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		if err := s.closers[i].close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", s.closers[i].name, err))
		}
	}
	s.closers = nil
	return errors.Join(errs...)
}
