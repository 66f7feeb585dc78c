package devstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
)

// Lock is the ownership of a data folder. It lasts until Release, or until the
// process dies. Its methods are safe for concurrent use.
type Lock struct {
	dir   string
	stack string
	epoch int64
	file  *fileLock
}

// owner is the sidecar file that says who holds the lock; it is for people only.
type owner struct {
	Pid   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// Acquire takes the lock on dir, which is made when it does not exist, and
// begins the next owner epoch. It does not wait: when another process, or this
// one, holds the lock, the error is a LockedError. The number of the epoch is on
// disk before Acquire returns, so that no two owners ever share one.
func Acquire(dir string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("devstack: make the data folder: %w", err)
	}
	file, err := tryLock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("devstack: lock the data folder %s: %w", dir, err)
	}
	if file == nil {
		o := readOwner(dir)
		return nil, &LockedError{Path: dir, Pid: o.Pid, Since: o.Since}
	}
	l := &Lock{dir: dir, file: file}
	if err := l.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("devstack: own the data folder %s: %w", dir, err), file.unlock())
	}
	return l, nil
}

func (l *Lock) begin() (err error) {
	if l.stack, err = stackID(filepath.Join(l.dir, "stack-id")); err != nil {
		return err
	}
	if l.epoch, err = nextEpoch(l.dir); err != nil {
		return err
	}
	data, err := json.Marshal(owner{Pid: os.Getpid(), Since: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(l.dir, "owner.json"), data)
}

// Stack is the identity of the data folder: random, made once.
func (l *Lock) Stack() string { return l.stack }

// Epoch counts the owners of the data folder, from 1.
func (l *Lock) Epoch() int64 { return l.epoch }

// Release gives the folder up. It may be called twice, and on a nil Lock.
func (l *Lock) Release() error {
	if l == nil {
		return nil
	}
	if err := l.file.unlock(); err != nil {
		return fmt.Errorf("devstack: release the data folder %s: %w", l.dir, err)
	}
	return nil
}

// locked says whether somebody holds the lock on dir.
func locked(dir string) (bool, error) {
	path := filepath.Join(dir, "lock")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	probe := flock.New(path)
	// A shared lock leaves other probes alone.
	ok, err := probe.TryRLock()
	if err != nil || !ok {
		return !ok, err
	}
	return false, probe.Unlock()
}

func stackID(path string) (string, error) {
	data, err := os.ReadFile(path)
	if id := strings.TrimSpace(string(data)); err == nil && id != "" {
		return id, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	id := strings.ReplaceAll(uuid.NewString(), "-", "")[:12]
	return id, writeFile(path, []byte(id+"\n"))
}

func nextEpoch(dir string) (int64, error) {
	epoch, err := currentEpoch(dir)
	if err != nil {
		return 0, err
	}
	epoch++
	return epoch, writeFile(epochPath(dir), []byte(strconv.FormatInt(epoch, 10)+"\n"))
}

func epochPath(dir string) string { return filepath.Join(dir, "epoch") }

// currentEpoch is that of the last owner, 0 when there was none.
func currentEpoch(dir string) (int64, error) {
	data, err := os.ReadFile(epochPath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	epoch, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the owner epoch in %s (write a number larger than any before): %w", epochPath(dir), err)
	}
	return epoch, nil
}

func readOwner(dir string) owner {
	var o owner
	// The file is advice for people: when it cannot be read, nobody is named.
	if data, err := os.ReadFile(filepath.Join(dir, "owner.json")); err == nil && json.Unmarshal(data, &o) != nil {
		return owner{}
	}
	return o
}
