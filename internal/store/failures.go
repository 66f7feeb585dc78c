package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ratchet/internal/model"
)

var failureTable = table[model.Failure]{name: "failures", keys: 1, columns: func(f *model.Failure) []column {
	return []column{
		{"seq", whole(&f.Seq)}, {"source", name(&f.Source)}, {"id", name(&f.ID)}, {"agent", name(&f.Agent)},
		{"repo", name(&f.Repo)}, {"task", text(&f.Task)}, {"expected", text(&f.Expected)}, {"actual", text(&f.Actual)},
		{"severity", text(&f.Severity)}, {"context", raw(&f.Context)}, {"at_time", moment(&f.At)}, {"stored", moment(&f.Stored)},
	}
}}

// AddFailure stores an event and returns its Seq. Events are unique on (Source,
// ID) for ever: a second delivery changes nothing, and is reported by added =
// false with the Seq of the first. Seq ascends in the order of commits, without
// gaps, so a reader that has seen n misses nothing by asking for what comes after
// n. Stored is set to now when it is zero. An event that could never be stored is ErrInvalid.
func (s *Store) AddFailure(ctx context.Context, f model.Failure) (seq int64, added bool, err error) {
	const op = "add failure"
	object := f.Source + "#" + f.ID
	if f.Source == "" || f.ID == "" {
		return 0, false, &Error{Op: op, Object: object, Err: ErrInvalid, Hint: "an event needs a source and an id"}
	}
	if f.Stored.IsZero() {
		f.Stored = s.cfg.Now()
	}
	err = s.write(ctx, op, object, Fence{}, func(tx *sql.Tx) (err error) {
		if f.Seq, err = next(ctx, tx, "failures"); err != nil {
			return err
		}
		old, err := failureTable.one(ctx, tx, "WHERE source = $1 AND id = $2", f.Source, f.ID)
		if err == nil {
			seq = old.Seq
			return errUnchanged // and give the number back
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		seq, added = f.Seq, true
		_, err = failureTable.insert(ctx, tx, "", f)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return seq, added, nil
}

// Failure reads one event, or ErrNotFound.
func (s *Store) Failure(ctx context.Context, source, id string) (model.Failure, error) {
	f, err := failureTable.one(ctx, s.readers, "WHERE source = $1 AND id = $2", source, id)
	return f, wrap("read failure", source+"#"+id, err)
}

// FailureFilter selects failures; a zero field selects all.
type FailureFilter struct {
	Repo  string
	Agent string // this agent and those below it in the hierarchy
	After int64  // Seq greater than this
	Limit int    // the first so many
	// Newest selects the last so many, instead of Limit; they come by Seq all the same.
	Newest int
}

// Failures reads the failures that f selects, by Seq.
func (s *Store) Failures(ctx context.Context, f FailureFilter) ([]model.Failure, error) {
	var where conditions
	where.add("seq > ?", f.After)
	if f.Repo != "" {
		where.add("repo = ?", f.Repo)
	}
	if f.Agent != "" {
		below := f.Agent + "/"
		where.add("(agent = ? OR substr(agent, 1, ?) = ?)", f.Agent, len([]rune(below)), below)
	}
	tail := where.sql() + " ORDER BY seq"
	switch {
	case f.Newest > 0:
		tail += fmt.Sprintf(" DESC LIMIT %d", f.Newest)
	case f.Limit > 0:
		tail += fmt.Sprintf(" LIMIT %d", f.Limit)
	}
	all, err := failureTable.all(ctx, s.readers, tail, where.args...)
	if f.Newest > 0 {
		slices.Reverse(all)
	}
	return all, wrap("list", "failures", err)
}

// FailureCursor is the Seq of the newest failure, 0 when there is none.
func (s *Store) FailureCursor(ctx context.Context) (int64, error) {
	var seq int64
	err := s.readers.QueryRowContext(ctx, `SELECT COALESCE(MAX(seq), 0) FROM failures`).Scan(&seq)
	return seq, wrap("read the cursor of", "failures", err)
}

// conditions builds a WHERE clause; every condition must hold.
type conditions struct {
	parts []string
	args  []any
}

// add appends a condition with a ? for each argument.
func (c *conditions) add(condition string, args ...any) {
	for _, a := range args {
		c.args = append(c.args, a)
		condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(c.args)), 1)
	}
	c.parts = append(c.parts, condition)
}

func (c *conditions) sql() string {
	if len(c.parts) == 0 {
		return ""
	}
	return "WHERE " + strings.Join(c.parts, " AND ")
}
