package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet/activities"
	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/sandbox/docker"
)

// benchmarkFlags are what benchmark run can be told.
type benchmarkFlags struct {
	rounds   int
	baseline bool
	commit   string
	agent    agentFlags
}

func (a *app) benchmarkRun() *cobra.Command {
	var f benchmarkFlags
	c := &cobra.Command{
		Use: "run FILE|suite:NAME", Short: "Run the suites of a campaign file, or an agent on a suite of problems, and store the results",
		Long: `Run the suites of a campaign file on its base commit, or on another with --commit;
tests and harness are then those of that commit. Or let an agent (--agent) work on
the problems of a suite: a built-in one (suite:coding), or a folder (suite:./mine).`,
		Example: `  ratchet benchmark run campaign.yaml --rounds 5 --baseline
  ratchet benchmark run campaign.yaml --commit v1.2.0
  ratchet benchmark run suite:coding --agent "/box/agent/run fast" --agent-dir ./agent --problems fix-lru,write-wrap`,
		Args: exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c, args[0]); err != nil {
				return err
			}
			if suite, ok := strings.CutPrefix(args[0], suitePrefix); ok {
				return a.runAgent(c.Context(), suite, f)
			}
			return a.runBenchmark(c.Context(), args[0], f)
		},
	}
	fl := c.Flags()
	fl.IntVar(&f.rounds, "rounds", 2, "how often each problem is run; two or more name flaky ones, four or more can prove a difference")
	fl.BoolVar(&f.baseline, "baseline", false, "make this the benchmark that others of its name are compared with")
	fl.StringVar(&f.commit, "commit", "", "branch, tag or commit to measure instead of the file's base")
	f.agent.register(fl)
	return a.withJSON(c)
}

// check refuses flags that do not fit what is to be run.
func (f benchmarkFlags) check(c *cobra.Command, what string) error {
	if f.rounds < 1 {
		return usage("--rounds is %d: at least 1 is needed", f.rounds)
	}
	if !strings.HasPrefix(what, suitePrefix) {
		for _, name := range agentFlagNames {
			if c.Flags().Changed(name) {
				return usage("--%s is for agents: name a suite of problems instead of %s, such as suite:coding", name, what)
			}
		}
		return nil
	}
	if c.Flags().Changed("commit") {
		return usage("--commit is for campaign files: %s has no repository", what)
	}
	return f.agent.check()
}

func (a *app) runBenchmark(ctx context.Context, file string, f benchmarkFlags) error {
	spec, err := a.spec(file)
	if err != nil {
		return err
	}
	if f.commit != "" {
		spec.Base = f.commit
	}
	if _, err := a.preflight(ctx, spec); err != nil {
		return err
	}
	return a.benchmarked(ctx, f.baseline, func(boxes *docker.Engine) (model.Benchmark, error) {
		return a.measure(ctx, boxes, spec, f.rounds)
	})
}

// benchmarked measures on a stack, stores what was measured, and prints it.
func (a *app) benchmarked(ctx context.Context, baseline bool, measure func(*docker.Engine) (model.Benchmark, error)) error {
	return a.drive(ctx, func(s *session) error {
		boxes, done, err := a.boxes(ctx, s)
		if err != nil {
			return err
		}
		b, err := measure(boxes)
		if err := errors.Join(err, done()); err != nil {
			return err
		}
		b.Baseline = baseline
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
	b, err := activities.Measure(ctx, boxes, spec, filepath.Join(dir, "repo.git"), rounds, a.progressLine)
	return b, errors.Join(err, os.RemoveAll(dir))
}

func (a *app) progressLine(s string) { fmt.Fprintln(a.stderr, s) }

func (a *app) printBenchmark(b model.Benchmark) error {
	what := fmt.Sprintf("at %.10s", b.Commit)
	if b.Agent != "" {
		what = "by " + b.Agent
	}
	a.say("benchmark %s of %s %s: score %.1f%%, %d of %s pass, %d flaky, %s%s",
		b.ID, b.Name, what, 100*b.Score.Score, b.Score.Passed, plural(b.Score.Problems, "problem"), len(b.Score.Flaky),
		b.Wall.Round(time.Millisecond), tokensUsed(b))
	if b.Baseline {
		a.say("it is the baseline of %s", b.Name)
	}
	for _, r := range b.Runs {
		if r.Tampered != "" {
			a.say("a run cannot be believed: %s", r.Tampered)
		}
	}
	if rows := notPassed(b); len(rows) > 0 {
		if err := a.table("problem\toutcome", rows); err != nil {
			return err
		}
	}
	if b.BuildLog != "" {
		a.say("\nwhat the compiler said:\n%s", strings.TrimRight(b.BuildLog, "\n"))
	}
	return nil
}

func tokensUsed(b model.Benchmark) string {
	n := int64(0)
	for _, r := range b.Results {
		n += r.Tokens
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d tokens", n)
}

// notPassed lists the problems that did not pass in every round.
func notPassed(b model.Benchmark) (rows []string) {
	for _, id := range append(append([]string{}, b.Score.Failing...), b.Score.Flaky...) {
		for _, r := range b.Results {
			if r.Problem == id && r.Score < 1 {
				rows = append(rows, fmt.Sprintf("%s\t%s", id, r.Outcome))
				break
			}
		}
	}
	return rows
}
