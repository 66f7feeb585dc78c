package store

import (
	"context"
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// newer is the migrations of a later ratchet: one more than this one has.
func newer(t *testing.T) fs.FS {
	t.Helper()
	files := fstest.MapFS{"99999_later.sql": {Data: []byte("-- +goose Up\nALTER TABLE campaigns ADD COLUMN later TEXT NOT NULL DEFAULT 'x';\n")}}
	ours, err := fs.Glob(embedded(), "*.sql")
	require.NoError(t, err)
	for _, name := range ours {
		data, err := fs.ReadFile(embedded(), name)
		require.NoError(t, err)
		files[name] = &fstest.MapFile{Data: data}
	}
	return files
}

func TestMigrateForwardRefuseBackward(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Config) {
		ctx := context.Background()
		s := open(t, cfg)
		campaign(t, s, "c")
		ours, err := s.SchemaVersion(ctx)
		require.NoError(t, err)
		require.Positive(t, ours)
		require.NoError(t, s.Close())

		later := cfg
		later.migrations = newer(t)
		later.ReadOnly = true
		_, err = Open(ctx, later)
		require.ErrorIs(t, err, ErrOlder, "a reader does not migrate")
		later.ReadOnly = false
		s = open(t, later)
		v, err := s.SchemaVersion(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 99999, v)
		c, err := s.Campaign(ctx, "c")
		require.NoError(t, err)
		require.Equal(t, "c", c.Name, "what was stored is still there")
		require.NoError(t, s.Close())

		before := contents(t, cfg)
		for _, readOnly := range []bool{true, false} {
			cfg.ReadOnly = readOnly
			_, err = Open(ctx, cfg)
			require.ErrorIs(t, err, ErrNewer)
			require.ErrorContains(t, err, "upgrade ratchet")
		}
		require.Equal(t, before, contents(t, cfg), "nothing was changed")
		s = open(t, later)
		_, err = s.Campaign(ctx, "c")
		require.NoError(t, err)
	})
}

// contents is the database file; empty for PostgreSQL.
func contents(t *testing.T, cfg Config) []byte {
	t.Helper()
	if cfg.Path == "" {
		return nil
	}
	data, err := os.ReadFile(cfg.Path)
	require.NoError(t, err)
	return data
}

func TestProcessesThatMigrateAtOnce(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Config) {
		errs := make(chan error, 6)
		for range 6 {
			go func() {
				s, err := Open(context.Background(), cfg)
				if err == nil {
					err = s.Close()
				}
				errs <- err
			}()
		}
		for range 6 {
			require.NoError(t, <-errs)
		}
		_, err := open(t, cfg).Campaigns(context.Background())
		require.NoError(t, err)
	})
}

func TestOpenRefusesWhatIsNoStore(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o644))
		return path
	}
	good := filepath.Join(dir, "good.db")
	s, err := Open(context.Background(), Config{Path: good})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	whole, err := os.ReadFile(good)
	require.NoError(t, err)

	for name, c := range map[string]struct {
		cfg  Config
		want error
	}{
		"text":      {Config{Path: write("text.db", []byte("this is not a database, and it is long enough to be read as one"))}, ErrCorrupt},
		"torn":      {Config{Path: write("torn.db", whole[:len(whole)/2+100])}, ErrCorrupt},
		"folder":    {Config{Path: dir}, ErrInvalid},
		"no folder": {Config{Path: filepath.Join(dir, "none", "x.db")}, ErrNotFound},
		"no path":   {Config{}, ErrInvalid},
		"no DSN":    {Config{Driver: Postgres}, ErrInvalid},
		"bad DSN":   {Config{Driver: Postgres, DSN: "port=banana"}, ErrInvalid},
		"no driver": {Config{Driver: "mysql", Path: "x"}, ErrInvalid},
	} {
		_, err := Open(context.Background(), c.cfg)
		require.ErrorIs(t, err, c.want, name)
		var known *Error
		require.ErrorAs(t, err, &known, name)
		require.NotEmpty(t, known.Hint, name)
	}
	data, err := os.ReadFile(filepath.Join(dir, "text.db"))
	require.NoError(t, err)
	require.Equal(t, "this is not a database, and it is long enough to be read as one", string(data), "nothing was changed")
}

