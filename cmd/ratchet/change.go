package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
	"ratchet/internal/store"
)

func (a *app) changeCommand() *cobra.Command {
	return group("change", "List changes, and approve or reject those that wait for a person",
		"  ratchet change list --campaign sharper-agent\n  ratchet change approve c0123456789ab --by ada",
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
		if _, err := a.campaignRow(ctx, s, f.Campaign); err != nil {
			return err
		}
	}
	changes, err := s.Changes(ctx, f)
	if err != nil {
		return err
	}
	who := newAuthors(s)
	lines := make([]authoredChange, len(changes))
	rows := make([]string, len(changes))
	for i, c := range changes {
		by, err := who.of(ctx, c)
		if err != nil {
			return err
		}
		lines[i] = authoredChange{c, by}
		rows[i] = fmt.Sprintf("%s\t%s\t%d\t%s\t%.10s\t%s\t%s", c.ID, c.Campaign, c.Generation, c.State, c.Commit, cell(by), cell(c.Hypothesis))
	}
	if a.json {
		return a.print(lines)
	}
	return a.list("id\tcampaign\tgeneration\tstate\tcommit\tby\thypothesis", rows, "no changes yet")
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

// changeView is a change with its history; the receipt is null until it is decided.
type changeView struct {
	authoredChange
	Diff    string              `json:"diff"` // unified; empty until it is committed
	Events  []model.ChangeEvent `json:"events"`
	Receipt *receiptView        `json:"receipt"`
}

func (a *app) viewChange(ctx context.Context, s *store.Store, id string) (v changeView, err error) {
	if v.Change, err = a.changeRow(ctx, s, id); err != nil {
		return v, err
	}
	if v.Proposer, err = newAuthors(s).of(ctx, v.Change); err != nil {
		return v, err
	}
	if v.Events, err = s.ChangeEvents(ctx, id); err != nil {
		return v, err
	}
	r, err := s.Receipt(ctx, id)
	switch {
	case err == nil:
		view := viewReceipt(r, v.Proposer)
		v.Receipt = &view
	case !errors.Is(err, store.ErrNotFound):
		return v, err
	}
	v.Diff, err = diffOf(ctx, s, v.Change)
	return v, err
}

// diffOf is what a change does to its parent.
func diffOf(ctx context.Context, s *store.Store, c model.Change) (string, error) {
	if c.Commit == "" {
		return "", nil
	}
	row, err := s.Campaign(ctx, c.Campaign)
	if err != nil {
		return "", err
	}
	r, err := repo.Open(ctx, row.Repo)
	if err != nil {
		return "", err
	}
	diff, err := r.Diff(ctx, c.Parent, c.Commit)
	return diff, errors.Join(err, r.Close())
}

func (a *app) showChange(ctx context.Context, s *store.Store, id string) error {
	v, err := a.viewChange(ctx, s, id)
	if err != nil {
		return err
	}
	if a.json {
		return a.print(v)
	}
	c := v.Change
	a.say("change %s (%s) of campaign %s, generation %d: %s\n%s", c.ID, c.Kind, c.Campaign, c.Generation, c.State, c.Hypothesis)
	if v.Proposer != "" {
		a.say("proposed by %s", v.Proposer)
	}
	for _, e := range v.Events {
		a.say("  %s  %s by %s: %s", e.At.Format("2006-01-02 15:04:05"), e.State, e.By, e.Why)
	}
	if v.Receipt != nil {
		a.receiptText(*v.Receipt)
	} else {
		a.say("\n%s", strings.TrimRight(v.Diff, "\n"))
	}
	if c.State == model.ChangeAwaiting {
		a.askPerson(c)
	}
	return nil
}

// askPerson says how a waiting change is decided.
func (a *app) askPerson(c model.Change) {
	until := ""
	if c.Deadline != nil {
		until = " until " + c.Deadline.Format("2006-01-02 15:04 MST")
	}
	a.say("change %s is proven and waits for a person%s: %s", c.ID, until, c.Hypothesis)
	a.say("  look at it: %s", a.command("change show "+c.ID))
	a.say("  keep it:    %s", a.command("change approve "+c.ID))
	a.say("  undo it:    %s", a.command("change reject "+c.ID))
}

func (a *app) changeDecide(verb, short string) *cobra.Command {
	var v protocol.Verdict
	c := &cobra.Command{
		Use: verb + " ID", Short: short, Args: exactly("ID"),
		Example: fmt.Sprintf("  ratchet change %s c0123456789ab --by ada --why \"read it\"", verb),
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.awaiting(c.Context(), verb, args[0]); err != nil {
				return err
			}
			return a.drive(c.Context(), func(s *session) error { return a.decide(c.Context(), s, verb, args[0], v) })
		},
	}
	withPerson(c, &v)
	return a.withJSON(c)
}

// awaiting refuses to decide on a change that does not wait for a person, before
// a stack is started for it.
func (a *app) awaiting(ctx context.Context, verb, id string) error {
	return a.read(ctx, func(s *store.Store) error {
		c, err := a.changeRow(ctx, s, id)
		if err == nil && c.State != model.ChangeAwaiting {
			return usage("%s change %s: it is %s; only one that is %s can be decided", verb, id, c.State, model.ChangeAwaiting)
		}
		return err
	})
}

// settleWait bounds how long a decision may take to be carried out.
const settleWait = time.Minute

func (a *app) decide(ctx context.Context, s *session, verb, id string, v protocol.Verdict) error {
	v.By = a.person(v.By)
	send := s.control.Approve
	if verb == "reject" {
		send = s.control.Reject
	}
	if err := send(ctx, id, v); err != nil {
		return err
	}
	c, err := settled(ctx, s.store, id)
	if err != nil {
		return err
	}
	if a.json {
		return a.print(map[string]any{"change": id, "decision": verb, "by": v.By, "state": c.State})
	}
	a.say("change %s is %s, decided by %s", id, strings.ReplaceAll(string(c.State), "_", " "), v.By)
	return nil
}

// settled waits until a decision is carried out, so that a stack that was
// started for this call may stop.
func settled(ctx context.Context, s *store.Store, id string) (c model.Change, err error) {
	wait, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	err = poll(wait, func() (bool, error) {
		c, err = s.Change(wait, id)
		return c.State.Final(), err
	})
	if err != nil && ctx.Err() == nil && wait.Err() != nil {
		err = fmt.Errorf("the decision on change %s is recorded, but not carried out after %s: %w (it will be, once the stack runs)", id, settleWait, err)
	}
	return c, err
}
