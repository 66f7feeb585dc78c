package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/pkg/jsonmessage"

	"ratchet/sandbox"
)

// HostPython is the Target.Image that is made from the packages of the host's
// Debian release, for machines without a registry: Python with pytest,
// pytest-timeout, coverage, pip, and a shell with the usual small tools.
const HostPython = "host-python"

const (
	// site is where set-up commands install Python packages: Python's user base.
	// It is outside the work area, so that it is frozen into the image and
	// read-only for the code under test.
	site = "/.ratchet/site"
	// hostPythonStd and hostPythonImage are as for host-go.
	hostPythonStd   = "ratchet/host-python-std:"
	hostPythonImage = "ratchet/host-python:"
	// pythonRecipe is part of the key of host-python; raise it when that is made differently.
	pythonRecipe = "python 1"
	// siteRecipe is the same for what set-up leaves of Python.
	siteRecipe = "site 1"
)

// pythonPackages are asked of apt-get, which adds what they need. What a test
// may start through a shell is named here too, since nothing is there by itself.
var pythonPackages = []string{
	"python3", "python3-pytest", "python3-pytest-timeout", "python3-coverage",
	"python3-pip", "python3-setuptools", "python3-wheel",
	"base-files", "ca-certificates", "coreutils", "dash", "findutils", "grep", "libc-bin", "sed", "tar", "tzdata",
}

// pythonEnv is what Python needs in a box. own is the PATH of the image.
// Compiled files are not written, since Python takes one for up to date when
// an edit kept size and second; packages of set-up are found, those that code
// under test could have put into its home are not; pip never looks for a network.
func pythonEnv(own string) map[string]string {
	return map[string]string{
		"PATH": site + "/bin:" + own, "LANG": "C.UTF-8",
		"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUSERBASE": site,
		"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_BREAK_SYSTEM_PACKAGES": "1",
	}
}

// usualPath is the PATH of an image that declares none.
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// hostPython makes the base image from the host's packages unless there is one.
func (e *Engine) hostPython(ctx context.Context, progress func(string)) (string, error) {
	key := e.pythonKey()
	raw, err := e.once(ctx, "ratchet/host-python-raw:"+key, func(ctx context.Context) error {
		progress("making the image host-python from the host's package archive")
		return e.importHostPython(ctx, "ratchet/host-python-raw:"+key, progress)
	})
	if err != nil {
		return "", err
	}
	compiled, err := e.once(ctx, hostPythonStd+key, func(ctx context.Context) error {
		progress("compiling Python's library in it")
		return e.derive(ctx, sandbox.Spec{Image: raw, Purpose: "prepare host-python"}, hostPythonStd+key, e.finishPython)
	})
	if err != nil {
		return "", err
	}
	return e.withHelper(ctx, compiled, hostPythonImage)
}

// pythonKey identifies the release and the way the image is made, not the
// versions of the packages: an image that is there is used without a look at
// the archive, so that it works offline and that a campaign of weeks keeps the
// Python that it began with. labelPackages tells the versions.
func (e *Engine) pythonKey() string {
	return digest(append([]string{pythonRecipe, e.arch, release()}, pythonPackages...)...)
}

// release names the host's distribution and its version.
func release() string {
	b, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "unknown"
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		if k == "ID" || k == "VERSION_ID" {
			out = append(out, k+"="+strings.Trim(v, `"'`))
		}
	}
	return strings.Join(out, " ")
}

