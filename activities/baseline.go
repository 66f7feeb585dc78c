package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ratchet/benchmarks"
	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
	"ratchet/internal/trial"
)

// baselineRounds is how often all problems are run before anything is changed;
// more than the two that are needed, because rounds after the build are cheap and
// each one names flaky problems that the ones before have missed.
const baselineRounds = 4

// stepLimit is the longest time between two signs of progress in any step: a
// build, or a run of all problems, which the suite's own limits bound below it.
const stepLimit = 2 * time.Hour

// PrepareTarget builds the campaign's image. Idempotent: an image that exists is kept.
func (a *Activities) PrepareTarget(ctx context.Context, in protocol.PrepareTargetInput) (out protocol.PrepareTargetResult, err error) {
	p := a.startPulse(ctx, stepLimit, "looking for the image")
	defer func() { out.Spans = p.end() }()
	t, err := a.load(ctx, in.Campaign)
	if err != nil {
		return out, err
	}
	defer t.close()
	if err := a.phase(ctx, store.Fence{}, in.Campaign, "preparing the sandbox image"); err != nil {
		return out, err
	}
	err = p.busy(ctx, func() error {
		img, err := a.image(ctx, t, func(s string) { p.tell(stepLimit, "%s", s) })
		out.Image = img.ID
		return err
	})
	if err != nil {
		return out, err
	}
	_, err = a.store.UpdateCampaign(ctx, store.Fence{}, in.Campaign, func(c *model.Campaign) error {
		c.Image = out.Image
		return nil
	})
	return out, err
}

// MeasureBaseline runs all problems on the trusted commit, several rounds, splits
// them, and stores the score. Each round is a row: a later attempt goes on after
// the rounds that are stored. Once the score is stored nothing is run again.
func (a *Activities) MeasureBaseline(ctx context.Context, in protocol.MeasureBaselineInput) (out protocol.MeasureBaselineResult, err error) {
	p := a.startPulse(ctx, stepLimit, "opening")
	defer func() { out.Spans = p.end() }()
	f, err := a.fence(ctx, in.Campaign)
	if err != nil {
		return out, err
	}
	t, err := a.load(ctx, in.Campaign)
	if err != nil {
		return out, err
	}
	defer t.close()
	all, err := a.discover(ctx, t, p)
	if err != nil {
		return out, err
	}
	runs, err := a.baselineRuns(ctx, f, t, all, p)
	if err != nil {
		return out, err
	}
	if err := checkHeldout(t.spec, all); err != nil {
		return out, err
	}
	problems, warnings, err := admit(t.spec, all, runs)
	if err != nil {
		return out, err
	}
	problems = Split(t.spec, problems, failing(problems, runs))
	problems = trial.Reference(trial.Weigh(problems, weights(t.spec)), runs)
	score := trial.Summarise(problems, runs)
	if err := a.saveBaseline(ctx, f, t, problems, runs, score, in.Busy); err != nil {
		return out, err
	}
	return summary(score, problems, runs, warnings), nil
}

// discover lists the problems of all suites of the trusted tree.
func (a *Activities) discover(ctx context.Context, t *target, p *pulse) ([]model.Problem, error) {
	img, err := a.image(ctx, t, func(s string) { p.tell(stepLimit, "%s", s) })
	if err != nil {
		return nil, err
	}
	p.tell(stepLimit, "looking for problems")
	var all []model.Problem
	err = p.busy(ctx, func() (err error) {
		all, err = Discover(ctx, t.suites, a.aim(t, img, t.trusted, t.trusted, nil, "discover "+t.row.Name))
		return err
	})
	return all, err
}

// Discover lists the problems of all suites in a trusted tree.
func Discover(ctx context.Context, suites []benchmarks.Suite, t benchmarks.Target) ([]model.Problem, error) {
	var all []model.Problem
	for _, s := range suites {
		ps, err := s.Discover(ctx, t)
		if errors.Is(err, benchmarks.ErrNoProblems) || errors.Is(err, benchmarks.ErrConfig) {
			return nil, &BadInput{Op: "find the problems of suite", Object: s.Name(), Cause: err.Error(),
				Hint: "a campaign needs something to measure by: check the suite in the campaign file"}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, ps...)
	}
	return all, nil
}

// baselineRuns measures the rounds that are not stored yet.
func (a *Activities) baselineRuns(ctx context.Context, f store.Fence, t *target, all []model.Problem, p *pulse) ([]model.Run, error) {
	stored, err := a.store.Runs(ctx, t.row.Name, "baseline")
	if err != nil {
		return nil, err
	}
	var have []model.Run
	for _, s := range stored {
		have = append(have, s.Run)
	}
	if len(have) >= baselineRounds {
		return have, nil
	}
	img, err := a.image(ctx, t, func(s string) { p.tell(stepLimit, "%s", s) })
	if err != nil {
		return nil, err
	}
	p.tell(stepLimit, "building the trusted commit")
	if err := a.phase(ctx, f, t.row.Name, "building the base commit, to measure the baseline"); err != nil {
		return nil, err
	}
	b, err := openBenches(ctx, t.suites, a.aim(t, img, t.trusted, t.trusted, all, "baseline "+t.row.Name), p)
	if err != nil {
		return nil, err
	}
	runs, err := trial.Baseline(ctx, b, all, baselineRounds, have, func(n int, run model.Run) error {
		p.tell(stepLimit, "round %d of %d: score %.3f", n, baselineRounds, run.Score())
		_, err := a.store.SaveRun(ctx, f, store.RunKey{Campaign: t.row.Name, Scope: "baseline", Round: n}, t.trusted.Hash, run)
		a.reached(ctx, "round")
		if err != nil {
			return err
		}
		return a.phase(ctx, f, t.row.Name, fmt.Sprintf("measuring the baseline, round %d of %d done", n, baselineRounds))
	})
	return runs, closing(ctx, b, err)
}

