package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"ratchet/internal/model"
	"ratchet/internal/store"
)

// progress is one thing that happened in a campaign; one line of `watch --json`.
type progress struct {
	Event      string             `json:"event"` // phase, baseline, change, generation, stopped
	At         time.Time          `json:"at"`
	Campaign   string             `json:"campaign"`
	Phase      string             `json:"phase,omitempty"`
	Score      float64            `json:"score"`
	Baseline   *model.Score       `json:"baseline,omitempty"`
	Change     *model.Change      `json:"change,omitempty"`
	Generation *generationSummary `json:"generation,omitempty"`
	Stopped    string             `json:"stopped,omitempty"`
	Detail     string             `json:"detail,omitempty"`

	early bool // the baseline is not measured yet
}

type generationSummary struct {
	N          int     `json:"n"`
	Outcome    string  `json:"outcome"`
	Hypothesis string  `json:"hypothesis"`
	Before     float64 `json:"parent_score"`
	After      float64 `json:"score"`
	Reason     string  `json:"reason"`
}

// watcher turns the rows of a campaign into progress.
type watcher struct {
	store *store.Store
	name  string
	emit  func(progress) error

	phase    string
	baseline bool
	changes  map[string]model.ChangeState // as last seen
	next     int                          // generation whose end is waited for
	screened int                          // generation whose screen was emitted
	stopped  bool
}

func newWatcher(s *store.Store, name string, emit func(progress) error) *watcher {
	return &watcher{store: s, name: name, emit: emit, changes: map[string]model.ChangeState{}, next: 1}
}

// follow prints progress until the campaign's workflow has ended.
func (a *app) follow(ctx context.Context, s *session, name string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.control.Wait(ctx, name) }()
	w := newWatcher(s.store, name, a.line)
	return poll(ctx, func() (bool, error) {
		select {
		case err := <-ended:
			if err != nil {
				return true, err
			}
			return true, w.look(ctx)
		default:
			return false, w.look(ctx)
		}
	})
}

// look emits what is new in the store.
func (w *watcher) look(ctx context.Context) error {
	row, err := w.store.Campaign(ctx, w.name)
	if err != nil {
		return err
	}
	base := progress{At: time.Now().UTC(), Campaign: w.name, Phase: row.Phase}
	if row.Current != nil {
		base.Score = row.Current.Score
	}
	for _, part := range []func(context.Context, model.Campaign, progress) error{
		w.measured, w.generations, w.phases, w.screening, w.underWay,
	} {
		if err := part(ctx, row, base); err != nil {
			return err
		}
	}
	if row.Stopped != "" && !w.stopped {
		w.stopped = true
		base.Event, base.Stopped, base.Detail = "stopped", string(row.Stopped), row.Detail
		return w.emit(base)
	}
	return nil
}

// measured emits the baseline, once.
func (w *watcher) measured(_ context.Context, row model.Campaign, p progress) error {
	if row.Baseline == nil || w.baseline {
		return nil
	}
	w.baseline = true
	p.Event, p.Baseline = "baseline", row.Baseline
	return w.emit(p)
}

// phases emits the phase when it is another.
func (w *watcher) phases(_ context.Context, row model.Campaign, p progress) error {
	if row.Phase == w.phase || row.Stopped != "" {
		return nil
	}
	w.phase = row.Phase
	p.Event, p.early = "phase", row.Baseline == nil
	return w.emit(p)
}

// screening emits, once in a generation, how many candidates are being screened.
func (w *watcher) screening(ctx context.Context, row model.Campaign, p progress) error {
	if w.screened == w.next || row.Baseline == nil || row.Stopped != "" {
		return nil
	}
	attempts, err := w.store.Attempts(ctx, w.name, w.next)
	if err != nil {
		return err
	}
	n, open := 0, false
	for _, a := range attempts {
		if a.Status != model.AttemptRefused {
			n++
		}
		open = open || a.Status == model.AttemptProposed
	}
	if !open {
		return nil
	}
	w.screened = w.next
	p.Event, p.Phase = "phase", fmt.Sprintf("generation %d, screening %s", w.next, plural(n, "candidate"))
	return w.emit(p)
}

