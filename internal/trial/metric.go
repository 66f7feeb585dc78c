package trial

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"ratchet/internal/decision"
	"ratchet/internal/model"
)

// How the noise of a metric is judged in a screen; docs/adr/0010-metrics.md.
const (
	// A metric's noise is taken to be its minimum effect until some runs have shown
	// otherwise: the guess counts as much as this many runs.
	noisePrior = 2
	// A screen refuses what is worse by more than so many standard errors of a
	// comparison of two runs, but never for less than so many minimum effects.
	// Refusing a good candidate for noise costs more than confirming a bad one.
	brokenErrors  = 3
	brokenEffects = 2
)

// metricsOf indexes the problems that are metrics.
func metricsOf(problems []model.Problem) map[string]model.Problem {
	metrics := map[string]model.Problem{}
	for _, p := range problems {
		if p.Metric != nil {
			metrics[p.ID] = p
		}
	}
	return metrics
}

// difference compares one problem on both sides, in [-1, 1] and positive when
// the candidate is better: gain for a claim, harm for a suspect.
//
// Of a test both are the difference of the scores. Of a metric they are the log
// ratio of the values in units of the minimum effect, once from a gain of just
// that effect and once from a loss of it, so that a mean above 0 says "better by
// more than the minimum effect", and one below 0 "worse by more than it". When
// both sides have the same noise the log ratio of two equal trees is distributed
// symmetrically about 0, whatever that noise is, and clipping about a point
// above 0 leaves a mean of at most 0: the null hypothesis of the test holds.
func difference(p model.Problem, parent, candidate model.Result) (gain, harm float64) {
	if p.Metric == nil {
		d := candidate.Score - parent.Score
		return d, d
	}
	before, after := passed(parent), passed(candidate)
	switch {
	case before && after:
		unit := p.Metric.Threshold()
		x := p.Metric.Gain(parent.Value, candidate.Value) / unit
		return clip(x - 1), clip(x + 1)
	case after:
		return 1, 1
	case before:
		return -1, -1
	}
	return 0, 0
}

func clip(x float64) float64 { return min(max(x, -1), 1) }

// figure is what a receipt shows of one result: the value of a metric, 0 when it
// was not measured, or the score.
func figure(p model.Problem, r model.Result) float64 {
	if p.Metric != nil {
		return r.Value
	}
	return r.Score
}

// gain is a metric that is better in a screen.
type gain struct {
	seen
	suite string
	size  float64 // natural logarithm of the proportion, in standard errors
}

// measure looks at one metric of which the parent's runs are known.
func (s *screen) measure(p model.Problem, x seen, r model.Result) {
	switch {
	case !x.now:
		if x.rate.Passed == x.rate.Runs {
			s.broken = append(s.broken, x.problem)
		}
		return
	case x.rate.Passed == 0:
		s.fixes = append(s.fixes, x)
		return
	}
	size, unit := p.Metric.Gain(before(x.rate, r), r.Value), p.Metric.Threshold()
	se := math.Sqrt2 * x.rate.noise(unit)
	switch {
	case size > unit:
		s.gains = append(s.gains, gain{seen: x, suite: p.Suite, size: size / se})
	case -size > max(brokenEffects*unit, brokenErrors*se):
		s.broken = append(s.broken, x.problem)
	}
}

// better says that a metric is better in a screen by more than its minimum effect.
func (k knowledge) better(r model.Result) bool {
	p, ok := k.metrics[r.Problem]
	rate := k.rates[r.Problem]
	return ok && rate.Passed > 0 && p.Metric.Gain(before(rate, r), r.Value) > p.Metric.Threshold()
}

// before is what a screened value is compared with: the parent's next to it on
// the same host, where that was measured, else the parent's known mean.
func before(known Rate, r model.Result) float64 {
	if r.Beside > 0 {
		return r.Beside
	}
	return known.Typical()
}

// Typical is the geometric mean of the values, 0 when none was above 0.
func (r Rate) Typical() float64 {
	if r.Valued == 0 {
		return 0
	}
	return math.Exp(r.Logs / float64(r.Valued))
}

// noise is the standard deviation of the logarithm of one value, shrunk towards a guess.
func (r Rate) noise(guess float64) float64 {
	n := float64(r.Valued)
	square := 0.0
	if r.Valued > 1 {
		square = max(r.Squares-r.Logs*r.Logs/n, 0)
	}
	return math.Sqrt((square + noisePrior*guess*guess) / (max(n-1, 0) + noisePrior))
}

// claimedGains are the metrics to claim: of each suite one, a target before
// others and then the clearest. Beside problems that are mended only targets
// count: among many numbers one is always better by chance.
func (s screen) claimedGains() []gain {
	gains := slices.Clone(s.gains)
	if len(s.fixes) > 0 {
		gains = slices.DeleteFunc(gains, func(g gain) bool { return !g.target })
	}
	slices.SortFunc(gains, func(a, b gain) int {
		return cmp.Or(cmp.Compare(a.suite, b.suite), -compareBool(a.target, b.target),
			-cmp.Compare(a.size, b.size), cmp.Compare(a.problem, b.problem))
	})
	return slices.CompactFunc(gains, func(a, b gain) bool { return a.suite == b.suite })
}

// won says that a claim held in most rounds; of a metric, in the mean of them.
func (c *confirm) won(e decision.Evidence) bool {
	if c.byID[e.Problem].Metric != nil {
		return e.Wins > e.Losses
	}
	return 2*e.Wins > float64(e.Rounds)
}

// moved says how a metric changed over the isolated rounds, such as "b/latency fell
// by 18%"; empty for other problems, and when there is no proportion to name.
func (c *confirm) moved(id string) string {
	x := c.pairs[id]
	if x == nil || c.byID[id].Metric == nil {
		return ""
	}
	sum, n := 0.0, 0
	for i, a := range x.parent {
		if b := x.candidate[i]; a > 0 && b > 0 {
			sum, n = sum+math.Log(b)-math.Log(a), n+1
		}
	}
	if n == 0 {
		return ""
	}
	change := math.Expm1(sum / float64(n))
	if change < 0 {
		return fmt.Sprintf("%s fell by %s", id, percent(-change))
	}
	return fmt.Sprintf("%s rose by %s", id, percent(change))
}

// harm adds to a refusal by how much the broken metrics changed.
func (c *confirm) harm(broken []string) string {
	var said []string
	for _, id := range broken {
		if s := c.moved(id); s != "" {
			said = append(said, s)
		}
	}
	if len(said) == 0 {
		return ""
	}
	return ": " + strings.Join(said, ", ")
}

// percent writes a share for people: whole percents from 10 on, else one digit more.
func percent(x float64) string {
	if x >= 0.0995 {
		return fmt.Sprintf("%.0f%%", 100*x)
	}
	return fmt.Sprintf("%.1f%%", 100*x)
}
