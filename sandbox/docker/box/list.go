package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"syscall"
	"unicode/utf8"

	"ratchet/sandbox/docker/internal/wire"
)

const (
	// deepest is how many folders below one another are listed; each costs an
	// open descriptor.
	deepest = 64
	// oPath opens what a name is without reading it (O_PATH, which the package
	// syscall does not name); a named pipe does not block then, a symlink is itself.
	oPath = 0x200000
)

// lister sends what is below a folder, as one JSON object an entry.
type lister struct {
	out  *wire.Writer
	buf  bytes.Buffer
	left int // entries that may still be sent
	full bool
}

// list sends the entries below the folder dir, limit of them at most.
func list(out *wire.Writer, dir string, limit int64) error {
	rel, err := relWork(dir)
	if err != nil {
		return err
	}
	work, err := syscall.Open(wire.WorkDir, dirFlags, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(work)
	fd, err := openDir(work, rel, modeNone)
	if err != nil {
		return err
	}
	l := &lister{out: out, left: int(limit)}
	if err := l.folder(fd, "", deepest); err != nil {
		return err
	}
	if l.full {
		if err := l.add(wire.Entry{Kind: wire.EntryMore}); err != nil {
			return err
		}
	}
	return l.flush()
}

// folder lists one open folder, which it closes, and those in it.
func (l *lister) folder(fd int, prefix string, depth int) error {
	f := os.NewFile(uintptr(fd), prefix)
	defer f.Close()
	for !l.full {
		names, err := f.Readdirnames(256)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		slices.Sort(names)
		for _, name := range names {
			if err := l.child(fd, name, prefix, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lister) child(parent int, name, prefix string, depth int) error {
	if l.left == 0 || depth == 0 {
		l.full = true
		return nil
	}
	l.left--
	e := look(parent, name)
	e.Path = prefix + name
	if !utf8.ValidString(e.Path) { // JSON could not say it, nor may a tree hold it
		e = wire.Entry{Path: string(bytes.ToValidUTF8([]byte(e.Path), []byte("?"))), Kind: wire.EntryOther}
	}
	if err := l.add(e); err != nil || e.Kind != wire.EntryFolder {
		return err
	}
	fd, err := openChild(parent, name, modeNone)
	if err != nil {
		return nil // nothing that its owner shut can be read
	}
	return l.folder(fd, e.Path+"/", depth-1)
}

// look says what a name in an open folder is.
func look(parent int, name string) wire.Entry {
	other := wire.Entry{Kind: wire.EntryOther}
	fd, err := syscall.Openat(parent, name, oPath|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return other
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return other
	}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		return wire.Entry{Kind: wire.EntryFolder}
	case syscall.S_IFREG:
		return regular(parent, name, st)
	}
	return other
}

// regular is a file that Get can read, or else something other.
func regular(parent int, name string, st syscall.Stat_t) wire.Entry {
	fd, err := syscall.Openat(parent, name, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return wire.Entry{Kind: wire.EntryOther}
	}
	syscall.Close(fd)
	return wire.Entry{Kind: wire.EntryFile, Exec: st.Mode&0o100 != 0, Size: st.Size}
}

func (l *lister) add(e wire.Entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	l.buf.Write(b)
	if l.buf.Len() < wire.Chunk/2 {
		return nil
	}
	return l.flush()
}

func (l *lister) flush() error {
	if l.buf.Len() == 0 {
		return nil
	}
	defer l.buf.Reset()
	if err := l.out.Write(wire.KindBytes, l.buf.Bytes()); err != nil {
		return io.ErrClosedPipe
	}
	return nil
}
