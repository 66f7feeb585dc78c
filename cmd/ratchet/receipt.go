package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/internal/model"
	"ratchet/internal/report"
	"ratchet/internal/store"
)

// receiptView is a receipt in its public form. Its durations are seconds, as in
// reports.
type receiptView struct {
	model.Receipt
	Proposer string          `json:"proposer"` // that wrote the change
	Cost     report.TurnCost `json:"cost"`
}

func viewReceipt(r model.Receipt, proposer string) receiptView {
	return receiptView{Receipt: r, Proposer: proposer, Cost: report.CostOf(r.Cost)}
}

// authoredChange is a change with the proposer that wrote it, which its attempt says.
type authoredChange struct {
	model.Change
	Proposer string `json:"proposer"`
}

// authors looks up who wrote changes; the attempts of a generation are read once.
type authors struct {
	store *store.Store
	known map[string]map[string]string // generation to key to proposer
}

func newAuthors(s *store.Store) *authors {
	return &authors{store: s, known: map[string]map[string]string{}}
}

// of is the proposer of a change; empty for one that no attempt led to.
func (w *authors) of(ctx context.Context, c model.Change) (string, error) {
	at := fmt.Sprintf("%s/%d", c.Campaign, c.Generation)
	if w.known[at] == nil {
		rows, err := w.store.Attempts(ctx, c.Campaign, c.Generation)
		if err != nil {
			return "", err
		}
		w.known[at] = map[string]string{}
		for _, r := range rows {
			w.known[at][r.Key] = r.Proposer
		}
	}
	return w.known[at][c.Attempt], nil
}

// ofID is of for the id of a change.
func (w *authors) ofID(ctx context.Context, id string) (string, error) {
	c, err := w.store.Change(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return w.of(ctx, c)
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
				if errors.Is(err, store.ErrConflict) { // short for several
					return usage("%v", err)
				}
				if err != nil {
					return a.absent(err, "receipt of a commit", args[0], "change list")
				}
				by, err := newAuthors(s).ofID(c.Context(), r.Change)
				if err != nil {
					return err
				}
				v := viewReceipt(r, by)
				if a.json {
					return a.print(v)
				}
				a.receiptText(v)
				return nil
			})
		},
	})
}

// receiptText writes a receipt for people.
func (a *app) receiptText(r receiptView) {
	a.say("\n%s by %s: %s", strings.ToUpper(string(r.Decision)), r.DecidedBy, r.Reason)
	a.say("hypothesis  %s", r.Hypothesis)
	if r.Proposer != "" {
		a.say("proposed by %s", r.Proposer)
	}
	a.say("commit      %s on %s", r.Commit, r.Parent)
	if r.RevertCommit != "" {
		a.say("reverted by %s", r.RevertCommit)
	}
	a.say("evidence    e-value %.4g against %.4g (level %.3g, confirmation %d), %d rounds", r.EValue, 1/r.Level, r.Level, r.Confirmation, r.Rounds)
	for _, c := range r.Claims {
		a.say("  claimed   %s: parent %s, candidate %s, e-value %.4g", c.Problem, scores(c.Parent), scores(c.Candidate), c.EValue)
	}
	for _, c := range r.Suspects {
		a.say("  suspect   %s: parent %s, candidate %s, e-value for worse %.4g", c.Problem, scores(c.Parent), scores(c.Candidate), c.EValue)
	}
	a.say("score       %.1f%% → %.1f%%", 100*r.ParentScore.Score, 100*r.Score.Score)
	a.say("fixed       %s\nbroken      %s\n\n%s", listed(r.Fixed), listed(r.Broken), strings.TrimRight(r.Patch, "\n"))
}

// scores writes the scores of several rounds.
func scores(xs []float64) string {
	words := make([]string, len(xs))
	for i, x := range xs {
		words[i] = strconv.FormatFloat(x, 'g', 3, 64)
	}
	return strings.Join(words, " ")
}
