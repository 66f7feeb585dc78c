package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"syscall"
	"unsafe"

	"ratchet/sandbox/docker/internal/wire"
)

// fault is a failure that the host tells apart from others.
type fault struct {
	kind wire.Fault
	err  error
}

func (f *fault) Error() string { return f.err.Error() }

// faultOf sorts an error by what the host can do about it.
func faultOf(err error) wire.Reply {
	if err == nil {
		return wire.Reply{}
	}
	kind := wire.FaultOther
	var f *fault
	switch {
	case errors.As(err, &f):
		kind = f.kind
	case errors.Is(err, wire.ErrPath), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENOTDIR):
		kind = wire.FaultPath
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EFBIG), errors.Is(err, syscall.EDQUOT):
		kind = wire.FaultSpace
	case errors.Is(err, syscall.ENOENT):
		kind = wire.FaultMissing
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		kind = wire.FaultDenied
	}
	return wire.Reply{Fault: kind, Detail: err.Error()}
}

const dirFlags = syscall.O_DIRECTORY | syscall.O_NOFOLLOW | syscall.O_CLOEXEC | syscall.O_RDONLY

// Modes of the folders that are made: in those that are shared everybody may make
// files, and remove nothing but their own.
const (
	modeNone   = 0
	modePlain  = 0o755
	modeShared = syscall.S_ISVTX | 0o777
)

// openDir opens a folder inside the work area without ever following a symlink;
// missing folders are made when there is a mode for them.
func openDir(from int, rel string, mode uint32) (int, error) {
	fd, err := syscall.Openat(from, ".", dirFlags, 0)
	if err != nil {
		return -1, err
	}
	for name := range strings.SplitSeq(rel, "/") {
		if name == "." || name == "" {
			continue
		}
		next, err := openChild(fd, name, mode)
		syscall.Close(fd)
		if err != nil {
			return -1, fmt.Errorf("folder %q in %q: %w", name, rel, err)
		}
		fd = next
	}
	return fd, nil
}

func openChild(fd int, name string, mode uint32) (int, error) {
	made := false
	if mode != modeNone {
		err := syscall.Mkdirat(fd, name, mode)
		if made = err == nil; !made && !errors.Is(err, syscall.EEXIST) {
			return -1, err
		}
	}
	child, err := syscall.Openat(fd, name, dirFlags, 0)
	if err != nil || !made || mode != modeShared {
		return child, err
	}
	if err := syscall.Fchmod(child, mode); err != nil { // the umask took bits away
		syscall.Close(child)
		return -1, err
	}
	return child, nil
}

// relWork turns an absolute path inside the work area into a relative one.
func relWork(abs string) (string, error) {
	if abs == wire.WorkDir {
		return ".", nil
	}
	rel, ok := strings.CutPrefix(abs, wire.WorkDir+"/")
	if !ok {
		return "", fmt.Errorf("%w: %q is not inside %s", wire.ErrPath, abs, wire.WorkDir)
	}
	return rel, wire.CheckPath(rel)
}

// layer lays files below one folder; the folder of the last file stays open,
// since neighbours come one after the other.
type layer struct {
	root   int
	mode   uint32 // of new folders
	parent int
	name   string
}

