package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"
)

// lockWait bounds the wait for another process's lock file. git holds one for
// milliseconds, so a lock that outlives this was left behind.
const lockWait = 10 * time.Second

// set is the compare-and-swap: old "" demands that the ref does not exist, new
// "" removes it. When the ref has the value new already, that is success.
//
// The lock file is created exclusively, holds the new value, is synced, and
// becomes the ref by rename: a crash leaves the old value or the new one, and
// at worst a lock file, which Recover clears.
func (s refStore) set(ctx context.Context, name, old, new string) error {
	lock, err := s.lock(ctx, s.path(name), new)
	if err != nil {
		return err
	}
	defer lock.release()
	current, exists, err := s.read(name)
	switch {
	case err != nil:
		return err
	case current.target != "":
		return &Error{Op: "set ref", Object: name, Err: fmt.Errorf("%w: it is a symbolic ref to %s", ErrUnsupported, current.target)}
	case current.hash == new:
		return nil
	case current.hash != old:
		return &Error{Op: "set ref", Object: name, Err: fmt.Errorf("%w: it is %s, expected %s", ErrConflict, orNone(current.hash), orNone(old))}
	}
	if new == "" {
		return s.remove(ctx, name)
	}
	if !exists {
		if err := s.checkRoom(name); err != nil {
			return err
		}
	}
	if err := lock.commit(); err != nil || exists {
		return err
	}
	return s.syncParents(name)
}

// syncParents makes the folders durable that a new ref may have needed.
func (s refStore) syncParents(name string) error {
	for dir := path.Dir(path.Dir(name)); dir != "."; dir = path.Dir(dir) {
		if err := syncDir(s.path(dir)); err != nil {
			return fail("sync", name, err)
		}
	}
	return nil
}

func orNone(hash string) string {
	if hash == "" {
		return "none"
	}
	return hash
}

// checkRoom refuses a name that is a folder of another ref, or the other way
// round: git could not store both.
func (s refStore) checkRoom(name string) error {
	packed, err := s.readPacked()
	if err != nil {
		return err
	}
	for other := range packed {
		if strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/") {
			return inTheWay(name, other)
		}
	}
	if !removeEmptyDirs(s.path(name)) {
		return inTheWay(name, name+"/…")
	}
	return nil
}

func inTheWay(name, other string) error {
	return &Error{Op: "set ref", Object: name, Err: fmt.Errorf("%w: the ref %s is in the way", ErrConflict, other)}
}

// removeEmptyDirs removes the folder at path if it holds nothing but empty
// folders, which refs leave behind, and reports whether the path is free.
func removeEmptyDirs(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return true
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if !e.IsDir() || !removeEmptyDirs(filepath.Join(path, e.Name())) {
			return false
		}
	}
	return os.Remove(path) == nil
}

// remove deletes a ref whose lock is held. packed-refs goes first: were the
// loose file removed first, a crash would bring an older packed value back.
func (s refStore) remove(ctx context.Context, name string) error {
	packed, err := s.readPacked()
	if err != nil {
		return err
	}
	if _, ok := packed[name]; ok {
		if err := s.removePacked(ctx, name); err != nil {
			return err
		}
	}
	file := s.path(name)
	if err := os.Remove(file); err != nil && !absent(err) {
		return fail("delete ref", name, err)
	}
	return fail("delete ref", name, syncDir(filepath.Dir(file)))
}

func (s refStore) removePacked(ctx context.Context, name string) error {
	lock, err := s.lock(ctx, s.packedPath(), "")
	if err != nil {
		return err
	}
	defer lock.release()
	packed, err := s.readPacked() // again, now that nobody else writes it
	if err != nil {
		return err
	}
	delete(packed, name)
	if err := lock.write(formatPacked(packed)); err != nil {
		return err
	}
	return lock.commit()
}

// formatPacked writes refs in the format of packed-refs, claiming only that it is sorted.
func formatPacked(refs map[string]string) string {
	names := make([]string, 0, len(refs))
	for name := range refs {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	b.WriteString("# pack-refs with: sorted \n")
	for _, name := range names {
		fmt.Fprintf(&b, "%s %s\n", refs[name], name)
	}
	return b.String()
}

// refLock is a held lock file. It ends with commit or release; release after
// commit does nothing.
type refLock struct {
	target string
	f      *os.File
	done   bool
}

// lock creates target.lock with the given line in it, waiting while another
// process has it.
func (s refStore) lock(ctx context.Context, target, line string) (*refLock, error) {
	f, err := createLock(ctx, target)
	if err != nil {
		return nil, err
	}
	l := &refLock{target: target, f: f}
	if line != "" {
		if err := l.write(line + "\n"); err != nil {
			l.release()
			return nil, err
		}
	}
	return l, nil
}

func createLock(ctx context.Context, target string) (*os.File, error) {
	path := target + ".lock"
	deadline := time.Now().Add(lockWait)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		if err == nil {
			var f *os.File
			if f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err == nil {
				return f, nil
			}
		}
		switch {
		case errors.Is(err, syscall.ENOTDIR):
			return nil, inTheWay(target, filepath.Dir(path))
		case errors.Is(err, fs.ErrNotExist): // git removed an empty folder under us
		case !errors.Is(err, fs.ErrExist):
			return nil, fail("lock", target, err)
		case time.Now().After(deadline):
			return nil, &Error{Op: "lock", Object: target, Err: ErrLocked,
				Hint: "if no git command is running there, remove " + path}
		}
		if err := pause(ctx, wait/2+rand.N(wait)); err != nil {
			return nil, fail("lock", target, err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (l *refLock) write(s string) error {
	_, err := l.f.WriteString(s)
	return fail("write", l.f.Name(), err)
}

// commit makes the lock file the target, durably.
func (l *refLock) commit() error {
	err := l.f.Sync()
	if err == nil {
		err = os.Rename(l.f.Name(), l.target)
	}
	if err != nil {
		return fail("write", l.target, err)
	}
	l.done = true
	return fail("sync", l.target, errors.Join(l.f.Close(), syncDir(filepath.Dir(l.target))))
}

func (l *refLock) release() {
	if l.done {
		return
	}
	l.done = true
	_ = l.f.Close()
	_ = os.Remove(l.f.Name())
}
