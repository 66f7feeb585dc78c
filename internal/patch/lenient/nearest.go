package lenient

import (
	"fmt"
	"strings"
)

// Bounds of the search for the nearest place.
const (
	maxProbes = 40  // old lines that are looked for one by one
	maxVotes  = 200 // places of one of them
)

// notFound says which old lines are missing and what is nearest to them.
func (e *engine) notFound(d *document, h *hunk, pattern []string) *Error {
	err := h.fail(d, KindNotFound, "", "copy the lines as they are in the file, whole, and quote nothing else")
	err.Want = pattern
	at, ok := e.nearest(d, pattern)
	if !ok {
		err.Detail = "its old lines are not in the file, and nothing like them"
		return err
	}
	from := max(at, 0) // the pattern may begin before the file does
	to := max(from, min(at+len(pattern), from+maxQuoted, len(d.lines)))
	err.Near = &Place{Line: from + 1}
	for _, l := range d.lines[from:to] {
		err.Near.Lines = append(err.Near.Lines, l.text)
	}
	err.Detail = "its old lines are not in the file"
	for i, p := range pattern {
		if n := at + i; n < 0 || n >= len(d.lines) || spaced.form(d.lines[n].text) != spaced.form(p) {
			err.Detail = fmt.Sprintf("old line %d is not in line %d of the file, where the rest fits best: %q", i+1, n+1, clip(p))
			break
		}
	}
	return err
}

// nearest lets each old line vote for where the pattern would begin.
func (e *engine) nearest(d *document, pattern []string) (int, bool) {
	e.index(d, spaced)
	e.work += len(d.lines)
	places := map[int32][]int{}
	for i, id := range d.forms[spaced] {
		if len(places[id]) < maxVotes {
			places[id] = append(places[id], i)
		}
	}
	votes := map[int]int{}
	best, most := 0, 0
	for i, p := range pattern[:min(len(pattern), maxProbes)] {
		form := spaced.form(p)
		id, known := d.ids[spaced][form]
		if !known || form == "" {
			continue
		}
		weight := min(len(form), 20) // a brace says little
		for _, at := range places[id] {
			votes[at-i] += weight
			if v := votes[at-i]; v > most || v == most && at-i < best {
				best, most = at-i, v
			}
		}
	}
	if most > 4 {
		return best, true
	}
	return e.similar(d, pattern)
}

// similar finds the line that shares most words with the longest old line.
func (e *engine) similar(d *document, pattern []string) (int, bool) {
	longest := 0
	for i, p := range pattern {
		if len(strings.Trim(p, blanks)) > len(strings.Trim(pattern[longest], blanks)) {
			longest = i
		}
	}
	want := map[string]bool{}
	for _, w := range words(clip(pattern[longest])) {
		want[w] = true
	}
	best, most, part := 0, 0, strings.Trim(pattern[longest], blanks)
	for i, l := range d.lines {
		e.work++
		if strings.Contains(l.text, part) {
			return i - longest, true
		}
		n, seen := 0, map[string]bool{}
		for _, w := range words(clip(l.text)) {
			if want[w] && !seen[w] {
				n, seen[w] = n+len(w), true
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	return best - longest, most > 3
}

func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool {
		return !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127)
	})
}
