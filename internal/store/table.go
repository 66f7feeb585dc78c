package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
)

// querier is what *sql.DB and *sql.Tx have in common.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// table maps records of type T to the rows of one table. The first keys
// columns are the primary key.
type table[T any] struct {
	name    string
	keys    int
	columns func(*T) []column
}

// names lists the columns, separated by commas.
func (t table[T]) names() string {
	var zero T
	cols := t.columns(&zero)
	parts := make([]string, len(cols))
	for i, c := range cols {
		parts[i] = c.name
	}
	return strings.Join(parts, ", ")
}

// values encodes a record; the error names the column.
func (t table[T]) values(rec *T) ([]any, error) {
	cols := t.columns(rec)
	out := make([]any, len(cols))
	for i, c := range cols {
		v, err := c.cell.Value()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		out[i] = v
	}
	return out, nil
}

// insert adds rows, many in one statement, and returns how many were added.
// tail is an ON CONFLICT clause or empty.
func (t table[T]) insert(ctx context.Context, q querier, tail string, recs ...T) (int64, error) {
	const batch = 16 // the SQLite driver's binding is quadratic in the parameters
	added := int64(0)
	for len(recs) > 0 {
		n := min(batch, len(recs))
		count, err := t.insertBatch(ctx, q, tail, recs[:n])
		if err != nil {
			return added, err
		}
		added += count
		recs = recs[n:]
	}
	return added, nil
}

func (t table[T]) insertBatch(ctx context.Context, q querier, tail string, recs []T) (int64, error) {
	var args []any
	var b strings.Builder
	fmt.Fprintf(&b, "INSERT INTO %s (%s) VALUES ", t.name, t.names())
	for i := range recs {
		values, err := t.values(&recs[i])
		if err != nil {
			return 0, err
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("(" + placeholders(len(args)+1, len(values)) + ")")
		args = append(args, values...)
	}
	b.WriteString(" " + tail)
	return affected(q.ExecContext(ctx, b.String(), args...))
}

// update replaces all but the key of the row with rec's key; 0 rows when there is none.
func (t table[T]) update(ctx context.Context, q querier, rec T) (int64, error) {
	args, err := t.values(&rec)
	if err != nil {
		return 0, err
	}
	var set, where []string
	for i, c := range t.columns(&rec) {
		assign := fmt.Sprintf("%s = $%d", c.name, i+1)
		if i < t.keys {
			where = append(where, assign)
		} else {
			set = append(set, assign)
		}
	}
	query := fmt.Sprintf("UPDATE %s SET %s WHERE %s", t.name, strings.Join(set, ", "), strings.Join(where, " AND "))
	return affected(q.ExecContext(ctx, query, args...))
}

// overwrite is the ON CONFLICT clause that replaces a row, where it may.
func (t table[T]) overwrite(where string) string {
	var zero T
	var keys, set []string
	for i, c := range t.columns(&zero) {
		if i < t.keys {
			keys = append(keys, c.name)
		} else {
			set = append(set, c.name+" = excluded."+c.name)
		}
	}
	clause := fmt.Sprintf("ON CONFLICT (%s) DO UPDATE SET %s", strings.Join(keys, ", "), strings.Join(set, ", "))
	if where != "" {
		clause += " WHERE " + where
	}
	return clause
}

// all reads the rows that tail (WHERE, ORDER BY, …) selects; never nil.
func (t table[T]) all(ctx context.Context, q querier, tail string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, t.selectSQL(tail), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []T{}
	for rows.Next() {
		var rec T
		if err := rows.Scan(t.targets(&rec)...); err != nil {
			return nil, err
		}
		out = append(out, rec)
	}
	return out, rows.Err()
}

// one reads the first row that tail selects; sql.ErrNoRows when there is none.
func (t table[T]) one(ctx context.Context, q querier, tail string, args ...any) (T, error) {
	var rec T
	err := q.QueryRowContext(ctx, t.selectSQL(tail), args...).Scan(t.targets(&rec)...)
	return rec, err
}

func (t table[T]) selectSQL(tail string) string {
	return fmt.Sprintf("SELECT %s FROM %s %s", t.names(), t.name, tail)
}

func (t table[T]) targets(rec *T) []any {
	cols := t.columns(rec)
	out := make([]any, len(cols))
	for i, c := range cols {
		out[i] = c.cell
	}
	return out
}

// same says that two records are stored as the same values.
func (t table[T]) same(a, b T) (bool, error) {
	x, err := t.values(&a)
	if err != nil {
		return false, err
	}
	y, err := t.values(&b)
	if err != nil {
		return false, err
	}
	for i := range x {
		if driver.Value(x[i]) != driver.Value(y[i]) {
			return false, nil
		}
	}
	return true, nil
}

// placeholders returns "$first, …" for n parameters. Both databases number them so.
func placeholders(first, n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf("$%d", first+i)
	}
	return strings.Join(parts, ", ")
}

func affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
