package model

import "sort"

// File is one file of a tree.
type File struct {
	Path string // slash-separated, relative, clean
	Mode uint32 // git mode: 0o100644, 0o100755 or 0o120000 (symlink: Data is the target)
	Data []byte // shared: never modify in place
}

// Git file modes that ratchet handles; a submodule is refused where a tree is read.
const (
	ModeFile    uint32 = 0o100644
	ModeExec    uint32 = 0o100755
	ModeSymlink uint32 = 0o120000
)

// Tree is a snapshot of a repository at one commit, sorted by path. It is
// immutable by agreement: functions that change one return another.
type Tree struct {
	Hash  string // git tree hash; empty when the tree was changed after it was read
	Files []File
}

// Find returns the file at path.
func (t Tree) Find(path string) (File, bool) {
	i := sort.Search(len(t.Files), func(i int) bool { return t.Files[i].Path >= path })
	if i < len(t.Files) && t.Files[i].Path == path {
		return t.Files[i], true
	}
	return File{}, false
}

// With returns a copy of t with the edits applied; Hash is cleared when there are any.
func (t Tree) With(edits ...Edit) Tree {
	if len(edits) == 0 {
		return t
	}
	byPath := make(map[string]Edit, len(edits))
	for _, e := range edits {
		byPath[e.Path] = e
	}
	out := make([]File, 0, len(t.Files)+len(edits))
	for _, f := range t.Files {
		e, edited := byPath[f.Path]
		if !edited {
			out = append(out, f)
			continue
		}
		delete(byPath, f.Path)
		if !e.Delete {
			out = append(out, File{Path: f.Path, Mode: e.mode(f.Mode), Data: e.Data})
		}
	}
	for _, e := range byPath {
		if !e.Delete {
			out = append(out, File{Path: e.Path, Mode: e.mode(ModeFile), Data: e.Data})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return Tree{Files: out}
}

// Without returns a copy of t that lacks the files for which drop is true.
func (t Tree) Without(drop func(path string) bool) Tree {
	out := make([]File, 0, len(t.Files))
	for _, f := range t.Files {
		if !drop(f.Path) {
			out = append(out, f)
		}
	}
	if len(out) == len(t.Files) {
		return t
	}
	return Tree{Files: out}
}

// Edit replaces, adds or deletes one whole file.
type Edit struct {
	Path   string `json:"path"`
	Data   []byte `json:"data,omitempty"`
	Mode   uint32 `json:"mode,omitempty"` // 0 keeps the mode, or ModeFile for a new file
	Delete bool   `json:"delete,omitempty"`
}

func (e Edit) mode(old uint32) uint32 {
	if e.Mode != 0 {
		return e.Mode
	}
	return old
}
