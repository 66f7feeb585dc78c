// Package bandit shares the candidates of a generation among proposers, by what
// each has gained so far and what that cost. It is pure.
//
// It is Thompson sampling (Thompson 1933; Chapelle and Li, "An Empirical
// Evaluation of Thompson Sampling", 2011) on gain per cost: each candidate goes to
// the proposer for which a draw of
//
//	rate × gain / cost
//
// is the largest. rate is drawn from Beta(1 + passed, 1 + not passed), the posterior
// of the share of its candidates that pass the screen. gain is the expected gain of
// one that passed and cost the expected cost of one candidate: means that are
// shrunk towards those of all proposers, as if each had been seen once more at their
// mean. Draws of what a pull gives over what it costs are the rule of Xia et al.,
// "Thompson Sampling for Budgeted Multi-armed Bandits", 2015.
package bandit

import (
	"math"
	"math/rand/v2"
)

// Arm is a proposer and what it has achieved in a campaign.
type Arm struct {
	Name       string
	Candidates int     // that it wrote, with those that the gates refused
	Passed     int     // of them, that passed the screen
	Kept       int     // of them, that were kept; for people, Gain is what counts
	Gain       float64 // sum of the realised gains of what was kept, in score
	Cost       float64 // share of the campaign's budgets that it has used
}

// Priors for when nothing has been gained or spent yet. Only their proportion to
// what is measured matters, because proposers are compared with each other.
const (
	priorGain = 0.01 // of one candidate that passed, in score
	priorCost = 1e-3 // of one candidate, in shares of the budgets
)

// Allocate says how many of n candidates each arm may write, in the order of
// arms. It is deterministic: equal arguments give equal shares. Each arm gets at
// least one where n suffices; where it does not, arms that have never written a
// candidate come first, and no arm gets more than one. Counts that contradict
// themselves are taken as the nearest that do not.
func Allocate(arms []Arm, n int, seed int64) []int {
	out := make([]int, len(arms))
	if len(arms) == 0 || n <= 0 {
		return out
	}
	b := newBandit(arms, seed)
	if n < len(arms) {
		for range n {
			out[b.best(func(i int) bool { return out[i] == 0 }, true)]++
		}
		return out
	}
	for i := range out {
		out[i] = 1
	}
	for range n - len(arms) {
		out[b.best(func(int) bool { return true }, false)]++
	}
	return out
}

// belief is what is known of one arm.
type belief struct {
	passed, failed float64
	worth          float64 // expected gain of a pass per expected cost of a candidate
	known          bool
}

type bandit struct {
	arms []belief
	rand *rand.Rand
}

func newBandit(arms []Arm, seed int64) *bandit {
	b := &bandit{rand: rand.New(rand.NewPCG(uint64(seed), 0x9e3779b97f4a7c15))}
	clean := make([]Arm, len(arms))
	var all Arm
	for i, a := range arms {
		clean[i] = a.clean()
		all.Candidates += clean[i].Candidates
		all.Passed += clean[i].Passed
		all.Gain += clean[i].Gain
		all.Cost += clean[i].Cost
	}
	gain := (all.Gain + priorGain) / float64(all.Passed+1)
	cost := (all.Cost + priorCost) / float64(all.Candidates+1)
	for _, a := range clean {
		b.arms = append(b.arms, belief{
			passed: float64(a.Passed), failed: float64(a.Candidates - a.Passed), known: a.Candidates > 0,
			worth: (a.Gain + gain) / float64(a.Passed+1) / ((a.Cost + cost) / float64(a.Candidates+1)),
		})
	}
	return b
}

// clean mends counts that cannot be.
func (a Arm) clean() Arm {
	a.Candidates = max(a.Candidates, 0)
	a.Passed = min(max(a.Passed, 0), a.Candidates)
	a.Gain, a.Cost = positive(a.Gain), positive(a.Cost)
	return a
}

func positive(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return 0
	}
	return x
}

// best draws for the arms that may have the next candidate, and names the one
// with the largest draw; with curious, one that is not known yet before any other.
func (b *bandit) best(may func(int) bool, curious bool) int {
	best, most := -1, math.Inf(-1)
	for i, a := range b.arms {
		if !may(i) {
			continue
		}
		draw := b.beta(1+a.passed, 1+a.failed) * a.worth
		if curious && !a.known {
			draw = math.MaxFloat64 * b.rand.Float64()
		}
		if draw > most {
			best, most = i, draw
		}
	}
	return best
}

// beta draws from Beta(a, b), for a and b of at least 1.
func (b *bandit) beta(x, y float64) float64 {
	g := b.gamma(x)
	return g / (g + b.gamma(y))
}

// gamma draws from Gamma(shape, 1), for shapes of at least 1: Marsaglia and
// Tsang, "A Simple Method for Generating Gamma Variables", 2000.
func (b *bandit) gamma(shape float64) float64 {
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := b.rand.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-b.rand.Float64()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
