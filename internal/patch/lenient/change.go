package lenient

import "strings"

// line is one line of a hunk, without its line end.
type line struct {
	op   byte // ' ', '-' or '+', as in a unified diff
	text string
	cr   bool // it ended with CRLF
	open bool // "\ No newline at end of file" follows
}

// hunk replaces some lines of a file by others.
type hunk struct {
	unit    string // "hunk" or "block"
	n       int    // number in the patch, from 1
	lines   []line
	hint    int    // first old line by the header, from 1; 0 for none
	heading string // the line of code that the header names
	fresh   bool   // its header says that the file is new
	marked  bool   // it says where there is no newline at the end of the file
	numbers []int  // line numbers copied in front of the old lines
	search  string // the old text of a block, as it is written
	replace string // and the new one
	literal bool   // its lines are those of the file: nothing of them is guessed
}

// change is what a patch does to one file.
type change struct {
	path    string // as it is written
	other   string // the second spelling of a diff's header
	diff    bool   // prefixes a/ and b/ are likely
	ordered bool   // hunks come in the order of the file
	create  bool
	delete  bool
	whole   bool // replaces the file, which may exist or not
	hunks   []hunk
}

// old returns the texts of the old lines.
func (h hunk) old() []string {
	var out []string
	for _, l := range h.lines {
		if l.op != '+' {
			out = append(out, l.text)
		}
	}
	return out
}

func (h hunk) count(op byte) int {
	n := 0
	for _, l := range h.lines {
		if l.op == op {
			n++
		}
	}
	return n
}

// splitLines cuts text into lines without their ends. A final line end begins no line.
func splitLines(s string) []line {
	if s == "" {
		return nil
	}
	parts := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	out := make([]line, len(parts))
	for i, p := range parts {
		text, cr := strings.CutSuffix(p, "\r")
		out[i] = line{text: text, cr: cr}
	}
	return out
}

// maxAligned bounds the table in which align finds the lines that stay.
const maxAligned = 1 << 16

// align turns a search and a replacement into the lines of a hunk: those that
// both have, in order, are context and keep the file's text.
func align(old, new []line) []line {
	var head, tail []line
	for len(old) > 0 && len(new) > 0 && old[0].text == new[0].text {
		head, old, new = append(head, with(old[0], ' ')), old[1:], new[1:]
	}
	for len(old) > 0 && len(new) > 0 && old[len(old)-1].text == new[len(new)-1].text {
		tail = append(tail, with(old[len(old)-1], ' '))
		old, new = old[:len(old)-1], new[:len(new)-1]
	}
	out := append(head, middle(old, new)...)
	for i := len(tail) - 1; i >= 0; i-- {
		out = append(out, tail[i])
	}
	return out
}

func with(l line, op byte) line {
	l.op = op
	return l
}

// middle aligns by the longest common subsequence, or not at all when that is costly.
func middle(old, new []line) []line {
	if len(old)*len(new) > maxAligned {
		return append(ops(old, '-'), ops(new, '+')...)
	}
	common := lcs(old, new)
	var out, added []line
	i, j := 0, 0
	for i < len(old) || j < len(new) {
		switch {
		case i < len(old) && j < len(new) && old[i].text == new[j].text:
			out = append(append(out, added...), with(old[i], ' '))
			added = nil
			i, j = i+1, j+1
		case j == len(new) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			out = append(out, with(old[i], '-'))
			i++
		default:
			added = append(added, with(new[j], '+'))
			j++
		}
	}
	return append(out, added...)
}

func ops(lines []line, op byte) []line {
	out := make([]line, len(lines))
	for i, l := range lines {
		out[i] = with(l, op)
	}
	return out
}

// lcs returns the lengths of the longest common subsequences of all tails.
func lcs(a, b []line) [][]int32 {
	t := make([][]int32, len(a)+1)
	for i := range t {
		t[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i].text == b[j].text {
				t[i][j] = t[i+1][j+1] + 1
			} else {
				t[i][j] = max(t[i+1][j], t[i][j+1])
			}
		}
	}
	return t
}
