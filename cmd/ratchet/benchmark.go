package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet/activities"
	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/internal/store"
	"ratchet/sandbox/docker"
)

func (a *app) benchmarkCommand() *cobra.Command {
	return group("benchmark", "Measure a repository outside a campaign, and compare measurements",
		"  ratchet benchmark run campaign.yaml\n  ratchet benchmark list",
		a.benchmarkRun(), a.benchmarkList(), a.benchmarkHistory(), a.benchmarkCompare())
}

func (a *app) benchmarkRun() *cobra.Command {
	var rounds int
	c := &cobra.Command{
		Use: "run FILE", Short: "Run the suites of a campaign file on its base commit, and store the results",
		Example: "  ratchet benchmark run campaign.yaml --rounds 5",
		Args:    exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if rounds < 1 {
				return usage("--rounds is %d: at least 1 is needed", rounds)
			}
			return a.runBenchmark(c.Context(), args[0], rounds)
		},
	}
	c.Flags().IntVar(&rounds, "rounds", 2, "how often each problem is run; two or more name flaky ones")
	return a.withJSON(c)
}

func (a *app) runBenchmark(ctx context.Context, file string, rounds int) error {
	spec, err := a.spec(file)
	if err != nil {
		return err
	}
	if _, err := a.preflight(ctx, spec); err != nil {
		return err
	}
	return a.drive(ctx, func(s *session) error {
		boxes, done, err := a.boxes(ctx, s)
		if err != nil {
			return err
		}
		b, err := a.measure(ctx, boxes, spec, rounds)
		if err := errors.Join(err, done()); err != nil {
			return err
		}
		if b, err = s.store.SaveBenchmark(ctx, b); err != nil {
			return err
		}
		if a.json {
			return a.print(b)
		}
		return a.printBenchmark(b)
	})
}

// boxes is the stack's sandbox engine, or one of our own under its identity.
func (a *app) boxes(ctx context.Context, s *session) (*docker.Engine, func() error, error) {
	if s.own != nil {
		return s.own.Boxes, func() error { return nil }, nil
	}
	e, err := docker.New(ctx, docker.Config{Stack: s.info.Stack, Epoch: s.info.Epoch, Logger: a.logger()})
	if err != nil {
		return nil, nil, err
	}
	return e, e.Close, nil
}

func (a *app) measure(ctx context.Context, boxes *docker.Engine, spec campaign.Spec, rounds int) (model.Benchmark, error) {
	dir, err := os.MkdirTemp("", "ratchet-benchmark-")
	if err != nil {
		return model.Benchmark{}, fmt.Errorf("run the benchmark: %w", err)
	}
	b, err := activities.Measure(ctx, boxes, spec, filepath.Join(dir, "repo.git"), rounds, func(s string) { fmt.Fprintln(a.stderr, s) })
	return b, errors.Join(err, os.RemoveAll(dir))
}

func (a *app) printBenchmark(b model.Benchmark) error {
	a.say("benchmark %s of %s at %.10s: score %.1f%%, %d of %d problems pass, %d flaky, %s",
		b.ID, b.Name, b.Commit, 100*b.Score.Score, b.Score.Passed, b.Score.Problems, len(b.Score.Flaky), b.Wall.Round(time.Millisecond))
	var rows []string
	for _, id := range append(append([]string{}, b.Score.Failing...), b.Score.Flaky...) {
		for _, r := range b.Results {
			if r.Problem == id && r.Score < 1 {
				rows = append(rows, fmt.Sprintf("%s\t%s", id, r.Outcome))
				break
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return a.table("problem\toutcome", rows)
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
		lines = append(lines, benchmarkLine{b.ID, b.Name, b.Repo, b.Commit, b.Started, b.Score.Score, b.Score.Problems, b.Score.Passed})
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%.10s\t%.1f%%\t%d/%d", b.ID, b.Name,
			b.Started.Format("2006-01-02 15:04"), b.Commit, 100*b.Score.Score, b.Score.Passed, b.Score.Problems))
	}
	if a.json {
		return a.print(lines)
	}
	return a.list("id\tname\tstarted\tcommit\tscore\tpassed", rows,
		"no benchmarks yet; make one with: "+a.command("benchmark run FILE"))
}

