package lenient

import (
	"regexp"
	"strings"
)

var (
	searchMark  = regexp.MustCompile(`^\s*<{5,10}\s*(?i:SEARCH|ORIGINAL|HEAD|OLD)\b:?\s*(.*)$`)
	divider     = regexp.MustCompile(`^\s*={5,10}\s*$`)
	replaceMark = regexp.MustCompile(`^\s*>{5,10}\s*(?:REPLACE|UPDATED|NEW|[A-Za-z0-9_./-]*)\s*$`)
)

// block reads a search and replace block. Its marks must all be there, once.
func (p *parser) block() error {
	p.nextHunk()
	mark := searchMark.FindStringSubmatch(p.lines[p.at])
	margin := indentOf(p.lines[p.at])
	if name := prosePath(mark[1]); name != "" {
		p.name = name
	}
	if p.name != "" {
		p.used = p.name
	}
	split, end := -1, -1
	i := p.at + 1
	for ; i < len(p.lines) && end < 0; i++ {
		l := p.lines[i]
		switch {
		case searchMark.MatchString(l):
			return p.fail(KindTruncated, unitBlock, "another block begins before its REPLACE line", "end every block")
		case divider.MatchString(l) && split < 0:
			split = i
		case divider.MatchString(l):
			return p.fail(KindSyntax, unitBlock, "it has two lines of =======, and either may divide it", "choose lines without ======= in them")
		case split >= 0 && replaceMark.MatchString(l):
			end = i
		case replaceMark.MatchString(l):
			return p.fail(KindSyntax, unitBlock, "it has no ======= line between the old and the new lines", "")
		}
	}
	if end < 0 {
		return p.fail(KindTruncated, unitBlock, "it breaks off before its REPLACE line", "send the whole patch again, shorter")
	}
	old, new := p.part(p.at+1, split, margin), p.part(split+1, end, margin)
	p.at = end + 1
	p.name = ""
	p.add(newBlock(p.used, p.hunks, old, new).quoting(written(old), written(new)))
	return nil
}

// part returns lines without the margin that the marks of the block have.
func (p *parser) part(from, to int, margin string) []line {
	out := make([]line, 0, to-from)
	moved := margin != ""
	for i := from; i < to; i++ {
		moved = moved && (strings.HasPrefix(p.lines[i], margin) || strings.TrimSpace(p.lines[i]) == "")
	}
	for i := from; i < to; i++ {
		text := p.lines[i]
		if moved {
			text = strings.TrimPrefix(text, margin)
		}
		out = append(out, line{text: text, cr: p.crs[i]})
	}
	return out
}

// newBlock makes the change of one block or record. Blank lines that surround
// both parts alike are no part of the place.
func newBlock(path string, n int, old, new []line) change {
	if len(old) == 0 || blankLines(old) {
		return change{path: path, create: true, hunks: []hunk{{unit: unitBlock, n: n, lines: ops(new, '+')}}}
	}
	for len(new) > 0 && isBlankLine(old[0]) && isBlankLine(new[0]) {
		old, new = old[1:], new[1:]
	}
	for len(new) > 0 && isBlankLine(old[len(old)-1]) && isBlankLine(new[len(new)-1]) {
		old, new = old[:len(old)-1], new[:len(new)-1]
	}
	return change{path: path, hunks: []hunk{{unit: unitBlock, n: n, lines: align(old, new)}}}
}

// quoting keeps the texts of a block as they are written.
func (c change) quoting(search, replace string) change {
	c.hunks[0].search, c.hunks[0].replace = search, replace
	return c
}

// written joins the lines between two marks of a block. The end of the last one
// belongs to the mark.
func written(lines []line) string {
	var b strings.Builder
	for i, l := range lines {
		b.WriteString(l.text)
		if i == len(lines)-1 {
			break
		}
		if l.cr {
			b.WriteByte('\r')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func isBlankLine(l line) bool { return strings.Trim(l.text, blanks) == "" }

func blankLines(lines []line) bool {
	for _, l := range lines {
		if !isBlankLine(l) {
			return false
		}
	}
	return true
}

// recordChanges makes changes of records.
func recordChanges(records []Replacement, m mangling) ([]change, error) {
	var out []change
	for i, r := range records {
		old, new := splitLines(m.undo(r.Search)), splitLines(m.undo(r.Replace))
		path := strings.TrimSpace(r.Path)
		if clean := lineSuffix.ReplaceAllString(strings.Trim(path, "`'\""), ""); clean != "" {
			path = clean
		}
		c := newBlock(path, i+1, old, new).quoting(m.undo(r.Search), m.undo(r.Replace))
		if c.create && len(new) == 0 {
			return nil, &Error{Kind: KindSyntax, Path: path, Unit: unitBlock, N: i + 1, Detail: "it has neither old nor new lines"}
		}
		out = append(out, c)
	}
	return out, nil
}
