// Package repo reads and writes git repositories with go-git and no git binary.
//
// Objects are read with go-git. Refs are written with git's own lock-file
// protocol (go-git's loses updates against the git command and tears files when
// it is killed), and new objects are on disk before a ref names them.
package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

const (
	readers     = 4        // object readers of one repository; each has file handles and a cache
	readerCache = 48 << 20 // bytes of objects that one reader keeps
)

// Repo is an open repository. It is safe for concurrent use, also by other
// processes and by the git command on the same files.
type Repo struct {
	layout  layout
	refs    refStore
	readers chan *filesystem.Storage // nil entries are opened when needed
	closing sync.Mutex               // two calls of Close would wait for each other's readers
	trees   *treeCache
}

// Open opens the repository at path: bare, a work tree or a linked one. Nothing
// is written. Formats that cannot be read are ErrUnsupported.
func Open(ctx context.Context, path string) (*Repo, error) {
	if err := ctx.Err(); err != nil {
		return nil, fail("open", path, err)
	}
	l, err := findLayout(path)
	if err != nil {
		return nil, err
	}
	return newRepo(l), nil
}

func newRepo(l layout) *Repo {
	r := &Repo{
		layout:  l,
		refs:    refStore{gitDir: l.gitDir, commonDir: l.commonDir},
		readers: make(chan *filesystem.Storage, readers),
		trees:   newTreeCache(),
	}
	for range readers {
		r.readers <- nil
	}
	return r
}

// Init makes an empty bare repository at path, with main as its branch. A
// repository that is there already is left as it is.
func Init(ctx context.Context, path string) error {
	if _, ok, err := layoutAt(path); ok || err != nil {
		return err
	}
	return buildBare(ctx, path, func(string) (refSet, error) {
		return refSet{head: "ref: refs/heads/main"}, nil
	})
}

// Path is the folder that holds objects and refs.
func (r *Repo) Path() string { return r.layout.commonDir }

// Close closes the files that readers keep open. Calls in progress finish
// first; the repository stays usable and opens them again when needed.
func (r *Repo) Close() error {
	r.closing.Lock()
	defer r.closing.Unlock()
	var errs []error
	for range readers {
		if s := <-r.readers; s != nil {
			errs = append(errs, s.Close())
		}
	}
	for range readers {
		r.readers <- nil
	}
	return errors.Join(errs...)
}

// read lends a reader to fn. Readers keep an index of the packs, so after an
// outside repack an object may seem to be gone: fn then runs once more with a
// new reader, and must be written to start over.
func (r *Repo) read(ctx context.Context, fn func(s *filesystem.Storage) error) (err error) {
	var s *filesystem.Storage
	select {
	case s = <-r.readers:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { r.readers <- s }()
	if s != nil {
		if err := fn(s); !stale(err) {
			return err
		}
		_ = s.Close() // it only read
	}
	s = openStorage(r.layout.commonDir)
	return fn(s)
}

func stale(err error) bool {
	return errors.Is(err, plumbing.ErrObjectNotFound) || errors.Is(err, dotgit.ErrPackfileNotFound) ||
		errors.Is(err, dotgit.ErrIdxNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrClosed)
}

func openStorage(commonDir string) *filesystem.Storage {
	return filesystem.NewStorageWithOptions(osfs.New(commonDir), cache.NewObjectLRU(readerCache), filesystem.Options{
		KeepDescriptors: true,
		AlternatesFS:    osfs.New(string(filepath.Separator)),
	})
}

// commitObject reads a commit. A hash that is not there is ErrNoRef.
func commitObject(s *filesystem.Storage, hash string) (*object.Commit, error) {
	if err := checkHash("commit", hash); err != nil {
		return nil, err
	}
	c, err := object.GetCommit(s, plumbing.NewHash(hash))
	if err != nil {
		return nil, missing("read commit", hash, err)
	}
	return c, nil
}

// missing marks an absent object as ErrNoRef, keeping the cause, by which read
// knows that it should look again.
func missing(op, object string, err error) error {
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		err = fmt.Errorf("%w: %w", ErrNoRef, err)
	}
	return fail(op, object, err)
}

// damaged marks an object that must be there and cannot be read as ErrCorrupt.
func damaged(op, object string, err error) error {
	return fail(op, object, fmt.Errorf("%w: %w", ErrCorrupt, err))
}

func (r *Repo) commit(ctx context.Context, hash string) (c *object.Commit, err error) {
	err = r.read(ctx, func(s *filesystem.Storage) error {
		c, err = commitObject(s, hash)
		return err
	})
	return c, fail("read commit", hash, err)
}

// TreeHash returns the hash of a commit's tree.
func (r *Repo) TreeHash(ctx context.Context, commit string) (string, error) {
	c, err := r.commit(ctx, commit)
	if err != nil {
		return "", err
	}
	return c.TreeHash.String(), nil
}

// Parent returns a commit's first parent, or "" for a root commit.
func (r *Repo) Parent(ctx context.Context, commit string) (string, error) {
	c, err := r.commit(ctx, commit)
	if err != nil || len(c.ParentHashes) == 0 {
		return "", err
	}
	return c.ParentHashes[0].String(), nil
}

func readBlob(s *filesystem.Storage, h plumbing.Hash) ([]byte, error) {
	o, err := s.EncodedObject(plumbing.BlobObject, h)
	if err != nil {
		return nil, err
	}
	rd, err := o.Reader()
	if err != nil {
		return nil, err
	}
	data := make([]byte, o.Size())
	_, err = io.ReadFull(rd, data)
	return data, errors.Join(err, rd.Close())
}

// exists reports whether there is anything at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
