package pysearch

import (
	"strings"

	"ratchet/internal/propose/search/names"
	"ratchet/internal/pysrc"
)

func (r *Region) text(e *pysrc.Expr) string {
	if e == nil {
		return ""
	}
	return r.mod.src[e.Off:e.End]
}

func (r *Region) code(s *pysrc.Stmt) string { return r.mod.src[s.Off:s.End] }

func site(e *pysrc.Expr) Span { return Span{e.Off, e.End} }

// siteOf is the head of a statement.
func siteOf(s *pysrc.Stmt) Span { return Span{s.Off, s.Head} }

// becomes emits a replacement of one expression by text.
func (r *Region) becomes(e *pysrc.Expr, text string, weight float64, emit emitter) {
	r.swap(site(e), Span{e.Off, e.End}, text, weight, emit)
}

// swap emits a replacement of a span by text.
func (r *Region) swap(at, old Span, text string, weight float64, emit emitter) {
	was := r.mod.src[old.Off:old.End]
	if was == text {
		return
	}
	emit(Mutation{
		Site: at, Weight: weight, What: names.Quote(was) + " should be " + names.Quote(text),
		Changes: []Change{{old.Off, old.End, text}},
	})
}

// operatorBecomes emits a replacement of an operator of e.
func (r *Region) operatorBecomes(e *pysrc.Expr, o pysrc.Operator, text string, weight float64, emit emitter) {
	emit(Mutation{
		Site: site(e), Weight: weight, What: "`" + o.Text + "` in " + names.Quote(r.text(e)) + " should be `" + text + "`",
		Changes: []Change{{o.Off, o.End, text}},
	})
}

// tight is the text of an expression, in parentheses if it binds weaker than least.
func (r *Region) tight(e *pysrc.Expr, least int) string {
	if e.Precedence() < least {
		return "(" + r.text(e) + ")"
	}
	return r.text(e)
}

// Precedences that operands need.
const (
	inOr      = 1
	inAnd     = 2
	inCompare = 4
	inSum     = 8
	inProduct = 9
	inSigned  = 10
	inPrimary = 12
)

// operand is the text of an expression such that any operator may stand next to it.
func (r *Region) operand(e *pysrc.Expr) string { return r.tight(e, inSigned) }

// outer wraps text that is a sum where the place of e asks for something tighter.
func (r *Region) outer(e *pysrc.Expr, text string, precedence int) string {
	p := r.parent[e]
	if p == nil {
		return text
	}
	switch p.Kind {
	case pysrc.BinaryExpr, pysrc.CompareExpr, pysrc.UnaryExpr:
		if p.Precedence() >= precedence {
			return "(" + text + ")"
		}
	case pysrc.AttributeExpr:
		return "(" + text + ")"
	case pysrc.SubscriptExpr, pysrc.CallExpr:
		if p.Parts[0] == e {
			return "(" + text + ")"
		}
	}
	return text
}

// lineEnd is the offset of the end of the line that holds the offset.
func (r *Region) lineEnd(at int) int {
	if i := strings.IndexAny(r.mod.src[at:], "\r\n"); i >= 0 {
		return at + i
	}
	return len(r.mod.src)
}

