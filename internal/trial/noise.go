package trial

import (
	"cmp"
	"maps"
	"slices"
)

// kind is what a problem most likely is on its tree.
type kind int

const (
	fails  kind = iota // fails always
	passes             // passes always
	noisy              // passes sometimes
)

// classify says what each problem most likely is. Two equal rounds alone do not
// tell a steady problem from a flaky one; how many of the suite's problems were
// seen to be flaky does. It fits a mixture of three kinds by expectation and
// maximisation (Dempster, Laird, Rubin, 1977): always fails, always passes, and
// flaky with a pass rate that is uniform in [0, 1], and names the likeliest,
// with some caution about problems that always passed.
func classify(rates map[string]Rate) map[string]kind {
	const steps = 50
	// One problem of each steady kind and a twentieth of a flaky one are added
	// to what is seen, so that a small suite is not taken for a noisy one.
	prior := [3]float64{1, 1, 0.05}
	share := [3]float64{1. / 3, 1. / 3, 1. / 3}
	counts := map[Rate]float64{} // few rates are distinct: fit on those
	for _, r := range rates {
		counts[r]++
	}
	distinct := slices.SortedFunc(maps.Keys(counts), compareRates) // equal sums on every run
	for range steps {
		next, total := prior, prior[fails]+prior[passes]+prior[noisy]
		for _, r := range distinct {
			n, post := counts[r], posterior(r, share)
			for k := range next {
				next[k] += n * post[k]
			}
			total += n
		}
		for k := range next {
			share[k] = next[k] / total
		}
	}
	kinds := make(map[string]kind, len(rates))
	for id, r := range rates {
		kinds[id] = settle(r, likeliest(posterior(r, share)))
	}
	return kinds
}

// steadyShare is the pass rate from which a problem with a rare hiccup counts as
// steady. With one hiccup it takes some 60 runs to get there.
const steadyShare = 0.97

// settle takes a problem whose known outcomes hardly ever differ for steady.
func settle(r Rate, k kind) kind {
	switch {
	case k != noisy:
		return k
	case r.smoothed() >= steadyShare:
		return passes
	case r.smoothed() <= 1-steadyShare:
		return fails
	}
	return noisy
}

func compareRates(a, b Rate) int {
	return cmp.Or(cmp.Compare(a.Runs, b.Runs), cmp.Compare(a.Passed, b.Passed))
}

// posterior is the probability of each kind, given a rate and the kinds' shares.
func posterior(r Rate, share [3]float64) [3]float64 {
	if r.Passed > 0 && r.Passed < r.Runs {
		return [3]float64{noisy: 1}
	}
	p := [3]float64{noisy: share[noisy] * flakyLikelihood(r)}
	if r.Passed == 0 {
		p[fails] = share[fails]
	}
	if r.Passed == r.Runs {
		p[passes] = share[passes]
	}
	total := p[fails] + p[passes] + p[noisy]
	for k := range p {
		p[k] /= total
	}
	return p
}

// flakyLikelihood is the probability that all runs have one outcome when the
// pass rate is uniform: n!/(n+1)!.
func flakyLikelihood(r Rate) float64 { return 1 / float64(r.Runs+1) }

// noiseDoubt is the probability of being flaky from which a problem that always
// passed is not relied on: refusing a good candidate for noise costs more than confirming a bad one.
const noiseDoubt = 0.25

func likeliest(p [3]float64) kind {
	switch {
	case p[noisy] >= 0.5 || p[passes] > p[fails] && p[noisy] >= noiseDoubt:
		return noisy
	case p[passes] > p[fails]:
		return passes
	}
	return fails
}
