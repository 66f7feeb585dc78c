package benchmarks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"ratchet/internal/model"
	"ratchet/internal/patch"
)

// TestPyHonestRepository says that a good change of each module of a repository
// passes the gate and all tests of many kinds, as with pytest alone.
func TestPyHonestRepository(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "python_honest.txtar"))
	require.NoError(t, err)
	trusted := tree(string(data))
	l, s := pyBoxes(t).shared(t), pytestSuite(t, Config{})
	problems := l.discoverPy(t, s, trusted)
	require.Greater(t, len(problems), 20)
	var edits []model.Edit
	for _, f := range txtar.Parse(data).Files {
		if strings.HasPrefix(f.Name, "app/") {
			edits = append(edits, edit(f.Name, string(f.Data)+"\n\nREPAIRED = True\n"))
		}
	}
	require.Nil(t, patch.Gate(trusted, model.Candidate{Edits: edits}, patch.Policy{}))
	run := l.runPy(t, s, trusted, trusted.With(edits...), problems)
	require.Empty(t, run.Tampered)
	for id, o := range outcomes(t, run.Results) {
		want := model.Pass
		if strings.Contains(id, "skip") || strings.Contains(id, "xfail") {
			want = model.Skip
		}
		require.Equal(t, want, o, "%s: %s", id, run.ByProblem()[id].Message)
	}
}
