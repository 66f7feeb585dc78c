package store

import (
	"context"
	"database/sql"

	"ratchet/internal/model"
)

var generationTable = table[model.Generation]{name: "generations", keys: 2, columns: func(g *model.Generation) []column {
	return []column{
		{"campaign", name(&g.Campaign)}, {"n", whole(&g.N)}, {"outcome", text(&g.Outcome)},
		{"hypothesis", text(&g.Hypothesis)}, {"expected_gain", real(&g.ExpectedGain)}, {"realised_gain", real(&g.RealisedGain)},
		{"proposer", text(&g.Proposer)}, {"change_id", name(&g.Change)}, {"commit_hash", name(&g.Commit)},
		{"revert_commit", name(&g.RevertCommit)}, {"parent_commit", name(&g.ParentCommit)},
		{"parent_score", real(&g.ParentScore)}, {"score", real(&g.Score)}, {"fixed", list(&g.Fixed)},
		{"broken", list(&g.Broken)}, {"reason", text(&g.Reason)}, {"e_value", real(&g.EValue)}, {"level", real(&g.Level)},
		{"rounds", whole(&g.Rounds)}, {"candidates", whole(&g.Candidates)}, {"screened", whole(&g.Screened)},
		{"cost", document(&g.Cost)}, {"started", moment(&g.Started)}, {"ended", moment(&g.Ended)},
	}
}}

// SaveGeneration stores a generation. One that is pending is replaced; a final
// one never changes: the same again succeeds, another is ErrConflict.
func (s *Store) SaveGeneration(ctx context.Context, f Fence, g model.Generation) error {
	const op = "save generation"
	object := generationName(g.Campaign, g.N)
	if g.N < 1 || g.Outcome == "" {
		return &Error{Op: op, Object: object, Err: ErrInvalid, Hint: "generations count from 1 and have an outcome"}
	}
	return s.write(ctx, op, object, f, func(tx *sql.Tx) error {
		n, err := generationTable.insert(ctx, tx, generationTable.overwrite("generations.outcome = 'pending'"), g)
		if err != nil || n == 1 {
			return err
		}
		old, err := generationTable.one(ctx, tx, "WHERE campaign = $1 AND n = $2", g.Campaign, g.N)
		if err != nil {
			return err
		}
		same, err := generationTable.same(old, g)
		if err != nil {
			return err
		}
		if !same {
			return &Error{Op: op, Object: object, Err: ErrConflict, Hint: "it has ended as " + string(old.Outcome) + ", with another record"}
		}
		return errUnchanged
	})
}

// Generation reads one generation, or ErrNotFound.
func (s *Store) Generation(ctx context.Context, campaign string, n int) (model.Generation, error) {
	g, err := generationTable.one(ctx, s.readers, "WHERE campaign = $1 AND n = $2", campaign, n)
	return g, wrap("read generation", generationName(campaign, n), err)
}

// Generations reads the campaign's generations, first to last.
func (s *Store) Generations(ctx context.Context, campaign string) ([]model.Generation, error) {
	all, err := generationTable.all(ctx, s.readers, "WHERE campaign = $1 ORDER BY n", campaign)
	return all, wrap("read generations of", campaign, err)
}

// LastGeneration reads the campaign's newest generation, which may be pending,
// or ErrNotFound.
func (s *Store) LastGeneration(ctx context.Context, campaign string) (model.Generation, error) {
	g, err := generationTable.one(ctx, s.readers, lastGeneration, campaign)
	return g, wrap("read the last generation of", campaign, err)
}

const lastGeneration = "WHERE campaign = $1 ORDER BY n DESC LIMIT 1"
