package report

import (
	"cmp"
	"math"
	"slices"
)

// mostRuns is how many runs of each side a comparison looks at, from the first:
// the exact distribution of more would take long to compute, and decide nothing else.
const mostRuns = 30

// rankSum is the two-sided p-value of the exact rank-sum test of Wilcoxon (1945)
// and of Mann and Whitney (1947): the share of all ways to deal the given values
// to two sides of these sizes that part the sides by at least as much as they are.
// Equal values share their mean rank, and the distribution is that of the tied
// ranks, so no approximation is made; for values that are 0 or 1 it is Fisher's
// exact test. Without values on a side it is 1.
func rankSum(a, b []float64) float64 {
	a, b = a[:min(len(a), mostRuns)], b[:min(len(b), mostRuns)]
	if len(a) == 0 || len(b) == 0 {
		return 1
	}
	ranks, total := doubledRanks(append(slices.Clone(a), b...))
	observed := 0
	for _, r := range ranks[:len(a)] {
		observed += r
	}
	// ways[k][s] counts the ways to choose k of the values whose doubled ranks add up to s.
	ways := make([][]float64, len(a)+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for k := len(a); k > 0; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	n := float64(len(ranks))
	centre := float64(len(a)) * float64(total) / n
	far, all := 0.0, 0.0
	for s, w := range ways[len(a)] {
		all += w
		if math.Abs(float64(s)-centre) >= math.Abs(float64(observed)-centre)-1e-9 {
			far += w
		}
	}
	return min(far/all, 1)
}

// doubledRanks are the ranks of values, from 1, times two so that shared ones are
// whole, and their sum.
func doubledRanks(values []float64) (ranks []int, total int) {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	ranks = make([]int, len(values))
	for first := 0; first < len(order); {
		last := first
		for last+1 < len(order) && values[order[last+1]] == values[order[first]] {
			last++
		}
		for _, i := range order[first : last+1] {
			ranks[i] = first + last + 2
		}
		first = last + 1
	}
	for _, r := range ranks {
		total += r
	}
	return ranks, total
}
