package benchmarks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// folder reads a folder of the repository as a tree.
func folder(t testing.TB, dir string) model.Tree {
	t.Helper()
	var out model.Tree
	require.NoError(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, rerr := filepath.Rel(dir, p)
		require.NoError(t, rerr)
		out = out.With(model.Edit{Path: filepath.ToSlash(rel), Data: data})
		return err
	}))
	return out
}

// The project of the examples has cases that fail and cases that pass, for a
// reason that coverage points at.
func TestExecOfTheExample(t *testing.T) {
	t.Parallel()
	l, in := pyBoxes(t), folder(t, "../examples/_textkit")
	s := execSuiteOf(t, Config{Command: []string{"python3", "-m", "textkit"}, Cases: "cases"})
	problems := discoverAny(t, s, in)
	cov, err := s.Cover(t.Context(), l.target(in, in, problems), problems)
	require.NoError(t, err)
	failed := 0
	for id, outcome := range outcomes(t, cov.Results) {
		require.NotEmpty(t, cov.Hits[id], id)
		if outcome != model.Pass {
			failed++
		}
	}
	require.Positive(t, failed)
	require.Less(t, failed, len(problems))
}

// A canary in a Go test compiles and fails with its words.
func TestGoCanaryFails(t *testing.T) {
	t.Parallel()
	in := tree("-- go.mod --\nmodule example.com/m\n\ngo 1.26\n-- a_test.go --\npackage m\n\nimport (\n\t\"testing\"\n)\n\nfunc TestA(t *testing.T) {}\n")
	files, canaries := junitSuiteOf(t, Config{}).plant(in, nil)
	require.Len(t, canaries, 1)
	out, err := hostGo(t, write(t, in.With(edit(files[0].Path, string(files[0].Data)))), "test", "-v", "./...")
	require.Error(t, err)
	require.Contains(t, out, "--- FAIL: Test"+canaries[0].name)
	require.Contains(t, out, canaries[0].words)
	require.Contains(t, out, "--- PASS: TestA")
}
