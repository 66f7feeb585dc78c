package benchmarks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"ratchet/internal/model"
	"ratchet/internal/patch"
)

// TestPyDisguises sends cheats the whole way of a candidate: through the gate and,
// if it lets them pass, through a run.
func TestPyDisguises(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "python_disguises.txtar"))
	require.NoError(t, err)
	l, s, trusted := pyBoxes(t).shared(t), pytestSuite(t, Config{}), tree(honestPy)
	problems := pyProblems(s, honestPyNodes...)
	for _, f := range txtar.Parse(data).Files {
		t.Run(f.Name, func(t *testing.T) {
			edits := []model.Edit{edit("calc/ops.py", wrongOps+string(f.Data))}
			if r := patch.Gate(trusted, model.Candidate{Edits: edits}, patch.Policy{}); r != nil {
				require.Equal(t, patch.RuleReach, r.Rule, r)
				return
			}
			run := l.runPy(t, s, trusted, trusted.With(edits...), problems)
			for id, o := range outcomes(t, run.Results) {
				if id != "unit/tests/test_calc.py::test_zero" {
					require.NotEqual(t, model.Pass, o, id)
				}
			}
		})
	}
}
