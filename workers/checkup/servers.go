package checkup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"ratchet/internal/devstack"
	"ratchet/internal/doctor"
	"ratchet/internal/natsx"
	"ratchet/internal/protocol"
)

const restartStack = "restart the stack: end `ratchet dev` and start it again"

// address says how to reach the servers: those of the installation, or of the
// stack that runs on the data folder.
func (c *checkup) address() (info devstack.Info, running bool) {
	if c.Services != nil {
		return c.Services.Info(), true
	}
	info, running, err := devstack.ReadInfo(c.Data)
	return info, err == nil && running
}

// temporal looks at the running server, or at the database that one would be started on.
func (c *checkup) temporal(ctx context.Context) doctor.Finding {
	info, running := c.address()
	if !running {
		return c.temporalDatabase(ctx)
	}
	opts := client.Options{HostPort: info.TemporalAddress, Namespace: info.Namespace}
	if c.Services != nil {
		opts = c.Services.Temporal
	}
	opts.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	t, err := client.DialContext(ctx, opts)
	if err != nil {
		return failed(fmt.Errorf("connect to Temporal at %s: %w", info.TemporalAddress, err), c.mendServer("TEMPORAL_ADDRESS"))
	}
	defer t.Close()
	return c.temporalServer(ctx, t, opts)
}

// mendServer is what to do about a server that does not answer.
func (c *checkup) mendServer(variable string) string {
	if c.Services != nil {
		return "is it running, and is " + variable + " right?"
	}
	return restartStack
}

func (c *checkup) temporalServer(ctx context.Context, t client.Client, opts client.Options) doctor.Finding {
	if _, err := t.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return failed(fmt.Errorf("health of Temporal at %s: %w", opts.HostPort, err), c.mendServer("TEMPORAL_ADDRESS"))
	}
	if _, err := t.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: opts.Namespace}); err != nil {
		return failed(fmt.Errorf("namespace %s: %w", opts.Namespace, err), "create the namespace, or correct TEMPORAL_NAMESPACE")
	}
	res, err := t.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: opts.Namespace})
	if err != nil {
		return failed(fmt.Errorf("search attributes of namespace %s: %w", opts.Namespace, err), "allow this user to list them")
	}
	if lacks := lacking(res); len(lacks) > 0 {
		return doctor.Fail("start a stack or a worker, which add them, or add them with `temporal operator search-attribute create`",
			"namespace %s lacks the search attributes %s", opts.Namespace, strings.Join(lacks, ", "))
	}
	version := "of an unknown version"
	if info, err := t.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{}); err == nil {
		version = info.GetServerVersion()
	}
	return doctor.Fine("server %s at %s serves; namespace %s has its search attributes", version, opts.HostPort, opts.Namespace)
}

// lacking names the search attributes that are missing or of another type.
func lacking(res *operatorservice.ListSearchAttributesResponse) (names []string) {
	for name, kind := range protocol.SearchAttributes() {
		if have, ok := res.GetCustomAttributes()[name]; !ok || have != kind {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (c *checkup) temporalDatabase(ctx context.Context) doctor.Finding {
	s, err := devstack.Inspect(ctx, c.Data)
	switch {
	case errors.Is(err, devstack.ErrSchema):
		return failed(err, "move the database away")
	case err != nil:
		return failed(err, otherData)
	case s.Database == "":
		return doctor.Fine("starts with the stack, on a new database")
	}
	return doctor.Fine("starts with the stack; its database was made by %s", s.Database)
}

func (c *checkup) nats(ctx context.Context) doctor.Finding {
	info, running := c.address()
	if !running {
		return doctor.Fine("starts with the stack")
	}
	cfg := natsx.Config{URL: info.NATSURL}
	if c.Services != nil {
		cfg = c.Services.NATS
	}
	cfg.Name = "ratchet doctor"
	n, err := natsx.Connect(ctx, cfg)
	if err != nil {
		f := failed(err, "")
		f.Hint = c.mendServer("RATCHET_NATS_URL")
		return f
	}
	defer n.Close()
	waiting, err := n.Pending(ctx, natsx.FailuresStream)
	if err != nil {
		return failed(err, "start a stack or a worker, which make the stream")
	}
	dead, err := n.Pending(ctx, natsx.DeadLetterStream)
	if err != nil {
		return failed(err, "start a stack or a worker, which make the stream")
	}
	return doctor.Fine("JetStream is enabled; %d failures wait, %d could not be read", waiting, dead)
}
