package trial

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/decision"
	"ratchet/internal/model"
)

func metric(id string, better model.Better) model.Problem {
	return model.Problem{ID: id, Suite: "m", Name: id, Split: model.SplitSearch, Metric: &model.Metric{Better: better, MinEffect: 0.05}}
}

func value(id string, v float64) model.Result {
	return model.Result{Problem: id, Outcome: model.Pass, Value: v}
}

// valued is what is known of a metric that measured the given values.
func valued(vs ...float64) Rate {
	r := Rate{Passed: len(vs), Runs: len(vs)}
	for _, v := range vs {
		r.value(v)
	}
	return r
}

func TestDifferenceOfMetrics(t *testing.T) {
	lower, higher := metric("m", model.BetterLower), metric("m", model.BetterHigher)
	failed := model.Result{Problem: "m", Outcome: model.Timeout}
	for name, c := range map[string]struct {
		p                 model.Problem
		parent, candidate model.Result
		gain, harm        float64
	}{
		"equal":                       {lower, value("m", 7), value("m", 7), -1, 1},
		"both are 0":                  {lower, value("m", 0), value("m", 0), -1, 1},
		"just the minimum effect":     {lower, value("m", 105), value("m", 100), 0, 1},
		"half as much again":          {lower, value("m", math.Pow(1.05, 1.5)), value("m", 1), 0.5, 1},
		"much lower":                  {lower, value("m", 200), value("m", 100), 1, 1},
		"much lower, which is worse":  {higher, value("m", 200), value("m", 100), -1, -1},
		"higher by the effect":        {higher, value("m", 100), value("m", 105), 0, 1},
		"worse by just the effect":    {lower, value("m", 100), value("m", 105), -1, 0},
		"falls to 0":                  {lower, value("m", 3), value("m", 0), 1, 1},
		"rises from 0":                {lower, value("m", 0), value("m", 3), -1, -1},
		"rises from 0, which is good": {higher, value("m", 0), value("m", 3), 1, 1},
		"is not measured any more":    {lower, value("m", 3), failed, -1, -1},
		"is measured now":             {lower, failed, value("m", 3), 1, 1},
		"never measured":              {lower, failed, failed, 0, 0},
		"a test":                      {model.Problem{ID: "m"}, model.Result{Score: 1}, model.Result{Score: 0.25}, -0.75, -0.75},
	} {
		t.Run(name, func(t *testing.T) {
			gain, harm := difference(c.p, c.parent, c.candidate)
			require.InDelta(t, c.gain, gain, 1e-9)
			require.InDelta(t, c.harm, harm, 1e-9)
		})
	}
}

func TestRatesOfMetrics(t *testing.T) {
	run := func(rs ...model.Result) model.Run { return model.Run{Results: rs} }
	r := Rates(run(value("m", 100)), run(value("m", 400)), run(model.Result{Problem: "m", Outcome: model.Crashed, Value: 9}))["m"]
	require.Equal(t, Rate{Passed: 2, Runs: 3, Valued: 2, Logs: r.Logs, Squares: r.Squares}, r)
	require.InDelta(t, 200, r.Typical(), 1e-9)
	require.True(t, r.IsMetric())
	require.Equal(t, r, valued(100).Add(valued(400)).Add(Rate{Runs: 1}))
	require.Zero(t, valued(0, 0).Typical())
	require.False(t, valued(0).IsMetric())
	require.Equal(t, 0.05, valued(3).noise(0.05), "one run shows no noise")
	require.InDelta(t, 0.2, valued(repeat(100, math.Exp(0.2), math.Exp(-0.2))...).noise(0.05), 0.005)
	require.Less(t, valued(repeat(100, 5)...).noise(0.05), 0.01)
}

func repeat(n int, vs ...float64) (out []float64) {
	for range n {
		out = append(out, vs...)
	}
	return out
}

