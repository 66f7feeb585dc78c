package llm

import (
	"cmp"
	"slices"
	"strings"

	"ratchet/internal/diagnose"
)

const (
	// maxTargets bounds the problems that one candidate claims.
	maxTargets = 8
	// focusProblems and focusPlaces bound what one sample is pointed at.
	focusProblems, focusPlaces = 3, 2
	// focusLine bounds the weight of one line of it.
	focusLine = 120
	// focusWeight bounds the part of a prompt that is one sample's own.
	focusWeight = 2*focusLine*(focusProblems+focusPlaces) + fenceWeight + 500
	// maxMusts bounds the clusters whose most suspicious place is shown before all others.
	maxMusts = 6
)

// angles are ways to look at a group of problems, so that samples differ.
var angles = []string{
	"Mend the likeliest cause.",
	"Suppose that the code named here is right, and that the fault is in what it calls or in what calls it.",
	"Suppose that a case at the edge is wrong: an empty or single input, a bound, a sign, an order, a check that is missing.",
	"Suppose that state is wrong: something is kept, shared, reset or initialised where it should not be, or not where it should.",
}

// metricAngles are the same for numbers.
var metricAngles = []string{
	"Find the work that costs most of the number, and do less of it.",
	"Look for an algorithm or data structure that suits what is asked better.",
	"Look for allocations, copies and conversions that are not needed.",
	"Look for work that is repeated within one run and could be done once.",
}

// group is a cluster of weak problems with the places that may be its cause.
type group struct {
	cluster  int
	problems []string
	metric   bool // its worst problem is a number
	places   []*region
}

// groups lists the clusters, the one with the worst problem first.
func groups(b diagnose.Brief, s *suspicion) []group {
	var out []group
	at := map[int]int{}
	for _, w := range b.Weakest {
		i, known := at[w.Cluster]
		if !known {
			i = len(out)
			at[w.Cluster] = i
			out = append(out, group{cluster: w.Cluster, metric: w.Metric != nil})
		}
		out[i].problems = append(out[i].problems, w.Problem)
	}
	for _, x := range mostSuspicious(b.Suspects) {
		i, known := at[x.Cluster]
		src := s.source(x.File)
		if !known || src == nil {
			continue
		}
		if r := src.at(x.StartLine); r != nil && !slices.Contains(out[i].places, r) {
			out[i].places = append(out[i].places, r)
		}
	}
	return out
}

func mostSuspicious(suspects []diagnose.Suspect) []diagnose.Suspect {
	sorted := slices.Clone(suspects)
	slices.SortStableFunc(sorted, func(a, b diagnose.Suspect) int { return cmp.Compare(b.Score, a.Score) })
	return sorted
}

// focus is what one sample looks at.
type focus struct {
	group group
	first int // the place that it begins with
	angle string
}

// focuses points n samples at the groups in turn, each time at the next place and
// from another angle. Where there are more groups than samples, each generation
// goes on from where the last one ended.
func focuses(all []group, n, generation int) []focus {
	if len(all) == 0 {
		return nil
	}
	start := 0
	if len(all) > n {
		start = max(generation-1, 0) * n
	}
	out := make([]focus, n)
	for i := range out {
		g := all[(start+i)%len(all)]
		turn := (start + i) / len(all)
		kinds := angles
		if g.metric {
			kinds = metricAngles
		}
		out[i] = focus{group: g, angle: kinds[turn%len(kinds)]}
		if len(g.places) > 0 {
			out[i].first = turn % len(g.places)
		}
	}
	return out
}

// targets are the problems that a candidate of this focus aims at when it names none.
func (f focus) targets() []string {
	return f.group.problems[:min(maxTargets, len(f.group.problems))]
}

// document is the last part of a sample's prompt.
func (f focus) document() document {
	var d document
	d.say("\n# Your part\n\nLook first at this group of problems, and at these places:\n")
	var b strings.Builder
	for _, p := range f.group.problems[:min(focusProblems, len(f.group.problems))] {
		b.WriteString(field("problem", line(p, focusLine)))
	}
	for i := range min(focusPlaces, len(f.group.places)) {
		r := f.group.places[(f.first+i)%len(f.group.places)]
		b.WriteString(field("place", line(r.src.path, focusLine)+": "+line(r.title(), focusLine)))
	}
	d.quote("your part", b.String())
	d.say(f.angle + " Answer with the JSON object alone.\n")
	return d
}
