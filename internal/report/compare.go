package report

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"ratchet/internal/model"
)

// Verdict says what a comparison of two benchmarks shows of one problem.
type Verdict string

const (
	Better Verdict = "better" // beyond what the runs themselves explain
	Worse  Verdict = "worse"  // likewise
	// MaybeBetter and MaybeWorse: every run of one side beats every run of the
	// other, but so few runs could do that by chance.
	MaybeBetter Verdict = "maybe better"
	MaybeWorse  Verdict = "maybe worse"
	Noisy       Verdict = "noisy"   // the sides differ, and so do runs of one side
	Same        Verdict = "same"    // no difference, or less than counts
	Added       Verdict = "added"   // only in B
	Removed     Verdict = "removed" // only in A
)

// falseShare bounds the expected share of noise among what is called better or worse.
const falseShare = 0.05

// Comparison is two benchmarks side by side: B against A.
type Comparison struct {
	A        Side       `json:"a"`
	B        Side       `json:"b"`
	Delta    float64    `json:"delta"` // B's score less A's
	Problems []Compared `json:"problems"`
	Better   int        `json:"better"` // problems with that verdict
	Worse    int        `json:"worse"`
	// MaybeBetter and MaybeWorse count what too few runs were made of to tell.
	MaybeBetter int `json:"maybe_better"`
	MaybeWorse  int `json:"maybe_worse"`
	Noisy       int `json:"noisy"`
}

// Side is one of the benchmarks.
type Side struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Commit   string  `json:"commit"`
	Agent    string  `json:"agent"`
	Score    float64 `json:"score"`
	Rounds   int     `json:"rounds"`
	Baseline bool    `json:"baseline"`
	Tokens   int64   `json:"tokens"` // of all runs
}

// Compared is one problem. A and B are mean scores, null where a benchmark lacks
// the problem; of a metric they are the medians of what was measured, null where
// nothing was.
type Compared struct {
	Problem string        `json:"problem"`
	A       *float64      `json:"a"`
	B       *float64      `json:"b"`
	Metric  *model.Metric `json:"metric,omitempty"`
	// Change is B / A - 1 of a metric, null without both or when A is 0.
	Change  *float64 `json:"change,omitempty"`
	P       float64  `json:"p"` // of the exact rank-sum test, two-sided
	Verdict Verdict  `json:"verdict"`
}

// sample is what the runs of one benchmark gave for one problem. Higher is better.
type sample struct {
	rank []float64 // for the test
	show []float64 // scores, or values of a metric
}

