package report

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// bench makes a benchmark from scores by problem, one a round.
func bench(id string, scores map[string][]float64) model.Benchmark {
	b := model.Benchmark{ID: id, Name: "n"}
	for p, list := range scores {
		for _, x := range list {
			o := model.Pass
			if x < 1 {
				o = model.Fail
			}
			b.Results = append(b.Results, model.Result{Problem: p, Score: x, Outcome: o, Tokens: 3})
		}
		b.Runs = make([]model.RunSummary, len(list))
	}
	return b
}

func verdicts(c Comparison) map[string]Verdict {
	out := map[string]Verdict{}
	for _, p := range c.Problems {
		out[p.Problem] = p.Verdict
	}
	return out
}

func TestCompareScores(t *testing.T) {
	ones, zeros := []float64{1, 1, 1, 1, 1}, []float64{0, 0, 0, 0, 0}
	c := Compare(
		bench("a", map[string][]float64{"up": zeros, "down": ones, "still": ones, "flaky": {0, 1, 0, 1, 0}, "few": {0}, "gone": {1}, "turned": {0, 1}}),
		bench("b", map[string][]float64{"up": ones, "down": zeros, "still": ones, "flaky": {1, 1, 0, 1, 1}, "few": {1}, "new": {1}, "turned": {1, 0}}))
	require.Equal(t, map[string]Verdict{
		"up": Better, "down": Worse, "still": Same, "flaky": Noisy, "few": MaybeBetter, "gone": Removed, "new": Added, "turned": Same,
	}, verdicts(c))
	require.Equal(t, []int{1, 1, 1, 0, 1}, []int{c.Better, c.Worse, c.MaybeBetter, c.MaybeWorse, c.Noisy})
	require.EqualValues(t, []any{24 * 3, "a"}, []any{int(c.A.Tokens), c.A.ID})
	back := Compare(bench("b", map[string][]float64{"few": {1}}), bench("a", map[string][]float64{"few": {0}}))
	require.Equal(t, 1, back.MaybeWorse)
}

func TestFewRoundsProveNothing(t *testing.T) {
	for rounds := 1; rounds <= 3; rounds++ {
		zero, one := make([]float64, rounds), make([]float64, rounds)
		for i := range one {
			one[i] = 1
		}
		c := Compare(bench("a", map[string][]float64{"x": zero}), bench("b", map[string][]float64{"x": one}))
		require.Equal(t, MaybeBetter, c.Problems[0].Verdict, "%d rounds", rounds)
		require.Greater(t, c.Problems[0].P, falseShare)
	}
}

func metrics(id string, outcome model.Outcome, values ...float64) model.Benchmark {
	b := model.Benchmark{ID: id, Metrics: map[string]model.Metric{"ms": {Unit: "ms", Better: model.BetterLower, MinEffect: 0.05}}}
	for _, v := range values {
		b.Results = append(b.Results, model.Result{Problem: "ms", Score: 1, Outcome: outcome, Value: v})
	}
	return b
}

func TestCompareMetrics(t *testing.T) {
	slow := metrics("a", model.Pass, 12.2, 12.4, 12.3, 12.5, 12.1)
	for _, x := range []struct {
		b    model.Benchmark
		want Verdict
	}{
		{metrics("b", model.Pass, 10.1, 10.2, 10.0, 10.3, 9.9), Better},
		{metrics("b", model.Pass, 14.1, 14.2, 14.0, 14.3, 13.9), Worse},
		{metrics("b", model.Pass, 12.0, 12.05, 12.01, 12.02, 12.03), Same}, // real, but less than counts
		{metrics("b", model.Pass, 11.0, 12.3, 9.0, 14.0, 11.1), Noisy},
		{metrics("b", model.Pass, 10), MaybeBetter},
		{metrics("b", model.Fail, 0, 0, 0, 0, 0), Worse}, // nothing was measured
	} {
		c := Compare(slow, x.b)
		require.Equal(t, x.want, c.Problems[0].Verdict, "%+v", c.Problems[0])
	}
	p := Compare(slow, metrics("b", model.Pass, 10.1, 10.2, 10.0)).Problems[0]
	require.InDelta(t, 10.1/12.3-1, *p.Change, 1e-9)
	require.Equal(t, []float64{12.3, 10.1}, []float64{*p.A, *p.B})
	require.Nil(t, Compare(metrics("a", model.Pass, 0), slow).Problems[0].Change)
	higher := metrics("b", model.Pass, 10.1, 10.2, 10.0, 10.3, 9.9)
	slow.Metrics, higher.Metrics = nil, map[string]model.Metric{"ms": {Better: model.BetterHigher}}
	require.Equal(t, Worse, Compare(slow, higher).Problems[0].Verdict)
}

// TestRankSumIsExact compares with all ways to deal the values to the sides.
func TestRankSumIsExact(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 200 {
		values := make([]float64, 2+r.Intn(8))
		for i := range values {
			values[i] = float64(r.Intn(4))
		}
		n := 1 + r.Intn(len(values)-1)
		require.InDelta(t, brute(values, n), rankSum(values[:n], values[n:]), 1e-12, "%v %d", values, n)
	}
	require.Equal(t, 1.0, rankSum(nil, []float64{1}))
	require.InDelta(t, 2./252, rankSum(make([]float64, 5), []float64{1, 1, 1, 1, 1}), 1e-12)
	require.InDelta(t, 1./3, rankSum([]float64{math.Inf(-1), 0}, []float64{1, 2}), 1e-12)
	many := make([]float64, 1000)
	require.Equal(t, 1.0, rankSum(many, many))
}

func brute(values []float64, n int) float64 {
	ranks, total := doubledRanks(values)
	centre := float64(n*total) / float64(len(ranks))
	distance := func(set int) float64 {
		sum := 0
		for i, x := range ranks {
			if set&(1<<i) != 0 {
				sum += x
			}
		}
		return math.Abs(float64(sum) - centre)
	}
	far, all := 0, 0
	for set := range 1 << len(ranks) {
		if bits.OnesCount(uint(set)) == n {
			all++
			if distance(set) >= distance(1<<n-1)-1e-9 {
				far++
			}
		}
	}
	return float64(far) / float64(all)
}

// TestNoiseIsNotCalledADifference: suites of coin flips, compared with themselves.
func TestNoiseIsNotCalledADifference(t *testing.T) {
	r := rand.New(rand.NewSource(8))
	const suites = 2000
	called := 0
	for range suites {
		flips := func() map[string][]float64 {
			m := map[string][]float64{}
			for p := range 20 {
				for range 5 {
					id := fmt.Sprint(p)
					m[id] = append(m[id], float64(r.Intn(2)))
				}
			}
			return m
		}
		if c := Compare(bench("a", flips()), bench("b", flips())); c.Better+c.Worse > 0 {
			called++
		}
	}
	require.Less(t, float64(called)/suites, falseShare)
	t.Logf("%d of %d suites of twenty coin flips have a difference", called, suites)
}
