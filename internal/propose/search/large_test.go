package search

import (
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/diagnose"
	"ratchet/internal/model"
	"ratchet/internal/propose"
)

// largeTree is a package of the standard library, as a tree.
func largeTree(t testing.TB, pkg string) (model.Tree, diagnose.Brief) {
	dir := filepath.Join(build.Default.GOROOT, "src", filepath.FromSlash(pkg))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Skip("the source of the standard library is not installed: see https://go.dev/doc/install")
	}
	tree := model.Tree{}
	brief := diagnose.Brief{Weakest: []diagnose.Weakness{{Problem: "u/TestX", Package: ".", Name: "TestX"}}}
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		tree.Files = append(tree.Files, model.File{Path: e.Name(), Mode: model.ModeFile, Data: data})
		if !isTestFile(e.Name()) {
			brief.Suspects = append(brief.Suspects, diagnose.Suspect{
				File: e.Name(), StartLine: 1, StartCol: 1, EndLine: strings.Count(string(data), "\n") + 2, EndCol: 1, Score: 0.5, Problems: []string{"u/TestX"},
			})
		}
	}
	return tree, brief
}

// TestLargePackage runs over code that nobody wrote for it.
func TestLargePackage(t *testing.T) {
	tree, brief := largeTree(t, "encoding/csv")
	got := proposeAll(t, newProposer(t, Config{}), propose.Request{Brief: brief, Tree: tree, N: 100})
	require.Len(t, got, 100)
	files := map[string]bool{}
	for _, c := range got {
		files[c.Edits[0].Path] = true
	}
	require.Greater(t, len(files), 1)
}

func BenchmarkPropose(b *testing.B) {
	tree, brief := largeTree(b, "encoding/json")
	p := newProposer(b, Config{})
	r := propose.Request{Brief: brief, Tree: tree, N: 24}
	proposeAll(b, p, r) // loads the standard library
	for b.Loop() {
		proposeAll(b, p, r)
	}
}
