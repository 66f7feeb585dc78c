package repo

import (
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// maxDepth bounds the depth of folders, so that a hostile tree ends in an error.
const maxDepth = 256

var errTooDeep = fmt.Errorf("%w: folders nested deeper than %d", ErrUnsupported, maxDepth)

// readTree reads one tree object and checks its names: go-git accepts any.
func readTree(s *filesystem.Storage, h plumbing.Hash, path string) ([]object.TreeEntry, error) {
	o, err := s.EncodedObject(plumbing.TreeObject, h)
	if err != nil {
		return nil, damaged("read tree", orRoot(path), err)
	}
	t := object.Tree{}
	if err := t.Decode(o); err != nil {
		return nil, damaged("read tree", orRoot(path), err)
	}
	seen := make(map[string]bool, len(t.Entries))
	for _, e := range t.Entries {
		if why := badName(e.Name); why != "" || seen[e.Name] {
			return nil, damaged("read tree", orRoot(path), fmt.Errorf("entry %q: %s", e.Name, orString(why, "it is there twice")))
		}
		seen[e.Name] = true
	}
	return t.Entries, nil
}

// badName says why a name cannot be one part of a path, or "" when it can.
func badName(name string) string {
	switch {
	case name == "" || name == "." || name == "..":
		return "it is not a name"
	case strings.EqualFold(name, ".git"):
		return "it is a git folder"
	case strings.ContainsAny(name, "/\x00"):
		return "it contains a slash or a zero byte"
	}
	return ""
}

// walkTree visits every entry below a tree that is not a folder. It fails on
// the first object that cannot be read, so what it visits is the whole tree.
func walkTree(s *filesystem.Storage, h plumbing.Hash, path string, depth int, visit func(path string, e object.TreeEntry) error) error {
	if depth > maxDepth {
		return fail("read tree", path, errTooDeep)
	}
	entries, err := readTree(s, h, path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		p := join(path, e.Name)
		if e.Mode == filemode.Dir {
			err = walkTree(s, e.Hash, p, depth+1, visit)
		} else {
			err = visit(p, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// change is one path that differs between two trees; a zero hash says that the
// path is not there.
type change struct {
	path     string
	old, new object.TreeEntry
}

var errSubmodule = fmt.Errorf("%w: submodule", ErrUnsupported)

// diffTrees lists the files that differ between two trees, in git's order.
func diffTrees(s *filesystem.Storage, a, b plumbing.Hash, path string, depth int) ([]change, error) {
	if a == b {
		return nil, nil
	}
	if depth > maxDepth {
		return nil, fail("compare trees", path, errTooDeep)
	}
	olds, err := readTreeOrNone(s, a, path)
	if err != nil {
		return nil, err
	}
	news, err := readTreeOrNone(s, b, path)
	if err != nil {
		return nil, err
	}
	var out []change
	for _, name := range mergedNames(olds, news) {
		below, err := diffEntry(s, join(path, name), olds[name], news[name], depth)
		if err != nil {
			return nil, err
		}
		out = append(out, below...)
	}
	return out, nil
}

// diffEntry compares what two trees have under one name: each may hold nothing,
// a file or a folder.
func diffEntry(s *filesystem.Storage, path string, old, new object.TreeEntry, depth int) ([]change, error) {
	if old.Hash == new.Hash && old.Mode == new.Mode {
		return nil, nil
	}
	var out []change
	oldDir, newDir := plumbing.ZeroHash, plumbing.ZeroHash
	if old.Mode == filemode.Dir {
		oldDir, old = old.Hash, object.TreeEntry{}
	}
	if new.Mode == filemode.Dir {
		newDir, new = new.Hash, object.TreeEntry{}
	}
	if old.Hash != new.Hash || old.Mode != new.Mode {
		out = append(out, change{path: path, old: old, new: new})
	}
	below, err := diffTrees(s, oldDir, newDir, path, depth+1)
	return append(out, below...), err
}

func readTreeOrNone(s *filesystem.Storage, h plumbing.Hash, path string) (map[string]object.TreeEntry, error) {
	if h.IsZero() {
		return nil, nil
	}
	entries, err := readTree(s, h, path)
	byName := make(map[string]object.TreeEntry, len(entries))
	for _, e := range entries {
		byName[e.Name] = e
	}
	return byName, err
}

// entryAt finds the file that a tree has at a path; a zero entry when there is none.
func entryAt(s *filesystem.Storage, tree plumbing.Hash, path string) (object.TreeEntry, error) {
	at := object.TreeEntry{Mode: filemode.Dir, Hash: tree}
	for _, part := range strings.Split(path, "/") {
		if at.Mode != filemode.Dir {
			return object.TreeEntry{}, nil
		}
		entries, err := readTreeOrNone(s, at.Hash, path)
		if err != nil {
			return object.TreeEntry{}, err
		}
		found, ok := entries[part]
		if !ok {
			return object.TreeEntry{}, nil
		}
		at = found
	}
	if at.Mode == filemode.Dir {
		return object.TreeEntry{}, nil
	}
	return at, nil
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

func orRoot(path string) string { return orString(path, "the root folder") }

func orString(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
