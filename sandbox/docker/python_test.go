package docker

import (
	"archive/zip"
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

const passing = "import subprocess\n\ndef test_shell():\n    assert subprocess.check_output('echo hello | tr h j', shell=True) == b'jello\\n'\n"

func TestHostPythonRunsTestsOffline(t *testing.T) {
	e := engine(t)
	img, _ := prepare(t, e, Target{Image: HostPython})
	again, said := prepare(t, e, Target{Image: HostPython})
	require.Equal(t, img, again)
	require.Empty(t, said, "what is there is not made again")
	files := []model.File{text("test_m.py", passing)}
	for _, argv := range [][]string{
		{"python3", "-m", "pytest", "-q", "--timeout=20"}, {"pytest", "-q"}, {"coverage", "run", "-m", "pytest", "-q"},
		{"python", "-c", "import ctypes.util, ssl, sqlite3, zoneinfo; ctypes.util.find_library('c') or 1/0; zoneinfo.ZoneInfo('Europe/Paris')"},
		{"python", "-c", "import ssl; ssl.create_default_context().get_ca_certs() or 1/0"},
		{"python", "-c", "import os, pytest; os.path.exists(pytest.__cached__) or 1/0; os.access(pytest.__cached__, os.W_OK) and 1/0"},
		{"sh", "-c", "ls | grep -q test_m && find . -name '*.py' | sed s/a/b/ | awk '{print $1}'"},
	} {
		o := in(t, e, img, files, argv...)
		require.True(t, o.OK(), "%v: %s%s", argv, o.Stdout, o.Stderr)
	}
	inspected, err := e.api.ImageInspect(t.Context(), img.ID)
	require.NoError(t, err)
	require.Regexp(t, `(^| )python3=\S+`, inspected.Config.Labels[labelPackages])
}

// wheel is a package "dep" with one function and one console script.
func wheel(t *testing.T) model.File {
	t.Helper()
	const info = "dep-1.0.dist-info/"
	files := map[string]string{
		"dep.py":        "def answer():\n    return 42\n\ndef main():\n    print(answer())\n",
		info + "WHEEL":  "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		info + "RECORD": "", info + "METADATA": "Metadata-Version: 2.1\nName: dep\nVersion: 1.0\n",
		info + "entry_points.txt": "[console_scripts]\ndep-tool = dep:main\n",
	}
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, name := range sortedKeys(files) {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte(files[name]))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return model.File{Path: "wheels/dep-1.0-py3-none-any.whl", Mode: model.ModeFile, Data: buf.Bytes()}
}

// project is a package "mine" that needs "dep", with a test of both.
func project(t *testing.T, answer string) []model.File {
	return []model.File{
		wheel(t), text("requirements.txt", "dep==1.0\n"),
		text("pyproject.toml", "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n\n[project]\nname = \"mine\"\nversion = \"0.1\"\n"),
		text("src/mine/__init__.py", "import dep\n\ndef twice():\n    return 2 * dep.answer()\n"),
		text("tests/test_mine.py", "import importlib.metadata, mine\n\ndef test_twice():\n    assert mine.twice() == "+answer+"\n    assert importlib.metadata.version('mine') == '0.1'\n"),
	}
}

var installs = []string{
	"pip install --no-index --find-links wheels -r requirements.txt",
	"python3 -m pip install --no-index --no-build-isolation -e . && dep-tool | grep -x 42",
}

// isolated checks that what set-up installed is found by a Python on its own
// too, after the standard library and before what the image has.
const isolated = `
import sys, dep, mine
where = [i for i, p in enumerate(sys.path) if p.startswith("` + site + `")]
assert where and sys.path[where[0] - 1].endswith("lib-dynload") and sys.path[where[-1] + 1].endswith("-packages"), sys.path
assert sys.path[-1] == "/box/src/src", sys.path
`

func TestSetupInstallsPythonPackages(t *testing.T) {
	e := engine(t)
	files := project(t, "84")
	img, said := prepare(t, e, Target{Image: HostPython, Tree: model.Tree{Files: append(files, unique())}, Setup: installs})
	require.Contains(t, said, "set-up: "+installs[0])

	o := in(t, e, img, files, "pytest", "-q")
	require.True(t, o.OK(), "%s%s", o.Stdout, o.Stderr)
	o = in(t, e, img, files, "python3", "-I", "-c", isolated)
	require.True(t, o.OK(), "%s%s", o.Stdout, o.Stderr)
	o = in(t, e, img, files, "dep-tool")
	require.Equal(t, "42\n", string(o.Stdout), "%s", o.Stderr)
	o = in(t, e, img, files, "sh", "-c", "find "+site+" -name 'dep.*.pyc' | grep -q . && touch "+site+"/x")
	require.Contains(t, string(o.Stderr), "Read-only")
	o = in(t, e, img, files, "pip", "install", "never")
	require.Contains(t, string(o.Stderr), "No matching distribution", "pip does not look for a network")

	files[3] = text("src/mine/__init__.py", "def twice():\n    return 1\n")
	o = in(t, e, img, files, "pytest", "-q")
	require.Contains(t, string(o.Stdout), "assert 1 == 84", "the tree in the box is what is tested")
	var n int
	for range 2 {
		var err error
		n, err = e.RemoveImages(t.Context())
		require.NoError(t, err)
	}
	require.Zero(t, n)
	_, err := e.imageID(t.Context(), img.ID)
	require.ErrorIs(t, err, sandbox.ErrNoImage)
}

func TestSetupOfPythonThatFails(t *testing.T) {
	e := engine(t)
	for name, c := range map[string]struct {
		line string
		want []string
	}{
		"missing": {"echo first; pip install --no-index missing-package", []string{"pip install --no-index missing-package", "exit code 1", "No matching distribution found for missing-package"}},
		"copy":    {"pip install --no-index --no-deps --no-build-isolation .", []string{"mine", "pip install -e"}},
		"shell":   {"exit 3", []string{"exit code 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := append(project(t, "84"), unique())
			_, err := e.Prepare(t.Context(), Target{Image: HostPython, Tree: model.Tree{Files: files}, Setup: []string{c.line}}, nil)
			var typed *sandbox.Error
			require.ErrorAs(t, err, &typed)
			for _, w := range c.want {
				require.ErrorContains(t, err, w)
			}
		})
	}
}

// renamed makes an image of somebody else's from host-python.
func renamed(t *testing.T, e *Engine) string {
	t.Helper()
	img, _ := prepare(t, e, Target{Image: HostPython})
	c, err := e.api.ContainerCreate(t.Context(), &container.Config{Image: img.ID}, nil, nil, nil, "")
	require.NoError(t, err)
	defer func() { require.NoError(t, e.remove(context.Background(), c.ID)) }()
	ref := "ratchet-test/" + uuid.NewString()[:8] + ":1"
	_, err = e.api.ContainerCommit(t.Context(), c.ID, container.CommitOptions{Reference: ref, Config: &container.Config{
		Labels: map[string]string{labelHelper: "of an older version", labelImage: ""},
		Env:    []string{"PATH=/opt/own/bin:/usr/bin:/bin", "OWN=1", "LANG=C"},
	}})
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := e.api.ImageRemove(context.Background(), ref, image.RemoveOptions{Force: true})
		require.NoError(t, err)
	})
	return ref
}

