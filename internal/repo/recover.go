package repo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Recover makes the repository usable after a crash: it removes lock files and
// half-written objects that killed processes left behind, and refs whose files
// are empty or torn. Such refs are reported as a *TornError: the repository can
// be used, but the caller must set them again.
//
// The caller must be the only user of the repository: a lock that is in use
// would be removed too.
func (r *Repo) Recover(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fail("recover", r.Path(), err)
	}
	if err := errors.Join(r.removeLocks(), removeTemporary(r.layout.objects())); err != nil {
		return fail("recover", r.Path(), err)
	}
	torn, err := r.removeTorn()
	if err != nil {
		return fail("recover", r.Path(), err)
	}
	if len(torn) > 0 {
		return &TornError{Refs: torn}
	}
	return nil
}

func (r *Repo) removeLocks() error {
	var locks []string
	for _, name := range []string{"HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock"} {
		locks = append(locks, filepath.Join(r.layout.commonDir, name))
	}
	err := r.refs.walk(func(name string) error {
		if strings.HasSuffix(name, ".lock") {
			locks = append(locks, r.refs.path(name))
		}
		return nil
	})
	for _, path := range locks {
		if e := os.Remove(path); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

func (r *Repo) removeTorn() ([]TornRef, error) {
	var torn []TornRef
	dirs := map[string]bool{}
	err := r.refs.walk(func(name string) error {
		path := r.refs.path(name)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, ok := parseRef(string(data)); ok {
			return nil
		}
		dirs[filepath.Dir(path)] = true
		torn = append(torn, TornRef{Name: name, Content: string(data[:min(len(data), 64)])})
		return os.Remove(path)
	})
	if err != nil || len(torn) == 0 {
		return nil, err
	}
	for dir := range dirs {
		if err := syncDir(dir); err != nil {
			return nil, err
		}
	}
	packed, err := r.refs.readPacked()
	for i := range torn {
		torn[i].Now = packed[torn[i].Name]
	}
	sort.Slice(torn, func(i, j int) bool { return torn[i].Name < torn[j].Name })
	return torn, err
}
