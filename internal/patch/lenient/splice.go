package lenient

import "strings"

// splice returns the document's text with the hunks applied at their spots.
func (e *engine) splice(d *document, spots []spot) ([]byte, *Error) {
	var pooled []pair
	for _, s := range spots {
		pooled = append(pooled, s.pairs(d)...)
	}
	sortSpots(spots)
	var out []line
	next := 0
	for _, s := range spots {
		texts, err := s.reindent(d, pooled)
		if err != nil {
			return nil, err
		}
		out = append(out, d.lines[next:s.first]...)
		lines, err := s.changed(d, texts)
		if err != nil {
			return nil, err
		}
		out, next = append(out, lines...), s.last
	}
	out = append(out, d.lines[next:]...)
	e.work += len(out)
	return join(out, d.crlf > 0 && d.lf == 0, d.ending(spots)), nil
}

// changed returns what the lines between a hunk's first and last change become.
func (s spot) changed(d *document, texts []string) ([]line, *Error) {
	var out []line
	at := s.at
	for i, l := range s.hunk.lines {
		inside := at >= s.first && at < s.last
		switch {
		case l.op == '+':
			cr, err := s.lineEnd(d, l)
			if err != nil {
				return nil, err
			}
			out = append(out, line{op: '+', text: texts[i], cr: cr, open: l.open})
			continue
		case l.op == ' ' && inside:
			out = append(out, d.lines[at])
		}
		at++
	}
	return out, nil
}

// lineEnd says whether a new line ends with CRLF. In a file with both ends only
// a patch that has both right itself can tell.
func (s spot) lineEnd(d *document, l line) (bool, *Error) {
	if !d.mixed() {
		return d.crlf > 0, nil
	}
	at := s.at
	for _, o := range s.hunk.lines {
		if o.op == '+' {
			continue
		}
		if o.cr != d.lines[at].cr {
			return false, s.hunk.fail(d, KindLineEnds, "the file has lines that end with CRLF and lines that do not, and the patch does not keep them apart", "give the whole file")
		}
		at++
	}
	return l.cr, nil
}

// ending says whether a new last line of the file has no line end: as the patch
// says, or else as it was before.
func (d *document) ending(spots []spot) func(l line) bool {
	return func(l line) bool {
		for _, s := range spots {
			if s.hunk.marked && s.end == len(d.lines) {
				return l.open
			}
		}
		return d.open
	}
}

func join(lines []line, crlf bool, open func(line) bool) []byte {
	var b strings.Builder
	for i, l := range lines {
		b.WriteString(l.text)
		if i == len(lines)-1 && (l.op == '+' && open(l) || l.op != '+' && l.open) {
			break
		}
		if l.cr || l.open && crlf {
			b.WriteByte('\r')
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}
