package lenient

import "strings"

// tier is how much white space may differ between a line of a patch and of a file.
type tier int

const (
	exact    tier = iota // nothing but the line end
	trailing             // white space at the end
	indented             // and at the start
	spaced               // and the amount between words
	tiers
)

// form is what two lines must have in common to match.
func (t tier) form(s string) string {
	switch t {
	case trailing:
		return strings.TrimRight(s, blanks)
	case indented:
		return strings.Trim(s, blanks)
	case spaced:
		return strings.Join(strings.FieldsFunc(s, isBlank), " ")
	}
	return s
}

const blanks = " \t"

func isBlank(r rune) bool { return r == ' ' || r == '\t' }

// document is a file as lines, indexed for matching.
type document struct {
	path  string
	text  string
	lines []line
	crlf  int // lines that end with CRLF
	lf    int
	open  bool // the last line has no end
	unit  int  // of its indentation by spaces; 0 when it has none
	ids   [tiers]map[string]int32
	forms [tiers][]int32
}

func newDocument(path string, data []byte) *document {
	d := &document{path: path, text: string(data)}
	d.lines = splitLines(d.text)
	d.open = len(data) > 0 && data[len(data)-1] != '\n'
	for i := range d.lines {
		l := &d.lines[i]
		switch {
		case d.open && i == len(d.lines)-1:
			if l.cr { // a lone CR is content
				l.text, l.cr = l.text+"\r", false
			}
			l.open = true
		case l.cr:
			d.crlf++
		default:
			d.lf++
		}
	}
	d.unit = unitOf(d.lines)
	return d
}

func (d *document) mixed() bool { return d.crlf > 0 && d.lf > 0 }

// index numbers the forms of all lines at a tier.
func (e *engine) index(d *document, t tier) {
	if d.ids[t] != nil {
		return
	}
	e.work += len(d.lines)
	d.ids[t] = map[string]int32{}
	d.forms[t] = make([]int32, len(d.lines))
	for i, l := range d.lines {
		f := t.form(l.text)
		id, known := d.ids[t][f]
		if !known {
			id = int32(len(d.ids[t]))
			d.ids[t][f] = id
		}
		d.forms[t][i] = id
	}
}

// maxMatches is how many places of one pattern are kept apart.
const maxMatches = 1000

// find returns where the pattern begins in the document, from 0, by the algorithm
// of Knuth, Morris and Pratt.
func (e *engine) find(d *document, t tier, pattern []string) []int {
	e.index(d, t)
	want := make([]int32, len(pattern))
	for i, p := range pattern {
		id, known := d.ids[t][t.form(p)]
		if !known {
			return nil
		}
		want[i] = id
	}
	e.work += len(d.lines) + len(want)
	back := failures(want)
	var out []int
	k := 0
	for i, id := range d.forms[t] {
		for k > 0 && want[k] != id {
			k = back[k-1]
		}
		if want[k] == id {
			k++
		}
		if k == len(want) {
			if out = append(out, i-k+1); len(out) == maxMatches {
				return out
			}
			k = back[k-1]
		}
	}
	return out
}

func failures(p []int32) []int {
	back := make([]int, len(p))
	for i, k := 1, 0; i < len(p); i++ {
		for k > 0 && p[k] != p[i] {
			k = back[k-1]
		}
		if p[k] == p[i] {
			k++
		}
		back[i] = k
	}
	return back
}

// matches returns the places of a hunk's old lines at the strictest tier that
// has any. A place is not alone when another one is equal but for what models
// lose all the time: trailing white space, or the indentation of a block that
// was moved to the left margin.
func (e *engine) matches(d *document, pattern []string) []int {
	for t := exact; t < tiers; t++ {
		found := e.find(d, t, pattern)
		if len(found) == 0 {
			continue
		}
		if t == exact && !anyTrailing(pattern) {
			if more := e.find(d, trailing, pattern); len(more) > len(found) {
				return more
			}
		}
		if t < indented && atMargin(pattern) {
			if more := e.find(d, indented, pattern); len(more) > len(found) {
				return more
			}
		}
		return found
	}
	return nil
}

func anyTrailing(pattern []string) bool {
	for _, p := range pattern {
		if p != strings.TrimRight(p, blanks) {
			return true
		}
	}
	return false
}

// atMargin reports whether a line that is not blank has no indentation.
func atMargin(pattern []string) bool {
	for _, p := range pattern {
		if p != "" && !isBlank(rune(p[0])) {
			return true
		}
	}
	return false
}

func blank(pattern []string) bool {
	for _, p := range pattern {
		if strings.Trim(p, blanks) != "" {
			return false
		}
	}
	return true
}
