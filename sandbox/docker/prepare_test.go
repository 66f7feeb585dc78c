package docker

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
	"ratchet/sandbox/docker/internal/wire"
)

func text(path, data string) model.File {
	return model.File{Path: path, Mode: model.ModeFile, Data: []byte(data)}
}

// unique keeps a tree from finding the image of an earlier run.
func unique() model.File { return text("unique.txt", uuid.NewString()) }

// prepare prepares an image that is removed at the end.
func prepare(t *testing.T, e *Engine, target Target) (Image, []string) {
	t.Helper()
	var said []string
	img, err := e.Prepare(t.Context(), target, func(s string) { said = append(said, s) })
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := e.RemoveImages(context.Background())
		require.NoError(t, err)
	})
	return img, said
}

// in runs a command as Builder in a new box of the image, with the tree laid in.
func in(t *testing.T, e *Engine, img Image, tree []model.File, argv ...string) sandbox.Outcome {
	t.Helper()
	b, err := e.Open(t.Context(), sandbox.Spec{Image: img.ID, Env: img.Env})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	require.NoError(t, b.Put(t.Context(), "/box/src", sandbox.Builder, tree))
	c := command(argv...)
	c.User, c.Dir = sandbox.Builder, "/box/src"
	o, err := b.Exec(t.Context(), c)
	require.NoError(t, err)
	return o
}

func TestHostGoRunsTestsOffline(t *testing.T) {
	e := engine(t)
	files := []model.File{
		text("go.mod", "module m\n\ngo 1.22\n"), text("m.go", "package m\n\nfunc Two() int { return 2 }\n"),
		text("m_test.go", "package m\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal()\n\t}\n}\n"), unique(),
	}
	img, said := prepare(t, e, Target{
		Image: HostGo, Tree: model.Tree{Files: files},
		Setup: []string{"go version", `sh -c "echo hello"`}[:1],
		Warm:  []sandbox.Command{{Argv: []string{"go", "vet", "./..."}}, {Argv: []string{"go", "build", "./nothing"}}},
	})
	require.NotEmpty(t, said)
	again, said := prepare(t, e, Target{
		Image: HostGo, Tree: model.Tree{Files: files}, Setup: []string{"go version"},
		Warm: []sandbox.Command{{Argv: []string{"go", "vet", "./..."}}, {Argv: []string{"go", "build", "./nothing"}}},
	})
	require.Equal(t, img, again)
	require.Empty(t, said, "what is there is not made again")

	o := in(t, e, img, files, "go", "test", "-cover", "./...")
	require.True(t, o.OK(), "%s%s", o.Stdout, o.Stderr)
	require.Contains(t, string(o.Stdout), "coverage: 100.0%")

	other, err := e.Open(t.Context(), sandbox.Spec{Image: img.ID, Env: img.Env})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close(context.Background())) }()
	_, err = other.Get(t.Context(), "/box/src/go.mod", 100)
	require.ErrorIs(t, err, sandbox.ErrMissing, "the tree is not part of the image")

	n, err := e.RemoveImages(t.Context(), img.ID)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestSetupThatFailsSaysWhy(t *testing.T) {
	e := engine(t)
	for line, want := range map[string]string{"go nonsense": "unknown command", "go version | cat": "needs a shell"} {
		_, err := e.Prepare(t.Context(), Target{Image: HostGo, Tree: model.Tree{Files: []model.File{unique()}}, Setup: []string{line}}, nil)
		require.ErrorContains(t, err, want)
	}
	_, err := e.Prepare(t.Context(), Target{Image: HostGo, Dir: "/etc"}, nil)
	require.ErrorIs(t, err, sandbox.ErrPath)
	_, err = e.Prepare(t.Context(), Target{}, nil)
	require.ErrorIs(t, err, sandbox.ErrNoImage)
	_, err = e.Prepare(t.Context(), Target{Image: "registry.invalid/none:1"}, nil)
	require.ErrorIs(t, err, sandbox.ErrNoImage)
	require.ErrorContains(t, err, HostGo, "the hint names what needs no registry")
	require.ErrorContains(t, err, HostPython)
	require.ErrorContains(t, err, "docker load")
}

