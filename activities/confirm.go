package activities

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"ratchet/benchmarks"
	"ratchet/internal/decision"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
	"ratchet/internal/trial"
	"ratchet/sandbox/docker"
)

// ConfirmChange measures a landed change against its parent, interleaved, on
// fresh runs in new boxes. Each round is two rows; a later attempt replays the
// rounds that are stored and goes on after them, so that it ends with the same
// verdict. A change that has its receipt is not measured again, because what was
// known when it was measured may have moved on; the verdict is the receipt's.
func (a *Activities) ConfirmChange(ctx context.Context, in protocol.ConfirmChangeInput) (out protocol.ConfirmChangeResult, err error) {
	p := a.startPulse(ctx, stepLimit, "opening")
	defer func() { out.Spans = p.end() }()
	f, err := a.fence(ctx, "change/"+in.Change)
	if err != nil {
		return out, err
	}
	c, err := a.store.Change(ctx, in.Change)
	if err != nil {
		return out, err
	}
	if c.State == model.ChangeApplied {
		c, err = a.store.MoveChange(ctx, f, c.ID, []model.ChangeState{model.ChangeApplied}, model.ChangeProbation, byRatchet,
			"measured against its parent", c.Updated, nil)
		if err != nil {
			return out, err
		}
	}
	verdict, by, err := a.decision(ctx, c)
	if err == nil && by == "" {
		verdict, err = a.measure(ctx, c, f, p)
	}
	if err != nil {
		return out, err
	}
	out.Decided = by
	out.Keep, out.Reason, out.Rounds = verdict.Keep, verdict.Reason, verdict.Rounds
	out.EValue, out.Level, out.Sandbox = verdict.EValue, verdict.Level, verdict.Sandbox
	out.Verdict, err = a.putJSON(ctx, verdict)
	return out, err
}

// decision reads the verdict from the change's receipt, and who decided; nobody
// has when there is no receipt.
func (a *Activities) decision(ctx context.Context, c model.Change) (v trial.Verdict, by string, err error) {
	r, err := a.store.Receipt(ctx, c.ID)
	if errors.Is(err, store.ErrNotFound) {
		return v, "", nil
	}
	return trial.Verdict{
		Keep: r.Decision == model.DecisionKeep, Reason: r.Reason, EValue: r.EValue, Level: r.Level, Rounds: r.Rounds,
		Claims: r.Claims, Suspects: r.Suspects, ParentScore: r.ParentScore, Score: r.Score,
		Fixed: r.Fixed, Broken: r.Broken, Sandbox: r.Cost.Sandbox,
	}, r.DecidedBy, err
}

// measure runs the confirmation.
func (a *Activities) measure(ctx context.Context, c model.Change, f store.Fence, p *pulse) (trial.Verdict, error) {
	t, err := a.load(ctx, c.Campaign)
	if err != nil {
		return trial.Verdict{}, err
	}
	defer t.close()
	k := &confirmation{a: a, t: t, change: c, fence: f, pulse: p, trees: map[string]string{}}
	return k.run(ctx)
}

type confirmation struct {
	a      *Activities
	t      *target
	change model.Change
	fence  store.Fence
	pulse  *pulse
	trees  map[string]string // tree hash by commit
}

func (k *confirmation) run(ctx context.Context) (trial.Verdict, error) {
	in, err := k.input(ctx)
	if err != nil {
		return trial.Verdict{}, err
	}
	parent, candidate, err := k.open(ctx)
	if err != nil {
		return trial.Verdict{}, err
	}
	verdict, err := trial.Confirm(ctx, parent, candidate, in, func(r trial.Round) error { return k.save(ctx, r) })
	return verdict, errors.Join(err, parent.Close(ctx), candidate.Close(ctx))
}

// open builds both sides, held-out problems included, side by side: nothing is
// measured yet. When one cannot be built the other is closed.
func (k *confirmation) open(ctx context.Context) (parent, candidate *benches, err error) {
	img, err := k.a.image(ctx, k.t, func(s string) { k.pulse.tell(stepLimit, "%s", s) })
	if err != nil {
		return nil, nil, err
	}
	before, err := k.aim(ctx, img, k.change.Parent, "parent of")
	if err != nil {
		return nil, nil, err
	}
	after, err := k.aim(ctx, img, k.change.Commit, "candidate of")
	if err != nil {
		return nil, nil, err
	}
	k.pulse.tell(stepLimit, "building the change and its parent")
	var g errgroup.Group // without a shared context: a side that opens has to be closed in any case
	g.Go(func() (err error) { parent, err = openBenches(ctx, k.t.suites, before, k.pulse); return err })
	g.Go(func() (err error) { candidate, err = openBenches(ctx, k.t.suites, after, k.pulse); return err })
	if err := g.Wait(); err != nil {
		for _, b := range []*benches{parent, candidate} {
			if b != nil {
				err = closing(ctx, b, err)
			}
		}
		return nil, nil, err
	}
	return parent, candidate, nil
}

