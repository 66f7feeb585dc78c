package lenient

import (
	"slices"
	"strings"
)

func indentOf(s string) string { return s[:len(s)-len(strings.TrimLeft(s, blanks))] }

// pair is how a matched line is indented in the patch and in the file.
type pair struct{ patch, file string }

// pairs lists the indentations of a hunk's old lines that are not blank.
func (s spot) pairs(d *document) []pair {
	var out []pair
	i := s.at
	for _, l := range s.hunk.lines {
		if l.op == '+' {
			continue
		}
		if strings.Trim(l.text, blanks) != "" {
			out = append(out, pair{indentOf(l.text), indentOf(d.lines[i].text)})
		}
		i++
	}
	return out
}

// added lists the hunk's new lines that are not blank, by index.
func (h *hunk) added() []int {
	var out []int
	for i, l := range h.lines {
		if l.op == '+' && strings.Trim(l.text, blanks) != "" {
			out = append(out, i)
		}
	}
	return out
}

// clearBlank empties the new lines that hold nothing but white space.
func (h *hunk) clearBlank(texts []string) {
	for i, l := range h.lines {
		if l.op == '+' && strings.Trim(l.text, blanks) == "" {
			texts[i] = ""
		}
	}
}

// reindent returns the texts of the hunk's lines with the indentation of the
// file. Each way in which all old lines can have lost theirs says what the new
// lines had; when these disagree, or there is no such way, it is refused.
func (s spot) reindent(d *document, pooled []pair) ([]string, *Error) {
	out := make([]string, len(s.hunk.lines))
	for i, l := range s.hunk.lines {
		out[i] = l.text
	}
	if s.hunk.literal {
		return out, nil
	}
	added := s.hunk.added()
	ps := s.pairs(d)
	if !same(ps) { // white space alone moved with the rest
		s.hunk.clearBlank(out)
	}
	if len(added) == 0 {
		return out, nil
	}
	ways := s.ways(d, ps)
	if same(ps) {
		if ways = nil; !s.foreign(d, added, pooled) {
			return out, nil
		}
		ways = tabWays(s, d, pooled)
	}
	for _, i := range added {
		text := s.hunk.lines[i].text
		in := indentOf(text)
		to, ok := agree(ways, i == s.hunk.firstNew(), in)
		if len(ways) == 0 && !same(ps) {
			to, ok = in, steady(ps, in)
		}
		if !ok || to != in && !d.usual(to) {
			return nil, s.hunk.fail(d, KindIndent, "how its new lines are indented cannot be told from its old lines", "indent every line exactly as the file does, tabs as tabs")
		}
		out[i] = to + text[len(in):]
	}
	return out, nil
}

// usual says whether the file indents by multiples of what to is a multiple of.
// What nobody indents like came from a wrong guess.
func (d *document) usual(to string) bool {
	return strings.Contains(to, "\t") || d.unit == 0 || len(to)%d.unit == 0
}

