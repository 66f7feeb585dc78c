package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
)

func (a *app) changeCommand() *cobra.Command {
	return group("change", "List changes, and approve or reject those that wait for a person",
		a.changeList(), a.changeShow(),
		a.changeDecide("approve", "Keep a proven change that waits for a person"),
		a.changeDecide("reject", "Revert a proven change that waits for a person"),
	)
}

func (a *app) changeList() *cobra.Command {
	var f store.ChangeFilter
	c := &cobra.Command{
		Use: "list", Short: "List changes", Args: noCommand,
		Example: "  ratchet change list --campaign sharper-agent",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.read(c.Context(), func(s *store.Store) error { return a.listChanges(c.Context(), s, f) })
		},
	}
	c.Flags().StringVar(&f.Campaign, "campaign", "", "only those of one campaign")
	return a.withJSON(c)
}

func (a *app) listChanges(ctx context.Context, s *store.Store, f store.ChangeFilter) error {
	if f.Campaign != "" {
		if _, err := s.Campaign(ctx, f.Campaign); err != nil {
			return err
		}
	}
	changes, err := s.Changes(ctx, f)
	if err != nil {
		return err
	}
	if a.json {
		return a.print(append([]model.Change{}, changes...))
	}
	rows := make([]string, len(changes))
	for i, c := range changes {
		rows[i] = fmt.Sprintf("%s\t%s\t%d\t%s\t%.10s\t%s", c.ID, c.Campaign, c.Generation, c.State, c.Commit, c.Hypothesis)
	}
	return a.table("id\tcampaign\tgeneration\tstate\tcommit\thypothesis", rows)
}

func (a *app) changeShow() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "show ID", Short: "Show a change, its audit trail and its receipt", Args: exactly("ID"),
		Example: "  ratchet change show c0123456789ab",
		RunE: func(c *cobra.Command, args []string) error {
			return a.read(c.Context(), func(s *store.Store) error { return a.showChange(c.Context(), s, args[0]) })
		},
	})
}

// changeView is a change with its history.
type changeView struct {
	model.Change
	Events  []model.ChangeEvent `json:"events"`
	Receipt *model.Receipt      `json:"receipt"`
}

func (a *app) showChange(ctx context.Context, s *store.Store, id string) error {
	c, err := s.Change(ctx, id)
	if err != nil {
		return err
	}
	v := changeView{Change: c}
	if v.Events, err = s.ChangeEvents(ctx, id); err != nil {
		return err
	}
	if r, err := s.Receipt(ctx, id); err == nil {
		v.Receipt = &r
	}
	if a.json {
		return a.print(v)
	}
	a.say("change %s (%s) of campaign %s, generation %d: %s\n%s", c.ID, c.Kind, c.Campaign, c.Generation, c.State, c.Hypothesis)
	for _, e := range v.Events {
		a.say("  %s  %s by %s: %s", e.At.Format("2006-01-02 15:04:05"), e.State, e.By, e.Why)
	}
	if v.Receipt != nil {
		a.receiptText(*v.Receipt)
	}
	return nil
}

func (a *app) changeDecide(verb, short string) *cobra.Command {
	var v protocol.Verdict
	c := &cobra.Command{
		Use: verb + " ID", Short: short, Args: exactly("ID"),
		Example: fmt.Sprintf("  ratchet change %s c0123456789ab --by ada --why \"read it\"", verb),
		RunE: func(c *cobra.Command, args []string) error {
			return a.drive(c.Context(), func(s *session) error { return a.decide(c.Context(), s, verb, args[0], v) })
		},
	}
	withPerson(c, &v)
	return a.withJSON(c)
}

func (a *app) decide(ctx context.Context, s *session, verb, id string, v protocol.Verdict) error {
	v.By = a.person(v.By)
	send := s.control.Approve
	if verb == "reject" {
		send = s.control.Reject
	}
	if err := send(ctx, id, v); err != nil {
		return err
	}
	if a.json {
		return a.print(map[string]any{"change": id, "decision": verb, "by": v.By})
	}
	a.say("change %s: %s by %s", id, verb, v.By)
	return nil
}

func (a *app) receiptCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "receipt COMMIT",
		Short: "Show why a commit was kept or reverted",
		Long:  "receipt shows the record of a decision: COMMIT is the candidate's or the revert's hash, or the beginning of it.",
		Args:  exactly("COMMIT"), Example: "  ratchet receipt 3f2a91c --json",
		RunE: func(c *cobra.Command, args []string) error {
			return a.read(c.Context(), func(s *store.Store) error {
				r, err := s.ReceiptByCommit(c.Context(), args[0])
				if err != nil {
					return err
				}
				if a.json {
					return a.print(r)
				}
				a.receiptText(r)
				return nil
			})
		},
	})
}

// receiptText writes a receipt for people.
func (a *app) receiptText(r model.Receipt) {
	a.say("\n%s by %s: %s", strings.ToUpper(string(r.Decision)), r.DecidedBy, r.Reason)
	a.say("hypothesis  %s", r.Hypothesis)
	a.say("commit      %s on %s", r.Commit, r.Parent)
	if r.RevertCommit != "" {
		a.say("reverted by %s", r.RevertCommit)
	}
	a.say("evidence    e-value %.4g against %.4g (level %.3g, confirmation %d), %d rounds", r.EValue, 1/r.Level, r.Level, r.Confirmation, r.Rounds)
	for _, c := range r.Claims {
		a.say("  claimed   %s: parent %v, candidate %v, e-value %.4g", c.Problem, c.Parent, c.Candidate, c.EValue)
	}
	for _, c := range r.Suspects {
		a.say("  suspect   %s: parent %v, candidate %v, e-value for worse %.4g", c.Problem, c.Parent, c.Candidate, c.EValue)
	}
	a.say("score       %.1f%% → %.1f%%", 100*r.ParentScore.Score, 100*r.Score.Score)
	a.say("fixed       %v\nbroken      %v\n\n%s", r.Fixed, r.Broken, r.Patch)
}