func (e *Engine) importHostPython(ctx context.Context, ref string, progress func(string)) error {
	helper, err := e.compileHelper(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ratchet-debian-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	debs, err := e.fetchDebian(ctx, dir, pythonPackages, progress)
	if err != nil {
		return err
	}
	body := stream(func(r *rootfs) error { return writeHostPython(ctx, r, helper, debs) })
	defer body.Close()
	changes := []string{"LABEL " + labelImage + "=" + HostPython, "LABEL " + labelPackages + `="` + versions(debs) + `"`, "WORKDIR " + sandbox.WorkDir}
	for _, kv := range environ(pythonEnv(usualPath)) {
		changes = append(changes, "ENV "+kv)
	}
	resp, err := e.api.ImageImport(ctx, image.ImportSource{Source: body, SourceName: "-"}, ref, image.ImportOptions{Changes: changes})
	if err != nil {
		return e.wrap("import", HostPython, err)
	}
	defer resp.Close()
	return e.wrap("import", HostPython, jsonmessage.DisplayJSONMessagesStream(resp, io.Discard, 0, false, nil))
}

// writeHostPython writes the root file system: ours first, because what comes
// twice is kept from the first.
func writeHostPython(ctx context.Context, r *rootfs, helper []byte, debs []string) error {
	if err := r.base(helper); err != nil {
		return err
	}
	if err := r.system(); err != nil {
		return err
	}
	if err := r.debian(ctx, debs); err != nil {
		return err
	}
	for _, l := range [][2]string{ // as maintainer scripts and habits have them
		{"usr/bin/python", "python3"}, {"usr/bin/pytest", "pytest-3"}, {"usr/bin/coverage", "python3-coverage"},
		{"usr/bin/awk", "mawk"}, {"usr/bin/sh", "dash"}, {"usr/lib/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt"},
	} {
		if r.seen[l[0]] {
			continue
		}
		if err := r.symlink(l[0], l[1]); err != nil {
			return err
		}
	}
	return nil
}

// finishPython does what the maintainer scripts of the packages would have
// done, and checks that what was promised is there. Bytecode is compiled so
// that it needs no look at its source.
func (e *Engine) finishPython(ctx context.Context, b *box) error {
	run := func(line string) error {
		return e.setUp(ctx, b, sandbox.Command{Argv: []string{"/bin/sh", "-c", line}, User: sandbox.Builder, Timeout: setUpTime})
	}
	const cache = sandbox.WorkDir + "/ld.so.cache"
	if err := errors.Join(
		run(compileSite+" /usr/lib/python3*; ldconfig -C "+cache),
		run(`python3 -m pytest -q -p no:cacheprovider --timeout=1; test $? = 5`), // there is no test
		run(`python3 -m pip --version && python3 -c "import coverage, setuptools, wheel"`),
	); err != nil {
		return err
	}
	data, err := b.Get(ctx, cache, 8<<20)
	if err != nil {
		return err
	}
	return e.copyFiles(ctx, b, map[string]string{"/etc/ld.so.cache": string(data)})
}

// compileSite compiles all sources below the folders that follow it; one that
// is not for this version of Python is passed over, as the installer does.
const compileSite = "python3 -m compileall -q -f -j 0 --invalidation-mode unchecked-hash"

// siteEnv is the environment in which set-up commands install packages.
func siteEnv() map[string]string {
	return map[string]string{
		"PIP_USER": "1", "PIP_NO_INDEX": "0", "PIP_NO_INPUT": "1",
		// Metadata of an editable install belongs into the site, not into the tree.
		"PIP_USE_PEP517": "1",
		"TMPDIR":         sandbox.WorkDir, // /tmp is small
	}
}

// indexSettings say where packages come from, as set for pip on the host. An
// address with a password in it stays there: no secret goes into a box.
func (e *Engine) indexSettings() map[string]string {
	env := map[string]string{}
	for _, name := range []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST"} {
		switch v := os.Getenv(name); {
		case strings.Contains(v, "@"):
			e.log.Warn("not used for set-up, because it holds a password", "variable", name)
		case v != "":
			env[name] = v
		}
	}
	return env
}

