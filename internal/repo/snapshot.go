package repo

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/model"
)

const (
	// maxSnapshot bounds the bytes of one snapshot, which is held in memory.
	maxSnapshot = 1 << 30
	// snapshotReaders is how many goroutines read blobs: more than two do not help.
	snapshotReaders = 2
	// cachedTrees and cachedBytes bound what is kept: parent, candidate and the
	// trusted tree of a campaign or two.
	cachedTrees = 6
	cachedBytes = 512 << 20
)

// Snapshot returns all files of a commit. Symbolic links are kept as links. A
// submodule is ErrUnsupported, anything that cannot be read an error: a
// snapshot is whole. File data is shared between callers and must not be modified.
func (r *Repo) Snapshot(ctx context.Context, commit string) (model.Tree, error) {
	hash, err := r.TreeHash(ctx, commit)
	if err != nil {
		return model.Tree{}, err
	}
	if t, ok := r.trees.get(hash); ok {
		return t, nil
	}
	t, err := r.snapshot(ctx, hash)
	if err != nil {
		return model.Tree{}, fail("read the files of", commit, err)
	}
	r.trees.put(t)
	return t, nil
}

func (r *Repo) snapshot(ctx context.Context, hash string) (model.Tree, error) {
	var entries []fileEntry
	err := r.read(ctx, func(s *filesystem.Storage) (err error) {
		entries, err = listFiles(s, plumbing.NewHash(hash))
		return err
	})
	if err != nil {
		return model.Tree{}, err
	}
	files, err := r.readFiles(ctx, entries)
	if err != nil {
		return model.Tree{}, err
	}
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path }) // git's order differs: a.b before a/b
	return model.Tree{Hash: hash, Files: files}, nil
}

type fileEntry struct {
	path string
	mode uint32
	hash plumbing.Hash
}

func listFiles(s *filesystem.Storage, tree plumbing.Hash) ([]fileEntry, error) {
	var out []fileEntry
	err := walkTree(s, tree, "", 0, func(path string, e object.TreeEntry) error {
		mode, err := fileMode(path, e.Mode)
		out = append(out, fileEntry{path: path, mode: mode, hash: e.Hash})
		return err
	})
	return out, err
}

func fileMode(path string, m filemode.FileMode) (uint32, error) {
	switch m {
	case filemode.Regular, filemode.Deprecated:
		return model.ModeFile, nil
	case filemode.Executable:
		return model.ModeExec, nil
	case filemode.Symlink:
		return model.ModeSymlink, nil
	case filemode.Submodule:
		return 0, &Error{Op: "read", Object: path, Err: errSubmodule, Hint: "copy its files into the repository"}
	}
	return 0, damaged("read", path, fmt.Errorf("unknown mode %s", m))
}

// readFiles reads the blobs in a few goroutines, each with its own reader,
// which take runs of neighbours: those tend to be neighbours in a pack too.
func (r *Repo) readFiles(ctx context.Context, entries []fileEntry) ([]model.File, error) {
	const run = 64
	files := make([]model.File, len(entries))
	var next, size atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range snapshotReaders {
		g.Go(func() error {
			for {
				from := int(next.Add(run)) - run
				if from >= len(entries) {
					return nil
				}
				to := min(from+run, len(entries))
				if err := r.readRun(ctx, entries[from:to], files[from:to], &size); err != nil {
					return err
				}
			}
		})
	}
	return files, g.Wait()
}

func (r *Repo) readRun(ctx context.Context, entries []fileEntry, files []model.File, size *atomic.Int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.read(ctx, func(s *filesystem.Storage) error {
		for i, e := range entries {
			if files[i].Data != nil {
				continue // read before the reader had to be renewed
			}
			data, err := readBlob(s, e.hash)
			if err != nil {
				return damaged("read", e.path, err)
			}
			if size.Add(int64(len(data))) > maxSnapshot {
				return fail("read", e.path, fmt.Errorf("%w: the tree is larger than %d bytes", ErrUnsupported, maxSnapshot))
			}
			files[i] = model.File{Path: e.path, Mode: e.mode, Data: data}
		}
		return nil
	})
}

// treeCache keeps the snapshots used last, bounded in number and bytes.
type treeCache struct {
	mu    sync.Mutex
	trees []model.Tree // the one used last is first
}

func newTreeCache() *treeCache { return &treeCache{} }

func (c *treeCache) get(hash string) (model.Tree, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, t := range c.trees {
		if t.Hash == hash {
			copy(c.trees[1:i+1], c.trees[:i])
			c.trees[0] = t
			return t, true
		}
	}
	return model.Tree{}, false
}

func (c *treeCache) put(t model.Tree) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := []model.Tree{t}
	total := treeBytes(t)
	for _, old := range c.trees {
		total += treeBytes(old)
		if old.Hash != t.Hash && len(kept) < cachedTrees && total <= cachedBytes {
			kept = append(kept, old)
		}
	}
	c.trees = kept
}

func treeBytes(t model.Tree) int64 {
	n := int64(0)
	for _, f := range t.Files {
		n += int64(len(f.Data)) + 100
	}
	return n
}