// imported makes an image of somebody else's: one file and no shell.
func imported(t *testing.T, e *Engine, changes ...string) string {
	t.Helper()
	ref := "ratchet-test/" + uuid.NewString()[:8] + ":1"
	body := stream(func(r *rootfs) error { return r.file("/hello", 0o644, []byte("hello")) })
	defer body.Close()
	resp, err := e.api.ImageImport(t.Context(), image.ImportSource{Source: body, SourceName: "-"}, ref, image.ImportOptions{Changes: changes})
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp)
	require.NoError(t, err)
	resp.Close()
	t.Cleanup(func() {
		_, err := e.api.ImageRemove(context.Background(), ref, image.RemoveOptions{Force: true})
		require.NoError(t, err)
	})
	return ref
}

func TestAnImageOfSomebodyElse(t *testing.T) {
	e := engine(t)
	ref := imported(t, e, "ENV OWN=1")
	_, err := e.Open(t.Context(), sandbox.Spec{Image: ref})
	require.ErrorIs(t, err, sandbox.ErrNoImage, "without the helper no box can be held")

	img, _ := prepare(t, e, Target{Image: ref})
	t.Cleanup(func() {
		_, err := e.api.ImageRemove(context.Background(), img.ID, image.RemoveOptions{Force: true})
		require.NoError(t, err)
	})
	b, err := e.Open(t.Context(), sandbox.Spec{Image: img.ID, Env: img.Env})
	require.NoError(t, err)
	require.NoError(t, b.Put(t.Context(), "/box", sandbox.Builder, []model.File{text("f", "x")}))
	got, err := b.Get(t.Context(), "/box/f", 10)
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
	require.NoError(t, b.Close(t.Context()))

	_, err = e.Prepare(t.Context(), Target{Image: imported(t, e, "VOLUME /data")}, nil)
	require.ErrorContains(t, err, "volumes")
}

func TestANewHelperReplacesOneOfTheSameSize(t *testing.T) {
	e := engine(t)
	from := imported(t, e)
	for i, helper := range []string{"first helper", "other helper"} {
		ref := fmt.Sprintf("ratchet-test/%s:%d", uuid.NewString()[:8], i)
		require.NoError(t, e.layHelper(t.Context(), []byte(helper), from, ref, helper))
		t.Cleanup(func() {
			_, err := e.api.ImageRemove(context.Background(), ref, image.RemoveOptions{Force: true})
			require.NoError(t, err)
		})
		c, err := e.api.ContainerCreate(t.Context(), &container.Config{Image: ref, Cmd: []string{"/none"}}, nil, nil, nil, "")
		require.NoError(t, err)
		body, _, err := e.api.CopyFromContainer(t.Context(), c.ID, wire.Helper)
		require.NoError(t, err)
		r := tar.NewReader(body)
		_, err = r.Next()
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, helper, string(got))
		require.NoError(t, body.Close())
		require.NoError(t, e.remove(t.Context(), c.ID))
		from = ref
	}
}

