package lenient

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// part finds the place of a block whose old text is not whole lines, and makes
// whole lines of it. Nothing is tolerated here: the text stands in the file exactly
// once, byte for byte, or the block is refused.
func (e *engine) part(d *document, h *hunk) (at int, err *Error) {
	search, replace, ok := h.texts()
	if !ok {
		return 0, e.notFound(d, h, h.old())
	}
	e.work += len(d.lines)
	found := occurrences(d.text, search, maxMatches)
	switch {
	case len(found) > 1:
		return 0, h.severalParts(d, found)
	case len(found) == 0, cutsWord(d.text, found[0], len(search)), d.crlf > 0 && strings.Contains(search+replace, "\n"):
		return 0, e.notFound(d, h, h.old())
	}
	if strings.HasSuffix(search, "\n") { // both have it, and it stays
		search, replace = search[:len(search)-1], replace[:len(replace)-1]
	}
	return h.widen(d, found[0], search, replace), nil
}

// texts are the old and the new text of a block when both can be taken at their
// word. A line end that only one of them begins or ends with is more likely a slip
// than the wish to join two lines, and so is white space alone.
func (h *hunk) texts() (search, replace string, ok bool) {
	s, r := h.search, h.replace
	switch {
	case strings.TrimSpace(s) == "", strings.Contains(s+r, "\r"), !utf8.ValidString(s + r),
		strings.HasPrefix(s, "\n") != strings.HasPrefix(r, "\n"), strings.HasSuffix(s, "\n") != strings.HasSuffix(r, "\n"):
		return "", "", false
	}
	return s, r, true
}

// widen makes the hunk one of the whole lines that hold the text at i, and returns
// the first of them.
func (h *hunk) widen(d *document, i int, search, replace string) int {
	at := strings.Count(d.text[:i], "\n")
	start := strings.LastIndexByte(d.text[:i], '\n') + 1
	old := d.lines[at : at+strings.Count(search, "\n")+1]
	last := old[len(old)-1].text
	// The last line is counted from its end: a CR before its line end is no part of it.
	end := i + len(search) - (strings.LastIndexByte(d.text[:i+len(search)], '\n') + 1)
	text := old[0].text[:i-start] + replace + last[end:]
	var new []line
	for _, l := range strings.Split(text, "\n") {
		new = append(new, line{text: l, cr: old[0].cr})
	}
	h.lines, h.literal = align(old, new), true
	return at
}

// occurrences returns where text stands in a file, at most so many, those that
// overlap too.
func occurrences(file, text string, most int) []int {
	var out []int
	for from := 0; text != "" && len(out) < most; {
		i := strings.Index(file[from:], text)
		if i < 0 {
			break
		}
		out = append(out, from+i)
		from += i + 1
	}
	return out
}

// cutsWord says that the text begins or ends within a word of the file: more likely
// another, longer name than the one that was meant.
func cutsWord(file string, i, n int) bool {
	return within(file[:i], file[i:]) || within(file[:i+n], file[i+n:])
}

func within(before, after string) bool {
	a, _ := utf8.DecodeLastRuneInString(before)
	b, _ := utf8.DecodeRuneInString(after)
	return inWord(a) && inWord(b)
}

func inWord(r rune) bool {
	return r == '_' || r != utf8.RuneError && unicode.In(r, unicode.L, unicode.M, unicode.N)
}

func (h *hunk) severalParts(d *document, found []int) *Error {
	at := make([]int, len(found))
	line, from := 0, 0
	for i, f := range found {
		line, from = line+strings.Count(d.text[from:f], "\n"), f
		at[i] = line
	}
	e := h.several(d, at)
	e.Detail = fmt.Sprintf("its old text is in the file %d times", len(found))
	if len(found) == maxMatches {
		e.Detail += " or more"
	}
	return e
}
