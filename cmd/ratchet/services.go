package main

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"

	"ratchet/internal/control"
	"ratchet/internal/natsx"
	"ratchet/internal/store"
	"ratchet/workers"
)

// Variables that name the services of an installation; Temporal's own come with them.
const (
	envStore     = "RATCHET_STORE"      // connection string of PostgreSQL
	envNATS      = "RATCHET_NATS_URL"   // URL of NATS, or several of one cluster
	envNATSCreds = "RATCHET_NATS_CREDS" // path of a NATS credentials file
)

// services are those that the environment names; nil when it names no store, and
// then ratchet runs its own.
func (a *app) services() (*workers.Services, error) {
	dsn := a.getenv(envStore)
	if dsn == "" {
		return nil, nil
	}
	opts, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{EnvLookup: environ{a}})
	if err != nil {
		return nil, environment(fmt.Errorf("read Temporal's settings from the environment: %w", err))
	}
	nats := a.getenv(envNATS)
	if nats == "" {
		return nil, environment(fmt.Errorf("%s names a store, but %s names no NATS (set it, such as nats://nats:4222, or unset %s to have ratchet run its own services)", envStore, envNATS, envStore))
	}
	if opts.Namespace == "" {
		opts.Namespace = client.DefaultNamespace
	}
	if opts.HostPort == "" {
		opts.HostPort = client.DefaultHostPort
	}
	return &workers.Services{
		Temporal: opts,
		NATS:     natsx.Config{URL: nats, Credentials: a.getenv(envNATSCreds)},
		Store:    store.Config{Driver: store.Postgres, DSN: dsn},
	}, nil
}

// environ is the environment of an app, as Temporal's settings read it.
type environ struct{ a *app }

func (e environ) Environ() []string { return e.a.environ() }

func (e environ) LookupEnv(key string) (string, bool) {
	v := e.a.getenv(key)
	return v, v != ""
}

// refuseServices says that a command runs servers of its own, which the services of
// an installation exclude.
func (a *app) refuseServices(what string) error {
	if a.getenv(envStore) == "" {
		return nil
	}
	return usage("%s runs servers of its own, but %s names those of an installation (unset it, or use ratchet worker)", what, envStore)
}

// joinServices connects to the services of an installation.
func (a *app) joinServices(ctx context.Context, sv *workers.Services) (*session, error) {
	s, err := store.Open(ctx, sv.Store)
	if err != nil {
		return nil, environment(err)
	}
	c, err := sv.Dial(ctx, log.NewStructuredLogger(a.logger()))
	if err != nil {
		return nil, errors.Join(environment(err), s.Close())
	}
	return &session{info: sv.Info(), store: s, control: control.New(c, s), close: func() error {
		c.Close()
		return s.Close()
	}}, nil
}

// where says which worker drives the campaigns of a session.
func (s *session) where() string {
	if s.info.Pid == 0 {
		return "in the workers of " + s.info.TemporalAddress
	}
	return fmt.Sprintf("in process %d", s.info.Pid)
}
