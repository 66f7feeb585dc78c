// Package aa studies the decision rule by simulation: it sends identical and
// better candidates through the real baseline, screen and confirmation on
// suites whose noise is known, and reports how often the rule is wrong.
package aa

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"ratchet/internal/decision"
)

// Config says how much to simulate. The zero value of a field means its default.
type Config struct {
	Seed          int64   // default 1; equal seeds give equal reports, whatever Parallel is
	Trials        int     // simulated campaigns for each suite; default 400
	Confirmations int     // confirmations of identical candidates in each campaign; default 50
	Alpha         float64 // error probability of a campaign; default 0.05
	Rounds        int     // budget of a confirmation; default 20
	Parallel      int     // campaigns at a time; default the number of CPUs
}

func (c Config) withDefaults() Config {
	if c.Seed == 0 {
		c.Seed = 1
	}
	if c.Trials == 0 {
		c.Trials = 400
	}
	if c.Confirmations == 0 {
		c.Confirmations = 50
	}
	gate := decision.Config{Alpha: c.Alpha, Rounds: c.Rounds}.WithDefaults()
	c.Alpha, c.Rounds = gate.Alpha, gate.Rounds
	if c.Parallel == 0 {
		c.Parallel = runtime.NumCPU()
	}
	return c
}

func (c Config) gate() decision.Config {
	return decision.Config{Alpha: c.Alpha, Rounds: c.Rounds}.WithDefaults()
}

func (c Config) validate() error {
	var errs []error
	for name, n := range map[string]int{"trials": c.Trials, "confirmations": c.Confirmations, "parallel": c.Parallel} {
		if n < 1 {
			errs = append(errs, fmt.Errorf("aa: %s is %d, want at least 1", name, n))
		}
	}
	return errors.Join(append(errs, c.gate().Validate())...)
}

// SuiteReport is what the study found on one suite.
type SuiteReport struct {
	Name string `json:"name"`
	// FalseAcceptRate is the share of confirmed identical candidates that were
	// kept. Each is the best of 24 identical ones in its screen, as a campaign
	// would choose it; candidates that no noise carried through the screen are not counted.
	FalseAcceptRate float64 `json:"false_accept_rate"`
	// Power is the share of truly better candidates that are screened, confirmed
	// and kept at the level of the campaign's last confirmation. Better is +20
	// points on every problem for the coin flips, one metric by the named effect where
	// there are metrics, and one problem mended for the other suites.
	Power float64 `json:"power"`
	// MeanRounds is the mean number of rounds in the confirmations of the better candidates.
	MeanRounds float64 `json:"mean_rounds"`
	// PhantomGainPoints is the gain that a campaign believes in after all its
	// confirmations of identical candidates (its final score as reported, less
	// its baseline's), in percentage points, mean over campaigns. The true gain is 0.
	PhantomGainPoints float64 `json:"phantom_gain_points"`
}

// Report is the outcome of a study.
type Report struct {
	Suites []SuiteReport `json:"suites"`
}

// Run simulates all suites. progress, which may be nil, is called after each
// campaign, from one goroutine at a time. With the defaults it takes about
// a minute on 2 cores.
func Run(ctx context.Context, cfg Config, progress func(done, total int)) (Report, error) {
	all := suites()
	found, err := study(ctx, cfg, all, progress)
	if err != nil {
		return Report{}, err
	}
	var r Report
	for i, s := range all {
		r.Suites = append(r.Suites, found[i].report(s.name))
	}
	return r, nil
}

// study simulates the given suites and returns the tally of each.
func study(ctx context.Context, cfg Config, all []suite, progress func(done, total int)) ([]tally, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	found := make([][]tally, len(all))
	count := counter{total: len(all) * cfg.Trials, tell: progress}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cfg.Parallel)
	for i, s := range all {
		found[i] = make([]tally, cfg.Trials)
		for n := range cfg.Trials {
			group.Go(func() error {
				t, err := simulate(ctx, cfg, s, seedOf(cfg.Seed, i, n))
				if err != nil {
					return fmt.Errorf("aa: suite %q: %w", s.name, err)
				}
				found[i][n] = t
				count.done()
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	sums := make([]tally, len(all))
	for i := range found {
		sums[i] = sum(found[i])
	}
	return sums, nil
}

// counter reports progress from many goroutines, one call at a time.
type counter struct {
	mu       sync.Mutex
	n, total int
	tell     func(done, total int)
}

func (c *counter) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	if c.tell != nil {
		c.tell(c.n, c.total)
	}
}