// closing removes boxes and keeps the first error.
func closing(ctx context.Context, b *benches, err error) error {
	if cerr := b.Close(ctx); err == nil {
		return cerr
	}
	return err
}

// admit refuses what cannot be measured and leaves out problems that decline to run.
func admit(spec campaign.Spec, all []model.Problem, runs []model.Run) ([]model.Problem, []string, error) {
	for _, r := range runs {
		if r.Tampered != "" {
			return nil, nil, &tampered{reason: r.Tampered}
		}
	}
	first := runs[0].ByProblem()
	var keep []model.Problem
	built, skipped := 0, 0
	for _, p := range all {
		switch first[p.ID].Outcome {
		case model.Skip:
			skipped++
			continue
		case model.BuildFailed:
		default:
			built++
		}
		keep = append(keep, p)
	}
	if len(keep) == 0 {
		return nil, nil, &BadInput{Op: "measure the baseline of", Object: spec.Name, Cause: "every problem is skipped",
			Hint: "a campaign needs at least one test that runs"}
	}
	if built == 0 {
		return nil, nil, &BadInput{Op: "build the suites of", Object: spec.Name, Cause: tail(runs[0].BuildLog, 1500),
			Hint: "the base commit must build before it can be improved"}
	}
	return keep, warnings(keep, first, built, skipped), nil
}

func warnings(keep []model.Problem, first map[string]model.Result, built, skipped int) []string {
	var out []string
	if skipped > 0 {
		out = append(out, fmt.Sprintf("%d problems are skipped by themselves and not counted", skipped))
	}
	if broken := len(keep) - built; broken > 0 {
		out = append(out, fmt.Sprintf("%d problems do not build and count as failed", broken))
	}
	for _, p := range keep {
		if first[p.ID].Score > 0 {
			return out
		}
	}
	return append(out, "no problem passes: if that is the environment's fault, mend it first (sandbox.setup, sandbox.image)")
}

// tampered says that the trusted commit itself defeats the measurement.
type tampered struct{ reason string }

func (e *tampered) Error() string {
	return "measure the baseline: the trusted commit cannot be measured: " + e.reason +
		" (do its tests end the process, or print test results themselves?)"
}

func tail(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}

// failing names the problems that failed in every round or, where there is none,
// those that failed in some.
func failing(problems []model.Problem, runs []model.Run) map[string]bool {
	always, sometimes := map[string]bool{}, map[string]bool{}
	rates := trial.Rates(runs...)
	for _, p := range problems {
		r := rates[p.ID]
		always[p.ID] = r.Passed == 0
		sometimes[p.ID] = r.Passed < r.Runs
	}
	for _, fails := range always {
		if fails {
			return always
		}
	}
	return sometimes
}

// saveBaseline stores problems and score. The score comes last: it marks the
// baseline as complete.
func (a *Activities) saveBaseline(ctx context.Context, f store.Fence, t *target, problems []model.Problem, runs []model.Run, score model.Score, busy time.Duration) error {
	if err := a.store.SaveProblems(ctx, f, t.row.Name, problems); err != nil {
		return err
	}
	a.reached(ctx, "problems")
	ref, err := a.putRates(ctx, trial.Rates(runs...))
	if err != nil {
		return err
	}
	wall := time.Since(t.row.Created)
	cost := model.Cost{Sandbox: sandboxTime(runs), Wall: wall, Orchestration: max(0, wall-busy-sandboxTime(runs))}
	_, err = a.store.UpdateCampaign(ctx, f, t.row.Name, func(c *model.Campaign) error {
		if c.Baseline == nil {
			c.Baseline, c.Current, c.Rates, c.Cost = &score, &score, ref, cost
		}
		return nil
	})
	return err
}

func sandboxTime(runs []model.Run) time.Duration {
	var d time.Duration
	for _, r := range runs {
		d += r.Sandbox
	}
	return d
}

func summary(s model.Score, problems []model.Problem, runs []model.Run, warnings []string) protocol.MeasureBaselineResult {
	heldout := 0
	for _, p := range problems {
		if p.Split == model.SplitHeldout {
			heldout++
		}
	}
	return protocol.MeasureBaselineResult{
		Score: s.Score, Problems: s.Problems, Passed: s.Passed, Failing: len(s.Failing),
		Flaky: len(s.Flaky), Heldout: heldout, Warnings: warnings, Sandbox: sandboxTime(runs),
	}
}
