package devstack_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/devstack"
)

// TestInspect: a data folder is read in each state that it can be in, and stays as it is.
func TestInspect(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	state, err := devstack.Inspect(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, devstack.State{}, state)
	require.NoDirExists(t, dir)

	lock, err := devstack.Acquire(dir)
	require.NoError(t, err)
	s := start(t, devstack.Config{Dir: dir})
	state, err = devstack.Inspect(t.Context(), dir)
	require.NoError(t, err)
	require.True(t, state.Locked)
	require.Equal(t, os.Getpid(), state.Pid)
	require.False(t, state.Since.IsZero())
	require.EqualValues(t, 1, state.Epoch)
	require.Contains(t, state.Database, "Temporal server 1.")

	require.NoError(t, s.Stop(t.Context()))
	require.NoError(t, lock.Release())
	before := read(t, filepath.Join(dir, "temporal.db"))
	state, err = devstack.Inspect(t.Context(), dir)
	require.NoError(t, err)
	require.False(t, state.Locked)
	require.Zero(t, state.Pid, "nobody holds it")
	require.Equal(t, before, read(t, filepath.Join(dir, "temporal.db")))

	execSQL(t, filepath.Join(dir, "temporal.db"), `UPDATE ratchet_stamp SET made_by = 'Temporal server 1.20'`)
	state, err = devstack.Inspect(t.Context(), dir)
	require.ErrorIs(t, err, devstack.ErrSchema)
	require.EqualValues(t, 1, state.Epoch)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "epoch"), []byte("many"), 0o600))
	_, err = devstack.Inspect(t.Context(), dir)
	require.ErrorContains(t, err, "owner epoch")
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}