func TestScreenOfMetrics(t *testing.T) {
	ps := []model.Problem{metric("a", model.BetterLower), metric("b", model.BetterLower), metric("c", model.BetterHigher), metric("new", model.BetterLower)}
	other := metric("z", model.BetterLower)
	other.Suite = "other"
	ps = append(ps, other)
	known := map[string]Rate{
		"a": valued(repeat(5, 98, 102)...), "b": valued(repeat(5, 98, 102)...), "c": valued(repeat(5, 98, 102)...),
		"z": valued(100, 100), "new": {Runs: 2}, "f": {Runs: 10}, "p": {Passed: 10, Runs: 10},
	}
	unmeasured := model.Result{Problem: "a", Outcome: model.Missing}
	beside := value("a", 170)
	beside.Beside = 200
	for name, c := range map[string]struct {
		targets []string
		results []model.Result
		claims  []string
		broken  []string
	}{
		"nothing moved":                    {nil, []model.Result{value("a", 97), value("c", 103)}, nil, nil},
		"better":                           {nil, []model.Result{value("a", 80)}, []string{"a"}, nil},
		"higher is better":                 {nil, []model.Result{value("c", 120)}, []string{"c"}, nil},
		"one claim for one command":        {nil, []model.Result{value("a", 90), value("b", 60)}, []string{"b"}, nil},
		"targets first":                    {[]string{"a"}, []model.Result{value("a", 90), value("b", 60)}, []string{"a"}, nil},
		"each suite by itself":             {nil, []model.Result{value("a", 80), value("z", 70)}, []string{"a", "z"}, nil},
		"a test is mended, a number moved": {[]string{"f"}, append(results("f"), value("a", 80)), []string{"f"}, nil},
		"both are targets":                 {[]string{"a", "f"}, append(results("f"), value("a", 80)), []string{"f", "a"}, nil},
		"a little worse":                   {nil, []model.Result{value("a", 106)}, nil, nil},
		"much worse":                       {nil, []model.Result{value("a", 130), value("b", 80)}, nil, []string{"a"}},
		"not measured":                     {nil, []model.Result{unmeasured, value("b", 80)}, nil, []string{"a"}},
		"measured for the first time":      {nil, []model.Result{value("new", 80)}, []string{"new"}, nil},
		"better than the parent beside it": {nil, []model.Result{beside}, []string{"a"}, nil},
		"a test breaks":                    {nil, append(results("!p"), value("b", 80)), nil, []string{"p"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := Judge(ps, known)(StageSearch, model.Candidate{Targets: c.targets}, c.results)
			require.Equal(t, c.broken, j.Broken)
			require.Equal(t, c.claims != nil, j.Pass, j.Reason)
			if c.broken == nil {
				require.Equal(t, c.claims, ids(Claims(ps, known, c.results, c.targets)))
				require.ElementsMatch(t, c.claims, j.Fixed)
			}
		})
	}
	target := Judge(ps, known)
	for v, pass := range map[float64]bool{80: true, 99: false, 130: false} {
		j := target(StageTargets, model.Candidate{Targets: []string{"a"}}, []model.Result{value("a", v)})
		require.Equal(t, pass, j.Pass, v)
	}
}

// What metrics measure must not make tests look steadier than they are.
func TestMetricsDoNotSettleTests(t *testing.T) {
	rates, ps := map[string]Rate{"t": {Passed: 2, Runs: 2}, "n": {Passed: 1, Runs: 2}, "o": {Passed: 1, Runs: 2}}, []model.Problem(nil)
	alone := know(nil, rates).kinds
	require.Equal(t, noisy, alone["t"])
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		ps, rates[id] = append(ps, metric(id, model.BetterLower)), valued(100, 100)
	}
	require.Equal(t, alone, know(ps, rates).kinds)
}

// numbers is a bench of metrics whose values move with a host that they share.
type numbers struct {
	base  float64
	noise float64 // of all values of one run together
	drift float64 // logarithm of the factor by which the host slows with each run
	clock *int
	rng   *rand.Rand
}

func (n numbers) Run(_ context.Context, problems []model.Problem, _ bool) (model.Run, error) {
	v := n.base * math.Exp(n.drift*float64(*n.clock)+n.noise*n.rng.NormFloat64())
	*n.clock++
	var run model.Run
	for _, p := range problems {
		run.Results = append(run.Results, value(p.ID, v))
	}
	return run, nil
}

