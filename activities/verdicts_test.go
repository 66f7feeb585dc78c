package activities

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/benchmarks"
	"ratchet/internal/model"
)

// said is what a suite says of candidate "c", with one result of its own.
func said(suite, stage string, passed bool, broken ...string) benchmarks.Screened {
	return benchmarks.Screened{
		Key: "c", Stage: stage, Passed: passed, Results: []model.Result{{Problem: suite}}, Sandbox: 1,
		Judged: model.Judgement{Pass: passed, Fixed: []string{"fixed in " + suite}, Broken: broken, Reason: "by " + suite},
	}
}

func TestVerdictsOfTwoSuites(t *testing.T) {
	tampered := said("b", benchmarks.StageTargets, false)
	tampered.Tampered = "forged"
	for name, c := range map[string]struct {
		a, b    benchmarks.Screened
		passed  bool
		reason  string
		results []string
	}{
		"both pass":                   {said("a", benchmarks.StageSearch, true), said("b", benchmarks.StageSearch, true), true, "by a", []string{"a", "b"}},
		"the second is silent":        {said("a", benchmarks.StageSearch, true), said("b", benchmarks.StageTargets, false), true, "by a", []string{"a"}},
		"the first is silent":         {said("a", benchmarks.StageTargets, false), said("b", benchmarks.StageSearch, true), true, "by b", []string{"b"}},
		"both are silent":             {said("a", benchmarks.StageTargets, false), said("b", benchmarks.StageTargets, false), false, "by a", []string{"a", "b"}},
		"the second is broken":        {said("a", benchmarks.StageSearch, true), said("b", benchmarks.StageSearch, false, "b/x"), false, "by b", []string{"b", "a"}},
		"the second does not build":   {said("a", benchmarks.StageSearch, true), said("b", benchmarks.StageBuild, false), false, "by b", []string{"b", "a"}},
		"the second is tampered with": {said("a", benchmarks.StageSearch, true), tampered, false, "by b", []string{"b", "a"}},
	} {
		v := aimedAtBoth()
		_, final := v.take(c.a)
		require.False(t, final, name)
		require.Len(t, v.aimed("b", candidate), 1, name)
		got, final := v.take(c.b)
		require.True(t, final, name)
		require.Empty(t, v.aimed("b", candidate), name)
		require.Equal(t, c.passed, got.Passed, name)
		require.Equal(t, c.reason, got.Judged.Reason, name)
		var results []string
		for _, r := range got.Results {
			results = append(results, r.Problem)
		}
		require.Equal(t, c.results, results, name)
		require.EqualValues(t, 2, got.Sandbox, name)
	}
}

func TestVerdictIsFinalOnceRefuted(t *testing.T) {
	v := aimedAtBoth()
	got, final := v.take(said("a", benchmarks.StageSearch, false, "a/x"))
	require.True(t, final)
	require.False(t, got.Passed)
	require.Empty(t, v.aimed("b", candidate))
}

// TestOtherSuitesGuard: what passed where its targets are is run by the others too.
func TestOtherSuitesGuard(t *testing.T) {
	for name, c := range map[string]struct {
		guard  benchmarks.Screened
		passed bool
	}{
		"no harm": {said("b", benchmarks.StageSearch, false), true},
		"harm":    {said("b", benchmarks.StageSearch, false, "b/x"), false},
	} {
		v := aimedAtBoth()
		v.suites["c"], v.left["c"], v.guards["c"] = []string{"a"}, 1, 1
		_, final := v.take(said("a", benchmarks.StageSearch, true))
		require.False(t, final, name)
		require.Empty(t, v.aimed("b", candidate), name)
		require.Len(t, v.guarded("b", candidate), 1, name)
		got, final := v.take(c.guard)
		require.True(t, final, name)
		require.Equal(t, c.passed, got.Passed, name)
	}
	v := aimedAtBoth()
	v.suites["c"], v.left["c"], v.guards["c"] = []string{"a"}, 1, 1
	_, final := v.take(said("a", benchmarks.StageTargets, false))
	require.True(t, final, "what gains nothing is not run by others")
}

var candidate = []model.Candidate{{Key: "c"}}

func aimedAtBoth() *verdicts {
	return &verdicts{
		suites: map[string][]string{"c": {"a", "b"}}, left: map[string]int{"c": 2}, guards: map[string]int{},
		sofar: map[string]benchmarks.Screened{}, done: map[string]bool{},
	}
}