// underWay emits the change that is measured or waits, when its state is another.
func (w *watcher) underWay(ctx context.Context, _ model.Campaign, p progress) error {
	open, err := w.store.Changes(ctx, store.ChangeFilter{Campaign: w.name,
		States: []model.ChangeState{model.ChangeProbation, model.ChangeAwaiting}})
	if err != nil {
		return err
	}
	for _, c := range open {
		if w.changes[c.ID] == c.State {
			continue
		}
		w.changes[c.ID] = c.State
		p.Event, p.Change = "change", &c
		if err := w.emit(p); err != nil {
			return err
		}
	}
	return nil
}

// generations emits those that have ended since.
func (w *watcher) generations(ctx context.Context, _ model.Campaign, base progress) error {
	last, err := w.store.Generations(ctx, w.name)
	if err != nil {
		return err
	}
	for _, g := range last {
		if g.N < w.next || g.Outcome == model.OutcomePending {
			continue
		}
		w.next = g.N + 1
		p := base
		p.Event = "generation"
		p.Generation = &generationSummary{g.N, string(g.Outcome), g.Hypothesis, g.ParentScore, g.Score, g.Reason}
		if err := w.emit(p); err != nil {
			return err
		}
	}
	return nil
}

// line prints one progress for people. With --json it says nothing: the report follows.
func (a *app) line(p progress) error {
	if a.json {
		return nil
	}
	switch p.Event {
	case "phase":
		a.phaseLine(p)
	case "baseline":
		b := p.Baseline
		a.say("baseline: %d of %s pass, score %.1f%%, %d flaky", b.Passed, plural(b.Problems, "problem"), 100*b.Score, len(b.Flaky))
	case "change":
		a.changeLine(*p.Change)
	case "generation":
		a.generationLine(*p.Generation)
	case "stopped":
		a.say("stopped (%s): %s", p.Stopped, p.Detail)
	}
	return nil
}

// phaseLine shows on a terminal what goes on, and elsewhere what comes before the
// baseline, which takes minutes. The end of a generation has a line of its own.
func (a *app) phaseLine(p progress) {
	var n int
	var outcome string
	phase := p.Phase
	if phase == "created" {
		phase = "opening the repository"
	}
	_, err := fmt.Sscanf(phase, "generation %d: %s", &n, &outcome)
	switch {
	case err == nil:
	case a.terminal:
		a.say("  … %s", phase)
	case p.early:
		a.say("campaign %s: %s", p.Campaign, phase)
	}
}

// changeLine shows a change that a person must decide on, and on a terminal one
// that is being measured.
func (a *app) changeLine(c model.Change) {
	switch {
	case c.State == model.ChangeAwaiting:
		a.askPerson(c)
	case a.terminal:
		a.say("  … measuring commit %.10s against its parent: %s", c.Commit, c.Hypothesis)
	}
}

func (a *app) generationLine(g generationSummary) {
	if g.Hypothesis == "" {
		a.say("generation %d: %s %s  %.1f%%\n    %s", g.N, mark(g.Outcome), g.Outcome, 100*g.After, g.Reason)
		return
	}
	a.say("generation %d: %s %s  %.1f%% → %.1f%%  %s\n    %s",
		g.N, mark(g.Outcome), g.Outcome, 100*g.Before, 100*g.After, g.Hypothesis, g.Reason)
}

func mark(outcome string) string {
	switch model.GenerationOutcome(outcome) {
	case model.OutcomeKept:
		return "✔"
	case model.OutcomeReverted:
		return "↩"
	}
	return "·"
}

// jsonLine prints one progress as a line of JSON.
func (a *app) jsonLine(p progress) error { return json.NewEncoder(a.stdout).Encode(p) }
