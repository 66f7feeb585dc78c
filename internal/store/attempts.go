package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"ratchet/internal/model"
)

var attemptTable = table[model.Attempt]{name: "attempts", keys: 3, columns: func(a *model.Attempt) []column {
	return []column{
		{"campaign", name(&a.Campaign)}, {"generation", whole(&a.Generation)}, {"patch_key", name(&a.Key)},
		{"ord", whole(&a.Order)}, {"parent_tree", name(&a.ParentTree)}, {"proposer", text(&a.Proposer)},
		{"hypothesis", text(&a.Hypothesis)}, {"expected_gain", real(&a.ExpectedGain)}, {"targets", list(&a.Targets)},
		{"patch", text(&a.Patch)}, {"status", text(&a.Status)}, {"stage", text(&a.Stage)}, {"reason", text(&a.Reason)},
		{"score", real(&a.Score)}, {"fixed", list(&a.Fixed)}, {"broken", list(&a.Broken)}, {"sandbox", whole(&a.Sandbox)},
	}
}}

const inGeneration = "WHERE campaign = $1 AND generation = $2 ORDER BY ord, patch_key"

func generationName(campaign string, n int) string { return fmt.Sprintf("%s/gen/%d", campaign, n) }

var proposalTable = table[proposalRow]{name: "proposals", keys: 2, columns: func(p *proposalRow) []column {
	return []column{
		{"campaign", name(&p.campaign)}, {"generation", whole(&p.generation)}, {"candidates", whole(&p.candidates)},
		{"notes", list(&p.Notes)}, {"exhausted", flag(&p.Exhausted)},
	}
}}

// proposalRow is what is stored of a proposal beside its attempts.
type proposalRow struct {
	campaign               string
	generation, candidates int
	model.Proposal
}

// AddProposal stores what was proposed for a generation, all of it or nothing,
// and returns what is stored, with the attempts by Order. A generation that has
// its proposal already, even one without attempts, keeps it: that is returned and
// nothing is inserted, so a retried proposal goes on with its first answer. Of two
// attempts with one key the first is stored. Campaign and Generation are filled in.
func (s *Store) AddProposal(ctx context.Context, f Fence, campaign string, generation int, p model.Proposal) (model.Proposal, error) {
	attempts := make([]model.Attempt, len(p.Attempts))
	for i, a := range p.Attempts {
		a.Campaign, a.Generation = campaign, generation
		attempts[i] = a
	}
	row := proposalRow{campaign, generation, len(attempts), p}
	err := s.write(ctx, "add the proposal of", generationName(campaign, generation), f, func(tx *sql.Tx) error {
		first, err := proposalTable.insert(ctx, tx, "ON CONFLICT (campaign, generation) DO NOTHING", row)
		if err == nil && first == 1 {
			_, err = attemptTable.insert(ctx, tx, "ON CONFLICT (campaign, generation, patch_key) DO NOTHING", attempts...)
		}
		if err != nil {
			return err
		}
		if row, err = proposalTable.one(ctx, tx, "WHERE campaign = $1 AND generation = $2", campaign, generation); err != nil {
			return err
		}
		row.Attempts, err = attemptTable.all(ctx, tx, inGeneration, campaign, generation)
		return err
	})
	if err != nil {
		return model.Proposal{}, err
	}
	return row.Proposal, nil
}

// Proposed says whether the generation has its attempts: whether AddProposal
// succeeded for it, even with none. A proposal that costs money asks first.
func (s *Store) Proposed(ctx context.Context, campaign string, generation int) (bool, error) {
	var n int
	err := s.readers.QueryRowContext(ctx, `SELECT candidates FROM proposals WHERE campaign = $1 AND generation = $2`, campaign, generation).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, wrap("read the proposal of", generationName(campaign, generation), err)
}

// Proposal reads what was proposed for a generation, with the attempts by Order;
// ErrNotFound before AddProposal succeeded for it.
func (s *Store) Proposal(ctx context.Context, campaign string, generation int) (model.Proposal, error) {
	row, err := proposalTable.one(ctx, s.readers, "WHERE campaign = $1 AND generation = $2", campaign, generation)
	if err == nil {
		row.Attempts, err = attemptTable.all(ctx, s.readers, inGeneration, campaign, generation)
	}
	return row.Proposal, wrap("read the proposal of", generationName(campaign, generation), err)
}

// Attempts reads a generation's attempts, by Order.
func (s *Store) Attempts(ctx context.Context, campaign string, generation int) ([]model.Attempt, error) {
	all, err := attemptTable.all(ctx, s.readers, inGeneration, campaign, generation)
	return all, wrap("read attempts of", generationName(campaign, generation), err)
}

// UpdateAttempt replaces a stored attempt; ErrNotFound when there is none with
// its campaign, generation and key. Twice is the same as once.
func (s *Store) UpdateAttempt(ctx context.Context, f Fence, a model.Attempt) error {
	object := generationName(a.Campaign, a.Generation) + "/" + a.Key
	return s.write(ctx, "update attempt", object, f, func(tx *sql.Tx) error {
		n, err := attemptTable.update(ctx, tx, a)
		if err == nil && n == 0 {
			err = sql.ErrNoRows
		}
		return err
	})
}

// TriedKeys returns the patches with evidence for this parent tree, with where
// each got to, last generation first: refused, failed, tampered or landed. Only
// evidence retires an attempt, and only for its parent.
func (s *Store) TriedKeys(ctx context.Context, campaign, parentTree string) (map[string]model.AttemptStatus, error) {
	rows, err := s.readers.QueryContext(ctx, triedKeys, campaign, parentTree)
	if err != nil {
		return nil, wrap("read tried patches of", campaign, err)
	}
	defer rows.Close()
	tried, last := map[string]model.AttemptStatus{}, map[string]int{}
	for rows.Next() {
		var key string
		var status model.AttemptStatus
		var generation int
		if err := rows.Scan(&key, text(&status), &generation); err != nil {
			return nil, wrap("read tried patches of", campaign, err)
		}
		if generation >= last[key] {
			tried[key], last[key] = status, generation
		}
	}
	return tried, wrap("read tried patches of", campaign, rows.Err())
}

// triedKeys has no ORDER BY: for one by generation, SQLite walks all attempts
// of the campaign in that order instead of those of the parent.
const triedKeys = `SELECT patch_key, status, generation FROM attempts
	WHERE campaign = $1 AND parent_tree = $2 AND status IN ('failed', 'tampered', 'refused', 'landed')`

// Queue returns at most n attempts that passed the screen and never landed in
// this campaign: one a patch (its newest), newest generation first, best score
// first within one. An attempt leaves the queue when UpdateAttempt gives it
// another status, such as superseded.
func (s *Store) Queue(ctx context.Context, campaign string, n int) ([]model.Attempt, error) {
	all, err := attemptTable.all(ctx, s.readers, queued, campaign, n)
	return all, wrap("read the queue of", campaign, err)
}

const queued = `WHERE campaign = $1 AND status = 'passed'
	AND NOT EXISTS (SELECT 1 FROM attempts landed
		WHERE landed.campaign = attempts.campaign AND landed.patch_key = attempts.patch_key AND landed.status = 'landed')
	AND NOT EXISTS (SELECT 1 FROM attempts newer
		WHERE newer.campaign = attempts.campaign AND newer.patch_key = attempts.patch_key AND newer.status = 'passed'
		AND newer.generation > attempts.generation)
	ORDER BY generation DESC, score DESC, ord LIMIT $2`
