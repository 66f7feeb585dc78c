package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"ratchet/internal/protocol"
	"ratchet/internal/repo"
	"ratchet/internal/report"
	"ratchet/internal/store"
)

// printReport writes a report for people: the generations, the branch's log, and
// what it cost.
func (a *app) printReport(ctx context.Context, s *store.Store, r report.Report) error {
	fmt.Fprintf(a.stdout, "\ncampaign %s\n", r.Campaign)
	if err := a.printGenerations(r.Generations); err != nil {
		return err
	}
	if err := a.printLog(ctx, s, r); err != nil {
		return err
	}
	c := r.Cost
	fmt.Fprintf(a.stdout, "\nscore %.1f%% → %.1f%% (held out %.1f%%), %d of %d problems pass; %d kept, %d reverted, %d rejected\n",
		100*r.Baseline.Score, 100*r.Final.Score, 100*r.Final.HeldoutScore, r.Final.Passed, r.Baseline.Problems, r.Kept, r.Reverted, r.Rejected)
	if len(r.Baseline.Flaky) > 0 {
		fmt.Fprintf(a.stdout, "flaky: %v\n", r.Baseline.Flaky)
	}
	fmt.Fprintf(a.stdout, "wall %.0f s, sandboxes %.0f s, orchestration %.1f s\n", c.WallSeconds, c.SandboxSeconds, c.OrchestrationSeconds)
	if r.Stopped != "" {
		fmt.Fprintf(a.stdout, "stopped (%s): %s\n", r.Stopped, r.Detail)
	}
	_, err := fmt.Fprintf(a.stdout, "branch %s in %s\n", r.Branch, r.Repo)
	return err
}

func (a *app) printGenerations(gens []report.Generation) error {
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "gen\toutcome\tbefore\tafter\tscreened\trounds\thypothesis")
	for _, g := range gens {
		fmt.Fprintf(w, "%d\t%s %s\t%.1f%%\t%.1f%%\t%d/%d\t%d\t%s\n",
			g.N, mark(g.Outcome), g.Outcome, 100*g.ParentScore, 100*g.Score, g.Screened, g.Candidates, g.Rounds, g.Hypothesis)
		fmt.Fprintf(w, "\t\t\t\t\t\twhy: %s\n", g.Reason)
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
	tip, err := g.Ref(ctx, protocol.BranchRef(row.Name))
	if err != nil {
		return err
	}
	entries, err := g.Log(ctx, tip, logLines)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nlog of %s\n", r.Branch)
	for _, e := range entries {
		fmt.Fprintf(a.stdout, "  %.10s %s\n", e.Hash, e.Subject)
		if e.Hash == row.Base {
			break
		}
	}
	return nil
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
