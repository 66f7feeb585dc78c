package activities

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"ratchet/benchmarks"
	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
	"ratchet/internal/trial"
)

// ScreenCandidates evaluates one shard of a generation's attempts, cheapest stage
// first. Each attempt's row is written as it is done; a later attempt of the
// activity screens only what is left.
func (a *Activities) ScreenCandidates(ctx context.Context, in protocol.ScreenCandidatesInput) (out protocol.ScreenCandidatesResult, err error) {
	p := a.startPulse(ctx, stepLimit, "opening")
	defer func() { out.Spans = p.end() }()
	f, err := a.fence(ctx, fmt.Sprintf("%s/gen/%d/%d", in.Campaign, in.Generation, in.Shard))
	if err != nil {
		return out, err
	}
	t, err := a.load(ctx, in.Campaign)
	if err != nil {
		return out, err
	}
	defer t.close()
	rows, err := a.store.Attempts(ctx, in.Campaign, in.Generation)
	if err != nil {
		return out, err
	}
	s := &shard{a: a, t: t, in: in, fence: f, pulse: p, out: &out, rows: map[string]model.Attempt{}}
	if err := s.collect(ctx, rows); err != nil || len(s.candidates) == 0 {
		return out, err
	}
	err = s.run(ctx) // fills in out
	return out, err
}

// shard is every n-th attempt of a generation.
type shard struct {
	a          *Activities
	t          *target
	in         protocol.ScreenCandidatesInput
	fence      store.Fence
	pulse      *pulse
	out        *protocol.ScreenCandidatesResult
	rows       map[string]model.Attempt
	candidates []model.Candidate // that are not screened yet
	total      int               // attempts of the shard
	code       model.Tree
	rates      map[string]trial.Rate // what is known of the parent
	verdicts   *verdicts
}

// collect reads the shard's candidates that are not screened yet.
func (s *shard) collect(ctx context.Context, rows []model.Attempt) error {
	parent, err := s.t.repo.Ref(ctx, protocol.BranchRef(s.in.Campaign))
	if err != nil {
		return err
	}
	if s.code, err = s.t.repo.Snapshot(ctx, parent); err != nil {
		return err
	}
	for _, r := range rows {
		if r.Order%s.in.Shards != s.in.Shard || r.Status == model.AttemptRefused {
			continue
		}
		s.total++
		if r.Status != model.AttemptProposed {
			s.count(r) // by an attempt of this activity that was cut off
			continue
		}
		if r.ParentTree != s.code.Hash {
			return fmt.Errorf("attempt %.12s was made for tree %.12s, the branch holds %.12s: %w",
				r.Key, r.ParentTree, s.code.Hash, store.ErrConflict)
		}
		edits, err := s.a.edits(ctx, s.code, r.Patch)
		if err != nil {
			return err
		}
		s.rows[r.Key] = r
		s.candidates = append(s.candidates, model.Candidate{
			Key: r.Key, Proposer: r.Proposer, Hypothesis: r.Hypothesis, Targets: r.Targets, Edits: edits,
		})
	}
	return nil
}

// run screens the candidates in every suite that has targets of theirs.
func (s *shard) run(ctx context.Context) error {
	img, err := s.a.image(ctx, s.t, func(m string) { s.pulse.tell(stepLimit, "%s", m) })
	if err != nil {
		return err
	}
	trusted, err := s.t.visible()
	if err != nil {
		return err
	}
	if s.rates, err = s.a.weak(ctx, s.t); err != nil {
		return err
	}
	s.verdicts = newVerdicts(s.t.suites, s.t.problems, s.candidates)
	for _, which := range []func(string, []model.Candidate) []model.Candidate{s.verdicts.aimed, s.verdicts.guarded} {
		for _, suite := range s.t.suites {
			mine := which(suite.Name(), s.candidates)
			if len(mine) == 0 {
				continue
			}
			aim := s.a.aim(s.t, img, trusted, s.code, of(suite.Name(), s.t.split(model.SplitSearch)),
				fmt.Sprintf("screen %s generation %d", s.in.Campaign, s.in.Generation))
			aim.Limit = s.limit(ctx, suite.Name())
			if err := s.screen(ctx, suite, aim, mine); err != nil {
				return err
			}
		}
	}
	return nil
}

