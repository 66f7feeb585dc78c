package llm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	// fileWeight is what a file costs besides its lines and its path.
	fileWeight = fenceWeight + len("file: (read-only)") + 8
	// gapWeight is what leaving out lines costs.
	gapWeight = len("[ratchet: 1000000"+gapMark) + 1
	// gapMark ends the line that stands for lines which are left out.
	gapMark = " lines are left out here]"
	// leastCut is the smallest weight worth cutting a function down to.
	leastCut = 400
)

// choice is the source that a prompt shows: lines of files.
type choice struct {
	left  int // weight
	lines map[*source][]bool
}

// choose picks the source to show: first the most suspicious place of each
// cluster in turn, cut when it would take more than its share, then whatever
// has most suspicion for its weight, as long as it fits.
func choose(items []item, musts []*region, weight int) *choice {
	c := &choice{left: weight, lines: map[*source][]bool{}}
	for i, r := range musts {
		if share := c.left / 2; i == 0 || share >= leastCut {
			c.take(r, share)
		}
	}
	for _, it := range items {
		if !c.takeAll(it) && len(it.regions[0].core) > 0 && len(it.regions) == 1 {
			c.take(it.regions[0], c.left)
		}
	}
	return c
}

// takeAll shows an item when it fits.
func (c *choice) takeAll(it item) bool {
	cost := 0
	for _, r := range it.regions {
		cost += c.cost(r.src, r.first, r.last)
	}
	cost += c.opening(it.regions[0].src)
	if cost > c.left {
		return false
	}
	for _, r := range it.regions {
		c.mark(r.src, r.first, r.last)
	}
	c.left -= cost
	return true
}

// opening is what showing the first lines of a file costs.
func (c *choice) opening(s *source) int {
	if c.lines[s] != nil {
		return 0
	}
	return fileWeight + weigh(s.path) + gapWeight
}

// cost is what showing lines costs more; lines that are shown already cost
// nothing, and lines beside them open no gap.
func (c *choice) cost(s *source, first, last int) int {
	n := 0
	for i := first; i <= last; i++ {
		if !c.shown(s, i) {
			n += weigh(s.lines[i-1]) + 1
		}
	}
	if !c.shown(s, first-1) && !c.shown(s, last+1) {
		n += gapWeight
	}
	return n
}

func (c *choice) shown(s *source, line int) bool {
	shown := c.lines[s]
	return shown != nil && line >= 1 && line <= len(shown) && shown[line-1]
}

func (c *choice) mark(s *source, first, last int) {
	if c.lines[s] == nil {
		c.lines[s] = make([]bool, len(s.lines))
	}
	for i := first; i <= last; i++ {
		c.lines[s][i-1] = true
	}
}

// take shows a region, or what of it fits into the weight: its first lines, which
// declare it, and those round its suspicious lines.
func (c *choice) take(r *region, weight int) {
	weight = min(weight, c.left)
	if c.opening(r.src)+c.cost(r.src, r.first, r.last) <= weight {
		c.takeAll(item{regions: []*region{r}})
		return
	}
	if weight < leastCut {
		return
	}
	weight -= c.opening(r.src)
	for _, n := range r.byNearness() {
		cost := c.cost(r.src, n, n) // each line may open a gap
		if cost > weight {
			break
		}
		if c.lines[r.src] == nil {
			c.left -= c.opening(r.src)
		}
		weight, c.left = weight-cost, c.left-cost
		c.mark(r.src, n, n)
	}
}

// byNearness lists a region's lines: the one that declares it, then those round
// its suspicious lines, the nearest first.
func (r *region) byNearness() []int {
	declared := r.declaration()
	distance := make([]int, r.last-r.first+1)
	out := make([]int, 0, len(distance))
	for n := r.first; n <= r.last; n++ {
		out = append(out, n)
		distance[n-r.first] = r.fromCore(n)
	}
	distance[declared-r.first] = -1
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(distance[a-r.first], distance[b-r.first]) })
	return out
}

// fromCore counts the lines between a line and the nearest suspicious one, or the
// region's first.
func (r *region) fromCore(n int) int {
	nearest := n - r.first
	for i, c := range r.core {
		if away := max(c.first-n, n-c.last, 0); i == 0 || away < nearest {
			nearest = away
		}
	}
	return nearest
}

// quote puts the chosen source, a fence for each file, by path, so that
// what changes in one place of the order leaves all before it as it was.
func (c *choice) quote(d *document, editable func(string) bool) {
	shown := make([]*source, 0, len(c.lines))
	for s := range c.lines {
		shown = append(shown, s)
	}
	slices.SortFunc(shown, func(a, b *source) int { return cmp.Compare(a.path, b.path) })
	for _, s := range shown {
		note := ""
		if !editable(s.path) {
			note = " (read-only)"
		}
		d.quote("source", "file: "+fileName(s.path)+note+"\n"+excerpt(s.lines, c.lines[s]))
	}
}

// excerpt is the lines that are shown, with a mark wherever some are not. What is
// shorter than its mark is shown too.
func excerpt(lines []string, shown []bool) string {
	var b strings.Builder
	for i := 0; i < len(lines); {
		if shown[i] {
			b.WriteString(lines[i] + "\n")
			i++
			continue
		}
		gap := i
		for i < len(lines) && !shown[i] {
			i++
		}
		left := strings.Join(lines[gap:i], "\n") + "\n"
		if mark := fmt.Sprintf("[ratchet: %d%s\n", i-gap, gapMark); weigh(left) > len(mark) {
			left = mark
		}
		b.WriteString(left)
	}
	return b.String()
}
