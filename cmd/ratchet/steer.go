package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/internal/control"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
)

// reason is why somebody may give each update, for its help.
var reason = map[string]string{
	"pause": "the machine is needed", "resume": "the machine is free again", "stop": "what it finds is no longer wanted",
}

// campaignUpdate makes a command that sends one update to a campaign.
func (a *app) campaignUpdate(verb, short, done string) *cobra.Command {
	var v protocol.Verdict
	c := &cobra.Command{
		Use: verb + " NAME", Short: short, Args: exactly("NAME"),
		Example: fmt.Sprintf("  ratchet campaign %s sharper-agent --why %q", verb, reason[verb]),
		RunE: func(c *cobra.Command, args []string) error {
			return a.steerNamed(c.Context(), verb, args[0], done, v)
		},
	}
	withPerson(c, &v)
	return a.withJSON(c)
}

func (a *app) steerNamed(ctx context.Context, verb, name, done string, v protocol.Verdict) error {
	if verb == "resume" {
		raised, err := a.raised(ctx, name)
		if err != nil {
			return err
		}
		if raised {
			return a.drive(ctx, func(s *session) error { return a.recover(ctx, s, name) })
		}
	}
	if err := a.running(ctx, verb, name); err != nil {
		return err
	}
	return a.drive(ctx, func(s *session) error { return a.steer(ctx, s, verb, name, done, v) })
}

// steer sends the update; a stop is over when the campaign has ended.
func (a *app) steer(ctx context.Context, s *session, verb, name, done string, v protocol.Verdict) error {
	v.By = a.person(v.By)
	send := map[string]func(context.Context, string, protocol.Verdict) error{
		"pause": s.control.Pause, "resume": s.control.Resume, "stop": s.control.Stop,
	}[verb]
	if err := send(ctx, name, v); err != nil {
		return err
	}
	if verb == "stop" {
		if err := s.control.Wait(ctx, name); err != nil {
			return err
		}
	}
	if a.json {
		return a.print(map[string]any{"campaign": name, "done": verb})
	}
	a.say("campaign %s %s", name, done)
	return nil
}

// raised says whether a campaign ended for its budget and has a larger one now:
// then it is started again.
func (a *app) raised(ctx context.Context, name string) (raised bool, err error) {
	err = a.read(ctx, func(s *store.Store) error {
		if _, err := a.campaignRow(ctx, s, name); err != nil {
			return err
		}
		raised, err = control.New(nil, s).Raised(ctx, name)
		return err
	})
	return raised, err
}

// withPerson adds the flags that say who decides and why.
func withPerson(c *cobra.Command, v *protocol.Verdict) {
	c.Flags().StringVar(&v.By, "by", "", "who asks for this (default: the user's name)")
	c.Flags().StringVar(&v.Why, "why", "", "the reason, for the audit trail")
}

// person is the name that goes into the audit trail.
func (a *app) person(by string) string {
	for _, name := range []string{by, a.getenv("USER"), a.getenv("LOGNAME")} {
		if name != "" {
			return name
		}
	}
	return "operator"
}