// moduleProxy serves one module in the way of the Go module proxy.
func moduleProxy(t *testing.T) map[string][]byte {
	t.Helper()
	const at = "example.test/dep@v1.0.0/"
	files := map[string]string{"go.mod": "module example.test/dep\n\ngo 1.22\n", "dep.go": "package dep\n\nconst Answer = 42\n"}
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, name := range sortedKeys(files) {
		w, err := z.Create(at + name)
		require.NoError(t, err)
		_, err = w.Write([]byte(files[name]))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	const dir = "example.test/dep/@v/"
	return map[string][]byte{
		dir + "list": []byte("v1.0.0\n"), dir + "v1.0.0.info": []byte(`{"Version":"v1.0.0"}`),
		dir + "v1.0.0.mod": []byte(files["go.mod"]), dir + "v1.0.0.zip": buf.Bytes(),
	}
}

// needing is a module in a sub-folder, within a workspace, that needs another.
func needing(t *testing.T) []model.File {
	return []model.File{
		text("go.work", "go 1.22\n\nuse ./sub\n"),
		text("sub/go.mod", "module m\n\ngo 1.22\n\nrequire example.test/dep v1.0.0\n"), unique(),
		text("sub/m.go", "package main\n\nimport \"example.test/dep\"\n\nfunc main() { println(dep.Answer) }\n"),
	}
}

func TestModulesAreFetchedOnTheHostWhenABoxCannot(t *testing.T) {
	e := engine(t)
	dir := t.TempDir()
	for name, data := range moduleProxy(t) {
		require.NoError(t, writeFile(filepath.Join(dir, name), data))
	}
	t.Setenv("GOPROXY", "file://"+dir) // not to be seen from a box
	t.Setenv("GONOSUMDB", "example.test")
	files := withSum(t, e, needing(t))
	img, said := prepare(t, e, Target{Image: HostGo, Tree: model.Tree{Files: files}})
	require.Contains(t, said, "fetching Go modules on the host")
	o := in(t, e, img, files, "go", "run", "./sub")
	require.True(t, o.OK(), "%s", o.Stderr)
	require.Equal(t, "42\n", string(o.Stderr))
}

// gateway is the address under which a box with network reaches this machine.
func gateway(t *testing.T, e *Engine) string {
	t.Helper()
	b, err := e.open(t.Context(), sandbox.Spec{Image: hostGo(t, e).ID, Network: sandbox.NetworkOpen}, false)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	c, err := e.api.ContainerInspect(t.Context(), b.id)
	require.NoError(t, err)
	require.NotEmpty(t, c.NetworkSettings.Networks["bridge"].Gateway)
	return c.NetworkSettings.Networks["bridge"].Gateway
}

func TestModulesAreFetchedInABox(t *testing.T) {
	e := engine(t)
	l, err := net.Listen("tcp", net.JoinHostPort(gateway(t, e), "0"))
	if err != nil {
		t.Skipf("the engine's bridge is not on this machine: %v", err)
	}
	served := moduleProxy(t)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := served[r.URL.Path[1:]]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	})}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	defer func() { srv.Close(); <-done }()

	t.Setenv("GOPROXY", fmt.Sprintf("http://%s", l.Addr()))
	t.Setenv("GONOSUMDB", "example.test")
	files := withSum(t, e, needing(t))
	img, said := prepare(t, e, Target{Image: HostGo, Tree: model.Tree{Files: files}})
	require.NotContains(t, said, "fetching Go modules on the host")
	o := in(t, e, img, files, "go", "run", "./sub")
	require.True(t, o.OK(), "%s", o.Stderr)
}

func TestModulesThatNobodyCanFetch(t *testing.T) {
	e := engine(t)
	t.Setenv("GOPROXY", "file:///no/such/folder")
	t.Setenv("GONOSUMDB", "example.test")
	_, err := e.Prepare(t.Context(), Target{Image: HostGo, Tree: model.Tree{Files: needing(t)}}, nil)
	var typed *sandbox.Error
	require.ErrorAs(t, err, &typed)
	require.Contains(t, typed.Hint, "vendor")
}

// withSum adds the go.sum that the go command on the host writes.
func withSum(t *testing.T, e *Engine, files []model.File) []model.File {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		require.NoError(t, writeFile(filepath.Join(dir, f.Path), f.Data))
	}
	cmd := e.goCommand(t.Context(), filepath.Join(dir, "sub"), "mod", "tidy")
	cmd.Env = append(cmd.Env, "GOMODCACHE="+filepath.Join(dir, "cache"), "GOFLAGS=-modcacherw")
	msg, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", msg)
	sum, err := os.ReadFile(filepath.Join(dir, "sub", "go.sum"))
	require.NoError(t, err)
	return append(files, model.File{Path: "sub/go.sum", Mode: model.ModeFile, Data: sum})
}
