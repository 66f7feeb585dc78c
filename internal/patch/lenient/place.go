package lenient

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// spot is where a hunk goes: old lines [at, end) of the document, of which those
// from first to last change. Both are equal for a hunk that only adds lines.
type spot struct {
	hunk        *hunk
	at, end     int
	first, last int
	deletes     bool
}

func newSpot(h *hunk, at int) spot {
	s := spot{hunk: h, at: at, first: -1, deletes: h.count('-') > 0}
	i := at
	for _, l := range h.lines {
		if l.op != ' ' {
			if s.first < 0 {
				s.first = i
			}
			s.last = i
			if l.op == '-' {
				s.last = i + 1
			}
		}
		if l.op != '+' {
			i++
		}
	}
	s.end = i
	return s
}

// place finds the one place of each hunk of a change.
func (e *engine) place(d *document, c change) ([]spot, *Error) {
	c.hunks = slices.Clone(c.hunks)
	found := make([][]int, len(c.hunks))
	for i := range c.hunks {
		h := &c.hunks[i]
		pattern := h.old()
		if blank(pattern) {
			return nil, h.fail(d, KindNotFound, "it has no old line to find its place by", "quote lines of the file that are there now")
		}
		if h.count('+')+h.count('-') == 0 {
			return nil, h.fail(d, KindSyntax, "it changes nothing", "")
		}
		if found[i] = e.matches(d, pattern); len(found[i]) == 0 && h.dropNumbers() {
			found[i] = e.matches(d, h.old())
		}
		if len(found[i]) == 0 {
			at, err := e.part(d, h)
			if err != nil {
				return nil, err
			}
			found[i] = []int{at}
		}
		if h.strayNumbers() {
			return nil, h.fail(d, KindSyntax, "its new lines begin with line numbers", "write the lines as they are to stand in the file")
		}
		found[i] = pick(found[i], func(at int) bool { return h.numbered(at) })
		if len(found[i]) > 1 {
			found[i] = pick(found[i], d.below(h.heading))
		}
	}
	if c.ordered {
		inOrder(c.hunks, found)
		byHint(c.hunks, found)
		inOrder(c.hunks, found)
	}
	spots := make([]spot, len(c.hunks))
	for i := range c.hunks {
		if len(found[i]) != 1 {
			return nil, c.hunks[i].several(d, found[i])
		}
		spots[i] = newSpot(&c.hunks[i], found[i][0])
	}
	return spots, checkOverlap(d, spots, c.ordered)
}

// pick keeps the places that are good when that leaves any.
func pick(places []int, good func(at int) bool) []int {
	if len(places) < 2 || len(places) == maxMatches || good == nil {
		return places
	}
	var out []int
	for _, at := range places {
		if good(at) {
			out = append(out, at)
		}
	}
	if len(out) == 0 {
		return places
	}
	return out
}

// numbered says whether the numbers in front of the old lines are those of this place.
func (h *hunk) numbered(at int) bool {
	return len(h.numbers) > 1 && h.numbers[0] == at+1
}

// below returns what says whether a place is in the block that the heading opens:
// after it, and before a line that is indented no deeper. It is nil when there is
// not exactly one such line.
func (d *document) below(heading string) func(at int) bool {
	heading = strings.Trim(heading, blanks)
	if heading == "" {
		return nil
	}
	start := -1
	for i, l := range d.lines {
		if strings.Trim(l.text, blanks) != heading {
			continue
		}
		if start >= 0 {
			return nil
		}
		start = i
	}
	if start < 0 {
		return nil
	}
	end, depth := start+1, len(indentOf(d.lines[start].text))
	for end < len(d.lines) {
		text := d.lines[end].text
		if strings.Trim(text, blanks) != "" && len(indentOf(text)) <= depth && !strings.ContainsAny(text[len(indentOf(text)):][:1], ")]}") {
			break
		}
		end++
	}
	return func(at int) bool { return at >= start && at < end }
}

// inOrder drops places that would put a hunk before the one it follows, or after
// the one it precedes.
func inOrder(hunks []hunk, found [][]int) {
	low := 0
	for i := range hunks {
		found[i] = pick(found[i], func(at int) bool { return newSpot(&hunks[i], at).first >= low })
		if len(found[i]) == 1 {
			low = max(low, newSpot(&hunks[i], found[i][0]).last)
		}
	}
	high := -1
	for i := len(hunks) - 1; i >= 0; i-- {
		if high >= 0 {
			found[i] = pick(found[i], func(at int) bool { return newSpot(&hunks[i], at).last <= high })
		}
		if len(found[i]) == 1 {
			high = newSpot(&hunks[i], found[i][0]).first
		}
	}
}

// byHint believes the line numbers of a diff when each hunk of the file whose
// place is known, one at least, is just where its number says. A number that
// nothing proves is not believed, because models make them up.
func byHint(hunks []hunk, found [][]int) {
	proofs := 0
	for i, h := range hunks {
		if h.hint == 0 || len(found[i]) != 1 {
			continue
		}
		if found[i][0]+1 != h.hint {
			return
		}
		proofs++
	}
	for i, h := range hunks {
		if at := h.hint - 1; proofs > 0 && at >= 0 && len(found[i]) < maxMatches && slices.Contains(found[i], at) {
			found[i] = []int{at}
		}
	}
}

// checkOverlap refuses changes that touch what another one rests on.
func checkOverlap(d *document, spots []spot, ordered bool) *Error {
	for i := range spots {
		for j := range spots[:i] {
			a, b := spots[j], spots[i]
			switch {
			case ordered && b.first < a.last:
				return b.hunk.fail(d, KindOverlap, fmt.Sprintf("it comes before %s %d in the file, or overlaps it", a.hunk.unit, a.hunk.n), "")
			case a.first == a.last && a.first == b.first && b.first == b.last,
				a.first < b.last && b.first < a.last,
				a.deletes && a.first < b.end && b.at < a.last,
				b.deletes && b.first < a.end && a.at < b.last:
				return b.hunk.fail(d, KindOverlap, fmt.Sprintf("it touches the same lines as %s %d", a.hunk.unit, a.hunk.n), "make one of both")
			}
		}
	}
	return nil
}

func (h *hunk) fail(d *document, k Kind, detail, hint string) *Error {
	return &Error{Kind: k, Path: d.path, Unit: h.unit, N: h.n, Detail: detail, Hint: hint}
}

func (h *hunk) several(d *document, places []int) *Error {
	e := h.fail(d, KindNotUnique, fmt.Sprintf("its old lines are in the file %d times", len(places)), "quote more lines round the change")
	if len(places) == maxMatches {
		e.Detail = fmt.Sprintf("its old lines are in the file %d times or more", len(places))
	}
	for _, at := range places[:min(len(places), maxListed+1)] {
		e.Lines = append(e.Lines, at+1)
	}
	e.Want = h.old()
	return e
}

func sortSpots(spots []spot) {
	sort.SliceStable(spots, func(i, j int) bool {
		a, b := spots[i], spots[j]
		return a.first < b.first || a.first == b.first && a.last < b.last
	})
}
