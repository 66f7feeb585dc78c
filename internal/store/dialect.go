package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// dialect is all that differs between the databases in what the methods send.
type dialect struct {
	goose goose.Dialect
	// lockRow ends a SELECT whose row the transaction is about to change. It does
	// not block foreign key checks of others. SQLite has one writer at a time.
	lockRow string
	// shareRow ends a SELECT whose row must not change before the commit.
	shareRow string
	hasTable string // counts the tables named $1
}

// openSQLite opens the file without changing one that exists: migrate sets the
// journal mode once it knows that the store is ours.
func openSQLite(_ context.Context, cfg Config) (*Store, error) {
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, err
	}
	if err := checkFile(path, cfg.ReadOnly); err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, object: path, dialect: dialect{
		goose:    goose.DialectSQLite3,
		hasTable: `SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = $1`,
	}}
	if s.readers, err = sql.Open("sqlite", sqliteDSN(path, cfg, true)); err != nil {
		return nil, err
	}
	s.readers.SetMaxOpenConns(cfg.Readers)
	s.readers.SetMaxIdleConns(cfg.Readers)
	if cfg.ReadOnly {
		return s, nil
	}
	if s.writer, err = sql.Open("sqlite", sqliteDSN(path, cfg, false)); err != nil {
		return nil, errors.Join(err, s.readers.Close())
	}
	s.writer.SetMaxOpenConns(1) // writers of this process queue here, by their contexts
	return s, nil
}

// checkFile makes sure that the file exists or may be created.
func checkFile(path string, readOnly bool) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return &Error{Op: "open", Object: path, Err: ErrInvalid, Hint: "it is a folder"}
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case readOnly:
		return &Error{Op: "open", Object: path, Err: ErrNotFound, Hint: "no ratchet has run on this data folder yet"}
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return &Error{Op: "open", Object: path, Err: ErrNotFound, Hint: "create the folder first"}
	}
	return nil
}

// sqliteDSN: readers may not write rows, yet need the right to write the file's
// shared memory. The writer begins its transactions with the write lock, so
// that two of them queue instead of one failing when it turns from reading to writing.
func sqliteDSN(path string, cfg Config, reader bool) string {
	q := url.Values{}
	q.Add("_pragma", "busy_timeout("+strconv.FormatInt(cfg.Busy.Milliseconds(), 10)+")")
	q.Add("_pragma", "foreign_keys(1)")
	if reader {
		q.Add("_pragma", "query_only(1)")
	} else {
		q.Add("_pragma", "synchronous(FULL)")
		q.Add("_pragma", "journal_size_limit(67108864)")
		q.Set("_txlock", "immediate")
	}
	if cfg.ReadOnly {
		q.Set("mode", "rw") // never create
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	return u.String()
}

// enableWAL turns on the write-ahead log, with which readers never wait for the
// writer. The mode is a property of the file and stays.
func enableWAL(ctx context.Context, db *sql.DB) error {
	var mode string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return &Error{Op: "open", Object: "write-ahead log", Err: ErrInvalid,
			Hint: "SQLite needs a file system with shared memory and locks: put the data folder on a local disk"}
	}
	return nil
}

func openPostgres(ctx context.Context, cfg Config) (*Store, error) {
	conn, err := pgx.ParseConfig(cfg.DSN)
	if err != nil {
		return nil, &Error{Op: "open", Object: "PostgreSQL", Err: ErrInvalid, Hint: "the DSN cannot be parsed"}
	}
	if cfg.ReadOnly {
		conn.RuntimeParams["default_transaction_read_only"] = "on"
	}
	conn.RuntimeParams["lock_timeout"] = strconv.FormatInt(cfg.Busy.Milliseconds(), 10)
	db := stdlib.OpenDB(*conn)
	db.SetMaxOpenConns(cfg.Readers + 4)
	db.SetMaxIdleConns(cfg.Readers)
	s := &Store{
		cfg: cfg, readers: db, object: conn.Host + "/" + conn.Database,
		dialect: dialect{
			goose:    goose.DialectPostgres,
			lockRow:  " FOR NO KEY UPDATE",
			shareRow: " FOR SHARE",
			hasTable: `SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1`,
		},
	}
	if !cfg.ReadOnly {
		s.writer = db
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(&Error{Op: "open", Object: s.object, Err: err, Hint: "check that PostgreSQL runs and that the DSN is right"}, db.Close())
	}
	return s, nil
}