// kept is how often a candidate is kept of which every value is base, the parent's being 100.
func kept(t *testing.T, n int, ids []string, base float64, host numbers) float64 {
	t.Helper()
	var ps []model.Problem
	var claims []decision.Claim
	for _, id := range ids {
		ps, claims = append(ps, metric(id, model.BetterLower)), append(claims, decision.Claim{Problem: id, Bet: fixBet})
	}
	times := 0
	for seed := range uint64(n) {
		host.clock, host.rng, host.base = new(int), rand.New(rand.NewPCG(seed, 1)), 100
		candidate := host
		candidate.base = base
		v, err := Confirm(context.Background(), host, candidate, ConfirmInput{Problems: ps, Claims: claims, Level: 0.05}, nil)
		require.NoError(t, err)
		if v.Keep {
			times++
		}
	}
	return float64(times) / float64(n)
}

// A host that slows by 8% with every run favours whoever runs first by more than
// the minimum effect. Because that alternates, nothing is gained by it; a
// lasting advantage of 8% is kept.
func TestDriftFavoursNeither(t *testing.T) {
	host := numbers{noise: 0.01, drift: 0.08}
	require.Zero(t, kept(t, 200, []string{"m"}, 100, host))
	host.drift = -0.08
	require.Zero(t, kept(t, 200, []string{"m"}, 100, host))
	require.Greater(t, kept(t, 200, []string{"m"}, 100/1.12, numbers{noise: 0.01}), 0.95)
}

// Numbers from one run of a command move together. A candidate that is better by
// just the minimum effect is kept within the level when one of them is claimed,
// and far too often when the evidence of four is multiplied.
func TestNumbersOfOneRunAreOneClaim(t *testing.T) {
	host := numbers{noise: 0.05}
	one := kept(t, 1000, []string{"a"}, 100/1.05, host)
	four := kept(t, 1000, []string{"a", "b", "c", "d"}, 100/1.05, host)
	t.Logf("kept of candidates at the minimum effect: one claim %.1f%%, four %.1f%%", 100*one, 100*four)
	require.Less(t, one, 0.05)
	require.Greater(t, four, 0.08)
}

func TestVerdictOnMetrics(t *testing.T) {
	confirm := func(base float64, other model.Better) Verdict {
		ps := []model.Problem{metric("m/latency", model.BetterLower), metric("m/other", other)}
		host := numbers{base: 100, clock: new(int), rng: rand.New(rand.NewPCG(1, 1))}
		candidate := host
		candidate.base = base
		v, err := Confirm(context.Background(), host, candidate,
			ConfirmInput{Problems: Reference(ps, []model.Run{{Results: []model.Result{value("m/latency", 100)}}}), Level: 0.05,
				Claims: []decision.Claim{{Problem: "m/latency", Bet: fixBet}}}, nil)
		require.NoError(t, err)
		return v
	}
	v := confirm(82, model.BetterLower)
	require.True(t, v.Keep)
	require.Contains(t, v.Reason, "m/latency fell by 18%, and nothing is proven worse")
	require.Equal(t, []string{"m/latency"}, v.Fixed)
	require.Equal(t, repeat(len(v.Claims[0].Candidate), 82), v.Claims[0].Candidate)
	require.Equal(t, repeat(len(v.Claims[0].Parent), 100), v.Claims[0].Parent)
	require.Equal(t, 2, v.Score.Passed)
	require.Empty(t, v.Score.Flaky)
	require.Empty(t, v.Score.Failing)
	require.InDelta(t, (100./182+0.5)/2, v.Score.Score, 1e-9)
	require.InDelta(t, 0.5, v.ParentScore.Score, 1e-9)
	v = confirm(82, model.BetterHigher)
	require.Equal(t, string(decision.Worse), v.Status)
	require.Equal(t, []string{"m/other"}, v.Broken)
	require.Contains(t, v.Reason, "it makes m/other worse: m/other fell by 18%")
	require.False(t, confirm(96, model.BetterLower).Keep, "less than the minimum effect")
}
