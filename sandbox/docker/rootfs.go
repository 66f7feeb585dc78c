package docker

import (
	"archive/tar"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ratchet/sandbox"
	"ratchet/sandbox/docker/internal/wire"
)

// rootfs writes the tar of a file system. Times are fixed, so that the same
// content gives the same layer; a path is written once, since engines refuse doubles.
type rootfs struct {
	tw   *tar.Writer
	seen map[string]bool
}

func newRootfs(w io.Writer) *rootfs {
	return &rootfs{tw: tar.NewWriter(w), seen: map[string]bool{}}
}

// fixedTime is the modification time, in seconds, of everything in an image
// but the helper.
const fixedTime = 1_600_000_000

// timeOf gives different content different times: an engine that freezes a
// container leaves out a file that was replaced by one of the same size and time.
func timeOf(data []byte) int64 {
	return fixedTime + int64(crc32.ChecksumIEEE(data)>>8) // at most half a year more
}

func (r *rootfs) header(name string, mode int64, uid int, typ byte, size, mtime int64) error {
	name = strings.TrimPrefix(name, "/")
	if err := r.first(name); err != nil {
		return err
	}
	if typ == tar.TypeDir {
		name += "/"
	}
	return r.tw.WriteHeader(&tar.Header{Name: name, Mode: mode, Uid: uid, Gid: uid, Typeflag: typ, Size: size, ModTime: time.Unix(mtime, 0)})
}

func (r *rootfs) first(name string) error {
	if r.seen[name] {
		return fmt.Errorf("%s twice in an image", name)
	}
	r.seen[name] = true
	return nil
}

// symlink and link take paths without a leading slash, in folders that are there.
func (r *rootfs) symlink(name, target string) error {
	return r.linked(name, target, tar.TypeSymlink)
}

func (r *rootfs) link(name, target string) error { return r.linked(name, target, tar.TypeLink) }

func (r *rootfs) linked(name, target string, typ byte) error {
	if err := r.first(name); err != nil {
		return err
	}
	return r.tw.WriteHeader(&tar.Header{Name: name, Linkname: target, Mode: 0o777, Typeflag: typ, ModTime: time.Unix(fixedTime, 0)})
}

// dir writes a folder and those above it that are still missing.
func (r *rootfs) dir(name string, mode int64, uid int) error {
	if up := path.Dir(name); up != "/" && up != "." && !r.seen[strings.TrimPrefix(up, "/")] {
		if err := r.dir(up, 0o755, 0); err != nil {
			return err
		}
	}
	return r.header(name, mode, uid, tar.TypeDir, 0, fixedTime)
}

func (r *rootfs) file(name string, mode int64, data []byte) error {
	if up := path.Dir(name); up != "/" && up != "." && !r.seen[strings.TrimPrefix(up, "/")] {
		if err := r.dir(up, 0o755, 0); err != nil {
			return err
		}
	}
	if err := r.header(name, mode, 0, tar.TypeReg, int64(len(data)), timeOf(data)); err != nil {
		return err
	}
	_, err := r.tw.Write(data)
	return err
}

// tree copies a folder of the host, following symlinks; skip is asked with
// paths from its root.
func (r *rootfs) tree(from, to string, uid int, skip func(rel string, dir bool) bool) error {
	return r.walk(from, to, ".", uid, skip)
}

func (r *rootfs) walk(from, to, rel string, uid int, skip func(string, bool) bool) error {
	entries, err := os.ReadDir(filepath.Join(from, rel))
	if err != nil {
		return err
	}
	for _, e := range entries {
		sub := path.Join(rel, e.Name())
		info, err := os.Stat(filepath.Join(from, sub))
		if err != nil {
			return err
		}
		switch {
		case skip != nil && skip(sub, info.IsDir()):
		case info.IsDir():
			if err := r.header(path.Join(to, sub), int64(info.Mode().Perm()), uid, tar.TypeDir, 0, fixedTime); err != nil {
				return err
			}
			if err := r.walk(from, to, sub, uid, skip); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			if err := r.copy(filepath.Join(from, sub), path.Join(to, sub), uid, info); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *rootfs) copy(from, to string, uid int, info fs.FileInfo) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := r.header(to, int64(info.Mode().Perm()), uid, tar.TypeReg, info.Size(), fixedTime); err != nil {
		return err
	}
	_, err = io.Copy(r.tw, f)
	return err
}

// base writes what every prepared image has: the helper, the mount points, and
// folders that set-up fills as Builder.
func (r *rootfs) base(helper []byte) error {
	if err := r.file(wire.Helper, 0o755, helper); err != nil {
		return err
	}
	if err := r.dir(wire.WarmCache, 0o755, wire.BuilderID); err != nil {
		return err
	}
	for _, name := range []string{moduleCache, site} {
		if err := r.dir(name, 0o755, wire.BuilderID); err != nil {
			return err
		}
	}
	// A runtime gives a tmpfs the mode of the folder that it covers.
	return r.dir(wire.WorkDir, 0o1777, 0)
}

// system writes mount points, users, and the host's certificates, which set-up
// with network needs.
func (r *rootfs) system() error {
	for name, mode := range map[string]int64{"/tmp": 0o1777, "/proc": 0o755, "/sys": 0o755, "/dev": 0o755} {
		if err := r.dir(name, mode, 0); err != nil {
			return err
		}
	}
	for name, text := range etc() {
		if err := r.file(name, 0o644, []byte(text)); err != nil {
			return err
		}
	}
	for _, certs := range []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"} {
		if b, err := os.ReadFile(certs); err == nil {
			return r.file("/etc/ssl/certs/ca-certificates.crt", 0o644, b)
		}
	}
	return nil
}

func etc() map[string]string {
	return map[string]string{
		"/etc/passwd": fmt.Sprintf("root:x:0:0::/:/\nbuilder:x:%d:%d::%s:/\nrunner:x:%d:%d::%s:/\n",
			wire.BuilderID, wire.BuilderID, home(sandbox.Builder), wire.RunnerID, wire.RunnerID, home(sandbox.Runner)),
		"/etc/group":         fmt.Sprintf("root:x:0:\nbuilder:x:%d:\nrunner:x:%d:\n", wire.BuilderID, wire.RunnerID),
		"/etc/nsswitch.conf": "hosts: files dns\n",
	}
}

func (r *rootfs) close() error { return r.tw.Close() }

// stream runs write on a new tar and returns its reading end.
func stream(write func(*rootfs) error) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		r := newRootfs(in)
		err := write(r)
		if err == nil {
			err = r.close()
		}
		_ = in.CloseWithError(err)
	}()
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
