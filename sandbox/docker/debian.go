package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"ratchet/sandbox"
	"ratchet/sandbox/docker/internal/wire"
)

// aptConf lets apt-get work without root and without a trace on the host:
// nothing is installed there, no hook of the host's runs, only what is needed
// is fetched. %[1]s is a folder, %[2]s an architecture.
const aptConf = `
#clear APT::Update;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
#clear APT::Architectures;
#clear Acquire::IndexTargets::deb::CNF;
#clear Acquire::IndexTargets::deb::Contents-deb;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::DEP-11-icons;
#clear Acquire::IndexTargets::deb::DEP-11-icons-small;
#clear Acquire::IndexTargets::deb::DEP-11-icons-hidpi;
APT::Architecture "%[2]s";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
APT::Get::Assume-Yes "true";
Acquire::Languages "none";
Debug::NoLocking "true";
Dir::Cache "%[1]s/cache";
Dir::State::status "%[1]s/status";
Dir::State::extended_states "%[1]s/extended_states";
`

const debianHint = "host-python is made with apt-get and dpkg-deb from the archive of Debian 12 (others are untested); without them name an image under sandbox.image " +
	"that has python3, pytest, pytest-timeout and coverage"

// fetchDebian downloads packages, and all that they need, into dir, and returns
// the files. apt-get checks signatures and hashes. The host's package lists are
// used when they are there and not too old, else lists are fetched into dir.
func (e *Engine) fetchDebian(ctx context.Context, dir string, packages []string, progress func(string)) ([]string, error) {
	bad := func(err error) error {
		return &sandbox.Error{Op: "make", Object: HostPython, Err: err, Hint: debianHint}
	}
	if err := debianTools(); err != nil {
		return nil, err
	}
	if err := writeApt(dir, e.arch); err != nil {
		return nil, e.wrap("make", HostPython, err)
	}
	install := append([]string{"--download-only", "install"}, packages...)
	progress("downloading packages")
	first := apt(ctx, dir, install...)
	if first != nil && ctx.Err() == nil {
		progress("downloading package lists")
		own := []string{"-o", "Dir::State::lists=" + filepath.Join(dir, "lists")}
		update := apt(ctx, dir, append(own, "update")...) // one archive of several may be away
		if err := apt(ctx, dir, append(own, install...)...); err != nil {
			return nil, bad(errors.Join(ctx.Err(), err, update))
		}
	}
	if ctx.Err() != nil {
		return nil, e.wrap("make", HostPython, ctx.Err())
	}
	return filepath.Glob(filepath.Join(dir, "cache", "archives", "*.deb"))
}

func writeApt(dir, arch string) error {
	for _, sub := range []string{"cache/archives/partial", "lists/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "status"), nil, 0o644), // nothing is installed yet
		os.WriteFile(filepath.Join(dir, "apt.conf"), fmt.Appendf(nil, aptConf, dir, arch), 0o644))
}

// aptEndTime is how long the processes that fetch for a killed apt-get may hold
// its output.
const aptEndTime = 5 * time.Second

func apt(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-c", filepath.Join(dir, "apt.conf")}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	cmd.WaitDelay = aptEndTime
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get: %w: %s", err, bytes.TrimSpace(out[max(0, len(out)-2000):]))
	}
	return nil
}

// versions lists packages as name=version, from the names of their files.
func versions(debs []string) string {
	var out []string
	for _, d := range debs {
		part := strings.Split(filepath.Base(d), "_")
		if v, err := url.PathUnescape(part[1%len(part)]); err == nil {
			out = append(out, part[0]+"="+v)
		}
	}
	return strings.Join(out, " ")
}

// debian unpacks packages over what was written so far. A path that was
// written is left as it is.
func (r *rootfs) debian(ctx context.Context, debs []string) error {
	for _, name := range []string{"usr/bin", "usr/sbin", "usr/lib", "usr/lib64"} {
		if err := r.dir(name, 0o755, 0); err != nil {
			return err
		}
		if err := r.symlink(path.Base(name), name); err != nil {
			return err
		}
	}
	for _, d := range debs {
		if err := r.deb(ctx, d); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(d), err)
		}
	}
	return nil
}

func (r *rootfs) deb(ctx context.Context, name string) error {
	var stderr tail
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", name)
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = r.unpack(tar.NewReader(out))
	if err == nil {
		_, err = io.Copy(io.Discard, out) // padding
	}
	out.Close()
	if werr := cmd.Wait(); werr != nil && err == nil {
		err = fmt.Errorf("dpkg-deb: %w: %s", werr, stderr.bytes())
	}
	return err
}

func (r *rootfs) unpack(in *tar.Reader) error {
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.entry(h, in); err != nil {
			return err
		}
	}
}

// entry writes one entry of a package, owned by root and without special bits.
func (r *rootfs) entry(h *tar.Header, data io.Reader) error {
	name := merged(h.Name)
	if name == "." || r.seen[name] || unwanted(name) {
		return nil
	}
	if up := path.Dir(name); up != "." && !r.seen[up] {
		if err := r.dir(up, 0o755, 0); err != nil {
			return err
		}
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return r.dir(name, h.Mode&0o777, 0)
	case tar.TypeSymlink:
		return r.symlink(name, h.Linkname)
	case tar.TypeLink:
		return r.link(name, merged(h.Linkname))
	case tar.TypeReg:
	default:
		return nil // a device has no place in an image
	}
	if err := r.header(name, h.Mode&0o777, 0, tar.TypeReg, h.Size, h.ModTime.Unix()); err != nil {
		return err
	}
	if _, err := io.Copy(r.tw, data); err != nil {
		return err
	}
	return r.pycache(name)
}

// pycache makes a place for the compiled form of a Python source, which
// Builder fills while the image is made.
func (r *rootfs) pycache(name string) error {
	dir := path.Join(path.Dir(name), "__pycache__")
	if path.Ext(name) != ".py" || !strings.HasPrefix(name, "usr/lib/python3") || r.seen[dir] {
		return nil
	}
	return r.dir(dir, 0o755, wire.BuilderID)
}

// merged cleans a path of a package and moves the folders that are links into /usr there.
func merged(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	top, rest, _ := strings.Cut(name, "/")
	switch {
	case top == "":
		return "."
	case rest != "" && (top == "bin" || top == "sbin" || top == "lib" || top == "lib64"):
		return "usr/" + name
	}
	return name
}

// unwanted says what takes room in an image for nobody.
func unwanted(name string) bool {
	for _, dir := range []string{"usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/lintian", "var/cache", "var/lib"} {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}
