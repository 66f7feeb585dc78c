package trial

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/decision"
	"ratchet/internal/model"
)

// results has one pass for each id, or a failure for ids that begin with "!".
func results(ids ...string) []model.Result {
	var rs []model.Result
	for _, id := range ids {
		r := model.Result{Problem: id, Outcome: model.Pass, Score: 1}
		if id[0] == '!' {
			r = model.Result{Problem: id[1:], Outcome: model.Fail}
		}
		rs = append(rs, r)
	}
	return rs
}

func ids(cs []decision.Claim) []string {
	var out []string
	for _, c := range cs {
		out = append(out, c.Problem)
	}
	return out
}

func TestRates(t *testing.T) {
	r := Rates(model.Run{Results: results("a", "!b")}, model.Run{Results: results("a", "b")}, model.Run{Results: results("b")})
	require.Equal(t, map[string]Rate{"a": {Passed: 2, Runs: 2}, "b": {Passed: 2, Runs: 3}}, r)
	require.InDelta(t, 2./3, r["b"].Mean(), 1e-12)
	require.Zero(t, Rate{}.Mean())
	for _, o := range []model.Outcome{model.Fail, model.Skip, model.Missing, model.Timeout, model.BuildFailed, model.OutOfMemory, model.Crashed} {
		require.Equal(t, Rate{Passed: 0, Runs: 1}, Rates(model.Run{Results: []model.Result{{Problem: "a", Outcome: o}}})["a"], o)
	}
}

func TestSummarise(t *testing.T) {
	ps := []model.Problem{{ID: "a", Split: model.SplitSearch}, {ID: "b", Split: model.SplitSearch}, {ID: "c", Split: model.SplitHeldout}, {ID: "d", Split: model.SplitHeldout}}
	s := Summarise(ps, []model.Run{{Results: results("a", "!b", "c", "!d")}, {Results: results("a", "b", "c", "!d")}, {Results: results("b")}})
	require.InDelta(t, (1+2./3+1+0)/4, s.Score, 1e-12)
	require.InDelta(t, (1+2./3)/2, s.Search, 1e-12)
	require.InDelta(t, 0.5, s.Heldout, 1e-12)
	require.Equal(t, 4, s.Problems)
	require.Equal(t, 2, s.Passed)
	require.Equal(t, []string{"b"}, s.Flaky)
	require.Equal(t, []string{"d"}, s.Failing)
	none := Summarise(ps[:1], nil)
	require.Zero(t, none.Score)
	require.Equal(t, []string{"a"}, none.Failing, "a problem that never ran has failed")
	require.NotNil(t, none.Flaky)
	require.Zero(t, Summarise(nil, nil).Score)
}

func TestClassify(t *testing.T) {
	make := func(n int, r Rate, into map[string]Rate) {
		for range n {
			into[fmt.Sprint(len(into))] = r
		}
	}
	count := func(rates map[string]Rate) (c [3]int) {
		for _, k := range classify(rates) {
			c[k]++
		}
		return c
	}
	quiet := map[string]Rate{}
	make(15, Rate{Passed: 2, Runs: 2}, quiet)
	make(5, Rate{Passed: 0, Runs: 2}, quiet)
	require.Equal(t, [3]int{fails: 5, passes: 15}, count(quiet))
	one := map[string]Rate{}
	make(46, Rate{Passed: 2, Runs: 2}, one)
	make(2, Rate{Passed: 0, Runs: 2}, one)
	make(2, Rate{Passed: 1, Runs: 2}, one)
	require.Equal(t, [3]int{fails: 2, passes: 46, noisy: 2}, count(one), "two flaky problems make no noisy suite")
	coins := map[string]Rate{}
	make(5, Rate{Passed: 2, Runs: 2}, coins)
	make(5, Rate{Passed: 0, Runs: 2}, coins)
	make(10, Rate{Passed: 1, Runs: 2}, coins)
	require.Equal(t, [3]int{noisy: 20}, count(coins), "where half are seen to be flaky, the others are too")
	require.Equal(t, passes, classify(map[string]Rate{"a": {Passed: 99, Runs: 100}})["a"], "one hiccup in a hundred")
	require.Equal(t, noisy, classify(map[string]Rate{"a": {Passed: 9, Runs: 10}})["a"])
	require.Equal(t, fails, classify(map[string]Rate{"a": {Passed: 1, Runs: 100}})["a"])
	require.Equal(t, noisy, classify(map[string]Rate{"a": {Passed: 5000, Runs: 10000}})["a"], "no underflow")
	require.Empty(t, classify(nil))
}

