package repo

import (
	"fmt"
	"io/fs"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"ratchet/internal/model"
)

// folder is a tree being edited; sub-folders are read when they are first needed.
type folder struct {
	entries map[string]*node
	dirty   bool
}

type node struct {
	mode filemode.FileMode
	hash plumbing.Hash
	sub  *folder // when it is a folder that was read
}

// treeEditor changes a tree in memory and writes the folders that changed.
type treeEditor struct {
	s    *filesystem.Storage
	w    *objectWriter
	root *folder
}

func newTreeEditor(s *filesystem.Storage, w *objectWriter, root plumbing.Hash) (*treeEditor, error) {
	f, err := readFolder(s, root, "")
	return &treeEditor{s: s, w: w, root: f}, err
}

// readFolder reads a folder; the zero hash is an empty one.
func readFolder(s *filesystem.Storage, h plumbing.Hash, path string) (*folder, error) {
	f := &folder{entries: map[string]*node{}}
	if h.IsZero() {
		return f, nil
	}
	entries, err := readTree(s, h, path)
	for _, e := range entries {
		f.entries[e.Name] = &node{mode: e.Mode, hash: e.Hash}
	}
	return f, err
}

func (n *node) folder(s *filesystem.Storage, path string) (*folder, error) {
	if n.sub == nil {
		f, err := readFolder(s, n.hash, path)
		if err != nil {
			return nil, err
		}
		n.sub = f
	}
	return n.sub, nil
}

// apply makes all edits: deletions first, so that a file can make room for a
// folder and the other way round.
func (t *treeEditor) apply(edits []model.Edit) error {
	seen := map[string]bool{}
	for _, e := range edits {
		if err := checkEdit(e); err != nil {
			return err
		}
		if seen[e.Path] {
			return misfit(e.Path, "there are two edits of it")
		}
		seen[e.Path] = true
	}
	for _, e := range edits {
		if e.Delete {
			if err := t.remove(e.Path); err != nil {
				return err
			}
		}
	}
	for _, e := range edits {
		if !e.Delete {
			if err := t.write(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkEdit(e model.Edit) error {
	if !fs.ValidPath(e.Path) || e.Path == "." {
		return invalidPath(e.Path, "it is not a clean relative path")
	}
	for _, part := range strings.Split(e.Path, "/") {
		if why := badName(part); why != "" {
			return invalidPath(e.Path, why)
		}
	}
	switch e.Mode {
	case 0, model.ModeFile, model.ModeExec, model.ModeSymlink:
		return nil
	}
	return invalidPath(e.Path, fmt.Sprintf("unknown mode %o", e.Mode))
}

func invalidPath(path, why string) error {
	return &Error{Op: "edit", Object: fmt.Sprintf("%q", path), Err: fmt.Errorf("%w: %s", ErrInvalid, why)}
}

// misfit says that an edit was made for another tree than this one.
func misfit(path, why string) error {
	return &Error{Op: "edit", Object: path, Err: fmt.Errorf("%w: %s", ErrConflict, why)}
}

// write puts a file with new content.
func (t *treeEditor) write(e model.Edit) error {
	h, err := t.w.blob(e.Data)
	if err != nil {
		return err
	}
	return t.put(e.Path, filemode.FileMode(e.Mode), h)
}

// put sets what is at a path to a blob; mode 0 keeps the mode that is there.
func (t *treeEditor) put(path string, mode filemode.FileMode, h plumbing.Hash) error {
	at := t.root
	parts := strings.Split(path, "/")
	for i, part := range parts[:len(parts)-1] {
		at.dirty = true
		n := at.entries[part]
		if n == nil {
			n = &node{mode: filemode.Dir, sub: &folder{entries: map[string]*node{}}}
			at.entries[part] = n
		}
		if n.mode != filemode.Dir {
			return misfit(path, strings.Join(parts[:i+1], "/")+" is not a folder")
		}
		sub, err := n.folder(t.s, path)
		if err != nil {
			return err
		}
		at = sub
	}
	name := parts[len(parts)-1]
	mode, err := newMode(path, at.entries[name], mode)
	if err != nil {
		return err
	}
	at.dirty = true
	at.entries[name] = &node{mode: mode, hash: h}
	return nil
}

func newMode(path string, old *node, mode filemode.FileMode) (filemode.FileMode, error) {
	if old != nil && (old.mode == filemode.Dir || old.mode == filemode.Submodule) {
		return 0, misfit(path, "it is not a file")
	}
	switch {
	case mode != 0:
		return mode, nil
	case old != nil:
		return old.mode, nil
	}
	return filemode.Regular, nil
}

// remove deletes a file, and the folders that it leaves empty.
func (t *treeEditor) remove(path string) error {
	parts := strings.Split(path, "/")
	chain := []*folder{t.root}
	for _, part := range parts[:len(parts)-1] {
		n := chain[len(chain)-1].entries[part]
		if n == nil || n.mode != filemode.Dir {
			return misfit(path, "there is no such file")
		}
		sub, err := n.folder(t.s, path)
		if err != nil {
			return err
		}
		chain = append(chain, sub)
	}
	last := chain[len(chain)-1].entries[parts[len(parts)-1]]
	if last == nil || last.mode == filemode.Dir {
		return misfit(path, "there is no such file")
	}
	for i := len(chain) - 1; i >= 0; i-- {
		chain[i].dirty = true
		if i == len(chain)-1 || len(chain[i+1].entries) == 0 {
			delete(chain[i].entries, parts[i])
		}
	}
	return nil
}

// save writes every folder that changed and returns the root's hash.
func (t *treeEditor) save() (plumbing.Hash, error) { return t.saveFolder(t.root) }

func (t *treeEditor) saveFolder(f *folder) (plumbing.Hash, error) {
	names := make([]string, 0, len(f.entries))
	for name := range f.entries {
		names = append(names, name)
	}
	sort.Strings(names)
	entries := make([]object.TreeEntry, 0, len(names))
	for _, name := range names {
		n := f.entries[name]
		if n.sub != nil && n.sub.dirty {
			h, err := t.saveFolder(n.sub)
			if err != nil {
				return plumbing.ZeroHash, err
			}
			n.hash = h
		}
		entries = append(entries, object.TreeEntry{Name: name, Mode: n.mode, Hash: n.hash})
	}
	return t.w.tree(entries)
}

func mergedNames(a, b map[string]object.TreeEntry) []string {
	names := make([]string, 0, len(a)+len(b))
	for name := range a {
		names = append(names, name)
	}
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}
