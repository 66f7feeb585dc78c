package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/sandbox"
)

// fakeApt puts programs of the names of apt-get and dpkg-deb alone on PATH;
// apt-get is the shell script.
func fakeApt(t *testing.T, script string) *Engine {
	t.Helper()
	dir := t.TempDir()
	for name, body := range map[string]string{"apt-get": script, "dpkg-deb": "exit 0"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755))
	}
	t.Setenv("PATH", dir)
	return &Engine{arch: "amd64"}
}

// found says where a fake apt-get keeps its downloads: beside its configuration.
const found = `dir=${3%/apt.conf}; `

func TestPackagesAreFetched(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		said   []string
		fails  []string
	}{
		"with the host's lists": {
			found + `: > $dir/cache/archives/a_1_all.deb`, []string{"downloading packages"}, nil,
		},
		"with lists of its own": {
			found + `case "$*" in *" update") : > $dir/updated;; *lists=*) test -f $dir/updated && : > $dir/cache/archives/a_1_all.deb;; *) echo old >&2; exit 100;; esac`,
			[]string{"downloading packages", "downloading package lists"}, nil,
		},
		"not at all": {
			`case "$*" in *" update") echo no network; exit 100;; *) echo "Unable to locate package python3"; exit 100;; esac`,
			[]string{"downloading packages", "downloading package lists"}, []string{"Unable to locate package python3", "no network"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, dir := fakeApt(t, c.script), t.TempDir()
			var said []string
			debs, err := e.fetchDebian(t.Context(), dir, []string{"a"}, func(s string) { said = append(said, s) })
			require.Equal(t, c.said, said)
			if c.fails == nil {
				require.NoError(t, err)
				require.Equal(t, []string{filepath.Join(dir, "cache/archives/a_1_all.deb")}, debs)
				return
			}
			var typed *sandbox.Error
			require.ErrorAs(t, err, &typed)
			require.Contains(t, typed.Hint, "pytest-timeout", "what else would do")
			for _, want := range c.fails {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestAHostWithoutAptSaysWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := (&Engine{arch: "amd64"}).fetchDebian(t.Context(), t.TempDir(), []string{"a"}, func(string) {})
	require.ErrorContains(t, err, "apt-get is missing on the host")
	require.ErrorContains(t, err, "sandbox.image")
}

func TestVersionsOfPackages(t *testing.T) {
	require.Equal(t, "zlib1g=1:1.2.13 python3=3.11.2-1+b1 odd=odd",
		versions([]string{"/x/zlib1g_1%3a1.2.13_amd64.deb", "python3_3.11.2-1+b1_all.deb", "odd"}))
}

type entry struct {
	tar.Header
	data string
}

func file(name, data string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o4755, Uid: 7, Size: int64(len(data))}, data}
}

// unpacked writes entries of a package and returns what is in the image.
func unpacked(t *testing.T, entries ...entry) map[string]*tar.Header {
	t.Helper()
	var in, out bytes.Buffer
	w := tar.NewWriter(&in)
	for _, e := range entries {
		require.NoError(t, w.WriteHeader(&e.Header))
		_, err := io.WriteString(w, e.data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	r := newRootfs(&out)
	require.NoError(t, r.debian(t.Context(), nil))
	require.NoError(t, r.unpack(tar.NewReader(&in)))
	require.NoError(t, r.close())
	got := map[string]*tar.Header{}
	for tr := tar.NewReader(&out); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		require.NoError(t, err)
		require.NotContains(t, got, h.Name)
		got[h.Name] = h
	}
}

func TestAPackageIsUnpackedIntoAMergedTree(t *testing.T) {
	got := unpacked(t,
		entry{Header: tar.Header{Name: "./bin/", Typeflag: tar.TypeDir, Mode: 0o755}},
		file("./bin/tool", "x"), file("./bin/tool", "again"),
		entry{Header: tar.Header{Name: "./bin/also", Linkname: "./bin/tool", Typeflag: tar.TypeLink}},
		entry{Header: tar.Header{Name: "./usr/bin/sym", Linkname: "../lib/x", Typeflag: tar.TypeSymlink}},
		entry{Header: tar.Header{Name: "./dev/null", Typeflag: tar.TypeChar}},
		file("./usr/share/doc/x/copyright", "long"),
		file("./usr/lib/python3/dist-packages/m/a.py", ""), file("./usr/lib/python3/dist-packages/m/b.py", ""),
	)
	require.Equal(t, "usr/bin", got["bin"].Linkname)
	tool := got["usr/bin/tool"]
	require.Equal(t, []int64{0o755, 0, 1}, []int64{tool.Mode, int64(tool.Uid), tool.Size}, "the first, root's, not set-uid")
	require.Equal(t, "usr/bin/tool", got["usr/bin/also"].Linkname)
	require.Equal(t, "../lib/x", got["usr/bin/sym"].Linkname)
	require.NotContains(t, got, "dev/null")
	require.NotContains(t, got, "usr/share/doc/x/copyright")
	require.Contains(t, got, "usr/lib/python3/dist-packages/m/__pycache__/")
}

func FuzzMerged(f *testing.F) {
	for _, s := range []string{"./", "./bin/sh", "lib", "../../etc/passwd", "/lib64//x/../y", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := merged(s)
		if strings.HasPrefix(got, "/") || got != "." && strings.Contains("/"+got+"/", "/../") {
			t.Fatalf("%q leaves the root", got)
		}
		if again := merged(got); again != got {
			t.Fatalf("%q becomes %q", got, again)
		}
	})
}