// aim describes one side.
func (k *confirmation) aim(ctx context.Context, img docker.Image, commit, purpose string) (benchmarks.Target, error) {
	code, err := k.t.repo.Snapshot(ctx, commit)
	if err != nil {
		return benchmarks.Target{}, err
	}
	k.trees[commit] = code.Hash
	return k.a.aim(k.t, img, k.t.trusted, code, k.t.problems, fmt.Sprintf("%s %s", purpose, k.change.ID)), nil
}

// input fixes claims and level, and reads the rounds measured so far.
func (k *confirmation) input(ctx context.Context) (trial.ConfirmInput, error) {
	rates, err := k.a.weak(ctx, k.t)
	if err != nil {
		return trial.ConfirmInput{}, err
	}
	at, err := k.attempt(ctx)
	if err != nil {
		return trial.ConfirmInput{}, err
	}
	screened, err := k.a.store.Runs(ctx, k.change.Campaign, screenScope(k.change.Generation, k.change.Attempt))
	if err != nil {
		return trial.ConfirmInput{}, err
	}
	if len(screened) == 0 {
		return trial.ConfirmInput{}, fmt.Errorf("no screen is stored for change %s: %w", k.change.ID, store.ErrNotFound)
	}
	j, err := k.a.store.CountConfirmations(ctx, k.change.Campaign)
	if err != nil {
		return trial.ConfirmInput{}, err
	}
	have, err := k.have(ctx)
	gate := k.t.spec.Gate
	return trial.ConfirmInput{
		Problems: k.t.problems,
		Claims:   trial.Claims(k.t.problems, rates, screened[0].Run.Results, at.Targets),
		Config:   decision.Config{Alpha: gate.Alpha, Rounds: gate.Rounds},
		Level:    decision.Level(gate.Alpha, j+1),
		Known:    rates,
		Have:     have,
	}, err
}

func (k *confirmation) attempt(ctx context.Context) (model.Attempt, error) {
	rows, err := k.a.store.Attempts(ctx, k.change.Campaign, k.change.Generation)
	if err != nil {
		return model.Attempt{}, err
	}
	for _, r := range rows {
		if r.Key == k.change.Attempt {
			return r, nil
		}
	}
	return model.Attempt{}, fmt.Errorf("attempt %s: %w", k.change.Attempt, store.ErrNotFound)
}

// have pairs the stored sides of each round, from round 0.
func (k *confirmation) have(ctx context.Context) ([]trial.Round, error) {
	stored, err := k.a.store.Runs(ctx, k.change.Campaign, "change/"+k.change.ID)
	if err != nil {
		return nil, err
	}
	var rounds []trial.Round
	for _, s := range stored {
		if s.Round == len(rounds) {
			rounds = append(rounds, trial.Round{N: s.Round})
		}
		if s.Side == sideParent {
			rounds[s.Round].Parent = s.Run
		} else {
			rounds[s.Round].Candidate = s.Run
		}
	}
	return rounds, nil
}

const (
	sideParent    = "parent"
	sideCandidate = "candidate"
)

// save writes both sides of a round at once: a round is stored whole or not at all.
func (k *confirmation) save(ctx context.Context, r trial.Round) error {
	k.pulse.tell(stepLimit, "round %d of at most %d", r.N, k.t.spec.Gate.Rounds)
	row := func(side, commit string, run model.Run) store.StoredRun {
		return store.StoredRun{
			RunKey: store.RunKey{Campaign: k.change.Campaign, Scope: "change/" + k.change.ID, Side: side, Round: r.N},
			Tree:   k.trees[commit], Run: run,
		}
	}
	err := k.a.store.SaveRuns(ctx, k.fence,
		row(sideParent, k.change.Parent, r.Parent), row(sideCandidate, k.change.Commit, r.Candidate))
	if err == nil {
		k.a.reached(ctx, "round")
	}
	return err
}