// A file that a crash left empty is a store without tables.
func TestOpenEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty #1 100%.db") // and the name is no URL
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	_, err := open(t, Config{Path: path}).Campaigns(context.Background())
	require.NoError(t, err)
}

func TestOpenWhereNoServerIs(t *testing.T) {
	_, err := Open(context.Background(), Config{Driver: Postgres, DSN: "host=" + t.TempDir() + " user=x password=secret dbname=x"})
	var known *Error
	require.ErrorAs(t, err, &known)
	require.Contains(t, known.Hint, "PostgreSQL")
	require.NotContains(t, err.Error(), "secret")
}

func TestSQLiteSettings(t *testing.T) {
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "x.db")})
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "10000"} {
		var got string
		require.NoError(t, s.writer.QueryRow("PRAGMA "+pragma).Scan(&got))
		require.Equal(t, want, got, pragma)
	}
	_, err := s.readers.Exec("DELETE FROM campaigns")
	require.ErrorIs(t, wrap("", "", err), ErrReadOnly)
}

func TestDiskFull(t *testing.T) {
	ctx := context.Background()
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "x.db")})
	campaign(t, s, "c")
	// The limit makes SQLite fail as it does when a write has no room.
	_, err := s.writer.ExecContext(ctx, "PRAGMA max_page_count = 80")
	require.NoError(t, err)
	round := 0
	for err == nil {
		_, err = s.SaveRun(ctx, Fence{}, RunKey{Campaign: "c", Round: round}, "t", someRun(50))
		round++
	}
	require.ErrorIs(t, err, ErrNoSpace)
	require.ErrorContains(t, err, "free some disk space")
	runs, err := s.Runs(ctx, "c", "")
	require.NoError(t, err)
	require.Len(t, runs, round-1, "all that was stored is there, and nothing of the last")

	_, err = s.writer.ExecContext(ctx, "PRAGMA max_page_count = 100000")
	require.NoError(t, err)
	_, err = s.SaveRun(ctx, Fence{}, RunKey{Campaign: "c", Round: round - 1}, "t", someRun(50))
	require.NoError(t, err, "it goes on when there is room")
}

func TestBusy(t *testing.T) {
	ctx := context.Background()
	cfg := Config{Path: filepath.Join(t.TempDir(), "x.db"), Busy: 10 * time.Millisecond}
	one, two := open(t, cfg), open(t, cfg)
	err := one.write(ctx, "hold", "it", Fence{}, func(*sql.Tx) error {
		return two.CreateCampaign(ctx, model.Campaign{Name: "c"})
	})
	require.ErrorIs(t, err, ErrBusy)
	require.NoError(t, two.CreateCampaign(ctx, model.Campaign{Name: "c"}))
}

// A write whose context ends is undone, and the store goes on.
func TestCancelledWrite(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		campaign(t, s, "c")
		ctx, cancel := context.WithCancel(context.Background())
		_, err := s.UpdateCampaign(ctx, Fence{}, "c", func(c *model.Campaign) error { c.Phase = "lost"; cancel(); return nil })
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.Campaigns(ctx)
		require.ErrorIs(t, err, context.Canceled)
		c, err := s.UpdateCampaign(context.Background(), Fence{}, "c", func(*model.Campaign) error { return nil })
		require.NoError(t, err)
		require.Empty(t, c.Phase)
	})
}

func TestCloseTwice(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg)
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		_, err := s.Campaigns(context.Background())
		require.Error(t, err)
		require.Error(t, s.CreateCampaign(context.Background(), model.Campaign{Name: "c"}))
	})
}

func TestPostgresErrors(t *testing.T) {
	for code, want := range map[string]error{"53100": ErrNoSpace, "40P01": ErrBusy, "55P03": ErrBusy, "25006": ErrReadOnly, "XX001": ErrCorrupt, "22021": ErrInvalid} {
		_, kind := classifyPostgres(code)
		require.ErrorIs(t, kind, want, code)
	}
	_, kind := classifyPostgres("42601")
	require.NoError(t, kind, "an error in our own SQL is of no kind")
}
