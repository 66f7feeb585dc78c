package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet/internal/model"
	"ratchet/internal/store"
)

func (a *app) benchmarkCommand() *cobra.Command {
	return group("benchmark", "Measure a repository or an agent outside a campaign, and compare measurements",
		"  ratchet benchmark run campaign.yaml --baseline\n  ratchet benchmark compare\n  ratchet benchmark problems coding",
		a.benchmarkRun(), a.benchmarkList(), a.benchmarkHistory(), a.benchmarkBaseline(), a.benchmarkCompare(),
		a.benchmarkExport(), a.benchmarkProblems(), a.benchmarkShow())
}

func (a *app) benchmarkList() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "list", Short: "List stored benchmarks, the latest of each name", Args: noCommand,
		Example: "  ratchet benchmark list",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.read(c.Context(), func(s *store.Store) error { return a.listBenchmarks(c.Context(), s, "", true) })
		},
	})
}

func (a *app) benchmarkHistory() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "history [NAME]", Short: "List all stored benchmarks, or those of one name, newest first",
		Example: "  ratchet benchmark history\n  ratchet benchmark history sharper-agent --json",
		Args:    atMost("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.read(c.Context(), func(s *store.Store) error {
				return a.listBenchmarks(c.Context(), s, strings.Join(args, ""), false)
			})
		},
	})
}

// benchmarkLine is one benchmark in a list.
type benchmarkLine struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Repo     string    `json:"repo"`
	Commit   string    `json:"commit"`
	Agent    string    `json:"agent"` // its command, when one was measured
	Baseline bool      `json:"baseline"`
	Started  time.Time `json:"started"`
	Score    float64   `json:"score"`
	Problems int       `json:"problems"`
	Passed   int       `json:"passed"`
}

func (a *app) listBenchmarks(ctx context.Context, s *store.Store, name string, latest bool) error {
	all, err := s.Benchmarks(ctx, name)
	if err != nil {
		return err
	}
	if name != "" && len(all) == 0 {
		return a.absent(store.ErrNotFound, "benchmark of", name, "benchmark list")
	}
	lines := []benchmarkLine{}
	var rows []string
	seen := map[string]bool{}
	for _, b := range all {
		if latest && seen[b.Name] {
			continue
		}
		seen[b.Name] = true
		lines = append(lines, benchmarkLine{b.ID, b.Name, b.Repo, b.Commit, b.Agent, b.Baseline, b.Started, b.Score.Score, b.Score.Problems, b.Score.Passed})
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%.1f%%\t%d/%d\t%s", b.ID, b.Name,
			b.Started.Format("2006-01-02 15:04"), subject(b), 100*b.Score.Score, b.Score.Passed, b.Score.Problems, isBaseline(b)))
	}
	if a.json {
		return a.print(lines)
	}
	return a.list("id\tname\tstarted\tmeasured\tscore\tpassed\t", rows,
		"no benchmarks yet; make one with: "+a.command("benchmark run FILE"))
}

// subject is what a benchmark measured, in short.
func subject(b model.Benchmark) string {
	if b.Agent == "" {
		return fmt.Sprintf("%.10s", b.Commit)
	}
	const most = 30
	if r := []rune(b.Agent); len(r) > most {
		return string(r[:most]) + "…"
	}
	return b.Agent
}

func isBaseline(b model.Benchmark) string {
	if b.Baseline {
		return "baseline"
	}
	return ""
}

func (a *app) benchmarkBaseline() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "baseline ID", Short: "Make a stored benchmark the one that others of its name are compared with", Args: exactly("ID"),
		Example: "  ratchet benchmark baseline d8d1k0g8a1",
		RunE: func(c *cobra.Command, args []string) error {
			return a.read(c.Context(), func(s *store.Store) error { return a.setBaseline(c.Context(), s, args[0]) })
		},
	})
}

func (a *app) setBaseline(ctx context.Context, s *store.Store, id string) error {
	b, err := a.storedBenchmark(ctx, s, id)
	if err != nil {
		return err
	}
	if err := s.SetBaseline(ctx, b.ID); err != nil {
		return err
	}
	if a.json {
		return a.print(struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		}{b.ID, b.Name})
	}
	a.say("benchmark %s is the baseline of %s", b.ID, b.Name)
	return nil
}

// storedBenchmark reads a benchmark of the data folder by its id or the beginning of it.
func (a *app) storedBenchmark(ctx context.Context, s *store.Store, id string) (model.Benchmark, error) {
	b, err := s.Benchmark(ctx, id)
	return b, a.absent(err, "benchmark", id, "benchmark history")
}