// newline is how the file ends lines.
func (r *Region) newline() string {
	if strings.Contains(r.mod.src, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// indented gives the lines after the first an indentation.
func (r *Region) indented(text, indent string) string {
	lines := strings.Split(text, "\n")
	for i := 1; i < len(lines); i++ {
		if lines[i] != "" {
			lines[i] = indent + lines[i]
		}
	}
	return strings.Join(lines, r.newline())
}

// before inserts lines before a statement, false where that cannot be done.
func (r *Region) before(s *pysrc.Stmt, text string) (Change, bool) {
	if s.Inline || r.list[s] == nil {
		return Change{}, false
	}
	s = r.decorated(s)
	return Change{s.Off, s.Off, r.indented(text, s.Indent) + r.newline() + s.Indent}, true
}

// decorated is the first decorator of a definition, or the statement itself.
func (r *Region) decorated(s *pysrc.Stmt) *pysrc.Stmt {
	for list, i := r.list[s], r.place[s]; i > 0 && list[i-1].Kind == "decorator"; i-- {
		s = list[i-1]
	}
	return s
}

// after inserts lines after a statement with its block and what continues it.
func (r *Region) after(s *pysrc.Stmt, text string) (Change, bool) {
	if s.Inline || r.list[s] == nil || r.sharesLine(s) {
		return Change{}, false
	}
	at := r.lineEnd(r.chainEnd(s))
	return Change{at, at, r.newline() + s.Indent + r.indented(text, s.Indent)}, true
}

// sharesLine says that another statement follows on the same line.
func (r *Region) sharesLine(s *pysrc.Stmt) bool {
	list, i := r.list[s], r.place[s]
	return i+1 < len(list) && list[i+1].Inline
}

// chainEnd is the end of a statement with its else and the like.
func (r *Region) chainEnd(s *pysrc.Stmt) int {
	chain := r.chain(s)
	return chain[len(chain)-1].End
}

// chain is a statement with those that continue it: elif, else, except, finally.
func (r *Region) chain(s *pysrc.Stmt) []*pysrc.Stmt {
	list, i := r.list[s], r.place[s]
	out := []*pysrc.Stmt{s}
	for i++; i < len(list) && continues(list[i]); i++ {
		out = append(out, list[i])
	}
	return out
}

func continues(s *pysrc.Stmt) bool {
	switch s.Kind {
	case "elif", "else", "except", "finally":
		return true
	}
	return false
}

// ending inserts lines at the end of a block, before what leaves it.
func (r *Region) ending(block []*pysrc.Stmt, text string) (Change, bool) {
	last := block[len(block)-1]
	if terminates(block) {
		return r.before(last, text)
	}
	for continues(last) && r.place[last] > 0 {
		last = block[r.place[last]-1]
	}
	return r.after(last, text)
}

// opening inserts lines at the start of the block of a statement.
func (r *Region) opening(s *pysrc.Stmt, text string) (Change, bool) {
	b := body(s)
	if len(b) == 0 {
		return Change{}, false
	}
	return r.before(b[0], text)
}

// remove takes statements out that follow each other, leaving pass where nothing is left.
func (r *Region) remove(list []*pysrc.Stmt) (Change, bool) {
	first, last := r.decorated(list[0]), list[len(list)-1]
	if r.list[first] == nil {
		return Change{}, false
	}
	alone := len(undocumented(r.list[first])) == len(list)
	if alone || first.Inline || r.sharesLine(last) {
		return Change{first.Off, last.End, "pass"}, true
	}
	start := first.Off - len(first.Indent)
	end := r.lineEnd(last.End)
	if strings.HasPrefix(r.mod.src[end:], "\r\n") {
		end += 2
	} else if end < len(r.mod.src) {
		end++
	}
	return Change{start, end, ""}, true
}

// relative is the text of statements that follow each other, without their own
// indentation; false when a string of several lines would be changed by that.
func (r *Region) relative(list []*pysrc.Stmt) (string, bool) {
	text := r.mod.src[list[0].Off:list[len(list)-1].End]
	if oneLine(text) {
		return text, true
	}
	ok := !list[0].Inline
	for _, s := range list {
		s.Walk(func(s *pysrc.Stmt) {
			for _, t := range s.Tokens {
				ok = ok && (t.Kind != pysrc.String || oneLine(t.Text))
			}
		})
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 1; i < len(lines); i++ {
		rest, found := strings.CutPrefix(lines[i], list[0].Indent)
		if !found {
			rest = strings.TrimLeft(lines[i], " \t")
		}
		lines[i] = strings.TrimRight(rest, " \t")
	}
	return strings.Join(lines, "\n"), ok
}

// insert emits an insertion.
func insert(at Span, weight float64, what string, emit emitter) func(Change, bool) {
	return func(c Change, ok bool) {
		if ok {
			emit(Mutation{Site: at, Weight: weight, What: what, Changes: []Change{c}})
		}
	}
}
