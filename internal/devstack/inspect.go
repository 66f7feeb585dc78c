package devstack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// State is what a data folder says of itself.
type State struct {
	Locked bool      // somebody holds its Lock
	Pid    int       // who does; 0 when it is not known
	Since  time.Time // zero when it is not known
	Epoch  int64     // of the last owner; 0 when there was none
	// Database is the version that made the Temporal database, which is this
	// binary's; empty when there is no database yet.
	Database string
}

// Inspect reads the state of a data folder, which need not exist, and changes
// nothing. It fails with ErrSchema when this binary cannot open the Temporal
// database; what it had read by then comes back too.
func Inspect(ctx context.Context, dir string) (State, error) {
	var s State
	var err error
	if s.Locked, err = locked(dir); err != nil {
		return s, fmt.Errorf("devstack: probe the lock on %s: %w", dir, err)
	}
	if s.Locked {
		o := readOwner(dir)
		s.Pid, s.Since = o.Pid, o.Since
	}
	if s.Epoch, err = currentEpoch(dir); err != nil {
		return s, fmt.Errorf("devstack: %w", err)
	}
	path := databasePath(dir)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return s, nil
	} else if err != nil {
		return s, fmt.Errorf("devstack: look for the Temporal database: %w", err)
	}
	if err := checkStamp(ctx, path); err != nil {
		return s, fmt.Errorf("devstack: %w", err)
	}
	s.Database = stamp()
	return s, nil
}

func databasePath(dir string) string { return filepath.Join(dir, "temporal.db") }
