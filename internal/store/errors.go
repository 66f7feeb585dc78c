package store

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Kinds of store failure, for errors.Is. Only ErrBusy is worth a retry as it
// stands; ErrNoSpace is once there is room again.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("already exists")
	ErrFenced   = errors.New("another run or attempt has taken over")
	ErrConflict = errors.New("conflicts with what is stored")
	ErrInvalid  = errors.New("invalid")
	ErrNewer    = errors.New("the store was written by a newer ratchet")
	ErrOlder    = errors.New("the store was written by an older ratchet")
	ErrReadOnly = errors.New("the store is open for reading only")
	ErrNoSpace  = errors.New("no space left")
	ErrBusy     = errors.New("the store is busy")
	ErrCorrupt  = errors.New("the store is damaged or is no store")
)

// Error says what could not be done to what, why, and what to do about it.
type Error struct {
	Op     string // the method, in words
	Object string // name, id or path
	Err    error
	Hint   string
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "store: %s %s: %v", e.Op, e.Object, e.Err)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// wrap gives err its operation, object, kind and hint. nil stays nil.
func wrap(op, object string, err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	hint, kind := classify(err)
	if kind != nil && !errors.Is(err, kind) {
		err = fmt.Errorf("%w: %w", kind, err)
	}
	return &Error{Op: op, Object: object, Err: err, Hint: hint}
}

// classify maps the errors of both databases to a kind and a hint.
func classify(err error) (hint string, kind error) {
	var lite *sqlite.Error
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", ErrNotFound
	case errors.As(err, &lite):
		return classifySQLite(lite.Code())
	case errors.As(err, &pg):
		return classifyPostgres(pg.Code)
	}
	return "", nil
}

const (
	hintSpace   = "free some disk space, then go on: nothing that was stored is lost"
	hintCorrupt = "restore the file from a copy, or move it away to start an empty store"
	hintBusy    = "another process holds the store for long; try again"
	hintParent  = "what it belongs to must be stored first"
)

func classifySQLite(code int) (hint string, kind error) {
	switch code {
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return hintParent, ErrNotFound
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return "", ErrConflict
	case sqlite3.SQLITE_IOERR_SHMSIZE:
		return hintSpace, ErrNoSpace
	}
	switch code & 0xff { // the primary code is the low byte
	case sqlite3.SQLITE_FULL:
		return hintSpace, ErrNoSpace
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return hintBusy, ErrBusy
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return hintCorrupt, ErrCorrupt
	case sqlite3.SQLITE_CANTOPEN:
		return "check the path and its permissions", ErrNotFound
	case sqlite3.SQLITE_READONLY:
		return "check the permissions of the file and its folder", ErrReadOnly
	}
	return "", nil
}

// classifyPostgres goes by SQLSTATE, appendix A of the PostgreSQL manual.
func classifyPostgres(code string) (hint string, kind error) {
	switch code {
	case "23503":
		return hintParent, ErrNotFound
	case "23505":
		return "", ErrConflict
	case "53100":
		return hintSpace, ErrNoSpace
	case "40001", "40P01", "55P03", "53300", "57P03":
		return hintBusy, ErrBusy
	case "22021": // bytes that are no text, in a condition
		return "", ErrInvalid
	case "25006":
		return "", ErrReadOnly
	case "XX001", "XX002":
		return "restore the database from a copy", ErrCorrupt
	}
	return "", nil
}
