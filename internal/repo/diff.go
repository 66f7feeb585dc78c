package repo

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	fdiff "github.com/go-git/go-git/v5/plumbing/format/diff"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/utils/binary"
	"github.com/go-git/go-git/v5/utils/diff"
	"github.com/sergi/go-diff/diffmatchpatch"
)

// diffTime bounds the search for a short diff of two large, different files;
// what is not found by then is one deletion and one addition.
const diffTime = 5 * time.Second

// Diff returns the unified diff from commit a to commit b, in git's format, for
// people. Binary files are named only; renames appear as a deletion and an addition.
func (r *Repo) Diff(ctx context.Context, a, b string) (text string, err error) {
	err = r.read(ctx, func(s *filesystem.Storage) error {
		text, err = diffCommits(s, a, b)
		return err
	})
	return text, fail("compare "+a+" with", b, err)
}

func diffCommits(s *filesystem.Storage, a, b string) (string, error) {
	from, err := commitObject(s, a)
	if err != nil {
		return "", err
	}
	to, err := commitObject(s, b)
	if err != nil {
		return "", err
	}
	changes, err := diffTrees(s, from.TreeHash, to.TreeHash, "", 0)
	if err != nil {
		return "", err
	}
	p := patchOf{}
	for _, c := range changes {
		f, err := newFilePatch(s, c)
		if err != nil {
			return "", err
		}
		p = append(p, f)
	}
	var out strings.Builder
	err = fdiff.NewUnifiedEncoder(&out, fdiff.DefaultContextLines).Encode(p)
	return out.String(), err
}

// patchOf, filePatch, patchFile and chunk are what go-git's encoder asks for.
type patchOf []fdiff.FilePatch

func (p patchOf) FilePatches() []fdiff.FilePatch { return p }
func (p patchOf) Message() string                { return "" }

type filePatch struct {
	from, to fdiff.File // nil when the file is not there
	binary   bool
	chunks   []fdiff.Chunk
}

func (f filePatch) IsBinary() bool                  { return f.binary }
func (f filePatch) Files() (fdiff.File, fdiff.File) { return f.from, f.to }
func (f filePatch) Chunks() []fdiff.Chunk           { return f.chunks }

type patchFile struct {
	entry object.TreeEntry
	path  string
}

func (f patchFile) Hash() plumbing.Hash     { return f.entry.Hash }
func (f patchFile) Mode() filemode.FileMode { return f.entry.Mode }
func (f patchFile) Path() string            { return f.path }

type chunk struct {
	text string
	op   fdiff.Operation
}

func (c chunk) Content() string       { return c.text }
func (c chunk) Type() fdiff.Operation { return c.op }

func newFilePatch(s *filesystem.Storage, c change) (fdiff.FilePatch, error) {
	f := filePatch{}
	old, err := side(s, c.path, c.old, &f.from)
	if err != nil {
		return nil, err
	}
	new, err := side(s, c.path, c.new, &f.to)
	if err != nil {
		return nil, err
	}
	f.binary = isBinary(old) || isBinary(new)
	if !f.binary {
		f.chunks = chunks(string(old), string(new))
	}
	return f, nil
}

// side reads one side of a change, if it is there.
func side(s *filesystem.Storage, path string, e object.TreeEntry, file *fdiff.File) ([]byte, error) {
	if e.Hash.IsZero() {
		return nil, nil
	}
	*file = patchFile{entry: e, path: quotePath(path)}
	if e.Mode == filemode.Submodule {
		return []byte("Subproject commit " + e.Hash.String() + "\n"), nil
	}
	data, err := readBlob(s, e.Hash)
	if err != nil {
		return nil, damaged("read", path, err)
	}
	return data, nil
}

func isBinary(data []byte) bool {
	yes, err := binary.IsBinary(bytes.NewReader(data))
	return yes || err != nil
}

// quotePath keeps a line break in a file name from forging lines of the diff.
func quotePath(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Sprintf("%q", path)
	}
	return path
}

func chunks(old, new string) []fdiff.Chunk {
	var out []fdiff.Chunk
	for _, d := range diff.DoWithTimeout(old, new, diffTime) {
		op := fdiff.Equal
		switch d.Type {
		case diffmatchpatch.DiffInsert:
			op = fdiff.Add
		case diffmatchpatch.DiffDelete:
			op = fdiff.Delete
		}
		out = append(out, chunk{text: d.Text, op: op})
	}
	return out
}