// unitOf is the greatest common divisor of the spaces that lines begin with.
func unitOf(lines []line) int {
	unit := 0
	for _, l := range lines {
		if in := indentOf(l.text); in != l.text && !strings.Contains(in, "\t") {
			unit = gcd(unit, len(in))
		}
	}
	return unit
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func same(ps []pair) bool {
	return !slices.ContainsFunc(ps, func(p pair) bool { return p.patch != p.file })
}

// steady says that lines indented like this kept their indentation, all of them.
func steady(ps []pair, in string) bool {
	seen := false
	for _, p := range ps {
		if p.patch == in {
			if p.file != in {
				return false
			}
			seen = true
		}
	}
	return seen
}

func (h *hunk) firstNew() int {
	return slices.IndexFunc(h.lines, func(l line) bool { return l.op != '-' })
}

// way turns the indentation of a patch into that of the file; false means that
// it cannot. first says that it is the first new line of the hunk.
type way func(first bool, in string) (string, bool)

// agree returns what all ways make of an indentation.
func agree(ways []way, first bool, in string) (string, bool) {
	out, seen := "", false
	for _, w := range ways {
		to, ok := w(first, in)
		if !ok || seen && to != out {
			return "", false
		}
		out, seen = to, true
	}
	return out, seen
}

// ways lists those that explain every pair.
func (s spot) ways(d *document, ps []pair) []way {
	if len(ps) == 0 {
		return nil
	}
	var all []way
	if w, ok := shifted(ps); ok {
		all = append(all, w)
	}
	if w, ok := scaled(ps); ok {
		all = append(all, w)
	}
	if w, ok := stripped(ps); ok {
		all = append(all, w)
	}
	return append(all, tabWays(s, d, ps)...)
}

// shifted: the block was moved to the left or to the right as a whole.
func shifted(ps []pair) (way, bool) {
	p := ps[0]
	left, isLeft := strings.CutSuffix(p.file, p.patch)
	right, isRight := strings.CutSuffix(p.patch, p.file)
	move := func(in string) (string, bool) {
		if isLeft {
			return left + in, oneKind(left + in)
		}
		out, ok := strings.CutPrefix(in, right)
		return out, ok
	}
	for _, q := range ps {
		if to, ok := move(q.patch); !ok || to != q.file {
			return nil, false
		}
	}
	return func(_ bool, in string) (string, bool) { return move(in) }, isLeft || isRight
}

func oneKind(s string) bool {
	return !(strings.Contains(s, " ") && strings.Contains(s, "\t"))
}

// scaled: another number of spaces a level.
func scaled(ps []pair) (way, bool) {
	for _, by := range [][2]int{{1, 2}, {2, 1}} {
		w := func(_ bool, in string) (string, bool) {
			if strings.Contains(in, "\t") || len(in)*by[1]%by[0] != 0 {
				return "", false
			}
			return strings.Repeat(" ", len(in)*by[1]/by[0]), true
		}
		if explains(w, ps) {
			return w, true
		}
	}
	return nil, false
}

func explains(w way, ps []pair) bool {
	for _, p := range ps {
		if to, ok := w(false, p.patch); !ok || to != p.file {
			return false
		}
	}
	return len(ps) > 0
}

// stripped: the white space round the whole text was cut, and with it the first
// line's indentation.
func stripped(ps []pair) (way, bool) {
	if ps[0].patch != "" || ps[0].file == "" || !same(ps[1:]) {
		return nil, false
	}
	return func(first bool, in string) (string, bool) {
		if first && in == "" {
			return ps[0].file, true
		}
		return in, !first
	}, true
}

// tabWays: tabs became spaces, or spaces tabs. Within a raw string the indentation
// is content and may have been spaces before: then there is no way.
func tabWays(s spot, d *document, ps []pair) []way {
	if s.inRawText(d) {
		return nil
	}
	levels := map[pair]bool{}
	for _, p := range ps {
		levels[p] = p.patch != p.file
	}
	moved := 0
	for _, differs := range levels {
		if differs {
			moved++
		}
	}
	if moved == 0 {
		return nil
	}
	var out []way
	for _, width := range []int{2, 3, 4, 8} {
		unit := strings.Repeat(" ", width)
		toTabs := func(_ bool, in string) (string, bool) {
			rest := strings.ReplaceAll(in, unit, "\t")
			return rest, !strings.Contains(in, "\t") && strings.Trim(rest, "\t") == ""
		}
		toSpaces := func(_ bool, in string) (string, bool) {
			return strings.ReplaceAll(in, "\t", unit), strings.Trim(in, "\t") == ""
		}
		// One level alone does not tell eight spaces from two levels of four, one of them moved.
		if explains(toTabs, ps) && (moved > 1 || width == 2 || width == 4) {
			out = append(out, toTabs)
		}
		if explains(toSpaces, ps) {
			out = append(out, toSpaces)
		}
	}
	return out
}

// inRawText guesses whether a string over several lines is open in or before the hunk.
func (s spot) inRawText(d *document) bool {
	for _, quote := range []string{"`", `"""`, "'''"} {
		n := 0
		for _, l := range d.lines[:s.at] {
			n += strings.Count(l.text, quote)
		}
		if n%2 == 1 {
			return true
		}
		for _, l := range s.hunk.lines {
			if strings.Count(l.text, quote)%2 == 1 {
				return true
			}
		}
	}
	return false
}

// foreign says that the new lines are indented by what the file never uses. Only
// within a string over several lines, and from a writer who knows the difference,
// is that meant.
func (s spot) foreign(d *document, added []int, pooled []pair) bool {
	tabs, spaces := 0, 0
	for _, l := range d.lines {
		switch {
		case strings.HasPrefix(l.text, "\t"):
			tabs++
		case strings.HasPrefix(l.text, "  "):
			spaces++
		}
	}
	own, other := "\t", "  "
	if tabs == 0 {
		own, other = other, own
	}
	if (tabs == 0) == (spaces == 0) {
		return false
	}
	uses := func(mark string) bool {
		return slices.ContainsFunc(added, func(i int) bool { return strings.HasPrefix(s.hunk.lines[i].text, mark) })
	}
	knows := uses(own) || slices.ContainsFunc(pooled, func(p pair) bool { return strings.HasPrefix(p.patch, own) })
	return uses(other) && !(knows && (uses(own) || s.inRawText(d)))
}
