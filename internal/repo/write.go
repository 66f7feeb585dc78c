package repo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// tmpObject begins the names of objects being written; git's own clean-up
// removes such files too.
const tmpObject = "tmp_obj_ratchet_"

// objectWriter adds loose objects. go-git's writer never syncs and trusts any
// file that has the right name, so that a file torn by a power cut would be
// taken for the object for ever; this one syncs each file before it gets its
// name and checks files that are there. It is not safe for concurrent use.
type objectWriter struct {
	objects string          // the objects folder
	dirs    map[string]bool // folders to sync
}

func newObjectWriter(objects string) *objectWriter {
	return &objectWriter{objects: objects, dirs: map[string]bool{}}
}

// encoder is what go-git's trees and commits are.
type encoder interface {
	Encode(plumbing.EncodedObject) error
}

func (w *objectWriter) encode(e encoder) (plumbing.Hash, error) {
	o := &plumbing.MemoryObject{}
	if err := e.Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return w.put(o)
}

func (w *objectWriter) blob(data []byte) (plumbing.Hash, error) {
	o := &plumbing.MemoryObject{}
	o.SetType(plumbing.BlobObject)
	if _, err := o.Write(data); err != nil {
		return plumbing.ZeroHash, err
	}
	return w.put(o)
}

// tree writes one folder; the entries may be in any order.
func (w *objectWriter) tree(entries []object.TreeEntry) (plumbing.Hash, error) {
	sort.Sort(object.TreeEntrySorter(entries))
	return w.encode(&object.Tree{Entries: entries})
}

// put writes an object unless it is there and good.
func (w *objectWriter) put(o plumbing.EncodedObject) (plumbing.Hash, error) {
	h := o.Hash()
	hex := h.String()
	path := filepath.Join(w.objects, hex[:2], hex[2:])
	if verifyLoose(path, h) == nil {
		return h, w.keep(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return h, fail("write object", hex, err)
	}
	if err := w.write(path, o); err != nil {
		return h, fail("write object", hex, err)
	}
	w.dirs[filepath.Dir(path)] = true
	return h, nil
}

// keep makes an object durable that an earlier try, or git, left behind.
func (w *objectWriter) keep(path string) error {
	w.dirs[filepath.Dir(path)] = true
	return fail("sync object", path, syncPath(path))
}

func (w *objectWriter) write(path string, o plumbing.EncodedObject) error {
	f, err := os.CreateTemp(w.objects, tmpObject)
	if err != nil {
		return err
	}
	err = errors.Join(encodeLoose(f, o), f.Chmod(0o444), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func encodeLoose(f io.Writer, o plumbing.EncodedObject) error {
	rd, err := o.Reader()
	if err != nil {
		return err
	}
	w := objfile.NewWriter(f)
	if err := w.WriteHeader(o.Type(), o.Size()); err != nil {
		return errors.Join(err, w.Close(), rd.Close())
	}
	_, err = io.Copy(w, rd)
	return errors.Join(err, w.Close(), rd.Close())
}

// verifyLoose checks that the file at path holds the object with that hash.
func verifyLoose(path string, want plumbing.Hash) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	rd, err := objfile.NewReader(f)
	if err != nil {
		return err
	}
	_, size, err := rd.Header()
	if err != nil {
		return errors.Join(err, rd.Close())
	}
	n, err := io.Copy(io.Discard, rd)
	got := rd.Hash()
	if err == nil && (n != size || got != want) {
		err = fmt.Errorf("%w: it holds %s", ErrCorrupt, got)
	}
	return errors.Join(err, rd.Close())
}

// sync makes the names of all objects written so far durable. It comes before
// any ref that names them.
func (w *objectWriter) sync() error {
	for dir := range w.dirs {
		if err := syncDir(dir); err != nil {
			return fail("sync", dir, err)
		}
	}
	return fail("sync", w.objects, syncDir(w.objects))
}

// removeTemporary removes objects that a killed process was writing.
func removeTemporary(objects string) error {
	entries, err := os.ReadDir(objects)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tmpObject) {
			continue
		}
		if gone := os.Remove(filepath.Join(objects, e.Name())); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return fail("clean", objects, err)
}
