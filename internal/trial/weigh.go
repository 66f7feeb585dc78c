package trial

import (
	"slices"

	"ratchet/internal/model"
)

// Weigh returns the problems with weights under which each suite counts by its
// share of weights, and its problems equally within it; the mean weight is 1. A
// suite without a weight above 0 has 1. A single suite needs no weights: its
// problems keep none, and every mean is the plain one.
func Weigh(problems []model.Problem, weights map[string]float64) []model.Problem {
	out, size := slices.Clone(problems), map[string]int{}
	for _, p := range problems {
		size[p.Suite]++
	}
	total := 0.0
	for _, p := range problems { // in a fixed order: sums must not depend on a map's
		total += weightOf(weights, p.Suite) / float64(size[p.Suite])
	}
	for i, p := range out {
		out[i].Weight = 0
		if len(size) > 1 {
			out[i].Weight = weightOf(weights, p.Suite) / total * float64(len(out)) / float64(size[p.Suite])
		}
	}
	return out
}

func weightOf(weights map[string]float64, suite string) float64 {
	if w := weights[suite]; w > 0 {
		return w
	}
	return 1
}

// Reference returns the problems with the reference of each metric set to the
// median of its values in the given runs, those of the baseline. A metric that was
// never measured has none.
func Reference(problems []model.Problem, runs []model.Run) []model.Problem {
	out, values := slices.Clone(problems), map[string][]float64{}
	for _, run := range runs {
		for _, r := range run.Results {
			if passed(r) {
				values[r.Problem] = append(values[r.Problem], r.Value)
			}
		}
	}
	for i, p := range out {
		if p.Metric == nil {
			continue
		}
		m := *p.Metric
		m.Reference = median(values[p.ID])
		out[i].Metric = &m
	}
	return out
}

// median is the middle value, the mean of the two in the middle, 0 of nothing.
func median(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	slices.Sort(xs)
	n := len(xs)
	return (xs[(n-1)/2] + xs[n/2]) / 2
}
