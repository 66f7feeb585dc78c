package benchmarks

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"ratchet/internal/model"
)

// tree reads a tree from a txtar archive.
func tree(archive string) model.Tree {
	var t model.Tree
	for _, f := range txtar.Parse([]byte(archive)).Files {
		t.Files = append(t.Files, model.File{Path: f.Name, Mode: model.ModeFile, Data: f.Data})
	}
	sort.Slice(t.Files, func(i, j int) bool { return t.Files[i].Path < t.Files[j].Path })
	return t
}

// edit replaces or adds a file.
func edit(path, content string) model.Edit { return model.Edit{Path: path, Data: []byte(content)} }

func suite(t testing.TB, c Config) *goSuite {
	t.Helper()
	if c.Name == "" {
		c.Name = "unit"
	}
	c.Kind = KindGoTest
	s, err := New(c)
	require.NoError(t, err)
	return s.(*goSuite)
}

func discover(t testing.TB, s *goSuite, in model.Tree) []model.Problem {
	t.Helper()
	problems, err := s.Discover(context.Background(), Target{Trusted: in})
	require.NoError(t, err)
	return problems
}

func ids(problems []model.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.ID)
	}
	return out
}

// only picks problems by name.
func only(problems []model.Problem, names ...string) []model.Problem {
	var out []model.Problem
	for _, p := range problems {
		for _, n := range names {
			if p.Name == n {
				out = append(out, p)
			}
		}
	}
	return out
}

// write lays a tree into a folder of the host.
func write(t testing.TB, in model.Tree) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range in.Files {
		file := filepath.Join(dir, filepath.FromSlash(f.Path))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, f.Data, 0o644))
	}
	return dir
}

// hostGo runs the go command on a tree of our own; the code is trusted.
func hostGo(t testing.TB, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOPROXY=off", "GOWORK=")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
