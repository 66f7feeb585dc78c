package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// bareConfig is the whole configuration of a repository that ratchet makes.
// Automatic packing is off: pruning would race with objects not yet named by a ref.
const bareConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
[gc]
	auto = 0
[receive]
	autogc = false
`

// refSet is what a new repository points to.
type refSet struct {
	head string            // content of HEAD: a hash, or "ref: " and a name
	refs map[string]string // full name to hash
}

// buildBare makes a bare repository at dst in one step: fill puts objects into a
// folder beside it, which then is renamed. When another process was faster, its
// repository is the result.
func buildBare(ctx context.Context, dst string, fill func(tmp string) (refSet, error)) (err error) {
	parent := filepath.Dir(dst)
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return fail("make", dst, err)
	}
	tmp, release, err := temporary(parent, "."+filepath.Base(dst)+".new-")
	if err != nil {
		return fail("make", dst, err)
	}
	defer release()
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(tmp, filepath.FromSlash(dir)), 0o777); err != nil {
			return fail("make", dst, err)
		}
	}
	set, err := fill(tmp)
	if err != nil {
		return err
	}
	if err := errors.Join(ctx.Err(), set.write(tmp), syncTree(tmp)); err != nil {
		return fail("make", dst, err)
	}
	return publish(tmp, dst)
}

// publish renames a complete repository to its place, durably.
func publish(tmp, dst string) error {
	if err := os.Rename(tmp, dst); err != nil {
		if _, ok, _ := layoutAt(dst); ok {
			return nil
		}
		if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.ENOTDIR) {
			return &Error{Op: "make", Object: dst, Err: fmt.Errorf("%w: something else is there", ErrConflict), Hint: "move it away"}
		}
		return fail("make", dst, err)
	}
	return fail("make", dst, syncDir(filepath.Dir(dst)))
}

func (s refSet) write(dir string) error {
	files := map[string]string{"HEAD": s.head + "\n", "config": bareConfig}
	if len(s.refs) > 0 {
		files["packed-refs"] = formatPacked(s.refs)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// temporary makes a folder that is removed by release, if it still has its
// name. It is locked while it is in use, so that those which a killed process
// left behind can be told and are removed here.
func temporary(parent, prefix string) (dir string, release func(), err error) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return "", nil, err
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), prefix) {
			removeStale(filepath.Join(parent, e.Name()))
		}
	}
	for range 10 { // another process may take a folder not locked yet for a stale one
		dir, err = os.MkdirTemp(parent, prefix)
		if err != nil {
			return "", nil, err
		}
		lock, err := lockDir(dir)
		if err != nil {
			continue
		}
		// MkdirTemp makes a private folder; a repository has the usual permissions.
		if err := os.Chmod(dir, 0o755); err != nil {
			_ = lock.Close()
			continue
		}
		return dir, func() { _ = os.RemoveAll(dir); _ = lock.Close() }, nil
	}
	return "", nil, fmt.Errorf("%w: temporary folders in %s", ErrLocked, parent)
}

// lockDir takes the lock on a folder without waiting; closing gives it back, as does the end of the process.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// removeStale removes a temporary folder that nobody uses. Failing is no harm:
// the next call tries again.
func removeStale(dir string) {
	lock, err := lockDir(dir)
	if err != nil {
		return
	}
	_ = os.RemoveAll(dir)
	_ = lock.Close()
}
