package lenient

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	hunkHeader = regexp.MustCompile(`^@@(?:\s*-(\d{1,9})(?:,(\d{1,9}))?\s+\+(\d{1,9})(?:,(\d{1,9}))?)?\s*(?:\.{3}|…|-\S*\s+\+\S*)?\s*(?:@@)?(.*)$`)
	gitHeader  = regexp.MustCompile(`^diff --git "?(\S+)"? "?(\S+?)"?$`)
	section    = regexp.MustCompile(`^\*\*\* (Update|Add|Delete) File: (.+)$`)
	extended   = regexp.MustCompile(`^(?:index |old mode|new mode|deleted file mode|new file mode|similarity index|dissimilarity index|rename |copy |Binary files|GIT binary)`)
)

func (p *parser) line(i int) string {
	if i < len(p.lines) {
		return p.lines[i]
	}
	return ""
}

// diffBegins says whether the section of one file begins at a line.
func (p *parser) diffBegins(i int) bool {
	l := p.line(i)
	switch {
	case strings.HasPrefix(l, "diff --git "), section.MatchString(l):
		return true
	case strings.HasPrefix(l, "--- "):
		return strings.HasPrefix(p.line(i+1), "+++ ") || strings.HasPrefix(p.line(i+1), "@@")
	case strings.HasPrefix(l, "+++ "):
		return strings.HasPrefix(p.line(i+1), "@@")
	}
	return false
}

// diff reads the section of one file.
func (p *parser) diff() error {
	c := change{diff: true, ordered: true}
	old, err := p.header(&c)
	if err != nil {
		return err
	}
	p.used = c.path
	for strings.HasPrefix(p.line(p.at), "@@") || len(c.hunks) == 0 && bodyLine(p.line(p.at)) && p.at < len(p.lines) {
		h, err := p.hunk(c)
		if err != nil {
			return err
		}
		if len(h.lines) > 0 {
			c.hunks = append(c.hunks, h)
		}
	}
	c.create = c.create || old == devNull || len(c.hunks) == 1 && c.hunks[0].fresh
	if c.create {
		if err := onlyNew(c); err != nil {
			return err
		}
	}
	if len(c.hunks) == 0 && !c.create && !c.delete {
		return p.fail(KindSyntax, unitHunk, "the diff of the file has no hunk", "")
	}
	p.name, p.announce = "", ""
	p.add(c)
	return nil
}

const devNull = "/dev/null"

func bodyLine(l string) bool { return l != "" && strings.ContainsRune(" +-", rune(l[0])) }

// onlyNew checks that a new file has new lines only. Blank ones may lack their +.
func onlyNew(c change) error {
	for _, h := range c.hunks {
		for i, l := range h.lines {
			if l.op == ' ' && l.text == "" {
				h.lines[i].op = '+'
			} else if l.op != '+' {
				return &Error{Kind: KindSyntax, Path: c.path, Unit: unitHunk, N: h.n, Detail: "a new file has old lines"}
			}
		}
	}
	return nil
}

// header reads the lines before the first hunk and returns the old name.
func (p *parser) header(c *change) (old string, err error) {
	if m := section.FindStringSubmatch(p.lines[p.at]); m != nil {
		c.path, c.diff = strings.TrimSpace(m[2]), false
		c.create, c.delete = m[1] == "Add", m[1] == "Delete"
		p.at++
		if strings.HasPrefix(p.line(p.at), "*** Move to:") {
			return "", p.unsupported(c.path, "it renames the file")
		}
		return "", nil
	}
	var a, b string
	for ; p.at < len(p.lines); p.at++ {
		l := p.lines[p.at]
		switch {
		case strings.HasPrefix(l, "diff --git "):
			if a != "" || b != "" {
				return p.settle(c, a, b)
			}
			if m := gitHeader.FindStringSubmatch(l); m != nil {
				a, b = m[1], m[2]
			}
		case strings.HasPrefix(l, "--- "):
			if c.other != "" {
				return p.settle(c, a, b)
			}
			a, c.other = headerPath(l[4:]), "seen"
		case strings.HasPrefix(l, "+++ "):
			b = headerPath(l[4:])
		case strings.HasPrefix(l, "new file mode"):
			if c.create = true; strings.TrimSpace(l) != "new file mode 100644" {
				return "", p.unsupported(b, "it makes a file that is not an ordinary one: "+clip(l))
			}
		case strings.HasPrefix(l, "deleted file mode"):
			c.delete = true
		case strings.HasPrefix(l, "rename "), strings.HasPrefix(l, "copy "):
			return "", p.unsupported(b, "it renames or copies the file")
		case strings.HasPrefix(l, "old mode"), strings.HasPrefix(l, "new mode"):
			return "", p.unsupported(b, "it changes the file's mode")
		case strings.HasPrefix(l, "GIT binary"), strings.HasPrefix(l, "Binary files"):
			return "", p.unsupported(b, "it is a binary patch")
		case extended.MatchString(l), strings.HasPrefix(l, "==="):
		default:
			return p.settle(c, a, b)
		}
	}
	return p.settle(c, a, b)
}

func (p *parser) unsupported(path, why string) error {
	return &Error{Kind: KindUnsupported, Path: path, Detail: why, Hint: "delete the file and add another, or change its lines only"}
}

// settle says what the two names of a header say.
func (p *parser) settle(c *change, a, b string) (string, error) {
	c.path, c.other = b, a
	switch {
	case b == devNull:
		c.delete, c.path = true, strings.TrimPrefix(a, "a/")
	case b == "":
		c.path = a
	}
	if a != "" && b != "" && a != devNull && b != devNull && !sameName(a, b) {
		return "", p.unsupported(b, "its two names differ: "+clip(a)+" and "+clip(b))
	}
	return a, nil
}

