package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/internal/aa"
)

func (a *app) aaCommand() *cobra.Command {
	var cfg aa.Config
	c := &cobra.Command{
		Use:   "aa",
		Short: "Measure the decision rule itself: identical, better and worse candidates on simulated suites",
		Long: `aa sends candidates whose true effect is known through the same baseline, screen and
confirmation as a campaign, on simulated suites, and prints how often an identical
candidate is kept, how often a better one is, after how many rounds, and how much
gain a campaign would believe in that is not there.`,
		Example: "  ratchet aa\n  ratchet aa --trials 2000 --seed 7 --json",
		Args:    noCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return a.aa(c.Context(), cfg) },
	}
	c.Flags().Int64Var(&cfg.Seed, "seed", 1, "seed of the simulation")
	c.Flags().IntVar(&cfg.Trials, "trials", 0, "simulated candidates of each kind and suite (default: enough for the stated rates)")
	return a.withJSON(c)
}

func (a *app) aa(ctx context.Context, cfg aa.Config) error {
	if cfg.Trials < 0 {
		return usage("--trials is %d: at least 1 is needed, or 0 for the default", cfg.Trials)
	}
	r, err := aa.Run(ctx, cfg, a.simulated())
	if err != nil {
		return err
	}
	if a.json {
		return a.print(r)
	}
	rows := make([]string, len(r.Suites))
	for i, s := range r.Suites {
		rows[i] = fmt.Sprintf("%s\t%.2f%%\t%.0f%%\t%.1f\t%+.2f", s.Name, 100*s.FalseAcceptRate, 100*s.Power, s.MeanRounds, s.PhantomGainPoints)
	}
	return a.table("suite\tidentical kept\tbetter kept\tmean rounds\tphantom gain (points)", rows)
}

// simulated shows on a terminal how far the simulation is, in one line.
func (a *app) simulated() func(done, total int) {
	if !a.terminal || a.json {
		return nil
	}
	return func(done, total int) {
		fmt.Fprintf(a.stdout, "\r%d of %d campaigns simulated", done, total)
		if done == total {
			fmt.Fprintln(a.stdout)
		}
	}
}
