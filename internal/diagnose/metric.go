package diagnose

import (
	"fmt"
	"math"
	"strconv"

	"ratchet/internal/model"
)

// metricRoom is how much a metric that is measured counts as failing: it never
// fails, and can always be better.
const metricRoom = 0.5

func metricIDs(problems []model.Problem) map[string]bool {
	out := map[string]bool{}
	for _, p := range problems {
		if p.Metric != nil {
			out[p.ID] = true
		}
	}
	return out
}

// typicalValues is what each metric measures: by Rates, else the geometric mean
// of the first source of results that has any.
func typicalValues(in Input) map[string]float64 {
	out := map[string]float64{}
	metrics := metricIDs(in.Problems)
	for id, r := range in.Rates {
		if metrics[id] && r.Value > 0 {
			out[id] = r.Value
		}
	}
	for _, results := range [][]model.Result{in.Results, in.Coverage.Results} {
		logs, n := map[string]float64{}, map[string]int{}
		for _, r := range results {
			if metrics[r.Problem] && r.Outcome == model.Pass && r.Value > 0 {
				logs[r.Problem] += math.Log(r.Value)
				n[r.Problem]++
			}
		}
		for id, sum := range logs {
			if _, known := out[id]; !known {
				out[id] = math.Exp(sum / float64(n[id]))
			}
		}
	}
	return out
}

// figure says in words what a metric measures, such as
// "latency_ms 12.3 ms, lower is better", or why it measures nothing.
func (t test) figure() string {
	if t.rate == 0 {
		return t.message
	}
	s := t.Name
	if t.value > 0 {
		s += " " + strconv.FormatFloat(t.value, 'g', 4, 64)
		if t.Metric.Unit != "" {
			s += " " + t.Metric.Unit
		}
	}
	s += fmt.Sprintf(", %s is better", t.Metric.Better)
	if t.message != "" {
		s += "\n" + t.message
	}
	return s
}