// Compare sets two benchmarks side by side, problem by problem. Problems differ
// when the exact rank-sum test says so with the false discovery rate held at 5%
// over all problems whose runs are not all equal (Benjamini and Hochberg, 1995),
// and, of a metric, when its medians differ by the least effect that counts. What
// the runs cannot show, such as a machine that was slower that day, is not excluded.
func Compare(a, b model.Benchmark) Comparison {
	c := Comparison{A: side(a), B: side(b), Delta: b.Score.Score - a.Score.Score, Problems: []Compared{}}
	metrics := maps.Clone(a.Metrics)
	if metrics == nil {
		metrics = map[string]model.Metric{}
	}
	maps.Copy(metrics, b.Metrics)
	before, after := samples(a.Results, metrics), samples(b.Results, metrics)
	ids := map[string]bool{}
	for id := range before {
		ids[id] = true
	}
	for id := range after {
		ids[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		c.Problems = append(c.Problems, compared(id, metrics, before[id], after[id]))
	}
	settle(c.Problems, before, after)
	c.count()
	return c
}

func side(b model.Benchmark) Side {
	s := Side{ID: b.ID, Name: b.Name, Commit: b.Commit, Agent: b.Agent, Score: b.Score.Score, Rounds: len(b.Runs), Baseline: b.Baseline}
	for _, r := range b.Results {
		s.Tokens += r.Tokens
	}
	return s
}

func samples(results []model.Result, metrics map[string]model.Metric) map[string]*sample {
	out := map[string]*sample{}
	for _, r := range results {
		s := out[r.Problem]
		if s == nil {
			s = &sample{}
			out[r.Problem] = s
		}
		m, isMetric := metrics[r.Problem]
		switch {
		case !isMetric:
			s.rank, s.show = append(s.rank, r.Score), append(s.show, r.Score)
		case r.Outcome != model.Pass: // not measured, which is worse than any value
			s.rank = append(s.rank, math.Inf(-1))
		case m.Better == model.BetterLower:
			s.rank, s.show = append(s.rank, -r.Value), append(s.show, r.Value)
		default:
			s.rank, s.show = append(s.rank, r.Value), append(s.show, r.Value)
		}
	}
	return out
}

func compared(id string, metrics map[string]model.Metric, a, b *sample) Compared {
	p := Compared{Problem: id, P: 1, Verdict: Same}
	centre := mean
	if m, ok := metrics[id]; ok {
		p.Metric, centre = &m, median
	}
	if a != nil {
		p.A = centre(a.show)
	}
	if b != nil {
		p.B = centre(b.show)
	}
	switch {
	case a == nil:
		p.Verdict = Added
	case b == nil:
		p.Verdict = Removed
	default:
		p.P = rankSum(a.rank, b.rank)
	}
	if p.Metric != nil && p.A != nil && p.B != nil && *p.A != 0 {
		change := *p.B / *p.A - 1
		p.Change = &change
	}
	return p
}

// settle gives the verdicts on what is on both sides.
func settle(problems []Compared, a, b map[string]*sample) {
	var open []*Compared
	for i := range problems {
		if p := &problems[i]; p.Verdict == Same && differs(a[p.Problem].rank, b[p.Problem].rank) {
			open = append(open, p)
		}
	}
	slices.SortStableFunc(open, func(x, y *Compared) int { return cmp.Compare(x.P, y.P) })
	shown := 0
	for i, p := range open {
		if p.P <= falseShare*float64(i+1)/float64(len(open)) {
			shown = i + 1
		}
	}
	for i, p := range open {
		p.Verdict = verdict(a[p.Problem].rank, b[p.Problem].rank, i < shown)
		if p.small() {
			p.Verdict = Same
		}
	}
}

// differs says whether not all runs of both sides are equal: only then is there
// anything to test, and who is tested does not depend on which side is which.
func differs(a, b []float64) bool {
	return slices.ContainsFunc(append(slices.Clone(a), b...), func(x float64) bool { return x != a[0] })
}

func verdict(a, b []float64, shown bool) Verdict {
	up := score(a, b)
	switch {
	case shown && up > 0:
		return Better
	case shown && up < 0:
		return Worse
	case slices.Min(b) > slices.Max(a):
		return MaybeBetter
	case slices.Max(b) < slices.Min(a):
		return MaybeWorse
	case up == 0:
		return Same
	}
	return Noisy
}

// score counts the pairs of runs in which b is better, less those in which a is.
func score(a, b []float64) (n int) {
	for _, x := range a {
		for _, y := range b {
			n += cmp.Compare(y, x)
		}
	}
	return n
}

// small says that a metric changed by less than counts.
func (p Compared) small() bool {
	return p.Metric != nil && p.Change != nil && math.Abs(*p.Change) < p.Metric.MinEffect
}

func (c *Comparison) count() {
	for _, p := range c.Problems {
		switch p.Verdict {
		case Better:
			c.Better++
		case Worse:
			c.Worse++
		case MaybeBetter:
			c.MaybeBetter++
		case MaybeWorse:
			c.MaybeWorse++
		case Noisy:
			c.Noisy++
		}
	}
}

func mean(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	m := sum / float64(len(values))
	return &m
}

func median(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	m := (sorted[(n-1)/2] + sorted[n/2]) / 2
	return &m
}