func (a *app) benchmarkCompare() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "compare A B", Short: "Compare two stored benchmarks, problem by problem", Args: exactly("A", "B"),
		Example: "  ratchet benchmark compare d8d1k0g8a1 d8d1m3o02b",
		RunE: func(c *cobra.Command, args []string) error {
			return a.read(c.Context(), func(s *store.Store) error { return a.compare(c.Context(), s, args[0], args[1]) })
		},
	})
}

// comparison is two benchmarks side by side.
type comparison struct {
	A        benchmarkRef      `json:"a"`
	B        benchmarkRef      `json:"b"`
	Delta    float64           `json:"delta"` // B's score less A's
	Problems []problemCompared `json:"problems"`
}

type benchmarkRef struct {
	ID     string  `json:"id"`
	Commit string  `json:"commit"`
	Score  float64 `json:"score"`
}

// problemCompared is one problem; a score is null where a benchmark lacks it.
type problemCompared struct {
	Problem string   `json:"problem"`
	A       *float64 `json:"a"`
	B       *float64 `json:"b"`
	Verdict string   `json:"verdict"` // better, worse, same, added, removed
}

func (a *app) compare(ctx context.Context, s *store.Store, idA, idB string) error {
	ba, err := s.Benchmark(ctx, idA)
	if err != nil {
		return a.absent(err, "benchmark", idA, "benchmark history")
	}
	bb, err := s.Benchmark(ctx, idB)
	if err != nil {
		return a.absent(err, "benchmark", idB, "benchmark history")
	}
	c := compareBenchmarks(ba, bb)
	if a.json {
		return a.print(c)
	}
	a.say("%s %.1f%% → %s %.1f%% (%+.1f points)", ba.ID, 100*ba.Score.Score, bb.ID, 100*bb.Score.Score, 100*c.Delta)
	var rows []string
	for _, p := range c.Problems {
		if p.Verdict != "same" {
			rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s", p.Problem, share(p.A), share(p.B), p.Verdict))
		}
	}
	if len(rows) == 0 {
		a.say("no problem differs")
		return nil
	}
	return a.table("problem\tbefore\tafter\tverdict", rows)
}

func share(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100**x)
}

func compareBenchmarks(a, b model.Benchmark) comparison {
	c := comparison{
		A: benchmarkRef{a.ID, a.Commit, a.Score.Score}, B: benchmarkRef{b.ID, b.Commit, b.Score.Score},
		Delta: b.Score.Score - a.Score.Score, Problems: []problemCompared{},
	}
	before, after := means(a.Results), means(b.Results)
	ids := map[string]bool{}
	for id := range before {
		ids[id] = true
	}
	for id := range after {
		ids[id] = true
	}
	for id := range ids {
		c.Problems = append(c.Problems, compareProblem(id, before[id], after[id]))
	}
	sort.Slice(c.Problems, func(i, j int) bool { return c.Problems[i].Problem < c.Problems[j].Problem })
	return c
}

func compareProblem(id string, a, b *float64) problemCompared {
	p := problemCompared{Problem: id, A: a, B: b, Verdict: "same"}
	switch {
	case a == nil:
		p.Verdict = "added"
	case b == nil:
		p.Verdict = "removed"
	case *b > *a:
		p.Verdict = "better"
	case *b < *a:
		p.Verdict = "worse"
	}
	return p
}

// means is the mean score of each problem over its runs.
func means(results []model.Result) map[string]*float64 {
	sum, n := map[string]float64{}, map[string]float64{}
	for _, r := range results {
		sum[r.Problem] += r.Score
		n[r.Problem]++
	}
	out := map[string]*float64{}
	for id := range sum {
		m := sum[id] / n[id]
		out[id] = &m
	}
	return out
}
