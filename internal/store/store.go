// Package store keeps what outlives a workflow: campaigns, attempts, results,
// receipts, changes, generations, reports, failures and benchmarks, as rows of
// SQLite (embedded) or PostgreSQL (shared by many machines).
//
// Every write is one transaction and durable when the method returns. Writes
// are idempotent, so that an activity may be retried after any crash; each
// method says what a second call does. A write that carries a Fence is refused
// once another run or attempt has claimed its scope.
//
// Times have a resolution of one microsecond and come back in UTC. Lists come
// back empty, never nil. Bytes in prose that no database can store as text (NUL,
// broken UTF-8) become U+FFFD; in an identifier they are refused with ErrInvalid.
package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"time"
)

// Drivers of a Config.
const (
	SQLite   = "sqlite"
	Postgres = "pgx"
)

// Config says where the rows are.
type Config struct {
	Driver string // SQLite (default) or Postgres
	Path   string // SQLite: the database file; its folder must exist
	DSN    string // PostgreSQL: a connection string or URL as libpq takes it
	// ReadOnly opens an existing store beside the process that writes it; it
	// never migrates, and every write fails with ErrReadOnly.
	ReadOnly bool
	Readers  int           // most connections for reading at once; 4 when 0
	Busy     time.Duration // how long a write waits for other processes; 10 s when 0
	Now      func() time.Time

	migrations fs.FS // the embedded ones; tests add to them
}

func (c Config) withDefaults() (Config, error) {
	if c.Driver == "" {
		c.Driver = SQLite
	}
	if c.Readers <= 0 {
		c.Readers = 4
	}
	if c.Busy <= 0 {
		c.Busy = 10 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.migrations == nil {
		c.migrations = embedded()
	}
	return c, c.validate()
}

func (c Config) validate() error {
	switch {
	case c.Driver == SQLite && c.Path == "":
		return &Error{Op: "open", Object: "store", Err: ErrInvalid, Hint: "set Path for SQLite"}
	case c.Driver == Postgres && c.DSN == "":
		return &Error{Op: "open", Object: "store", Err: ErrInvalid, Hint: "set DSN for PostgreSQL"}
	case c.Driver != SQLite && c.Driver != Postgres:
		return &Error{Op: "open", Object: c.Driver, Err: ErrInvalid, Hint: `the driver is "sqlite" or "pgx"`}
	}
	return nil
}

// Store is an open store. It is safe for concurrent use; several processes may
// have the same one open.
type Store struct {
	cfg     Config
	dialect dialect
	object  string  // path or database, for errors
	readers *sql.DB // all reads outside a write
	writer  *sql.DB // nil when read-only; one connection on SQLite
}

// Open opens a store, creating it or migrating it forward unless ReadOnly. It
// fails with ErrNewer, having changed nothing, when a newer ratchet wrote the
// store; with ErrOlder when it would have to migrate one opened ReadOnly; with
// ErrNotFound when there is nothing to read; with ErrCorrupt when the file is
// no store. The caller closes the store.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	open := openSQLite
	if cfg.Driver == Postgres {
		open = openPostgres
	}
	s, err := open(ctx, cfg)
	if err != nil {
		return nil, wrap("open", cfg.object(), err)
	}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(wrap("open", s.object, err), s.Close())
	}
	return s, nil
}

// object names the store in errors, without a password.
func (c Config) object() string {
	if c.Driver == SQLite {
		return c.Path
	}
	return "PostgreSQL"
}

// Close releases the connections. It is safe twice; other methods fail afterwards.
func (s *Store) Close() error {
	var err error
	if s.writer != nil && s.writer != s.readers {
		err = s.writer.Close()
	}
	return errors.Join(err, s.readers.Close())
}
