package repo

import (
	"bytes"

	"ratchet/internal/model"
)

// lfsHeader begins a Git LFS pointer (git-lfs, docs/spec.md), which is at most maxPointer bytes long.
var lfsHeader = []byte("version https://git-lfs.github.com/spec/v1\n")

const maxPointer = 1024

// LFSPointers lists the files of a tree that are in Git LFS, whose content is
// elsewhere: a problem that reads one sees the pointer.
func LFSPointers(t model.Tree) []string {
	var out []string
	for _, f := range t.Files {
		if f.Mode != model.ModeSymlink && len(f.Data) < maxPointer && bytes.HasPrefix(f.Data, lfsHeader) {
			out = append(out, f.Path)
		}
	}
	return out
}
