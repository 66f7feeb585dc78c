package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"ratchet/workers"
)

func (a *app) workerCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "worker",
		Short: "Run campaigns for an installation whose Temporal, NATS and PostgreSQL run elsewhere",
		Long: `worker runs the workers and the ingest of failures, and nothing else. The environment
names the services: RATCHET_STORE a PostgreSQL, RATCHET_NATS_URL a NATS server with
JetStream (RATCHET_NATS_CREDS a credentials file), TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE
and Temporal's other variables its server. With the same environment every other
command works on that installation. The data folder holds repositories and artifacts.`,
		Example: "  ratchet worker --data /var/lib/ratchet",
		Args:    noCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return a.worker(c.Context()) },
	})
}

func (a *app) worker(ctx context.Context) error {
	sv, err := a.services()
	if err != nil {
		return err
	}
	if sv == nil {
		return usage("worker: %s is not set: it names the PostgreSQL of the installation (for one machine by itself use ratchet dev)", envStore)
	}
	if err := a.makeData(); err != nil {
		return err
	}
	st, err := workers.Open(ctx, workers.StackConfig{Data: a.data, Services: sv, Logger: a.logger(), Getenv: a.getenv})
	if err != nil {
		return environment(err)
	}
	if a.json {
		err = a.print(st.Info)
	} else {
		a.say("worker of %s (namespace %s), NATS %s", st.Info.TemporalAddress, st.Info.Namespace, st.Info.NATSURL)
		a.say("data folder: %s", a.data)
	}
	if err == nil {
		<-ctx.Done()
		a.say("stopping; campaigns go on when a worker runs again")
		err = errInterrupted
	}
	return errors.Join(err, st.Close(context.WithoutCancel(ctx)))
}
