package devstack_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/devstack"
)

func TestLockCountsItsOwners(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on", "demand")
	first, err := devstack.Acquire(dir)
	require.NoError(t, err)
	require.EqualValues(t, 1, first.Epoch())
	require.NotEmpty(t, first.Stack())

	_, err = devstack.Acquire(dir)
	require.ErrorIs(t, err, devstack.ErrLocked)
	var held *devstack.LockedError
	require.ErrorAs(t, err, &held)
	require.Equal(t, os.Getpid(), held.Pid)
	require.False(t, held.Since.IsZero())

	require.NoError(t, first.Release())
	require.NoError(t, first.Release())
	second, err := devstack.Acquire(dir)
	require.NoError(t, err)
	require.EqualValues(t, 2, second.Epoch(), "the refused attempt takes no epoch")
	require.Equal(t, first.Stack(), second.Stack())
	require.NoError(t, second.Release())
	var none *devstack.Lock
	require.NoError(t, none.Release())
}

// A lock that its owner no longer refers to is held all the same.
func TestForgottenLockIsHeld(t *testing.T) {
	dir := t.TempDir()
	_, err := devstack.Acquire(dir)
	require.NoError(t, err)
	runtime.GC()
	runtime.GC() // the first queues the finalizers
	_, err = devstack.Acquire(dir)
	require.ErrorIs(t, err, devstack.ErrLocked)
}

func TestLockRefusesADamagedEpoch(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "epoch"), []byte("seven"), 0o600))
	_, err := devstack.Acquire(dir)
	require.ErrorContains(t, err, "owner epoch")
	require.NoError(t, os.Remove(filepath.Join(dir, "epoch")))
	l, err := devstack.Acquire(dir) // the failed attempt gave the lock up
	require.NoError(t, err)
	require.NoError(t, l.Release())
}

func TestInfoTellsRunningFromLeftOver(t *testing.T) {
	dir := t.TempDir()
	_, _, err := devstack.ReadInfo(dir)
	require.ErrorIs(t, err, devstack.ErrNoInfo)

	l, err := devstack.Acquire(dir)
	require.NoError(t, err)
	want := devstack.Info{Pid: 1, TemporalAddress: "127.0.0.1:1", NATSURL: "nats://127.0.0.1:2", Namespace: "default", Stack: l.Stack(), Epoch: l.Epoch()}
	require.NoError(t, devstack.WriteInfo(dir, want))
	requireInfo(t, dir, want, true)

	require.NoError(t, l.Release())
	requireInfo(t, dir, want, false)

	next, err := devstack.Acquire(dir) // starting up, has written nothing yet
	require.NoError(t, err)
	defer next.Release()
	requireInfo(t, dir, want, false)
}

func requireInfo(t *testing.T, dir string, want devstack.Info, wantRunning bool) {
	t.Helper()
	got, running, err := devstack.ReadInfo(dir)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, wantRunning, running)
}

func TestDatabaseOfAnotherVersionIsRefused(t *testing.T) {
	for name, change := range map[string]string{
		"older":     `UPDATE ratchet_stamp SET made_by = 'Temporal server 1.20, schema 0.9, visibility schema 0.1'`,
		"unstamped": `DROP TABLE ratchet_stamp`,
		"emptied":   `DELETE FROM ratchet_stamp`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := devstack.Start(t.Context(), devstack.Config{Dir: dir})
			require.NoError(t, err)
			require.NoError(t, s.Stop(t.Context()))
			path := filepath.Join(dir, "temporal.db")
			execSQL(t, path, change)

			_, err = devstack.Start(t.Context(), devstack.Config{Dir: dir})
			require.ErrorIs(t, err, devstack.ErrSchema)
			require.ErrorContains(t, err, path)
			require.FileExists(t, path, "a refused database is not touched")
		})
	}
}

func execSQL(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), statement)
	require.NoError(t, err)
}

// A process that was killed while it made the database leaves a part of it under
// another name, and perhaps the log of a database that was deleted.
func TestHalfMadeDatabaseIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"temporal.db.new", "temporal.db.new-journal", "temporal.db-wal", "temporal.db-shm"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("half a database"), 0o600))
	}
	s := start(t, devstack.Config{Dir: dir})
	require.NotEmpty(t, s.TemporalAddress())
}
