package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Store keeps each blob as a file of a folder: <dir>/<2 digits>/<62 digits>.
type Store struct {
	dir string
}

var _ Blobs = (*Store)(nil)

const (
	tempDir = "tmp"
	// staleTemp is the age at which a temporary file belongs to a writer that died.
	staleTemp = time.Hour
)

// Open opens the folder, creating it where it is missing, and removes what
// writers that were killed left behind. There is nothing to close.
func Open(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(filepath.Join(abs, tempDir), 0o755)
	}
	if err != nil {
		return nil, wrap("open", dir, err)
	}
	s := &Store{dir: abs}
	return s, wrap("open", dir, s.sweep(time.Now().Add(-staleTemp)))
}

// sweep removes temporary files last written before the given time.
func (s *Store) sweep(before time.Time) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, tempDir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // its writer has finished
		}
		if err != nil {
			return err
		}
		if info.ModTime().Before(before) {
			if err := remove(filepath.Join(s.dir, tempDir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Put implements Blobs. A file that is there but damaged is replaced.
func (s *Store) Put(ctx context.Context, data []byte) (string, error) {
	ref := Ref(data)
	if err := ctx.Err(); err != nil {
		return "", wrap("put", ref, err)
	}
	hash, _ := digits(ref)
	path := s.path(hash)
	if err := s.write(path, data); err != nil {
		return "", wrap("put", ref, err)
	}
	return ref, nil
}

// write makes the file and every name on the way to it durable. The folders are
// synced also when the file is there: another writer may be between its rename
// and its sync.
func (s *Store) write(path string, data []byte) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !bytes.Equal(old, data) {
		if err := s.replace(path, data); err != nil {
			return err
		}
	}
	return errors.Join(syncDir(filepath.Dir(path)), syncDir(s.dir))
}

func (s *Store) replace(path string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Join(s.dir, tempDir), "put-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o444)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Get implements Blobs.
func (s *Store) Get(ctx context.Context, ref string) ([]byte, error) {
	hash, ok := digits(ref)
	if !ok {
		return nil, &Error{Op: "get", Object: fmt.Sprintf("%.80q", ref), Err: ErrInvalid}
	}
	if err := ctx.Err(); err != nil {
		return nil, wrap("get", ref, err)
	}
	data, err := os.ReadFile(s.path(hash))
	if err != nil {
		return nil, wrap("get", ref, err)
	}
	if Ref(data) != ref {
		return nil, &Error{Op: "get", Object: ref, Err: ErrCorrupt, Hint: "put it again, or restore the file from a copy"}
	}
	return data, nil
}

func (s *Store) path(hash string) string {
	return filepath.Join(s.dir, hash[:2], hash[2:])
}

func wrap(op, object string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &Error{Op: op, Object: object, Err: fmt.Errorf("%w: %w", ErrNotFound, err)}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &Error{Op: op, Object: object, Err: fmt.Errorf("%w: %w", ErrNoSpace, err),
			Hint: "free some disk space, then go on: nothing that was stored is lost"}
	}
	return &Error{Op: op, Object: object, Err: err}
}