func TestAPythonImageOfSomebodyElse(t *testing.T) {
	e := engine(t)
	ref := renamed(t, e)
	plain, err := e.Prepare(t.Context(), Target{Image: ref, Tree: model.Tree{Files: []model.File{text("README", "")}}}, nil)
	require.NoError(t, err)
	require.Empty(t, plain.Env, "a target without Python is not given Python's settings")
	t.Cleanup(func() {
		_, err := e.api.ImageRemove(context.Background(), plain.ID, image.RemoveOptions{Force: true})
		require.NoError(t, err)
	})

	files := []model.File{wheel(t), text("requirements.txt", "dep\n"), text("test_dep.py", "import dep\n\ndef test_dep():\n    assert dep.answer() == 42\n")}
	img, _ := prepare(t, e, Target{Image: ref, Tree: model.Tree{Files: append(files, unique())}, Setup: []string{installs[0] + " | cat >&2"}})
	require.True(t, strings.HasPrefix(img.Env["PATH"], site+"/bin:/opt/own/bin:"), img.Env["PATH"])
	o := in(t, e, img, files, "sh", "-c", "python3 -I -c 'import dep' && dep-tool && pytest -q")
	require.True(t, o.OK(), "%s%s", o.Stdout, o.Stderr)
}

func TestWhatABoxIsToldOfLanguages(t *testing.T) {
	mod, py := text("go.mod", "module m\n"), text("tools/x.py", "")
	for name, c := range map[string]struct {
		image      string
		files      []model.File
		goes, pies bool
	}{
		"go alone":              {HostGo, nil, true, false},
		"host-go has no python": {HostGo, []model.File{py}, true, false},
		"python alone":          {HostPython, nil, false, true},
		"both":                  {"golang-python:1", []model.File{mod, py}, true, true},
		"neither":               {"alpine:3", []model.File{text("README", "")}, false, false},
	} {
		target := Target{Image: c.image, Tree: model.Tree{Files: c.files}}
		require.Equal(t, c.goes, target.hasGo(), name)
		require.Equal(t, c.pies, target.hasPython(), name)
	}
	require.Equal(t, usualPath, pathOf(nil))
	require.Equal(t, "/a:/b", pathOf([]string{"X=1", "PATH=/a:/b"}))
	require.Equal(t, "/a", pathOf([]string{"PATH=" + site + "/bin:/a"}), "not once more")
}

func TestAddressesOfPackagesWithoutPasswords(t *testing.T) {
	t.Setenv("PIP_INDEX_URL", "https://packages.test/simple")
	t.Setenv("PIP_EXTRA_INDEX_URL", "https://user:word@packages.test/simple")
	t.Setenv("PIP_TRUSTED_HOST", "")
	e := &Engine{log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	require.Equal(t, map[string]string{"PIP_INDEX_URL": "https://packages.test/simple"}, e.indexSettings())
}
