package activities

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/model"
)

func someProblems(n int) []model.Problem {
	out := make([]model.Problem, n)
	for i := range out {
		name := fmt.Sprintf("Test%d", i)
		out[i] = model.Problem{ID: "unit/p/" + name, Suite: "unit", Package: "p", Name: name}
	}
	return out
}

func heldOut(problems []model.Problem) []string {
	var out []string
	for _, p := range problems {
		if p.Split == model.SplitHeldout {
			out = append(out, p.Name)
		}
	}
	return out
}

func specWith(h campaign.Heldout) campaign.Spec {
	s := campaign.Default()
	s.Suites[0].Heldout = h
	return s
}

func TestSplitHoldsOutAShareTheSameWayEachTime(t *testing.T) {
	spec := specWith(campaign.Heldout{Share: 0.25})
	first := Split(spec, someProblems(40), nil)
	require.Len(t, heldOut(first), 10)
	require.Equal(t, first, Split(spec, someProblems(40), nil))
	spec.Seed++
	require.NotEqual(t, heldOut(first), heldOut(Split(spec, someProblems(40), nil)))
}

func TestSplitHoldsOutWhatIsListed(t *testing.T) {
	spec := specWith(campaign.Heldout{Problems: []string{"Test3", "unit/p/Test5"}})
	require.Equal(t, []string{"Test3", "Test5"}, heldOut(Split(spec, someProblems(8), nil)))
}

func TestSplitLeavesAFailingProblemVisible(t *testing.T) {
	spec := specWith(campaign.Heldout{Problems: []string{"Test1", "Test2"}})
	got := heldOut(Split(spec, someProblems(4), map[string]bool{"unit/p/Test1": true, "unit/p/Test2": true}))
	require.Len(t, got, 1, "one of the two that fail is shown")
	got = heldOut(Split(spec, someProblems(4), map[string]bool{"unit/p/Test1": true, "unit/p/Test3": true}))
	require.Equal(t, []string{"Test1", "Test2"}, got, "another that fails is visible already")
}

func TestFailingPrefersWhatAlwaysFails(t *testing.T) {
	problems := someProblems(3)
	run := func(outcomes ...model.Outcome) model.Run {
		var r model.Run
		for i, o := range outcomes {
			r.Results = append(r.Results, model.Result{Problem: problems[i].ID, Outcome: o})
		}
		return r
	}
	got := failing(problems, []model.Run{run(model.Pass, model.Fail, model.Fail), run(model.Pass, model.Pass, model.Fail)})
	require.Equal(t, map[string]bool{"unit/p/Test0": false, "unit/p/Test1": false, "unit/p/Test2": true}, got)
	got = failing(problems, []model.Run{run(model.Pass, model.Fail, model.Pass), run(model.Pass, model.Pass, model.Pass)})
	require.Equal(t, map[string]bool{"unit/p/Test0": false, "unit/p/Test1": true, "unit/p/Test2": false}, got)
}