// parent: p* pass, f* fail, n* are flaky.
var parent = map[string]Rate{
	"p1": {Passed: 10, Runs: 10}, "p2": {Passed: 10, Runs: 10}, "p3": {Passed: 10, Runs: 10}, "p4": {Passed: 10, Runs: 10}, "p5": {Passed: 10, Runs: 10}, "p6": {Passed: 10, Runs: 10},
	"f1": {Passed: 0, Runs: 10}, "f2": {Passed: 0, Runs: 10}, "n1": {Passed: 5, Runs: 10}, "n2": {Passed: 9, Runs: 10},
}

func TestJudge(t *testing.T) {
	judge := Judge(nil, parent)
	unbuilt := func(ids ...string) (rs []model.Result) {
		for _, id := range ids {
			rs = append(rs, model.Result{Problem: id, Outcome: model.BuildFailed})
		}
		return rs
	}
	for name, c := range map[string]struct {
		stage   string
		targets []string
		results []model.Result
		pass    bool
		fixed   []string
		broken  []string
	}{
		"builds":                        {StageBuild, nil, nil, true, nil, nil},
		"builds, said by results":       {StageBuild, nil, results("!f1", "p1"), true, nil, nil},
		"does not build":                {StageBuild, nil, unbuilt("f1", "f2"), false, nil, nil},
		"one package does not":          {StageBuild, nil, append(unbuilt("p1"), results("p2")...), false, nil, []string{"p1"}},
		"one never did":                 {StageBuild, nil, append(unbuilt("f1"), results("p2")...), true, nil, nil},
		"a target passes":               {StageTargets, []string{"f1", "f2"}, results("!f1", "f2"), true, []string{"f2"}, nil},
		"no target passes":              {StageTargets, []string{"f1", "f2"}, results("!f1", "!f2"), false, nil, nil},
		"it passed before":              {StageTargets, []string{"p1"}, results("p1"), false, nil, nil},
		"no targets":                    {StageTargets, nil, nil, true, nil, nil},
		"an unknown target":             {StageTargets, []string{"x"}, results("x"), false, nil, nil},
		"fixes one":                     {StageSearch, []string{"f1"}, results("f1", "!f2", "p1", "p2", "n1", "n2"), true, []string{"f1"}, nil},
		"fixes another than its target": {StageSearch, []string{"f1"}, results("!f1", "f2", "p1"), true, []string{"f2"}, nil},
		"flaky ones fail":               {StageSearch, []string{"f1"}, results("f1", "p1", "!n1", "!n2"), true, []string{"f1"}, nil},
		"fixes two, breaks one":         {StageSearch, []string{"f1"}, results("f1", "f2", "!p1"), false, []string{"f1", "f2"}, []string{"p1"}},
		"changes nothing":               {StageSearch, []string{"f1"}, results("!f1", "!f2", "p1"), false, nil, nil},
		"only a flaky one passes":       {StageSearch, []string{"n2"}, results("!f1", "!f2", "p1", "n2"), false, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			j := judge(c.stage, model.Candidate{Targets: c.targets}, c.results)
			require.Equal(t, c.pass, j.Pass)
			require.Equal(t, c.pass, j.Reason == "", "a reason when and only when it did not pass: %q", j.Reason)
			require.Equal(t, c.fixed, j.Fixed)
			require.Equal(t, c.broken, j.Broken)
		})
	}
}

