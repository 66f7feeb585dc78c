// Package ingest brings the failures of agents from NATS into the store, each
// exactly once, and wakes whoever waits for them.
//
// An event is acknowledged after the store has committed it, and the store keeps
// events unique for ever; so a crash at any point costs a second delivery, which
// changes nothing. What can never be stored goes to the dead letters.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ratchet/failures"
	"ratchet/internal/model"
	"ratchet/internal/natsx"
	"ratchet/internal/store"
)

// consumer is the name of the durable consumer that all ingest services share.
const consumer = "ingest"

// Store is where events are kept; *store.Store is one.
type Store interface {
	// AddFailure commits an event and returns its cursor. A second event with the
	// same source and id changes nothing, and comes back with added false and the
	// cursor of the first. An error with store.ErrInvalid is final.
	AddFailure(ctx context.Context, f model.Failure) (seq int64, added bool, err error)
}

var _ Store = (*store.Store)(nil)

// Config of a Service. Client and Store are required.
type Config struct {
	Client *natsx.Client
	Store  Store
	// Waker is told of new events; without one nobody is.
	Waker Waker
	// AckWait is how long the server waits for word of an event before it
	// delivers it to another service, 30 s by default.
	AckWait time.Duration
	// RetryMin and RetryMax bound the wait after the store or the Waker failed,
	// which doubles each time: 1 s and 1 minute by default.
	RetryMin, RetryMax time.Duration
	// Logger, by default discarding.
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if c.Client == nil || c.Store == nil {
		return c, errors.New("ingest: Client and Store are required")
	}
	if c.AckWait < 0 || c.RetryMin < 0 || c.RetryMax < 0 {
		return c, errors.New("ingest: AckWait, RetryMin and RetryMax must not be negative")
	}
	if c.RetryMin == 0 {
		c.RetryMin = time.Second
	}
	if c.RetryMax == 0 {
		c.RetryMax = max(c.RetryMin, time.Minute)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Service is the ingest of one process; any number of processes may run one. Its
// methods are safe for concurrent use.
type Service struct {
	cfg Config

	mu  sync.Mutex
	run *running // nil when it does not run
}

// running is the state from one Start to its Stop.
type running struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when all goroutines have ended
}

// New returns a service that does not run yet.
func New(cfg Config) (*Service, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Service{cfg: cfg}, nil
}

// Start makes the streams when they are missing and begins to consume. It returns
// when that has begun; the service then runs until Stop, whatever becomes of ctx.
// Starting one that runs has no effect; one that was stopped may start again.
func (s *Service) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		return nil
	}
	if err := s.cfg.Client.EnsureStreams(ctx); err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	spec := natsx.Consumer{
		Stream: natsx.FailuresStream, Durable: consumer,
		AckWait: s.cfg.AckWait, RetryMin: s.cfg.RetryMin, RetryMax: s.cfg.RetryMax,
	}
	if err := s.cfg.Client.EnsureConsumer(ctx, spec); err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := newDispatcher(s.cfg.Waker, s.cfg.RetryMin, s.cfg.RetryMax, s.cfg.Logger)
	var wg sync.WaitGroup
	wg.Go(func() { s.cfg.Client.CopyDeadLetters(runCtx) })
	wg.Go(func() {
		s.cfg.Client.Consume(runCtx, spec, func(ctx context.Context, m natsx.Received) error { return s.ingest(ctx, d, m) })
	})
	r := &running{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		wg.Wait()
		d.close()
	}()
	s.run = r
	return nil
}

// Stop ends the service: it finishes the event in hand, gives outstanding wake-ups
// a moment, and returns when all has ended or ctx ends. It may be called twice,
// and before Start. A wake-up that is lost here costs nobody an event: it is in
// the store, where a workflow finds it when it next looks.
func (s *Service) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return nil
	}
	s.run.cancel()
	select {
	case <-s.run.done:
	case <-ctx.Done():
		return fmt.Errorf("ingest: stop: %w", ctx.Err())
	}
	s.run = nil
	return nil
}

// ingest stores one event. It is idempotent by the event's source and id.
func (s *Service) ingest(ctx context.Context, d *dispatcher, m natsx.Received) error {
	e, err := failures.Decode(m.Header, m.Data)
	if err == nil {
		err = checkSubject(m.Subject, e)
	}
	if err != nil {
		return natsx.Terminate(err)
	}
	// The commit is not given up half-way when the service stops.
	f := e.Failure()
	seq, added, err := s.cfg.Store.AddFailure(context.WithoutCancel(ctx), f)
	if errors.Is(err, store.ErrInvalid) {
		return natsx.Terminate(err)
	}
	if err != nil {
		return fmt.Errorf("store event %s of %s: %w", e.ID, e.Source, err)
	}
	s.cfg.Logger.Debug("ingested a failure", "agent", e.Agent, "id", e.ID, "cursor", seq, "new", added)
	// A repeated event wakes as well: its first delivery may have ended in a crash
	// after the commit. The cursor makes that harmless.
	d.notify(f.Agent, f.Repo, seq)
	return nil
}

// checkSubject refuses an event on another's subject: permissions to publish are
// given by subject, and an agent must not speak for others.
func checkSubject(subject string, e failures.Event) error {
	want, err := failures.Subject(e.Severity, e.Agent)
	if err != nil {
		return err
	}
	if subject != want {
		return fmt.Errorf("%w: it was published on %s, its severity and agent belong to %s", failures.ErrInvalid, subject, want)
	}
	return nil
}
