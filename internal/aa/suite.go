package aa

import (
	"fmt"
	"maps"

	"ratchet/internal/model"
)

// suite is a simulated suite: for each problem the probability that it passes, or
// of a metric the value that it has without noise.
type suite struct {
	name     string
	problems []model.Problem
	parent   map[string]float64
	better   map[string]float64 // the same problems on a truly better candidate
	noise    noise              // of metrics, for which the maps hold typical values
	power    float64            // the least that the rule is held to, as a share; 0.8 when zero
}

// suites are those that the decision rule is held to.
func suites() []suite {
	all := []suite{mixed("deterministic", 20, 0, 0)}
	for _, n := range []int{1, 3} {
		for _, share := range []float64{0.1, 0.2, 0.5} {
			all = append(all, mixed(fmt.Sprintf("%d flaky, failing %.0f%%", n, 100*share), 20, n, share))
		}
	}
	all = append(all,
		mixed("3 that rarely pass, 10%", 20, 3, 0.9),
		coinFlips("20 coin flips"),
		mixed("50 problems, 3 flaky, failing 10%", 50, 3, 0.1))
	return append(all, metricSuites()...)
}

// mixed is a suite of size problems, of which one fails always (the better
// candidate mends it), the given number fails with the given share, and the
// others pass always. A quarter is held out.
func mixed(name string, size, flaky int, share float64) suite {
	s := newSuite(name, size, size/4)
	s.parent[s.problems[0].ID] = 0
	for _, p := range s.problems[1 : 1+flaky] {
		s.parent[p.ID] = 1 - share
	}
	s.better = maps.Clone(s.parent)
	s.better[s.problems[0].ID] = 1
	return s
}

// coinFlips is a suite in which every problem is noise; nothing is held out.
func coinFlips(name string) suite {
	s := newSuite(name, 20, 0)
	for _, p := range s.problems {
		s.parent[p.ID], s.better[p.ID] = 0.5, 0.7
	}
	return s
}

func newSuite(name string, size, heldout int) suite {
	s := suite{name: name, parent: map[string]float64{}, better: map[string]float64{}}
	for i := range size {
		p := model.Problem{Suite: "aa", Package: ".", Name: fmt.Sprintf("Test%02d", i), Split: model.SplitSearch}
		p.ID = p.Suite + "/" + p.Name
		if i >= size-heldout {
			p.Split = model.SplitHeldout
		}
		s.problems = append(s.problems, p)
		s.parent[p.ID] = 1
	}
	return s
}

// search are the problems that a screen may run.
func (s suite) search() []model.Problem {
	var ps []model.Problem
	for _, p := range s.problems {
		if p.Split == model.SplitSearch {
			ps = append(ps, p)
		}
	}
	return ps
}