// What one failure alone says is broken is to be run again, but for what chance
// does not explain and where there is too much of it.
func TestJudgeWantsToSeeAgain(t *testing.T) {
	judge := Judge([]model.Problem{metric("m", model.BetterLower)}, map[string]Rate{
		"p1": {Passed: 10, Runs: 10}, "p2": {Passed: 10, Runs: 10}, "p3": {Passed: 10, Runs: 10}, "p4": {Passed: 10, Runs: 10},
		"f": {Runs: 10}, "n": {Passed: 5, Runs: 10}, "m": valued(5, 5, 5, 5),
	})
	unbuilt := model.Result{Problem: "p2", Outcome: model.BuildFailed}
	for name, c := range map[string]struct {
		stage   string
		results []model.Result
		again   []string
	}{
		"one is broken":           {StageSearch, results("f", "!p1", "p2"), []string{"p1"}},
		"three are":               {StageSearch, results("f", "!p1", "!p2", "!p3"), []string{"p1", "p2", "p3"}},
		"four are":                {StageSearch, results("f", "!p1", "!p2", "!p3", "!p4"), nil},
		"none is":                 {StageSearch, results("f", "p1", "!n"), nil},
		"one does not build":      {StageSearch, append(results("f", "!p1"), unbuilt), nil},
		"a metric is worse":       {StageSearch, append(results("f"), value("m", 50)), nil},
		"a metric and a test are": {StageSearch, append(results("f", "!p1"), value("m", 50)), nil},
		"targets do not count":    {StageTargets, results("!p1"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.again, judge(c.stage, model.Candidate{Targets: []string{"f"}}, c.results).Again)
		})
	}
}

func TestClaimsOfFixes(t *testing.T) {
	cs := Claims(nil, parent, results("f1", "f2", "p1", "n1", "n2"), []string{"f2"})
	require.Equal(t, []string{"f2", "f1"}, ids(cs), "targets first, and nothing flaky beside a fix")
	require.Equal(t, decision.Claim{Problem: "f2", Bet: fixBet, Weight: fixWeight}, cs[0])
	many, rs := map[string]Rate{}, []string{}
	for i := range 30 {
		id := fmt.Sprintf("f%02d", i)
		many[id], rs = Rate{Passed: 0, Runs: 3}, append(rs, id)
	}
	require.Len(t, Claims(nil, many, results(rs...), nil), maxFixes)
	require.Empty(t, Claims(nil, parent, results("!f1", "p1", "!n1"), nil))
	require.Empty(t, Claims(nil, parent, results("unknown"), []string{"unknown"}), "nothing is known of it")
	require.Empty(t, Claims(nil, nil, nil, nil))
}

func TestClaimsOnNoise(t *testing.T) {
	coins := map[string]Rate{}
	good, bad := []string{}, []string{}
	for i := range 20 {
		id := fmt.Sprintf("n%02d", i)
		coins[id] = Rate{Passed: 50, Runs: 100}
		if i < 14 {
			good, bad = append(good, id), append(bad, "!"+id)
		} else {
			good, bad = append(good, "!"+id), append(bad, id)
		}
	}
	cs := Claims(nil, coins, results(good...), nil)
	require.Len(t, cs, 20, "also those that failed this once")
	for _, c := range cs {
		require.InDelta(t, 0.28, c.Bet, 0.02)
	}
	require.Empty(t, Claims(nil, coins, results(bad...), nil), "together they did worse")
	require.Empty(t, Claims(nil, map[string]Rate{"a": {Passed: 95, Runs: 100}}, results("a"), nil), "no budget could show 5 points of one problem")
	low := map[string]Rate{"a": {Passed: 10, Runs: 100}, "b": {Passed: 50, Runs: 100}}
	require.Equal(t, []string{"a"}, ids(Claims(nil, low, results("a", "b"), nil)), "10% is as good as failing")
	large, rs := map[string]Rate{}, []string{}
	for i := range 200 {
		id := fmt.Sprintf("n%03d", i)
		large[id], rs = Rate{Passed: 50, Runs: 100}, append(rs, id)
	}
	require.Len(t, Claims(nil, large, results(rs...), nil), maxNoisy)
}

// Equal input gives equal claims: a retried confirmation must not change them.
func TestClaimsAreDeterministic(t *testing.T) {
	rates, rs := map[string]Rate{}, []string{}
	for i := range 100 {
		id := fmt.Sprintf("n%03d", i)
		rates[id], rs = Rate{Passed: i % 5, Runs: 4}, append(rs, id)
	}
	want := Claims(nil, rates, results(rs...), nil)
	require.NotEmpty(t, want)
	for range 50 {
		require.Equal(t, want, Claims(nil, rates, results(rs...), nil))
	}
}