func sameName(a, b string) bool {
	bare := func(s string) string {
		return strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(s, "./"), "a/"), "b/")
	}
	a, b = strings.TrimSuffix(bare(bare(a)), ".orig"), bare(bare(b))
	return a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
}

// counts are the lines that a hunk's header promises; -1 when it does not say.
type counts struct{ old, new int }

// hunk reads one hunk. What the header counts only matters for telling whether
// the text breaks off: models cannot count.
func (p *parser) hunk(c change) (hunk, error) {
	h := hunk{unit: unitHunk, n: p.nextHunk()}
	promised := counts{-1, -1}
	for strings.HasPrefix(p.line(p.at), "@@") { // V4A patches may name a class and then a method
		promised = h.readHeader(p.lines[p.at])
		p.at++
	}
	for ; p.at < len(p.lines); p.at++ {
		l := p.lines[p.at]
		if p.hunkEnds(l, h, promised) {
			break
		}
		h.take(l, p.crs[p.at])
	}
	all := h
	for len(h.lines) > 0 && h.lines[len(h.lines)-1] == (line{op: ' '}) { // or they belong to the prose
		h.lines = h.lines[:len(h.lines)-1]
	}
	if strings.HasPrefix(p.line(p.at), "*** End of File") {
		p.at++
	}
	h.fresh = promised.old == 0 && h.hint == 0 && h.count('+') == len(h.lines)
	return h, p.checkEnd(c, all, h, promised)
}

func (h *hunk) readHeader(l string) counts {
	m := hunkHeader.FindStringSubmatch(l)
	if m == nil {
		return counts{-1, -1}
	}
	if m[5] = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(m[5]), "@@")); m[5] != "" {
		h.heading = m[5]
	}
	if m[1] == "" {
		return counts{-1, -1}
	}
	h.hint, _ = strconv.Atoi(m[1]) // at most nine digits
	return counts{number(m[2]), number(m[4])}
}

// number reads a count, which is 1 when it is left out.
func number(s string) int {
	if s == "" {
		return 1
	}
	n, _ := strconv.Atoi(s)
	return n
}

// take adds a line to the hunk; an empty one is a blank line of context.
func (h *hunk) take(l string, cr bool) {
	if strings.HasPrefix(l, `\`) {
		if n := len(h.lines); n > 0 {
			h.lines[n-1].open = true
		}
		h.marked = true
		return
	}
	if l == "" {
		h.lines = append(h.lines, line{op: ' ', cr: cr})
		return
	}
	h.lines = append(h.lines, line{op: l[0], text: l[1:], cr: cr})
}

// hunkEnds says whether a line is no longer of the hunk.
func (p *parser) hunkEnds(l string, h hunk, promised counts) bool {
	switch {
	case l == "":
		return false
	case strings.HasPrefix(l, "@@"), strings.HasPrefix(l, "*** "), strings.HasPrefix(l, "diff --git "):
		return true
	case strings.HasPrefix(l, "--- ") && strings.HasPrefix(p.line(p.at+1), "+++ "):
		return strings.HasPrefix(p.line(p.at+2), "@@") || h.full(promised)
	case (strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "+++ ")) && strings.HasPrefix(p.line(p.at+1), "@@"):
		return true
	case l == "-- " && h.full(promised): // the signature of a mail
		return true
	}
	return !strings.ContainsRune(" +-\\\t", rune(l[0]))
}

// full says that the hunk has the lines that its header promised.
func (h hunk) full(promised counts) bool {
	plus, minus := h.count('+'), h.count('-')
	context := len(h.lines) - plus - minus
	return promised.old >= 0 && context+minus >= promised.old && context+plus >= promised.new
}

// exactly says that it has them and no more.
func (h hunk) exactly(promised counts) bool {
	return promised.old == len(h.lines)-h.count('+') && promised.new == len(h.lines)-h.count('-')
}

// checkEnd refuses a hunk after which lines of it may be missing. trimmed is the
// hunk without the blank lines at its end.
func (p *parser) checkEnd(c change, h, trimmed hunk, promised counts) error {
	p.used = c.path
	rest := p.line(p.at)
	ended := p.at >= len(p.lines)
	short := promised.old >= 0 && !h.full(promised)
	next := strings.HasPrefix(rest, "@@") || strings.HasPrefix(rest, "*** ") || p.diffBegins(p.at)
	switch {
	case ended && p.complete, next && !short, next && p.complete:
		return nil
	case ended && (p.fence != "" || short):
		return p.fail(KindTruncated, unitHunk, "the patch breaks off in it", "send the whole patch again, shorter")
	case ended, p.fence != "" && closes(rest, p.fence), next, p.fence == "" && (h.exactly(promised) || trimmed.exactly(promised)):
		return nil
	case p.fence != "":
		return p.fail(KindSyntax, unitHunk, "the line "+strconv.Quote(clip(rest))+" begins with neither space, + nor -", "begin every line of a hunk with one of them")
	case short || p.moreBelow():
		return p.fail(KindSyntax, unitHunk, "a line of it begins with neither space, + nor -: "+strconv.Quote(clip(rest)), "begin every line of a hunk with one of them, and put the diff in a fence")
	}
	return nil
}

// moreBelow says whether lines that may belong to a hunk follow the prose after
// it, before anything else begins.
func (p *parser) moreBelow() bool {
	for i := p.at + 1; i < len(p.lines); i++ {
		l := p.lines[i]
		if p.diffBegins(i) || strings.HasPrefix(l, "@@") {
			return strings.HasPrefix(l, "@@")
		}
		if strings.HasPrefix(l, "+") || strings.HasPrefix(l, "-") {
			return true
		}
	}
	return false
}
