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
		{"wall", whole(&r.Wall)}, {"tokens", whole(&r.Tokens)}, {"timed_out", flag(&r.TimedOut)}, {"message", text(&r.Message)}, {"value", real(&r.Value)}, {"beside", real(&r.Beside)},
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
	err = s.write(ctx, opSaveRun, key.String(), f, func(tx *sql.Tx) error {
		if added, err = saveRun(ctx, tx, StoredRun{key, tree, run}); err == nil && !added {
			err = errUnchanged
		}
		return err
	})
	return added && err == nil, err
}

// SaveRuns stores measurements that belong together, all or none of them; each
// as SaveRun does.
func (s *Store) SaveRuns(ctx context.Context, f Fence, runs ...StoredRun) error {
	if len(runs) == 0 {
		return nil
	}
	return s.write(ctx, opSaveRun, runs[0].RunKey.String(), f, func(tx *sql.Tx) error {
		for _, r := range runs {
			if _, err := saveRun(ctx, tx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

const opSaveRun = "save run"

func saveRun(ctx context.Context, tx *sql.Tx, r StoredRun) (added bool, err error) {
	const byKey = "WHERE campaign = $1 AND scope = $2 AND side = $3 AND round = $4"
	id, err := next(ctx, tx, "runs")
	if err != nil {
		return false, err
	}
	n, err := runTable.insert(ctx, tx, "ON CONFLICT (campaign, scope, side, round) DO NOTHING", runRow{id, r})
	if err != nil {
		return false, err
	}
	if n == 1 {
		_, err = runResultTable.insert(ctx, tx, "", resultRows(id, r.Results)...)
		return err == nil, err
	}
	old, err := runTable.one(ctx, tx, byKey, r.Campaign, r.Scope, r.Side, r.Round)
	if err != nil {
		return false, err
	}
	if old.Tree != r.Tree {
		return false, &Error{Op: opSaveRun, Object: r.RunKey.String(), Err: ErrConflict, Hint: fmt.Sprintf("it holds a measurement of tree %s, not of %s", old.Tree, r.Tree)}
	}
	return false, nil
}

// Runs reads the measurements of a scope, by round and then side, with their results.
func (s *Store) Runs(ctx context.Context, campaign, scope string) ([]StoredRun, error) {
	out, err := s.runs(ctx, campaign, scope)
	return out, wrap("read runs of", campaign+"/"+scope, err)
}

const (
	inScope = "campaign = $1 AND scope = $2"
	ofScope = "WHERE run IN (SELECT id FROM runs WHERE " + inScope + ") ORDER BY run, ord"
)

func (s *Store) runs(ctx context.Context, campaign, scope string) ([]StoredRun, error) {
	rows, err := runTable.all(ctx, s.readers, "WHERE "+inScope+" ORDER BY round, side", campaign, scope)
	if err != nil {
		return nil, err
	}
	// A run and its results are one commit and never change, so two reads fit
	// together; results of a run that came in between are left out.
	results, err := runResultTable.all(ctx, s.readers, ofScope, campaign, scope)
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