// finishSite compiles what set-up has installed, makes every Python of the
// image find it, and refuses a copy of the target itself.
func (e *Engine) finishSite(ctx context.Context, b *box, t Target) error {
	o, err := python(ctx, b, time.Minute, "-c", listCopies, "file://"+t.Dir)
	if err != nil || o.ExitCode == 127 { // as shells say that there is no such program
		return err
	}
	if copies := strings.Fields(string(o.Stdout)); len(copies) > 0 {
		return &sandbox.Error{Op: "set up", Object: t.Image,
			Err:  fmt.Errorf("a copy of the target's own code was installed, on which changes to the target would have no effect: %s", strings.Join(copies, ", ")),
			Hint: "install it with `pip install -e`, or install only what it needs, for example `pip install -r requirements.txt`"}
	}
	if _, err := python(ctx, b, setUpTime, append(strings.Fields(compileSite)[1:], site)...); err != nil {
		return err
	}
	dir, err := e.lastPackages(ctx, b, t)
	if err != nil {
		return err
	}
	return e.copyFiles(ctx, b, map[string]string{dir + "/ratchet-site.pth": "import ratchet_site\n", dir + "/ratchet_site.py": siteModule})
}

func python(ctx context.Context, b *box, limit time.Duration, args ...string) (sandbox.Outcome, error) {
	return b.Exec(ctx, sandbox.Command{Argv: append([]string{"python3"}, args...), User: sandbox.Builder, Timeout: limit})
}

// lastPackages is the folder of packages that Python looks into last, when all
// others are on its path.
func (e *Engine) lastPackages(ctx context.Context, b *box, t Target) (string, error) {
	o, err := python(ctx, b, time.Minute, "-c", "import site; print(site.getsitepackages()[-1])")
	if err != nil {
		return "", err
	}
	dir := strings.TrimSpace(string(o.Stdout))
	if !o.OK() || !path.IsAbs(dir) || path.Clean(dir) != dir {
		return "", &sandbox.Error{Op: "set up", Object: t.Image, Err: fmt.Errorf("python3 does not say where its packages are: %s", describe(o))}
	}
	return dir, nil
}

// copyFiles lays files of root's into a box with a writable root.
func (e *Engine) copyFiles(ctx context.Context, b *box, files map[string]string) error {
	body := stream(func(r *rootfs) error {
		for _, name := range sortedKeys(files) {
			// Only the file: an entry for its folder would change that.
			if err := r.header(name, 0o644, 0, tar.TypeReg, int64(len(files[name])), timeOf([]byte(files[name]))); err != nil {
				return err
			}
			if _, err := io.WriteString(r.tw, files[name]); err != nil {
				return err
			}
		}
		return nil
	})
	defer body.Close()
	return e.wrap("copy files into", b.id, e.api.CopyToContainer(ctx, b.id, "/", body, container.CopyToContainerOptions{}))
}

// siteModule is imported by every Python of an image as it starts. Python
// leaves out the user base where it is told to be on its own (-I, -s); the
// packages of set-up are no user's, and come before those of the image. What an
// editable install points to in the work area comes last: it stands in nobody's way.
const siteModule = `import site, sys

if not site.ENABLE_USER_SITE:
    before = list(sys.path)
    site.addsitedir("` + site + `/lib/python%d.%d/site-packages" % sys.version_info[:2])
    added = [p for p in sys.path if p not in before]
    ours = [p for p in added if p.startswith("` + site + `/")]
    at = next((i for i, p in enumerate(before) if p.endswith("-packages")), len(before))
    sys.path[:] = before[:at] + ours + before[at:] + [p for p in added if p not in ours]
`

// listCopies prints the packages that were installed, as a copy, from a folder
// at or below the URL in its argument.
const listCopies = `
import importlib.metadata, json, sys
root = sys.argv[1]
for d in importlib.metadata.distributions():
    origin = json.loads(d.read_text("direct_url.json") or "{}")
    url, folder = origin.get("url", ""), origin.get("dir_info")
    if folder is not None and not folder.get("editable") and (url + "/").startswith(root + "/"):
        print(d.metadata["Name"])
`
