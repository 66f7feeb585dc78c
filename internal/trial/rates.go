package trial

import (
	"math"

	"ratchet/internal/model"
)

// Rate is what is known of one problem on one tree. It is comparable.
type Rate struct {
	Passed, Runs int
	// Of a metric: how many runs measured more than 0, and the sums of the natural
	// logarithms of those values and of their squares.
	Valued  int     `json:",omitempty"`
	Logs    float64 `json:",omitempty"`
	Squares float64 `json:",omitempty"`
}

// Add is what is known from both, of which no run is in common.
func (r Rate) Add(o Rate) Rate {
	return Rate{
		Passed: r.Passed + o.Passed, Runs: r.Runs + o.Runs,
		Valued: r.Valued + o.Valued, Logs: r.Logs + o.Logs, Squares: r.Squares + o.Squares,
	}
}

// IsMetric says that values were measured, which only metrics have.
func (r Rate) IsMetric() bool { return r.Valued > 0 }

// Mean is the share of runs that passed, 0 when there is none.
func (r Rate) Mean() float64 {
	if r.Runs == 0 {
		return 0
	}
	return float64(r.Passed) / float64(r.Runs)
}

// smoothed is the mean with one pass and one failure added (Laplace's rule).
func (r Rate) smoothed() float64 { return float64(r.Passed+1) / float64(r.Runs+2) }

// high is an upper bound of the pass rate: three standard errors above the
// smoothed mean. A suite has many problems, of which the lowest is seen.
func (r Rate) high() float64 {
	p := r.smoothed()
	return p + 3*math.Sqrt(p*(1-p)/float64(r.Runs+3))
}

// value notes what a metric measured. One that is 0, as all tests have, has no
// logarithm and is left out.
func (r *Rate) value(v float64) {
	if v > 0 {
		log := math.Log(v)
		r.Valued++
		r.Logs += log
		r.Squares += log * log
	}
}

// Rates counts, for each problem, its runs and passes. Give it runs of one tree
// only: the baseline's and the parent's side of confirmations on it, or, after
// a change was kept, the candidate's side of the confirmation that kept it. Screens are no such runs.
func Rates(runs ...model.Run) map[string]Rate {
	rates := map[string]Rate{}
	for _, run := range runs {
		for _, r := range run.Results {
			x := rates[r.Problem]
			x.Runs++
			if passed(r) {
				x.Passed++
				x.value(r.Value)
			}
			rates[r.Problem] = x
		}
	}
	return rates
}

// Summarise sums up runs of one tree: for each problem the mean over the runs
// that have it, and the means of these, weighted by model.Problem.Share, over
// all problems and over each split. Metrics are scored by the references that
// problems give. A problem that no run has scores 0 and is failing.
func Summarise(problems []model.Problem, runs []model.Run) model.Score {
	metrics, scores := metricsOf(problems), map[string]float64{}
	for _, run := range runs {
		for _, r := range run.Results {
			scores[r.Problem] += metrics[r.Problem].Score(r) // of what is no metric: r.Score
		}
	}
	rates := Rates(runs...)
	s := model.Score{Problems: len(problems), Flaky: []string{}, Failing: []string{}}
	var all, search, heldout mean
	for _, p := range problems {
		rate := rates[p.ID]
		score := scores[p.ID] / float64(max(rate.Runs, 1))
		all.add(score, p.Share())
		if p.Split == model.SplitHeldout {
			heldout.add(score, p.Share())
		} else {
			search.add(score, p.Share())
		}
		switch rate.Passed {
		case 0:
			s.Failing = append(s.Failing, p.ID)
		case rate.Runs:
			s.Passed++
		default:
			s.Flaky = append(s.Flaky, p.ID)
		}
	}
	s.Score, s.Search, s.Heldout = all.value(), search.value(), heldout.value()
	return s
}

// mean is a running weighted mean, 0 of nothing.
type mean struct{ sum, weight float64 }

func (m *mean) add(x, weight float64) {
	m.sum += x * weight
	m.weight += weight
}

func (m mean) value() float64 {
	if m.weight == 0 {
		return 0
	}
	return m.sum / m.weight
}
