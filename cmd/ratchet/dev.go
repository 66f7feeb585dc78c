package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

func (a *app) devCommand() *cobra.Command {
	var port int
	c := &cobra.Command{
		Use:     "dev",
		Short:   "Run the stack in this terminal: Temporal, its Web UI, NATS and workers",
		Example: "  ratchet dev\n  ratchet dev --ui-port 9000 --data ./state",
		Args:    noCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return a.dev(c.Context(), port) },
	}
	withUIPort(c, &port)
	return a.withJSON(c)
}

func (a *app) dev(ctx context.Context, port int) error {
	s, err := a.start(ctx, stackFlags{ui: true, uiPort: uiPort(port), lasting: true})
	if err != nil {
		return err
	}
	if a.json {
		err = a.print(s.info)
	} else {
		a.say("Temporal UI: %s", s.info.UIURL)
		a.say("Temporal:    %s (namespace %s)", s.info.TemporalAddress, s.info.Namespace)
		a.say("NATS:        %s", s.info.NATSURL)
		a.say("data folder: %s", a.data)
		a.say("Ctrl-C stops the stack; campaigns under way go on when it runs again.")
	}
	if err == nil {
		<-ctx.Done()
		a.say("stopping; campaigns are checkpointed")
		err = errInterrupted
	}
	return errors.Join(err, s.close())
}
