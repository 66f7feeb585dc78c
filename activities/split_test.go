package activities

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/model"
)

// parametrised are n test functions with three cases each.
func parametrised(n int) []model.Problem {
	var out []model.Problem
	for i := range n {
		group := fmt.Sprintf("unit/t/test_a.py::test_%d", i)
		for c := range 3 {
			name := fmt.Sprintf("test_a.py::test_%d[%d]", i, c)
			out = append(out, model.Problem{ID: "unit/t/" + name, Suite: "unit", Package: "t", Name: name, Group: group})
		}
	}
	return out
}

func TestSplitHoldsOutWholeGroups(t *testing.T) {
	got := Split(specWith(campaign.Heldout{Share: 0.25}), parametrised(10), nil)
	held := map[string]int{}
	for _, p := range got {
		if p.Split == model.SplitHeldout {
			held[p.Group]++
		}
	}
	require.Len(t, held, 2, "7 of 30 problems have room for two groups of three")
	for _, n := range held {
		require.Equal(t, 3, n)
	}
}

func TestSplitHoldsOutTheGroupOfAListedCase(t *testing.T) {
	for _, name := range []string{"test_1", "test_a.py::test_1", "t/test_a.py::test_1", "unit/t/test_a.py::test_1", "test_a.py::test_1[2]"} {
		got := heldOut(Split(specWith(campaign.Heldout{Problems: []string{name}}), parametrised(3), nil))
		require.Equal(t, []string{"test_a.py::test_1[0]", "test_a.py::test_1[1]", "test_a.py::test_1[2]"}, got, name)
	}
}

func TestSplitShowsTheWholeGroupOfTheLastFailure(t *testing.T) {
	failing := map[string]bool{"unit/t/test_a.py::test_0[1]": true}
	got := Split(specWith(campaign.Heldout{Problems: []string{"test_0", "test_1"}}), parametrised(3), failing)
	require.Equal(t, []string{"test_a.py::test_1[0]", "test_a.py::test_1[1]", "test_a.py::test_1[2]"}, heldOut(got))
}
