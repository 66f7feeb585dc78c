package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

const versionTable = "schema_version"

func embedded() fs.FS {
	sub, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	return sub
}

// SchemaVersion is the version of the store's tables: the number of the last migration.
func (s *Store) SchemaVersion(ctx context.Context) (int64, error) {
	v, err := s.version(ctx)
	return v, wrap("read the schema version of", s.object, err)
}

// version reads the version without creating the version table; 0 for an empty store.
func (s *Store) version(ctx context.Context) (int64, error) {
	versions, err := database.NewStore(s.dialect.goose, versionTable)
	if err != nil {
		return 0, err
	}
	var exists int
	if err := s.readers.QueryRowContext(ctx, s.dialect.hasTable, versionTable).Scan(&exists); err != nil || exists == 0 {
		return 0, err
	}
	v, err := versions.GetLatestVersion(ctx, s.readers)
	if errors.Is(err, database.ErrVersionNotFound) {
		return 0, nil
	}
	return v, err
}

// migrate brings the tables to this binary's version, or says why it may not.
func (s *Store) migrate(ctx context.Context) error {
	target, err := newestMigration(s.cfg.migrations)
	if err != nil {
		return err
	}
	current, err := s.version(ctx)
	if err != nil {
		return err
	}
	if current > target {
		return &Error{Op: "open", Object: s.object, Err: ErrNewer,
			Hint: fmt.Sprintf("its schema version is %d and this ratchet knows %d: upgrade ratchet; nothing was changed", current, target)}
	}
	if s.writer == nil {
		return s.checkReadable(current, target)
	}
	if s.cfg.Driver == SQLite {
		if err := enableWAL(ctx, s.writer); err != nil {
			return err
		}
	}
	if current == target {
		return nil
	}
	return s.migrateUp(ctx)
}

func (s *Store) checkReadable(current, target int64) error {
	if current == target {
		return nil
	}
	return &Error{Op: "open", Object: s.object, Err: ErrOlder,
		Hint: fmt.Sprintf("its schema version is %d and this ratchet needs %d: start ratchet on it once, which migrates it", current, target)}
}

// migrateUp applies what is pending, each migration in a transaction of its
// own, while other processes that would do the same wait.
func (s *Store) migrateUp(ctx context.Context) (err error) {
	opts := []goose.ProviderOption{goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true)}
	if s.cfg.Driver == Postgres {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300)) // look every second, for five minutes
		if err != nil {
			return err
		}
		opts = append(opts, goose.WithSessionLocker(locker))
	} else {
		file := flock.New(s.object + ".migrate.lock")
		if _, err := file.TryLockContext(ctx, 20*time.Millisecond); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Unlock()) }()
	}
	p, err := goose.NewProvider(s.dialect.goose, s.writer, s.cfg.migrations, opts...)
	if err != nil {
		return err
	}
	_, err = p.Up(ctx) // closing the provider would close the store's connections
	return err
}

// newestMigration is the highest version among the migration files.
func newestMigration(files fs.FS) (int64, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return 0, err
	}
	newest := int64(0)
	for _, name := range names {
		v, err := goose.NumericComponent(name)
		if err != nil {
			return 0, err
		}
		newest = max(newest, v)
	}
	return newest, nil
}
