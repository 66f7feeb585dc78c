package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Fence says on whose behalf a write is made. The zero Fence is an unfenced
// write, for what no second run can be doing.
type Fence struct {
	Scope   string // what is owned, for example a campaign's or a generation's workflow id
	Run     string // the workflow run
	Attempt int    // the attempt of the activity, from 1
}

// Claim takes the scope of f for (run, attempt). The same run needs at least
// the stored attempt; another run always takes over, because a workflow has one
// open run at a time. Otherwise ErrFenced. Claiming what one holds is success.
func (s *Store) Claim(ctx context.Context, f Fence) error {
	const op = "claim"
	if f.Scope == "" || f.Run == "" {
		return &Error{Op: op, Object: f.Scope, Err: ErrInvalid, Hint: "a claim needs a scope and a run"}
	}
	return s.write(ctx, op, f.Scope, Fence{}, func(tx *sql.Tx) error {
		const claim = `INSERT INTO fences (scope, run, attempt) VALUES ($1, $2, $3)
			ON CONFLICT (scope) DO UPDATE SET run = excluded.run, attempt = excluded.attempt
			WHERE fences.run <> excluded.run OR fences.attempt <= excluded.attempt`
		n, err := affected(tx.ExecContext(ctx, claim, f.Scope, f.Run, f.Attempt))
		if err == nil && n == 0 {
			err = &Error{Op: op, Object: f.Scope, Err: ErrFenced, Hint: "a later attempt of the same run holds it"}
		}
		return err
	})
}

// errUnchanged rolls a transaction back that found its work already done.
var errUnchanged = errors.New("unchanged")

// write runs fn in one transaction that f admits. It commits when fn returns
// nil, and rolls back and succeeds when fn returns errUnchanged. After
// the fence a transaction locks at most one row that others wait for (a record
// or a sequence), so that no two can deadlock.
func (s *Store) write(ctx context.Context, op, object string, f Fence, fn func(*sql.Tx) error) error {
	if s.writer == nil {
		return &Error{Op: op, Object: object, Err: ErrReadOnly}
	}
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return wrap(op, object, err)
	}
	if err = s.admit(ctx, tx, f); err == nil {
		err = fn(tx)
	}
	if err == nil {
		return wrap(op, object, tx.Commit())
	}
	rollback := tx.Rollback()
	if errors.Is(rollback, sql.ErrTxDone) { // the context ended and took the transaction with it
		rollback = nil
	}
	if errors.Is(err, errUnchanged) {
		return wrap(op, object, rollback)
	}
	return wrap(op, object, errors.Join(err, rollback))
}

// admit fails with ErrFenced unless f holds its scope, which it then keeps
// until the transaction ends. A scope that nobody holds is taken.
func (s *Store) admit(ctx context.Context, tx *sql.Tx, f Fence) error {
	if f == (Fence{}) {
		return nil
	}
	const take = `INSERT INTO fences (scope, run, attempt) VALUES ($1, $2, $3) ON CONFLICT (scope) DO NOTHING`
	held := Fence{Scope: f.Scope}
	look := func() error {
		return tx.QueryRowContext(ctx, `SELECT run, attempt FROM fences WHERE scope = $1`+s.dialect.shareRow, f.Scope).
			Scan(&held.Run, &held.Attempt)
	}
	err := look()
	if errors.Is(err, sql.ErrNoRows) {
		if _, err = tx.ExecContext(ctx, take, f.Scope, f.Run, f.Attempt); err == nil {
			err = look()
		}
	}
	if err != nil {
		return err
	}
	if held != f {
		return fmt.Errorf("%w: %s is held by attempt %d of run %s, not by attempt %d of run %s",
			ErrFenced, f.Scope, held.Attempt, held.Run, f.Attempt, f.Run)
	}
	return nil
}

// next counts a sequence up, from 1, and keeps its row locked until the
// transaction ends: numbers ascend in the order of commits, without gaps.
func next(ctx context.Context, tx *sql.Tx, sequence string) (int64, error) {
	var n int64
	err := tx.QueryRowContext(ctx, `INSERT INTO sequences (name, value) VALUES ($1, 1)
		ON CONFLICT (name) DO UPDATE SET value = sequences.value + 1 RETURNING value`, sequence).Scan(&n)
	return n, err
}
