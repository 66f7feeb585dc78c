package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/internal/campaign"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
)

func (a *app) campaignHint() *cobra.Command {
	var h protocol.Hint
	c := &cobra.Command{
		Use: "hint NAME TEXT", Short: "Tell the proposers of a campaign something",
		Long: `hint adds a line of advice to what proposers read from the next generation on. It is
data for them and never an instruction to ratchet; it is in the audit trail. Generations
that kept nothing count afresh after it.`,
		Example: "  ratchet campaign hint sharper-agent \"the parser drops the last token of a line\"",
		Args:    exactly("NAME", "TEXT"),
		RunE: func(c *cobra.Command, args []string) error {
			h.Text = args[1]
			if err := protocol.CheckHint(h.Text); err != nil {
				return usage("hint campaign %s: %v", args[0], err)
			}
			if err := a.running(c.Context(), "hint", args[0]); err != nil {
				return err
			}
			return a.drive(c.Context(), func(s *session) error { return a.hint(c.Context(), s, args[0], h) })
		},
	}
	c.Flags().StringVar(&h.By, "by", "", "who asks for this (default: the user's name)")
	return a.withJSON(c)
}

func (a *app) hint(ctx context.Context, s *session, name string, h protocol.Hint) error {
	h.By = a.person(h.By)
	if err := s.control.Hint(ctx, name, h); err != nil {
		return err
	}
	if err := a.unread(ctx, s.store, name); err != nil {
		return err
	}
	if a.json {
		return a.print(map[string]any{"campaign": name, "done": "hint", "by": h.By})
	}
	a.say("campaign %s has the hint; its proposers read it from the next generation on", name)
	return nil
}

// unread warns when no proposer of a campaign reads anything.
func (a *app) unread(ctx context.Context, s *store.Store, name string) error {
	row, err := a.campaignRow(ctx, s, name)
	if err != nil {
		return err
	}
	spec, err := campaign.FromJSON(row.Spec)
	if err == nil && !spec.Model() {
		fmt.Fprintf(a.stderr, "warning: no proposer of campaign %s calls a model, and no other reads hints\n", name)
	}
	return err
}
