package store

import (
	"context"
	"maps"
	"math"
	"slices"

	"ratchet/internal/model"
)

// ProposerRecords adds up what each proposer has achieved in a campaign and what
// it cost, by name, in the generations before one, or in all when before is 0.
// Calls in flight are not counted.
func (s *Store) ProposerRecords(ctx context.Context, campaign string, before int) ([]model.ProposerRecord, error) {
	if before == 0 {
		before = math.MaxInt32
	}
	found := map[string]*model.ProposerRecord{}
	for _, sum := range []struct {
		query   string
		columns func(*model.ProposerRecord) []any
	}{
		{proposerAttempts, func(r *model.ProposerRecord) []any {
			return []any{whole(&r.Candidates), whole(&r.Passed), whole(&r.Sandbox)}
		}},
		{proposerGains, func(r *model.ProposerRecord) []any { return []any{whole(&r.Kept), real(&r.Gain)} }},
		{proposerCalls, func(r *model.ProposerRecord) []any { return []any{whole(&r.Tokens), real(&r.Money)} }},
	} {
		if err := s.sumByProposer(ctx, found, sum.query, campaign, before, sum.columns); err != nil {
			return nil, wrap("add up proposers of", campaign, err)
		}
	}
	out := make([]model.ProposerRecord, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, *found[name])
	}
	return out, nil
}

func (s *Store) sumByProposer(ctx context.Context, found map[string]*model.ProposerRecord, query, campaign string, before int, columns func(*model.ProposerRecord) []any) error {
	rows, err := s.readers.QueryContext(ctx, query, campaign, before)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r model.ProposerRecord
		if err := rows.Scan(append([]any{text(&r.Proposer)}, columns(&r)...)...); err != nil {
			return err
		}
		have, ok := found[r.Proposer]
		if !ok {
			have = &model.ProposerRecord{Proposer: r.Proposer}
			found[r.Proposer] = have
		}
		add(have, r)
	}
	return rows.Err()
}

func add(to *model.ProposerRecord, r model.ProposerRecord) {
	to.Candidates += r.Candidates
	to.Passed += r.Passed
	to.Kept += r.Kept
	to.Gain += r.Gain
	to.Sandbox += r.Sandbox
	to.Tokens += r.Tokens
	to.Money += r.Money
}

// An attempt that was taken up again later is one of that generation, too. What
// was kept is told by the rows of generations, whose proposer is the change's.
const (
	proposerAttempts = `SELECT proposer, COUNT(*),
		` + sumWhole + `CASE WHEN status IN ('passed', 'landed', 'superseded') THEN 1 ELSE 0 END` + asWhole + `,
		` + sumWhole + `sandbox` + asWhole + `
		FROM attempts WHERE campaign = $1 AND generation < $2 GROUP BY proposer`
	proposerGains = `SELECT proposer, COUNT(*), ` + sumReal + `realised_gain` + asReal + `
		FROM generations WHERE campaign = $1 AND n < $2 AND outcome = 'kept' GROUP BY proposer`
	proposerCalls = `SELECT proposer, ` + sumWhole + `input_tokens + output_tokens` + asWhole + `, ` + sumReal + `money` + asReal + `
		FROM calls WHERE campaign = $1 AND generation < $2 AND status <> 'reserved' GROUP BY proposer`
)