// screen runs candidates in one suite: those that may share a box, then each of the
// others in a box of its own.
func (s *shard) screen(ctx context.Context, suite benchmarks.Suite, aim benchmarks.Target, mine []model.Candidate) error {
	return s.pulse.measure(ctx, aim.Problems, func() error {
		for _, together := range []bool{true, false} {
			cs := slices.DeleteFunc(slices.Clone(mine), func(c model.Candidate) bool { return shared(s.t.spec, c.Proposer) != together })
			if len(cs) == 0 {
				continue
			}
			err := suite.Screen(ctx, aim, benchmarks.Screening{
				Candidates: cs, Judge: trial.Judge(s.t.problems, s.rates), Shared: together,
			}, func(r benchmarks.Screened) error { return s.take(ctx, r) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// take notes what one suite says of a candidate, and writes the row once all have spoken.
func (s *shard) take(ctx context.Context, r benchmarks.Screened) error {
	whole, final := s.verdicts.take(r)
	if !final {
		return nil
	}
	return s.emit(ctx, whole)
}

// shared says whether the candidates of a proposer may share a box: only ratchet's
// own mutations may. It goes by the kind that the campaign file gives the name.
func shared(spec campaign.Spec, proposer string) bool {
	for _, p := range spec.Proposers {
		if p.ID() == proposer {
			return p.Kind == campaign.ProposerSearch
		}
	}
	return false
}

// aimedAt returns the candidates that have a target in the suite, or none anywhere.
func aimedAt(suite string, problems []model.Problem, cs []model.Candidate) []model.Candidate {
	in := map[string]bool{}
	for _, p := range of(suite, problems) {
		in[p.ID] = true
	}
	var out []model.Candidate
	for _, c := range cs {
		if len(c.Targets) == 0 || slices.ContainsFunc(c.Targets, func(t string) bool { return in[t] }) {
			out = append(out, c)
		}
	}
	return out
}

// Bounds on the limit of one problem while screening: mutants often loop for
// ever, so the limit follows from how long the baseline took.
const (
	leastLimit = 3 * time.Second
	slack      = 10
)

// limit is screenLimit of a suite, by the campaign's baseline.
func (s *shard) limit(ctx context.Context, suite string) time.Duration {
	cfg := campaign.Suite{Timeout: campaign.Duration(time.Minute)}
	for _, x := range s.t.spec.Suites {
		if x.Name == suite {
			cfg = x
		}
	}
	runs, err := s.a.store.Runs(ctx, s.in.Campaign, "baseline")
	if err != nil {
		return cfg.Timeout.Std()
	}
	return screenLimit(cfg, of(suite, s.t.problems), runs)
}

// screenLimit is the time that one problem of a suite may take in a screen: ten times
// the longest that it took to pass at the baseline, but no more than the suite allows.
// Where one command runs all problems and says itself what each took, the limit is the
// command's, and start-up and all it follows from the whole run.
func screenLimit(suite campaign.Suite, problems []model.Problem, baseline []store.StoredRun) time.Duration {
	longest, mine := time.Duration(0), map[string]bool{}
	for _, p := range problems {
		mine[p.ID] = true
	}
	for _, r := range baseline {
		if suite.Kind == campaign.SuiteJUnit {
			longest = max(longest, r.Run.Sandbox)
		}
		for _, x := range r.Run.Results {
			if x.Outcome == model.Pass && mine[x.Problem] {
				longest = max(longest, x.Wall)
			}
		}
	}
	return min(suite.Timeout.Std(), max(leastLimit, slack*longest))
}

// emit writes what became of one candidate.
func (s *shard) emit(ctx context.Context, r benchmarks.Screened) error {
	row := s.rows[r.Key]
	row.Stage, row.Score, row.Reason = r.Stage, s.score(r), r.Judged.Reason
	row.Fixed, row.Broken = r.Judged.Fixed, r.Judged.Broken
	row.Sandbox += r.Sandbox
	switch {
	case r.Tampered != "":
		row.Status, row.Reason = model.AttemptTampered, r.Tampered
	case r.Passed:
		row.Status = model.AttemptPassed
		if err := s.keepResults(ctx, r); err != nil {
			return err
		}
	default:
		row.Status = model.AttemptFailed
	}
	s.count(row)
	s.pulse.tell(stepLimit, "%d of %d screened, %d passed", s.out.Screened, s.total, s.out.Passed)
	return s.a.store.UpdateAttempt(ctx, s.fence, row)
}

// count adds a screened attempt to the shard's result.
func (s *shard) count(row model.Attempt) {
	s.out.Screened++
	s.out.Sandbox += row.Sandbox
	if row.Status == model.AttemptPassed {
		s.out.Passed++
	}
}

// score is the mean over all search problems: by the screen where it ran them, by
// what is known of the parent where the candidate cannot have made a difference.
func (s *shard) score(r benchmarks.Screened) float64 {
	if r.Stage != benchmarks.StageSearch {
		return 0
	}
	now := model.Run{Results: r.Results}.ByProblem()
	sum, total := 0.0, 0.0
	for _, p := range s.t.split(model.SplitSearch) {
		score := known(p, s.rates[p.ID])
		if x, ok := now[p.ID]; ok {
			score = p.Score(x)
		}
		sum += p.Share() * score
		total += p.Share()
	}
	return sum / max(1e-9, total)
}

// known is what the parent scores on a problem, by what was measured so far.
func known(p model.Problem, r trial.Rate) float64 {
	if p.Metric != nil && r.IsMetric() {
		return p.Metric.Score(math.Exp(r.Logs / float64(r.Valued)))
	}
	return r.Mean()
}

// keepResults stores what the claims of a confirmation are chosen from.
func (s *shard) keepResults(ctx context.Context, r benchmarks.Screened) error {
	_, err := s.a.store.SaveRun(ctx, s.fence, store.RunKey{
		Campaign: s.in.Campaign, Scope: screenScope(s.in.Generation, r.Key), Side: sideCandidate,
	}, s.code.Hash, model.Run{Results: r.Results, Sandbox: r.Sandbox})
	return err
}

func screenScope(generation int, key string) string {
	return fmt.Sprintf("screen/%d/%s", generation, key)
}
