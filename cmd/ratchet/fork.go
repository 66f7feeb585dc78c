package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/internal/campaign"
	"ratchet/internal/control"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
)

// forkOptions are the flags of campaign fork.
type forkOptions struct {
	runOptions
	from, as string
	who      protocol.Verdict
	limits   protocol.BudgetChange
}

func (a *app) campaignFork() *cobra.Command {
	var o forkOptions
	c := &cobra.Command{
		Use: "fork NAME", Short: "Start a new campaign from a commit of another one",
		Long: `fork starts a campaign with the file of another one, from a commit of that: one that was
kept, one that was reverted, or its base. The new campaign has a baseline, a branch and a
record of its own; of the other one only the audit trail changes. It begins with the
limits that the other one has now, those set by "ratchet campaign budget" included, and
has spent nothing of them; the flags of limits set others.`,
		Example: "  ratchet campaign fork sharper-agent --from 3f2a91c --dev\n  ratchet campaign fork sharper-agent --from 3f2a91c --tokens 5e6 --detach\n  ratchet campaign fork sharper-agent --from 3f2a91c --as other-way --detach",
		Args:    exactly("NAME"),
	}
	f := c.Flags()
	f.StringVar(&o.from, "from", "", "commit to begin with: a hash or the beginning of one, or a branch")
	f.StringVar(&o.as, "as", "", "name of the new campaign (default: NAME-fork, NAME-fork-2 and so on)")
	f.BoolVar(&o.dev, "dev", false, "start the stack with its Web UI in this process")
	f.BoolVar(&o.detach, "detach", false, "hand the campaign over and return")
	f.BoolVar(&o.push, "push", false, "publish kept commits to the repository when the campaign ends")
	withUIPort(c, &o.uiPort)
	withPerson(c, &o.who)
	withLimits(c, &o.limits)
	c.RunE = func(c *cobra.Command, args []string) error { return a.forkNamed(c.Context(), args[0], o) }
	return a.withJSON(c)
}

func (a *app) forkNamed(ctx context.Context, name string, o forkOptions) error {
	if o.from == "" {
		return usage("fork campaign %s: --from is missing: name the commit to begin with (see %s)", name, a.command("campaign report "+name))
	}
	if err := o.check(); err != nil {
		return err
	}
	if o.as != "" {
		if err := campaign.CheckName(o.as); err != nil {
			return usage("fork campaign %s: --as: %v", name, err)
		}
	}
	if err := a.read(ctx, func(s *store.Store) error {
		_, err := a.campaignRow(ctx, s, name)
		return err
	}); err != nil {
		return err
	}
	s, err := a.stackFor(ctx, o.runOptions)
	if err != nil {
		return err
	}
	return errors.Join(a.fork(ctx, s, name, o), s.close())
}

// fork starts the new campaign and, unless detached, follows it to its end.
func (a *app) fork(ctx context.Context, s *session, name string, o forkOptions) error {
	f, err := s.control.Fork(ctx, name, o.from, o.as, control.ForkOptions{
		Options: control.Options{Push: o.push}, By: a.person(o.who.By), Why: o.who.Why, Limits: o.limits,
	})
	if err != nil {
		return err
	}
	a.say("campaign %s is a fork of %s at %.12s; it may use %s", f.Name, name, f.Commit, strings.Join(limitWords(f.Limits), ", "))
	a.again = a.command("campaign recover " + f.Name) // the same command would fork once more
	return a.carry(ctx, s, f.Name, f.Resumed, o.runOptions)
}