func newLayer(dir string, mode uint32) (*layer, error) {
	rel, err := relWork(dir)
	if err != nil {
		return nil, err
	}
	work, err := syscall.Open(wire.WorkDir, dirFlags, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(work)
	root, err := openDir(work, rel, mode)
	if err != nil {
		return nil, err
	}
	return &layer{root: root, mode: mode, parent: -1}, nil
}

func (l *layer) close() {
	if l.parent >= 0 {
		syscall.Close(l.parent)
	}
	syscall.Close(l.root)
}

// enter opens the folder that p is in.
func (l *layer) enter(p string) error {
	dir := path.Dir(p)
	if l.parent >= 0 {
		if l.name == dir {
			return nil
		}
		syscall.Close(l.parent)
		l.parent = -1
	}
	fd, err := openDir(l.root, dir, l.mode)
	if err != nil {
		return err
	}
	l.parent, l.name = fd, dir
	return nil
}

// create removes what is at f.Path and makes it anew; the caller writes to the
// file and closes it. For a symlink there is nothing to write: -1.
func (l *layer) create(f wire.File) (int, error) {
	if err := wire.CheckPath(f.Path); err != nil {
		return -1, err
	}
	if err := l.enter(f.Path); err != nil {
		return -1, err
	}
	base := path.Base(f.Path)
	if err := syscall.Unlinkat(l.parent, base); err != nil && !errors.Is(err, syscall.ENOENT) {
		return -1, fmt.Errorf("replace %q: %w", f.Path, err)
	}
	if f.Symlink != "" {
		if err := wire.CheckSymlink(f.Path, f.Symlink); err != nil {
			return -1, err
		}
		return -1, symlinkat(f.Symlink, l.parent, base)
	}
	mode := uint32(0o644)
	if f.Exec {
		mode = 0o755
	}
	return syscall.Openat(l.parent, base,
		syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, mode)
}

func symlinkat(target string, dir int, name string) error {
	t, err := syscall.BytePtrFromString(target)
	if err != nil {
		return err
	}
	n, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall(syscall.SYS_SYMLINKAT,
		uintptr(unsafe.Pointer(t)), uintptr(dir), uintptr(unsafe.Pointer(n)))
	if errno != 0 {
		return errno
	}
	return nil
}

// sink writes to fd until that fails, then discards, so that the stream of
// requests stays in step.
type sink struct {
	fd  int
	err error
}

func (s *sink) Write(b []byte) (int, error) {
	for rest := b; s.err == nil && len(rest) > 0; {
		n, err := syscall.Write(s.fd, rest)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		s.err, rest = err, rest[max(n, 0):]
	}
	return len(b), nil
}

// put lays files below dir. It reads the bytes of all of them whatever
// happens; broken means that the stream itself is.
func put(in *wire.Reader, dir string, files []wire.File, shared bool) (failed, broken error) {
	mode := uint32(modePlain)
	if shared {
		mode = modeShared
	}
	l, failed := newLayer(dir, mode)
	if l != nil {
		defer l.close()
	}
	for _, f := range files {
		s := &sink{fd: -1, err: failed}
		if failed == nil {
			s.fd, s.err = l.create(f)
		}
		if err := in.ReadFile(s, f.Size); err != nil {
			return failed, err
		}
		if s.fd >= 0 {
			syscall.Close(s.fd)
		}
		if s.err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", f.Path, s.err)
		}
	}
	return failed, nil
}

// get sends a regular file of at most limit bytes.
func get(out *wire.Writer, name string, limit int64) error {
	rel, err := relWork(name)
	if err != nil {
		return err
	}
	work, err := syscall.Open(wire.WorkDir, dirFlags, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(work)
	dir, err := openDir(work, path.Dir(rel), modeNone)
	if err != nil {
		return err
	}
	defer syscall.Close(dir)
	// Without O_NONBLOCK opening a named pipe would wait for a writer.
	fd, err := syscall.Openat(dir, path.Base(rel),
		syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return sendFile(out, fd, limit)
}

func sendFile(out *wire.Writer, fd int, limit int64) error {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return &fault{wire.FaultPath, errors.New("not a regular file")}
	}
	buf := make([]byte, wire.Chunk)
	for total := int64(0); ; {
		n, err := syscall.Read(fd, buf)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		if total += int64(n); total > limit {
			return &fault{wire.FaultTooLarge, fmt.Errorf("larger than %d bytes", limit)}
		}
		if err := out.Write(wire.KindBytes, buf[:n]); err != nil {
			return io.ErrClosedPipe
		}
	}
}
