package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"ratchet/internal/model"
)

var benchmarkTable = table[model.Benchmark]{name: "benchmarks", keys: 1, columns: func(b *model.Benchmark) []column {
	return []column{
		{"id", name(&b.ID)}, {"name", name(&b.Name)}, {"suites", list(&b.Suites)}, {"repo", text(&b.Repo)},
		{"commit_hash", name(&b.Commit)}, {"tree", name(&b.Tree)}, {"started", moment(&b.Started)}, {"wall", whole(&b.Wall)},
		{"runs", list(&b.Runs)}, {"score", document(&b.Score)}, {"agent", text(&b.Agent)}, {"baseline", flag(&b.Baseline)},
		{"metrics", document(&b.Metrics)}, {"build_log", text(&b.BuildLog)},
	}
}}

var benchmarkResultTable = table[resultRow[string]]{name: "benchmark_results", keys: 2, columns: func(r *resultRow[string]) []column {
	return append([]column{{"benchmark", name(&r.owner)}, {"ord", whole(&r.ord)}}, resultColumns(&r.Result)...)
}}

// SaveBenchmark stores a benchmark and returns it with its id, which is made
// from Started when it is empty. An id that is stored already is ErrExists. With
// Baseline it takes the place of the baseline of its name.
func (s *Store) SaveBenchmark(ctx context.Context, b model.Benchmark) (model.Benchmark, error) {
	const op = "save benchmark"
	if b.ID == "" {
		b.ID = newBenchmarkID(b.Started)
	}
	err := s.write(ctx, op, b.ID, Fence{}, func(tx *sql.Tx) error {
		if b.Baseline {
			if err := clearBaseline(ctx, tx, b.Name); err != nil {
				return err
			}
		}
		n, err := benchmarkTable.insert(ctx, tx, "ON CONFLICT (id) DO NOTHING", b)
		if err != nil {
			return err
		}
		if n == 0 {
			return &Error{Op: op, Object: b.ID, Err: ErrExists}
		}
		_, err = benchmarkResultTable.insert(ctx, tx, "", resultRows(b.ID, b.Results)...)
		return err
	})
	if err != nil {
		return model.Benchmark{}, err
	}
	return b, nil
}

func clearBaseline(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := tx.ExecContext(ctx, "UPDATE benchmarks SET baseline = 0 WHERE name = $1 AND baseline = 1", name)
	return err
}

// SetBaseline makes a benchmark the baseline of its name, in the place of the one
// that was. None of that id is ErrNotFound.
func (s *Store) SetBaseline(ctx context.Context, id string) error {
	const op = "set baseline"
	return s.write(ctx, op, id, Fence{}, func(tx *sql.Tx) error {
		b, err := benchmarkTable.one(ctx, tx, "WHERE id = $1", id)
		if errors.Is(err, sql.ErrNoRows) {
			return &Error{Op: op, Object: id, Err: ErrNotFound}
		}
		if err != nil {
			return err
		}
		if err := clearBaseline(ctx, tx, b.Name); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE benchmarks SET baseline = 1 WHERE id = $1", id)
		return err
	})
}

// newBenchmarkID is ten characters of base32: seven for the second (sorting by
// time until the year 3058), three at random. crypto/rand does not fail.
func newBenchmarkID(at time.Time) string {
	var random [2]byte
	_, _ = rand.Read(random[:])
	n := uint64(max(at.Unix(), 0))<<15 | uint64(binary.BigEndian.Uint16(random[:])>>1)
	var data [8]byte
	binary.BigEndian.PutUint64(data[:], n<<14) // 50 bits, at the front
	return strings.ToLower(base32.HexEncoding.EncodeToString(data[:]))[:10]
}

// Benchmarks reads the benchmarks of that name (all, when empty), newest first,
// without their results.
func (s *Store) Benchmarks(ctx context.Context, name string) ([]model.Benchmark, error) {
	var where conditions
	if name != "" {
		where.add("name = ?", name)
	}
	all, err := benchmarkTable.all(ctx, s.readers, where.sql()+" ORDER BY started DESC, id DESC", where.args...)
	return all, wrap("list benchmarks", name, err)
}

// Benchmark reads the benchmark whose id is id, or else the only one whose id
// begins with it. None is ErrNotFound, several are ErrConflict with the ids in the hint.
func (s *Store) Benchmark(ctx context.Context, id string) (model.Benchmark, error) {
	b, err := s.benchmark(ctx, id)
	return b, wrap("read benchmark", id, err)
}

func (s *Store) benchmark(ctx context.Context, id string) (model.Benchmark, error) {
	const like = "WHERE substr(id, 1, $1) = $2 ORDER BY CASE WHEN id = $2 THEN 0 ELSE 1 END, id LIMIT 5"
	found, err := benchmarkTable.all(ctx, s.readers, like, len([]rune(id)), id)
	switch {
	case err != nil:
		return model.Benchmark{}, err
	case len(found) == 0 || id == "":
		return model.Benchmark{}, &Error{Op: "read benchmark", Object: id, Err: ErrNotFound}
	case len(found) > 1 && found[0].ID != id:
		return model.Benchmark{}, &Error{Op: "read benchmark", Object: id, Err: ErrConflict, Hint: "it is short for several: " + ids(found)}
	}
	b := found[0]
	rows, err := benchmarkResultTable.all(ctx, s.readers, "WHERE benchmark = $1 ORDER BY ord", b.ID)
	b.Results = make([]model.Result, len(rows))
	for i, r := range rows {
		b.Results[i] = r.Result
	}
	return b, err
}

func ids(all []model.Benchmark) string {
	out := make([]string, len(all))
	for i, b := range all {
		out[i] = b.ID
	}
	return strings.Join(out, ", ")
}
