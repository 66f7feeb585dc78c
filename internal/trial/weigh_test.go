package trial

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func TestWeigh(t *testing.T) {
	in := []model.Problem{{ID: "a1", Suite: "a"}, {ID: "a2", Suite: "a"}, {ID: "a3", Suite: "a"}, {ID: "b1", Suite: "b", Weight: 9}}
	out := Weigh(in, map[string]float64{"a": 1, "b": 3})
	share, total := map[string]float64{}, 0.0
	for _, p := range out {
		share[p.Suite] += p.Share()
		total += p.Share()
	}
	require.InDelta(t, 4, total, 1e-12, "the mean weight is 1")
	require.InDelta(t, 3, share["b"]/share["a"], 1e-12)
	require.Equal(t, out[0].Weight, out[2].Weight)
	require.EqualValues(t, 9, in[3].Weight, "the input is left alone")
	require.Equal(t, Weigh(in, nil), Weigh(in, map[string]float64{"a": 1, "b": 1}))
	require.Equal(t, Weigh(in, nil), Weigh(in, map[string]float64{"b": -2}))
	require.InDelta(t, 2, Weigh(in, nil)[3].Weight, 1e-12, "suites count equally")
	for _, p := range Weigh(in[:3], map[string]float64{"a": 7}) {
		require.Zero(t, p.Weight, "one suite needs no weights")
	}
	require.Empty(t, Weigh(nil, nil))
}

func TestWeightsCountInScores(t *testing.T) {
	ps := []model.Problem{{ID: "a", Suite: "x", Split: model.SplitSearch}, {ID: "b", Suite: "x", Split: model.SplitSearch}, {ID: "c", Suite: "y", Split: model.SplitHeldout}}
	runs := []model.Run{{Results: results("a", "!b", "c")}}
	require.Equal(t, 2./3, Summarise(ps, runs).Score)
	s := Summarise(Weigh(ps, map[string]float64{"x": 1, "y": 2}), runs)
	require.InDelta(t, (0.5*1+1*2)/3, s.Score, 1e-12)
	require.InDelta(t, 0.5, s.Search, 1e-12)
	require.Equal(t, 1., s.Heldout)
	ps[1].Weight = 3
	require.InDelta(t, 0.25, Summarise(ps, runs).Search, 1e-12)
}

func TestReference(t *testing.T) {
	ps := []model.Problem{{ID: "t"}, metric("m", model.BetterLower), metric("never", model.BetterLower)}
	runs := []model.Run{
		{Results: append(results("t"), value("m", 10))}, {Results: []model.Result{value("m", 90)}},
		{Results: []model.Result{value("m", 12), {Problem: "never", Outcome: model.Missing}}},
	}
	out := Reference(ps, runs)
	require.Nil(t, out[0].Metric)
	require.Equal(t, 12., out[1].Metric.Reference, "the median")
	require.Equal(t, 11., Reference(ps, []model.Run{runs[0], runs[2]})[1].Metric.Reference)
	require.Zero(t, out[2].Metric.Reference)
	require.Zero(t, ps[1].Metric.Reference, "the input is left alone")
	s := Summarise(out[1:2], []model.Run{{Results: []model.Result{value("m", 6)}}, {Results: []model.Result{value("m", 24)}}})
	require.InDelta(t, (2./3+1./3)/2, s.Score, 1e-12)
	require.Equal(t, 1, s.Passed)
}
