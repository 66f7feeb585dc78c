package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"ratchet/internal/campaign"
	"ratchet/internal/diagnose"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
	"ratchet/internal/trial"
)

// DiagnoseWeakness writes the brief of a generation: it runs each visible problem
// by itself for coverage, unless that is known for this tree, and localises what
// fails. It writes artifacts only, so it can be repeated. When an earlier run of
// the generation has landed a change, it says so and does nothing else.
func (a *Activities) DiagnoseWeakness(ctx context.Context, in protocol.DiagnoseWeaknessInput) (out protocol.DiagnoseWeaknessResult, err error) {
	p := a.startPulse(ctx, stepLimit, "reading the parent")
	defer func() { out.Spans = p.end() }()
	f, err := a.fence(ctx, fmt.Sprintf("%s/gen/%d", in.Campaign, in.Generation))
	if err != nil {
		return out, err
	}
	t, err := a.load(ctx, in.Campaign)
	if err != nil {
		return out, err
	}
	defer t.close()
	out.Coverage = in.Coverage
	if err := a.inPlace(ctx, t.row); err != nil {
		return out, err
	}
	if err := a.unfinished(ctx, in, &out); err != nil || out.Change != "" || out.Settled {
		return out, err
	}
	if out.Parent, err = t.repo.Ref(ctx, protocol.BranchRef(in.Campaign)); err != nil {
		return out, err
	}
	view, err := t.view(ctx, out.Parent)
	if err != nil {
		return out, err
	}
	cov, err := a.coverage(ctx, t, out.Parent, view, p, &out)
	if err != nil {
		return out, err
	}
	brief, err := a.brief(ctx, t, in.Generation, out.Parent, view, cov)
	if err != nil {
		return out, err
	}
	out.Summary = headline(brief)
	if out.Brief, err = a.putJSON(ctx, brief); err != nil {
		return out, err
	}
	_, err = a.store.UpdateCampaign(ctx, f, in.Campaign, func(c *model.Campaign) error {
		c.Brief, c.Phase = out.Brief, fmt.Sprintf("generation %d", in.Generation)
		return nil
	})
	return out, err
}

// headline is a brief in one line.
func headline(b diagnose.Brief) string {
	failing := 0
	for _, w := range b.Weakest {
		if w.PassRate < 1 {
			failing++
		}
	}
	s := "no visible problem fails"
	if failing > 0 {
		s = fmt.Sprintf("%d visible problems fail, the weakest is %s", failing, b.Weakest[0].Problem)
	}
	if n := len(b.Weakest) - failing; n > 0 {
		s += fmt.Sprintf("; %d metrics can be better", n)
	}
	if len(b.Suspects) > 0 {
		s += fmt.Sprintf("; most suspicious is %s", b.Suspects[0].Place())
	}
	if len(b.Failures) > 0 {
		s += fmt.Sprintf("; %d failures from production are cited, the latest of %s", len(b.Failures), b.Failures[0].Agent)
	}
	return s
}

// unfinished finds the change that an earlier run of this generation has landed.
// One that has its receipt but is not settled is gone on with, because refs and
// the campaign's score follow the receipt.
func (a *Activities) unfinished(ctx context.Context, in protocol.DiagnoseWeaknessInput, out *protocol.DiagnoseWeaknessResult) error {
	c, err := a.open(ctx, in.Campaign)
	if err != nil {
		return err
	}
	if c != nil && c.Generation != in.Generation {
		return fmt.Errorf("change %s of generation %d is not settled: %w", c.ID, c.Generation, store.ErrConflict)
	}
	if c != nil {
		out.Change, out.Summary = c.ID, "going on with the change that was under way"
		return nil
	}
	last, err := a.store.LastReceipt(ctx, in.Campaign)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil && last.Generation == in.Generation {
		out.Change, out.Settled, out.Summary = last.Change, true, "this generation was decided before"
	}
	return err
}

// citedFailures is how many failures from production a brief is made from, the
// latest ones.
const citedFailures = 50

// brief gathers what is known and has it diagnosed.
func (a *Activities) brief(ctx context.Context, t *target, generation int, parent string, view model.Tree, cov model.Coverage) (diagnose.Brief, error) {
	rates, err := a.rates(ctx, t.row)
	if err != nil {
		return diagnose.Brief{}, err
	}
	failures, err := a.store.Failures(ctx, store.FailureFilter{Repo: t.row.Source, Newest: citedFailures})
	if err != nil {
		return diagnose.Brief{}, err
	}
	past, err := a.past(ctx, t, generation)
	if err != nil {
		return diagnose.Brief{}, err
	}
	tree, err := t.repo.TreeHash(ctx, parent)
	if err != nil {
		return diagnose.Brief{}, err
	}
	b, err := diagnose.Diagnose(diagnose.Input{
		Campaign: t.row.Name, Repo: t.row.Source, Generation: generation, Parent: parent, ParentTree: tree,
		Problems: t.problems, Rates: diagnoseRates(rates), Coverage: cov, Failures: failures,
		Attempts: past, Tree: view, Harness: t.harness,
		Roots: guessRoots(t.spec), Allowed: t.policy().Allowed,
	})
	if err != nil {
		return b, err
	}
	return b, a.advise(ctx, &b)
}

// cited is how many hints, and how many reflections, a brief holds: the latest.
const cited = 5

// advise adds what people and earlier generations have to say.
func (a *Activities) advise(ctx context.Context, b *diagnose.Brief) error {
	events, err := a.store.CampaignEvents(ctx, b.Campaign)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(events) {
		if e.Kind == model.EventHint && len(b.Hints) < cited {
			b.Hints = append(b.Hints, diagnose.HintNote{By: e.By, Text: e.Text, At: e.At})
		}
	}
	learnt, err := a.store.Reflections(ctx, b.Campaign, cited)
	for _, r := range learnt {
		b.Reflections = append(b.Reflections, diagnose.ReflectionNote{
			Generation: r.Generation, Outcome: r.Outcome, Worked: r.Worked, Failed: r.Failed, Surprised: r.Surprised, Learn: r.Learn,
		})
	}
	return err
}

func diagnoseRates(rates map[string]trial.Rate) map[string]diagnose.Rate {
	out := make(map[string]diagnose.Rate, len(rates))
	for id, r := range rates {
		out[id] = diagnose.Rate{Passed: r.Passed, Runs: r.Runs, Value: r.Typical()}
	}
	return out
}

// guessRoots are the folders of suites of kinds that may report no coverage.
func guessRoots(spec campaign.Spec) map[string]string {
	out := map[string]string{}
	for _, s := range spec.Suites {
		if s.Kind != campaign.SuiteGoTest {
			out[s.Name] = s.Root
		}
	}
	return out
}

// rates reads what is known of each problem on the best commit.
func (a *Activities) rates(ctx context.Context, row model.Campaign) (map[string]trial.Rate, error) {
	out := map[string]trial.Rate{}
	if row.Rates == "" {
		return out, nil
	}
	return out, a.getJSON(ctx, row.Rates, &out)
}

func (a *Activities) putRates(ctx context.Context, rates map[string]trial.Rate) (string, error) {
	return a.putJSON(ctx, rates)
}

func (a *Activities) putJSON(ctx context.Context, v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return a.artifacts.Put(ctx, data)
}

func (a *Activities) getJSON(ctx context.Context, ref string, v any) error {
	data, err := a.artifacts.Get(ctx, ref)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
