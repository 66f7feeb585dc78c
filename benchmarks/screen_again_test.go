package benchmarks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// secondLook wants to see once more what failed in the last stage, as trial.Judge does.
func secondLook(stage string, _ model.Candidate, results []model.Result) model.Judgement {
	j := model.Judgement{Pass: true}
	for _, r := range results {
		if stage == StageSearch && r.Outcome != model.Pass {
			j.Pass, j.Reason, j.Broken = false, "it breaks "+r.Problem, append(j.Broken, r.Problem)
		}
	}
	j.Again = j.Broken
	return j
}

// The last problem fails beside the others only, so that alone it passes, unless a
// candidate breaks it.
const (
	goBeside = `
-- go.mod --
module example.com/beside

go 1.22
-- calc/calc.go --
package calc

func Add(a, b int) int { return a - b }
-- calc/calc_test.go --
package calc

import "testing"

var ran bool

func TestAdd(t *testing.T) {
	ran = true
	if Add(1, 2) != 3 {
		t.Fatal()
	}
}

func TestBeside(t *testing.T) {
	if ran || Add(0, 0) != 0 {
		t.Fatal()
	}
}
`
	pyBeside = `
-- calc/__init__.py --
-- calc/core.py --
def add(a, b):
    return a - b
-- tests/test_calc.py --
from calc.core import add

ran = []


def test_add():
    ran.append(1)
    assert add(1, 2) == 3


def test_beside():
    assert not ran and add(0, 0) == 0
`
)

func requireSecondLook(t *testing.T, s Suite, target Target, file, fix, breaks string) {
	t.Helper()
	target.Limit = time.Minute // no test here takes long, but for a busy machine
	for name, shared := range map[string]bool{"one box": true, "own boxes": false} {
		t.Run(name, func(t *testing.T) {
			got := map[string]Screened{}
			targets := []string{target.Problems[0].ID}
			err := s.Screen(t.Context(), target, Screening{Judge: secondLook, Shared: shared, Candidates: []model.Candidate{
				{Key: "fixes", Targets: targets, Edits: []model.Edit{edit(file, fix)}},
				{Key: "breaks", Targets: targets, Edits: []model.Edit{edit(file, breaks)}},
			}}, func(x Screened) error { got[x.Key] = x; return nil })
			require.NoError(t, err)
			require.True(t, got["fixes"].Passed, "%+v", got["fixes"])
			require.Equal(t, []model.Outcome{model.Pass, model.Pass}, inOrder(got["fixes"].Results))
			require.False(t, got["breaks"].Passed, "%+v", got["breaks"])
			require.Equal(t, []model.Outcome{model.Pass, model.Fail}, inOrder(got["breaks"].Results))
		})
	}
}

func inOrder(rs []model.Result) (out []model.Outcome) {
	for _, r := range rs {
		out = append(out, r.Outcome)
	}
	return out
}

func TestScreenLooksAgain(t *testing.T) {
	l, s, in := boxes(t), suite(t, Config{}), tree(goBeside)
	requireSecondLook(t, s, l.target(in, in, discover(t, s, in)), "calc/calc.go",
		"package calc\n\nfunc Add(a, b int) int { return a + b }\n",
		"package calc\n\nfunc Add(a, b int) int { return 3 }\n")
}

func TestPyScreenLooksAgain(t *testing.T) {
	l, s, in := pyBoxes(t), pytestSuite(t, Config{}), tree(pyBeside)
	requireSecondLook(t, s, l.target(in, in, l.discoverPy(t, s, in)), "calc/core.py",
		"def add(a, b):\n    return a + b\n", "def add(a, b):\n    return 3\n")
}
