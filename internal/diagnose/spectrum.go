package diagnose

import (
	"fmt"
	"math"
	"sort"
)

// similar is the share of common, telling blocks from which two failing tests
// of a package count as showing the same defect.
const similar = 0.5

// clusters groups failing tests that seem to show the same defect: tests of one
// package whose coverage overlaps by at least similar (weighted Jaccard, where a
// block counts less the more tests run it), closed transitively. Tests without
// coverage are grouped by package. With several independent defects one Ochiai
// over all failing tests is diluted, because no block is run by all of them;
// within a cluster it is not. (Parallel debugging: Jones, Bowring and Harrold,
// "Debugging in Parallel", ISSTA 2007.) A metric shows no defect that a test does.
func clusters(tests []test, failing []int, blocks int) [][]int {
	rarity := rarities(tests, blocks)
	parent := make(map[int]int, len(failing))
	var find func(int) int
	find = func(i int) int {
		if parent[i] != i {
			parent[i] = find(parent[i])
		}
		return parent[i]
	}
	for _, i := range failing {
		parent[i] = i
	}
	for x, i := range failing {
		for _, j := range failing[:x] {
			if tests[i].Package != tests[j].Package || (tests[i].Metric == nil) != (tests[j].Metric == nil) || find(i) == find(j) {
				continue
			}
			if overlap(tests[i].hits, tests[j].hits, rarity) >= similar {
				parent[find(i)] = find(j)
			}
		}
	}
	groups := map[int][]int{}
	var order []int
	for _, i := range failing {
		r := find(i)
		if groups[r] == nil {
			order = append(order, r)
		}
		groups[r] = append(groups[r], i)
	}
	out := make([][]int, 0, len(order))
	for _, r := range order {
		out = append(out, groups[r])
	}
	return out
}

// rarities is ln(1 + tests / tests that run it) for each block.
func rarities(tests []test, blocks int) []float64 {
	runs := make([]float64, blocks)
	for _, t := range tests {
		for _, h := range t.hits {
			runs[h]++
		}
	}
	for i, n := range runs {
		if n > 0 {
			runs[i] = math.Log(1 + float64(len(tests))/n)
		}
	}
	return runs
}

// overlap is the weighted Jaccard index of two ascending lists; 1 for two empty ones.
func overlap(a, b []int, weight []float64) float64 {
	if len(a) == 0 && len(b) == 0 {
		return 1
	}
	common, all := 0.0, 0.0
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case j == len(b) || i < len(a) && a[i] < b[j]:
			all += weight[a[i]]
			i++
		case i == len(a) || b[j] < a[i]:
			all += weight[b[j]]
			j++
		default:
			all += weight[a[i]]
			common += weight[a[i]]
			i++
			j++
		}
	}
	if all == 0 {
		return 0
	}
	return common / all
}

// suspects scores every block that a failing test runs, and adds what stack
// traces and the tests' own source name where coverage says nothing.
func (d *diagnosis) suspects() []Suspect {
	found := map[key]*Suspect{}
	d.spectrum(found)
	d.traces(found)
	d.uncovered(found)
	d.guesses(found)
	d.reported(found)
	out := make([]Suspect, 0, len(found))
	for _, s := range found {
		out = append(out, *s)
	}
	sort.Slice(out, func(i, j int) bool { return before(out[i], out[j]) })
	return out
}

// before orders suspects: by score, then by place.
func before(a, b Suspect) bool {
	if a.Score != b.Score {
		return a.Score > b.Score
	}
	return keyOf(a).less(keyOf(b))
}

type key struct {
	file               string
	line, col, el, ecl int
}

func keyOf(s Suspect) key { return key{s.File, s.StartLine, s.StartCol, s.EndLine, s.EndCol} }

func (k key) less(o key) bool {
	if k.file != o.file {
		return k.file < o.file
	}
	a := [4]int{k.line, k.col, k.el, k.ecl}
	b := [4]int{o.line, o.col, o.el, o.ecl}
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

// spectrum computes Ochiai in each cluster and keeps the highest of a block.
//
//	ochiai(b) = failed(b) / sqrt(totalFailed * (failed(b) + passed(b)))
//
// (Abreu, Zoeteweij and van Gemund, "On the Accuracy of Spectrum-based Fault
// Localization", TAIC PART 2007.) A test counts as failed by its failure rate
// and as passed by its pass rate, so a flaky one counts as both. Failing tests
// of other clusters count as neither.
func (d *diagnosis) spectrum(found map[key]*Suspect) {
	blocks := d.in.Coverage.Blocks
	passed := make([]float64, len(blocks))
	for _, t := range d.tests {
		for _, h := range t.hits {
			passed[h] += t.sound()
		}
	}
	for c, members := range d.clusters {
		failed, total := d.failures(members)
		for h, f := range failed {
			b := blocks[h]
			s := Suspect{
				File: b.File, StartLine: b.StartLine, StartCol: b.StartCol, EndLine: b.EndLine, EndCol: b.EndCol,
				Score: f / math.Sqrt(total*(f+passed[h])), Cluster: c,
				Why: fmt.Sprintf("failing tests run it %.3g of %.3g, passing ones %.3g", f, total, passed[h]),
			}
			keepHigher(found, s)
		}
	}
	for h, b := range blocks {
		s, ok := found[key{b.File, b.StartLine, b.StartCol, b.EndLine, b.EndCol}]
		if ok {
			s.Problems = addProblems(s.Problems, d.running(h, s.Cluster))
		}
	}
}

// failures sums the failure rates of a cluster, for each block and in total.
func (d *diagnosis) failures(members []int) (map[int]float64, float64) {
	failed, total := map[int]float64{}, 0.0
	for _, i := range members {
		total += d.tests[i].weight()
		for _, h := range d.tests[i].hits {
			failed[h] += d.tests[i].weight()
		}
	}
	return failed, total
}

// running lists the failing problems that run block h, those of the cluster first.
func (d *diagnosis) running(h, cluster int) []string {
	var own, other []string
	for _, i := range d.failing {
		t := d.tests[i]
		at := sort.SearchInts(t.hits, h)
		if at == len(t.hits) || t.hits[at] != h {
			continue
		}
		if t.cluster == cluster {
			own = append(own, t.ID)
		} else {
			other = append(other, t.ID)
		}
	}
	return append(own, other...)
}

func keepHigher(found map[key]*Suspect, s Suspect) {
	old, ok := found[keyOf(s)]
	if !ok {
		found[keyOf(s)] = &s
		return
	}
	if s.Score > old.Score {
		s.Problems = addProblems(s.Problems, old.Problems)
		*old = s
		return
	}
	old.Problems = addProblems(old.Problems, s.Problems)
}

// addProblems joins two lists without repeats, up to the cap.
func addProblems(list, more []string) []string {
	for _, p := range more {
		if len(list) >= maxProblemsPerSuspect {
			break
		}
		if !contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
