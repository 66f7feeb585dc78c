package model

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMetricScore(t *testing.T) {
	for _, c := range []struct {
		m    Metric
		v    float64
		want float64
	}{
		{Metric{Better: BetterLower, Reference: 10}, 10, 0.5},
		{Metric{Better: BetterLower, Reference: 10}, 5, 2. / 3},
		{Metric{Better: BetterLower, Reference: 10}, 20, 1. / 3},
		{Metric{Better: BetterLower, Reference: 10}, 0, 1},
		{Metric{Better: BetterHigher, Reference: 10}, 20, 2. / 3},
		{Metric{Better: BetterHigher, Reference: 10}, 0, 0},
		{Metric{Better: BetterHigher}, 20, 0.5},
		{Metric{Better: BetterLower}, 0, 0.5},
	} {
		require.InDelta(t, c.want, c.m.Score(c.v), 1e-12, "%+v of %v", c.m, c.v)
		p := Problem{Metric: &c.m}
		require.Equal(t, c.m.Score(c.v), p.Score(Result{Outcome: Pass, Value: c.v}))
		require.Zero(t, p.Score(Result{Outcome: Fail, Value: c.v}), "what was not measured scores nothing")
	}
	require.Equal(t, 0.3, Problem{}.Score(Result{Outcome: Pass, Score: 0.3, Value: 7}))
}

func TestMetricGain(t *testing.T) {
	lower, higher := Metric{Better: BetterLower}, Metric{Better: BetterHigher}
	require.InDelta(t, math.Log(2), lower.Gain(10, 5), 1e-12)
	require.InDelta(t, -math.Log(2), higher.Gain(10, 5), 1e-12)
	require.Zero(t, lower.Gain(0, 0))
	require.Equal(t, math.Inf(1), lower.Gain(3, 0))
	require.Equal(t, math.Inf(-1), lower.Gain(0, 3))
	require.Equal(t, math.Log1p(DefaultMinEffect), lower.Threshold())
	require.Equal(t, math.Log1p(0.2), Metric{MinEffect: 0.2}.Threshold())
	for v, ok := range map[float64]bool{0: true, 3: true, -1: false, math.Inf(1): false} {
		require.Equal(t, ok, lower.Valid(v), v)
	}
	require.False(t, lower.Valid(math.NaN()))
}
