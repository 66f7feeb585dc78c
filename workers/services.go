package workers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"ratchet/internal/control"
	"ratchet/internal/devstack"
	"ratchet/internal/natsx"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
)

// Services are the servers of an installation that ratchet does not run itself.
type Services struct {
	Temporal client.Options // address, namespace, TLS and keys; other fields are set here
	NATS     natsx.Config   // URL and credentials
	Store    store.Config   // PostgreSQL
}

// Validate reports what is missing.
func (s Services) Validate() error {
	switch {
	case s.Temporal.HostPort == "":
		return errors.New("workers: the address of Temporal is required")
	case s.Temporal.Namespace == "":
		return errors.New("workers: the namespace of Temporal is required")
	case s.NATS.URL == "":
		return errors.New("workers: the URL of NATS is required")
	case s.Store.Driver != store.Postgres:
		return errors.New("workers: services that several machines share need a store in PostgreSQL")
	}
	return nil
}

// Info says how to reach the services; it holds no secret.
func (s Services) Info() devstack.Info {
	return devstack.Info{TemporalAddress: s.Temporal.HostPort, Namespace: s.Temporal.Namespace, NATSURL: s.NATS.URL}
}

// Dial connects to Temporal and makes sure that the namespace has the search
// attributes that campaigns set. The caller closes the client.
func (s Services) Dial(ctx context.Context, logger log.Logger) (client.Client, error) {
	opts := s.Temporal
	opts.Logger = logger
	c, err := client.DialContext(ctx, opts)
	if err != nil {
		return nil, &ServiceError{Service: "Temporal", Address: opts.HostPort, Err: err, Hint: "is it running, and is TEMPORAL_ADDRESS right?"}
	}
	added, err := devstack.AddSearchAttributes(ctx, c.OperatorService(), opts.Namespace, protocol.SearchAttributes())
	if err == nil && added {
		err = known(ctx, c, opts.Namespace)
	}
	if err != nil {
		c.Close()
		return nil, &ServiceError{Service: "Temporal", Address: opts.HostPort, Err: err,
			Hint: "the namespace must exist and ratchet must be allowed to add search attributes to it, or somebody adds them: see docs/deploy.md"}
	}
	return c, nil
}

// Temporal's services keep what they know of a namespace for seconds, and refuse
// search attributes that were added since.
const (
	knownWait  = time.Minute
	knownEvery = 200 * time.Millisecond
)

// known waits until the server takes search attributes that were just added.
func known(ctx context.Context, c client.Client, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, knownWait)
	defer cancel()
	tick := time.NewTicker(knownEvery)
	defer tick.Stop()
	for {
		_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: namespace, Query: protocol.AttrCampaign.GetName() + " = 'none'",
		})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server does not take search attributes that were added: %w", err)
		case <-tick.C:
		}
	}
}

// ServiceError is a service that cannot be used.
type ServiceError struct {
	Service, Address string
	Err              error
	Hint             string
}

func (e *ServiceError) Error() string {
	return fmt.Sprintf("use %s at %s: %v (%s)", e.Service, e.Address, e.Err, e.Hint)
}

// Unwrap gives the cause.
func (e *ServiceError) Unwrap() error { return e.Err }

// joinServices takes the place of openServers where others run the servers.
func (s *Stack) joinServices(ctx context.Context, cfg StackConfig, lock *devstack.Lock) error {
	c, err := cfg.Services.Dial(ctx, log.NewStructuredLogger(quiet(cfg.Logger)))
	if err != nil {
		return err
	}
	s.Temporal = c
	s.onClose("Temporal client", func(context.Context) error { c.Close(); return nil })
	s.Info = cfg.Services.Info()
	s.Info.Pid, s.Info.Stack, s.Info.Epoch = os.Getpid(), lock.Stack(), lock.Epoch()
	s.Control = control.New(c, s.Store)
	return nil
}
