package store

import (
	"context"
	"database/sql"
	"fmt"

	"ratchet/internal/model"
)

// RunKey names one measurement in one campaign.
type RunKey struct {
	Campaign string
	Scope    string // "baseline", a change id, "screen/…"
	Side     string // "parent", "candidate", or "" where there is one side
	Round    int
}

func (k RunKey) String() string {
	return fmt.Sprintf("%s/%s/%s/%d", k.Campaign, k.Scope, k.Side, k.Round)
}

// StoredRun is a measurement as stored.
type StoredRun struct {
	RunKey
	Tree string // git tree hash that was measured
	model.Run
}

type runRow struct {
	id int64
	StoredRun
}

var runTable = table[runRow]{name: "runs", keys: 1, columns: func(r *runRow) []column {
	return []column{
		{"id", whole(&r.id)}, {"campaign", name(&r.Campaign)}, {"scope", name(&r.Scope)}, {"side", name(&r.Side)},
		{"round", whole(&r.Round)}, {"tree", name(&r.Tree)}, {"tampered", text(&r.Tampered)},
		{"build_log", text(&r.BuildLog)}, {"truncated", flag(&r.Truncated)}, {"sandbox", whole(&r.Sandbox)},
	}
}}

// resultRow is a result and what it belongs to: a run or a benchmark.
type resultRow[K any] struct {
	owner K
	ord   int
	model.Result
}

func resultColumns(r *model.Result) []column {
	return []column{
		{"problem", text(&r.Problem)}, {"score", real(&r.Score)}, {"outcome", text(&r.Outcome)},
		{"wall", whole(&r.Wall)}, {"tokens", whole(&r.Tokens)}, {"timed_out", flag(&r.TimedOut)}, {"message", text(&r.Message)},
	}
}

func resultRows[K any](owner K, results []model.Result) []resultRow[K] {
	rows := make([]resultRow[K], len(results))
	for i, r := range results {
		rows[i] = resultRow[K]{owner, i, r}
	}
	return rows
}

var runResultTable = table[resultRow[int64]]{name: "run_results", keys: 2, columns: func(r *resultRow[int64]) []column {
	return append([]column{{"run", whole(&r.owner)}, {"ord", whole(&r.ord)}}, resultColumns(&r.Result)...)
}}

// SaveRun stores a measurement of tree. The first one of a key stays: a second
// is ignored and reported by added = false, unless it is of another tree, which
// is ErrConflict.
func (s *Store) SaveRun(ctx context.Context, f Fence, key RunKey, tree string, run model.Run) (added bool, err error) {
	const op = "save run"
	const byKey = "WHERE campaign = $1 AND scope = $2 AND side = $3 AND round = $4"
	err = s.write(ctx, op, key.String(), f, func(tx *sql.Tx) error {
		id, err := next(ctx, tx, "runs")
		if err != nil {
			return err
		}
		row := runRow{id, StoredRun{key, tree, run}}
		n, err := runTable.insert(ctx, tx, "ON CONFLICT (campaign, scope, side, round) DO NOTHING", row)
		if err != nil {
			return err
		}
		if n == 1 {
			added = true
			_, err = runResultTable.insert(ctx, tx, "", resultRows(id, run.Results)...)
			return err
		}
		old, err := runTable.one(ctx, tx, byKey, key.Campaign, key.Scope, key.Side, key.Round)
		if err != nil {
			return err
		}
		if old.Tree != tree {
			return &Error{Op: op, Object: key.String(), Err: ErrConflict, Hint: fmt.Sprintf("it holds a measurement of tree %s, not of %s", old.Tree, tree)}
		}
		return errUnchanged
	})
	return added && err == nil, err
}

// Runs reads the measurements of a scope, by round and then side, with their results.
func (s *Store) Runs(ctx context.Context, campaign, scope string) ([]StoredRun, error) {
	out, err := s.runs(ctx, campaign, scope)
	return out, wrap("read runs of", campaign+"/"+scope, err)
}

func (s *Store) runs(ctx context.Context, campaign, scope string) ([]StoredRun, error) {
	const which = "WHERE campaign = $1 AND scope = $2"
	rows, err := runTable.all(ctx, s.readers, which+" ORDER BY round, side", campaign, scope)
	if err != nil {
		return nil, err
	}
	// A run and its results are one commit and never change, so two reads fit
	// together; results of a run that came in between are left out.
	results, err := runResultTable.all(ctx, s.readers, "WHERE run IN (SELECT id FROM runs "+which+") ORDER BY run, ord", campaign, scope)
	if err != nil {
		return nil, err
	}
	byRun := map[int64][]model.Result{}
	for _, r := range results {
		byRun[r.owner] = append(byRun[r.owner], r.Result)
	}
	out := make([]StoredRun, len(rows))
	for i, r := range rows {
		out[i] = r.StoredRun
		out[i].Results = append([]model.Result{}, byRun[r.id]...)
	}
	return out, nil
}
