package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"ratchet/internal/model"
	"ratchet/internal/store"
)

// pollEvery is how often the store is read for progress.
const pollEvery = 250 * time.Millisecond

// progress is one thing that happened in a campaign; one line of `watch --json`.
type progress struct {
	Event      string             `json:"event"` // phase, baseline, generation, stopped
	At         time.Time          `json:"at"`
	Campaign   string             `json:"campaign"`
	Phase      string             `json:"phase,omitempty"`
	Score      float64            `json:"score"`
	Baseline   *model.Score       `json:"baseline,omitempty"`
	Generation *generationSummary `json:"generation,omitempty"`
	Stopped    string             `json:"stopped,omitempty"`
	Detail     string             `json:"detail,omitempty"`
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
	next     int
	stopped  bool
}

// follow prints progress until the campaign's workflow has ended.
func (a *app) follow(ctx context.Context, s *session, name string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &watcher{store: s.store, name: name, next: 1, emit: a.line}
	ended := make(chan error, 1)
	go func() { ended <- s.control.Wait(ctx, name) }()
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				return err
			}
			return w.look(ctx)
		case <-t.C:
			if err := w.look(ctx); err != nil {
				return err
			}
		}
	}
}

// look emits what is new in the store.
func (w *watcher) look(ctx context.Context) error {
	row, err := w.store.Campaign(ctx, w.name)
	if err != nil {
		return err
	}
	base := progress{At: time.Now().UTC(), Campaign: w.name}
	if row.Current != nil {
		base.Score = row.Current.Score
	}
	if row.Baseline != nil && !w.baseline {
		w.baseline = true
		p := base
		p.Event, p.Baseline = "baseline", row.Baseline
		if err := w.emit(p); err != nil {
			return err
		}
	}
	if err := w.generations(ctx, base); err != nil {
		return err
	}
	if row.Stopped != "" && !w.stopped {
		w.stopped = true
		base.Event, base.Stopped, base.Detail = "stopped", string(row.Stopped), row.Detail
		return w.emit(base)
	}
	return nil
}

func (w *watcher) generations(ctx context.Context, base progress) error {
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
	var err error
	switch p.Event {
	case "baseline":
		b := p.Baseline
		_, err = fmt.Fprintf(a.stdout, "baseline: %d of %d problems pass, score %.1f%%, %d flaky\n", b.Passed, b.Problems, 100*b.Score, len(b.Flaky))
	case "generation":
		g := p.Generation
		_, err = fmt.Fprintf(a.stdout, "generation %d: %s %s  %.1f%% → %.1f%%  %s\n    %s\n",
			g.N, mark(g.Outcome), g.Outcome, 100*g.Before, 100*g.After, g.Hypothesis, g.Reason)
	case "stopped":
		_, err = fmt.Fprintf(a.stdout, "stopped (%s): %s\n", p.Stopped, p.Detail)
	}
	return err
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
