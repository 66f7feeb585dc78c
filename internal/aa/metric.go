package aa

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"

	"ratchet/internal/model"
)

// noise is how the values of metrics scatter about what they are.
type noise struct {
	sd      float64 // standard deviation of the logarithm, of each value by itself
	common  float64 // the same, of all values of one run together
	outlier float64 // share of values that are three times as high
	drift   float64 // by how much the host gets slower with each run, as a share of its first speed
}

// own is the factor by which one value is off.
func (n noise) own(rng *rand.Rand) float64 {
	x := math.Exp(n.sd * rng.NormFloat64())
	if n.outlier > 0 && rng.Float64() < n.outlier {
		x *= 3
	}
	return x
}

// host is the factor by which all values of one run are off. It takes no random
// number unless there is common noise. A host that gets faster does so by the same law.
func (n noise) host(rng *rand.Rand, run int) float64 {
	x := 1 + math.Abs(n.drift)*float64(run)
	if n.drift < 0 {
		x = 1 / x
	}
	if n.common > 0 {
		x *= math.Exp(n.common * rng.NormFloat64())
	}
	return x
}

// metricEffect is the least change that counts in the simulated metrics.
const metricEffect = 0.05

// metricSuites have four metrics, of which the better candidate improves one.
func metricSuites() []suite {
	return []suite{
		metrics("metrics, 2% noise, +10%", 1.1, 0.6, noise{sd: 0.02}),
		metrics("metrics, 2% noise, +20%", 1.2, 0.9, noise{sd: 0.02}),
		metrics("metrics, 5% noise, +20%", 1.2, 0.7, noise{sd: 0.05}),
		metrics("metrics, 10% noise, +50%", 1.5, 0.75, noise{sd: 0.10}),
		metrics("metrics, 2% noise, 5% tripled, +20%", 1.2, 0.3, noise{sd: 0.02, outlier: 0.05}),
		metrics("metrics, 5% noise of whole runs, +20%", 1.2, 0.7, noise{sd: 0.005, common: 0.05}),
		metrics("metrics, 2% noise, slowing host, +20%", 1.2, 0.9, noise{sd: 0.02, drift: 0.001}),
		metrics("metrics, 2% noise, quickening host, +20%", 1.2, 0.9, noise{sd: 0.02, drift: -0.001}),
		beside("3 flaky, failing 20%, and metrics, +10%", 1.1, 0.55, noise{sd: 0.02}),
	}
}

// metrics is a suite of numbers, lower being better, measured in one run.
func metrics(name string, gain, power float64, n noise) suite {
	s := newSuite(name, 0, 0)
	s.noise, s.power = n, power
	s.addMetrics(4, gain)
	return s
}

// beside is a suite of tests, of which some are flaky, with metrics beside it.
func beside(name string, gain, power float64, n noise) suite {
	s := mixed(name, 20, 3, 0.2)
	s.better, s.noise, s.power = maps.Clone(s.parent), n, power
	s.addMetrics(2, gain)
	return s
}

// addMetrics adds n metrics; the first of them is better by gain on the better candidate.
func (s *suite) addMetrics(n int, gain float64) {
	for i := range n {
		p := model.Problem{
			Suite: "metrics", Package: ".", Name: fmt.Sprintf("m%d", i), Split: model.SplitSearch,
			Metric: &model.Metric{Unit: "ms", Better: model.BetterLower, MinEffect: metricEffect},
		}
		p.ID = p.Suite + "/" + p.Name
		s.problems = append(s.problems, p)
		s.parent[p.ID], s.better[p.ID] = 100, 100
		if i == 0 {
			s.better[p.ID] = 100 / gain
		}
	}
}

// forced is how many claims a candidate has that no noise helped.
func (s suite) forced() int {
	for _, p := range s.problems {
		if p.Metric != nil {
			return 1
		}
	}
	return forcedClaims
}
