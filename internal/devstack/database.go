package devstack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/headers"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	temporalsql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
	_ "modernc.org/sqlite" // the driver that reads and writes the stamp
)

// database is the SQLite file of a Temporal server.
type database struct {
	path string
	sql  *config.SQL
	once sync.Once
	err  error
}

// openDatabase opens the file, or makes it with its schema when it does not
// exist. It refuses a file of another version with ErrSchema.
func openDatabase(ctx context.Context, path string) (*database, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if err := createDatabase(ctx, path); err != nil {
			return nil, fmt.Errorf("make the Temporal database %s: %w", path, err)
		}
	} else if err != nil {
		return nil, fmt.Errorf("look for the Temporal database: %w", err)
	}
	if err := checkStamp(ctx, path); err != nil {
		return nil, err
	}
	return &database{path: path, sql: sqlConfig(path, map[string]string{
		"journal_mode": "wal",
		"synchronous":  "full", // an acknowledged write survives a power cut
		"busy_timeout": "10000",
	})}, nil
}

// createDatabase makes the file under another name and moves it into place when
// it is whole: setting up the schema is not one transaction.
func createDatabase(ctx context.Context, path string) (err error) {
	fresh := path + ".new"
	for _, p := range []string{fresh, fresh + "-journal", path + "-wal", path + "-shm"} {
		// A write-ahead log without its database is left over from a deleted one,
		// and would be replayed into the new file.
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	db := &database{path: fresh, sql: sqlConfig(fresh, map[string]string{"synchronous": "off"})}
	if err := sqlite.SetupSchema(db.sql); err != nil {
		return withClose(err, db)
	}
	if err := db.Close(); err != nil {
		return err
	}
	if err := writeStamp(ctx, fresh); err != nil {
		return err
	}
	return replaceFile(fresh, path)
}

// sqlConfig names a database to the server's SQLite plugin. The plugin keeps one
// connection pool per connection string for the life of the process; the unique
// value of setup (which has a meaning only when it is "true") gives each start a
// pool of its own, so that a file that was deleted is not written to any more.
func sqlConfig(path string, pragmas map[string]string) *config.SQL {
	attributes := map[string]string{"mode": "rwc", "setup": uuid.NewString()}
	for k, v := range pragmas {
		attributes[k] = v
	}
	return &config.SQL{PluginName: sqliteplugin.PluginName, DatabaseName: path, ConnectAttributes: attributes}
}

// createNamespace writes the namespace unless it exists.
func (d *database) createNamespace(name string, retention time.Duration, attributes map[string]enumspb.IndexedValueType) error {
	ns, err := sqlite.NewNamespaceConfig(clusterName, name, false, attributes)
	if err != nil {
		return fmt.Errorf("describe the namespace %q: %w", name, err)
	}
	ns.Detail.Config.Retention = durationpb.New(retention)
	if err := sqlite.CreateNamespaces(d.sql, ns); err != nil {
		return fmt.Errorf("create the namespace %q: %w", name, err)
	}
	return nil
}

// Close closes the connections to the file. The plugin never does, and a
// connection to a file that was deleted meanwhile would, when it is closed at
// last, remove the write-ahead log of the file that took its place.
func (d *database) Close() error {
	d.once.Do(func() {
		if d.err = closePool(d.sql); d.err != nil {
			d.err = fmt.Errorf("close the Temporal database %s: %w", d.path, d.err)
		}
	})
	return d.err
}

func closePool(cfg *config.SQL) error {
	admin, err := temporalsql.NewSQLAdminDB(sqlplugin.DbKindUnknown, cfg, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return err
	}
	// The pool can be had only from the plugin's unexported field.
	v := reflect.ValueOf(admin)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("unexpected database type %T", admin)
	}
	field := v.Elem().FieldByName("db")
	if !field.IsValid() || field.Kind() != reflect.Pointer {
		return fmt.Errorf("no connection pool in %T", admin)
	}
	pool, ok := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Interface().(io.Closer)
	if !ok {
		return fmt.Errorf("the connection pool of %T is a %s, which cannot be closed", admin, field.Type())
	}
	return pool.Close()
}

// stamp names what made a database. There is no migration for SQLite, and the
// stored data follow the minor version of the server.
func stamp() string {
	minor := headers.ServerVersion[:strings.LastIndexByte(headers.ServerVersion, '.')]
	return fmt.Sprintf("Temporal server %s, schema %s, visibility schema %s", minor, sqlite.Version, sqlite.VisibilityVersion)
}

func writeStamp(ctx context.Context, path string) error {
	return withSQL(path, func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, `CREATE TABLE ratchet_stamp (made_by TEXT NOT NULL)`); err != nil {
			return err
		}
		_, err := db.ExecContext(ctx, `INSERT INTO ratchet_stamp VALUES (?)`, stamp())
		return err
	})
}

func checkStamp(ctx context.Context, path string) error {
	found := "an unknown version"
	err := withSQL(path, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, `SELECT made_by FROM ratchet_stamp`).Scan(&found)
	})
	if err != nil && !strings.Contains(err.Error(), "no such table") && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("read the version of the Temporal database %s: %w", path, err)
	}
	if found != stamp() {
		return &SchemaError{Path: path, Found: found, Want: stamp()}
	}
	return nil
}

func withSQL(path string, f func(*sql.DB) error) error {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer db.Close()
	return f(db)
}
