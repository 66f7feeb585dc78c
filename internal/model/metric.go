package model

import "math"

// DefaultMinEffect is the least relative change of a metric that counts where
// nothing else is said.
const DefaultMinEffect = 0.05

// Valid says whether v is a value that a metric can have: finite and not negative,
// because changes of metrics are proportions.
func (m Metric) Valid(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }

// Score puts a value into 0..1, relative to the baseline's: 0.5 there, 2/3 when
// it is twice as good, 1/3 when half as good. Without a reference, or with one
// of 0, which no value is in proportion to, it is 0.5.
func (m Metric) Score(v float64) float64 {
	if !(m.Reference > 0) {
		return 0.5
	}
	if m.Better == BetterHigher {
		return v / (m.Reference + v)
	}
	return m.Reference / (m.Reference + v)
}

// Gain is the natural logarithm of the proportion by which after is better than
// before: positive when it is better, infinite when one of them is 0.
func (m Metric) Gain(before, after float64) float64 {
	if before == after {
		return 0
	}
	if m.Better == BetterHigher {
		return math.Log(after) - math.Log(before)
	}
	return math.Log(before) - math.Log(after)
}

// Threshold is the least Gain that counts: log(1 + MinEffect).
func (m Metric) Threshold() float64 {
	if !(m.MinEffect > 0) {
		return math.Log1p(DefaultMinEffect)
	}
	return math.Log1p(m.MinEffect)
}

// Score is what a result of this problem is worth, 0..1: of a metric by its
// value and reference, of anything else, and of what was not measured, as it was graded.
func (p Problem) Score(r Result) float64 {
	if p.Metric == nil || r.Outcome != Pass {
		return r.Score
	}
	return p.Metric.Score(r.Value)
}
