package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"ratchet/internal/model"
	"ratchet/internal/report"
	"ratchet/internal/store"
)

func (a *app) benchmarkCompare() *cobra.Command {
	var failOnWorse bool
	c := &cobra.Command{
		Use: "compare [A] [B]", Short: "Compare two stored benchmarks, or one with the baseline of its name, problem by problem",
		Long: `Compare two stored benchmarks. With one, it is compared with the baseline of its
name; with none, the latest is. A difference is better or worse when an exact test
says that the rounds do not explain it; that takes four rounds or more on each side.`,
		Args:    atMost("A", "B"),
		Example: "  ratchet benchmark compare\n  ratchet benchmark compare d8d1k0g8a1 d8d1m3o02b --fail-on-worse",
		RunE: func(c *cobra.Command, args []string) error {
			return a.read(c.Context(), func(s *store.Store) error {
				before, after, err := a.sides(c.Context(), s, args)
				if err != nil {
					return err
				}
				return a.compare(report.Compare(before, after), failOnWorse)
			})
		},
	}
	c.Flags().BoolVar(&failOnWorse, "fail-on-worse", false, "exit with 1 when a problem is worse or maybe worse")
	return a.withJSON(c)
}

// sides finds the benchmarks that the arguments mean.
func (a *app) sides(ctx context.Context, s *store.Store, args []string) (before, after model.Benchmark, err error) {
	if len(args) == 2 {
		if before, err = a.storedBenchmark(ctx, s, args[0]); err == nil {
			after, err = a.storedBenchmark(ctx, s, args[1])
		}
		return before, after, err
	}
	if after, err = a.given(ctx, s, args); err != nil {
		return before, after, err
	}
	before, err = a.baselineOf(ctx, s, after)
	return before, after, err
}

// given is the benchmark that is named, or the latest.
func (a *app) given(ctx context.Context, s *store.Store, args []string) (b model.Benchmark, err error) {
	if len(args) > 0 {
		return a.storedBenchmark(ctx, s, args[0])
	}
	all, err := s.Benchmarks(ctx, "")
	if err != nil {
		return b, err
	}
	if len(all) == 0 {
		return b, usage("there is no benchmark in the data folder %s (make one with: %s)", a.data, a.command("benchmark run FILE"))
	}
	return a.storedBenchmark(ctx, s, all[0].ID)
}

// baselineOf is what a benchmark is compared with when nothing else is said.
func (a *app) baselineOf(ctx context.Context, s *store.Store, b model.Benchmark) (model.Benchmark, error) {
	all, err := s.Benchmarks(ctx, b.Name)
	if err != nil {
		return model.Benchmark{}, err
	}
	for _, x := range all {
		switch {
		case x.Baseline && x.ID == b.ID:
			return x, usage("benchmark %s is itself the baseline of %s: name the one to compare it with (see: %s)",
				b.ID, b.Name, a.command("benchmark history "+shellWord(b.Name)))
		case x.Baseline:
			return a.storedBenchmark(ctx, s, x.ID)
		}
	}
	return model.Benchmark{}, usage("there is no baseline of %s (choose one with: %s, or name two benchmarks)",
		b.Name, a.command("benchmark baseline ID"))
}

func (a *app) compare(c report.Comparison, failOnWorse bool) error {
	var err error
	if a.json {
		err = a.print(c)
	} else {
		err = a.printComparison(c)
	}
	if err != nil || !failOnWorse || c.Worse+c.MaybeWorse == 0 {
		return err
	}
	return fmt.Errorf("compare %s with %s: %s worse, %d maybe worse", c.B.ID, c.A.ID, plural(c.Worse, "problem"), c.MaybeWorse)
}

func (a *app) printComparison(c report.Comparison) error {
	a.say("%s %.1f%% → %s %.1f%% (%+.1f points)", c.A.ID, 100*c.A.Score, c.B.ID, 100*c.B.Score, 100*c.Delta)
	if c.A.Name != c.B.Name {
		a.say("they have different names: %s and %s", c.A.Name, c.B.Name)
	}
	if c.A.Tokens+c.B.Tokens > 0 {
		a.say("tokens %d → %d", c.A.Tokens, c.B.Tokens)
	}
	var rows []string
	for _, p := range c.Problems {
		if p.Verdict != report.Same {
			rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s", p.Problem, change(p), chance(p), p.Verdict))
		}
	}
	if len(rows) == 0 {
		a.say("no problem differs")
		return nil
	}
	if err := a.table("problem\tbefore → after\tp\tverdict", rows); err != nil {
		return err
	}
	if c.MaybeBetter+c.MaybeWorse > 0 {
		a.say("%s changed in every round, but too few rounds were run to tell that from chance: use --rounds 5 on both sides",
			plural(c.MaybeBetter+c.MaybeWorse, "problem"))
	}
	return nil
}

// change is what happened to one problem: shares of passes, or values with their unit.
func change(p report.Compared) string {
	if p.Metric == nil {
		return share(p.A) + " → " + share(p.B)
	}
	text := value(p.A) + " → " + value(p.B)
	if p.Metric.Unit != "" {
		text += " " + p.Metric.Unit
	}
	if p.Change != nil {
		text += fmt.Sprintf(", %+.0f%%", 100**p.Change)
	}
	return text
}

func share(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100**x)
}

func value(x *float64) string {
	if x == nil {
		return "-"
	}
	return strconv.FormatFloat(*x, 'g', 4, 64)
}

func chance(p report.Compared) string {
	if p.Verdict == report.Added || p.Verdict == report.Removed {
		return "-"
	}
	return fmt.Sprintf("%.3f", p.P)
}
