package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
	"ratchet/internal/report"
	"ratchet/internal/store"
)

// printReport writes a report for people: the generations, the branch's log, and
// what it cost.
func (a *app) printReport(ctx context.Context, s *store.Store, r report.Report) error {
	a.say("\ncampaign %s", r.Campaign)
	if err := a.printGenerations(r.Generations); err != nil {
		return err
	}
	a.sayFates(r)
	if err := a.printLog(ctx, s, r); err != nil {
		return err
	}
	a.say("")
	a.printScore(r)
	c := r.Cost
	a.say("wall %.0f s, sandboxes %.0f s, orchestration %.1f s", c.WallSeconds, c.SandboxSeconds, c.OrchestrationSeconds)
	a.printModelCost(r)
	if r.Stopped != "" {
		a.say("stopped (%s): %s", r.Stopped, r.Detail)
	}
	if r.Branch != "" {
		a.say("branch %s in %s", r.Branch, r.Repo)
	}
	return nil
}

// sayFates says where it is read what became of the candidates of a turn that
// landed none.
func (a *app) sayFates(r report.Report) {
	for _, g := range slices.Backward(r.Generations) {
		if g.Outcome == string(model.OutcomeRejected) {
			a.say("what became of each candidate of generation %d: %s", g.N, a.seeAttempts(r.Campaign, g.N))
			return
		}
	}
}

// printModelCost says what models have cost, in all, a kept change and a
// generation; nothing where none was called.
func (a *app) printModelCost(r report.Report) {
	c := r.Cost
	if c.Calls == 0 {
		return
	}
	a.say("models: %s, %s", plural(int(c.Calls), "call"), modelCost(float64(c.Tokens), c.Money))
	if p := c.PerKept; p != nil {
		a.say("  a kept change: %s, sandboxes %.0f s", modelCost(p.Tokens, p.Money), p.SandboxSeconds)
	}
	for _, g := range r.Generations {
		if g.Cost.Calls > 0 {
			a.say("  generation %d: %s, %s", g.N, plural(int(g.Cost.Calls), "call"), modelCost(float64(g.Cost.Tokens), g.Cost.Money))
		}
	}
}

// modelCost is a number of tokens, and what they cost where they have a price.
func modelCost(tokens, money float64) string {
	if money == 0 {
		return fmt.Sprintf("%.0f tokens", tokens)
	}
	return fmt.Sprintf("%.0f tokens, cost %.4g", tokens, money)
}

func (a *app) printScore(r report.Report) {
	if r.Baseline.Problems == 0 {
		a.say("the baseline is not measured")
		return
	}
	a.say("score %.1f%% → %.1f%% (held out %.1f%%), %d of %s pass; %d kept, %d reverted, %d rejected",
		100*r.Baseline.Score, 100*r.Final.Score, 100*r.Final.HeldoutScore, r.Final.Passed,
		plural(r.Baseline.Problems, "problem"), r.Kept, r.Reverted, r.Rejected)
	if r.Kept == 0 && r.Stopped != "" {
		a.say("nothing was kept: the branch's files are those of its base")
	}
	if len(r.Baseline.Flaky) > 0 {
		a.say("flaky: %s", listed(r.Baseline.Flaky))
	}
}

func (a *app) printGenerations(gens []report.Generation) error {
	if len(gens) == 0 {
		a.say("no generation was run")
		return nil
	}
	// Who wrote a change is worth a column only where models write too.
	models := slices.ContainsFunc(gens, func(g report.Generation) bool { return g.Cost.Calls > 0 })
	by := func(who string) string {
		if models {
			return who + "\t"
		}
		return ""
	}
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "gen\toutcome\tbefore\tafter\tscreened\trounds\t%shypothesis\n", by("by"))
	for _, g := range gens {
		fmt.Fprintf(w, "%d\t%s %s\t%.1f%%\t%.1f%%\t%d/%d\t%d\t%s%s\n",
			g.N, mark(g.Outcome), g.Outcome, 100*g.ParentScore, 100*g.Score, g.Screened, g.Candidates, g.Rounds, by(cell(g.Proposer)), cell(g.Hypothesis))
		fmt.Fprintf(w, "\t\t\t\t\t\t%swhy: %s\n", by(""), cell(g.Reason))
	}
	return w.Flush()
}

// logLines is how much of the branch's log a report shows.
const logLines = 40

func (a *app) printLog(ctx context.Context, s *store.Store, r report.Report) error {
	row, err := s.Campaign(ctx, r.Campaign)
	if err != nil || row.Base == "" {
		return err
	}
	g, err := repo.Open(ctx, row.Repo)
	if err != nil {
		return err
	}
	entries, err := branchLog(ctx, g, protocol.BranchRef(row.Name))
	if err := errors.Join(err, g.Close()); err != nil {
		return err
	}
	a.say("\nlog of %s", r.Branch)
	for _, e := range entries {
		a.say("  %.10s %s", e.Hash, e.Subject)
		if e.Hash == row.Base {
			break
		}
	}
	return nil
}

func branchLog(ctx context.Context, g *repo.Repo, ref string) ([]repo.LogEntry, error) {
	tip, err := g.Ref(ctx, ref)
	if err != nil {
		return nil, err
	}
	return g.Log(ctx, tip, logLines)
}

// list writes a table, or one line when there is nothing to list.
func (a *app) list(header string, rows []string, none string) error {
	if len(rows) == 0 {
		a.say("%s", none)
		return nil
	}
	return a.table(header, rows)
}

// table writes rows under a header for people.
func (a *app) table(header string, rows []string) error {
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, header)
	for _, r := range rows {
		fmt.Fprintln(w, r)
	}
	return w.Flush()
}
