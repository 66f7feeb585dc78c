package pysearch

import (
	"ratchet/internal/propose/search/names"
	"ratchet/internal/pysrc"
)

// removed takes a statement out.
func removed(r *Region, s *pysrc.Stmt, emit emitter) {
	if r.list[s] == nil || s.IsDocstring() {
		return
	}
	w := 0.0
	switch s.Kind {
	case "break", "continue", "augassign":
		w = 1
	case "expr", "assign", "annassign", "raise", "del", "assert":
		w = 0.8
	case "return":
		w = 0.6
	case "if":
		w = 0.8
		if terminates(s.Block) {
			w = 1
		}
	case "for", "while", "try":
		w = 0.2
	case "decorator":
		w = 0.4
	default:
		return
	}
	list := r.chain(s)
	if len(list) > 1 {
		w *= 0.5
	}
	if s.Kind == "decorator" {
		at := Change{s.Off - len(s.Indent), r.lineEnd(s.End) + 1, ""}
		insert(siteOf(s), w, names.Quote(r.code(s))+" should be removed", emit)(at, at.End <= len(r.mod.src))
		return
	}
	c, ok := r.remove(list)
	insert(siteOf(s), w, names.Quote(r.code(s))+" should be removed", emit)(c, ok)
}

// removedClause takes out an else or elif branch, and the first branch of several.
func removedClause(r *Region, s *pysrc.Stmt, emit emitter) {
	switch s.Kind {
	case "elif", "else", "finally":
		c, ok := r.remove([]*pysrc.Stmt{s})
		insert(siteOf(s), 1, "the branch "+names.Quote(r.head(s))+" should be removed", emit)(c, ok && !s.Inline)
	case "if":
		chain := r.chain(s)
		if len(chain) > 1 && chain[1].Kind == "elif" && !s.Inline {
			insert(siteOf(s), 0.6, "the branch "+names.Quote(r.head(s))+" should be removed", emit)(Change{s.Off, chain[1].Off + 2, ""}, true)
		}
	}
}

// head is a statement without its block.
func (r *Region) head(s *pysrc.Stmt) string { return r.mod.src[s.Off:s.Head] }

// removedElement takes out an element of a display, a condition of a comprehension,
// and a pair of operands of a long sum.
func removedElement(r *Region, e *pysrc.Expr, emit emitter) {
	switch e.Kind {
	case pysrc.ListExpr, pysrc.SetExpr, pysrc.DictExpr, pysrc.TupleExpr:
		if r.assigned(e) || len(e.Parts) < 2 || len(e.Parts) > 12 || r.role[e] == pysrc.RoleTarget {
			return
		}
		for i, x := range e.Parts {
			emit(Mutation{Site: site(e), Weight: 0.5, What: names.Quote(r.text(x)) + " should be removed", Changes: []Change{without(e.Parts, i)}})
		}
	case pysrc.IfClause:
		start := e.Off
		for start > 0 && (r.mod.src[start-1] == ' ' || r.mod.src[start-1] == '\t') {
			start--
		}
		emit(Mutation{Site: site(e), Weight: 1, What: names.Quote(r.text(e)) + " should be removed", Changes: []Change{{start, e.End, ""}}})
	}
}

// unwrapped runs a branch unconditionally, or keeps the other one, or makes it a loop.
func unwrapped(r *Region, s *pysrc.Stmt, emit emitter) {
	switch {
	case s.Kind == "while" && !leaves(s):
		emit(Mutation{Site: siteOf(s), Weight: 0.3, What: names.Quote(r.head(s)) + " should be a branch", Changes: []Change{{s.Off, s.Off + 5, "if"}}})
		return
	case s.Kind != "if" || s.Inline || r.list[s] == nil || s.Block[0].Inline:
		return
	}
	chain := r.chain(s)
	end := chain[len(chain)-1].End
	if text, ok := r.relative(s.Block); ok && !terminates(s.Block) {
		emit(Mutation{
			Site: siteOf(s), Weight: 0.7, What: "the body of " + names.Quote(r.head(s)) + " should always run",
			Changes: []Change{{s.Off, end, r.indented(text, s.Indent)}},
		})
	}
	if last := chain[len(chain)-1]; last.Kind == "else" && !last.Block[0].Inline {
		if text, ok := r.relative(last.Block); ok {
			emit(Mutation{
				Site: siteOf(s), Weight: 0.7, What: "the else branch of " + names.Quote(r.head(s)) + " should run in any case",
				Changes: []Change{{last.Off, last.End, r.indented(text, s.Indent)}},
			})
		}
	}
	if len(chain) == 1 {
		emit(Mutation{Site: siteOf(s), Weight: 0.25, What: names.Quote(r.head(s)) + " should be a loop", Changes: []Change{{s.Off, s.Off + 2, "while"}}})
	}
}

// leaves says that a loop's block has a break or continue.
func leaves(s *pysrc.Stmt) bool {
	found := false
	s.Walk(func(s *pysrc.Stmt) { found = found || s.Kind == "break" || s.Kind == "continue" })
	return found
}

// moved exchanges neighbours, and moves statements into and out of blocks, which in
// Python is a matter of indentation alone.
func moved(r *Region, s *pysrc.Stmt, emit emitter) {
	if r.list[s] == nil || s.Inline || continues(s) || s.IsDocstring() || s.Kind == "decorator" {
		return
	}
	r.exchangedWithNext(s, emit)
	if s.Kind == "def" || s.Kind == "class" || len(r.chain(s)) > 1 {
		return
	}
	list, i := undocumented(r.list[s]), r.position(s)
	outer := s.Parent
	nested := outer != nil && outer != r.root && outer.Kind != "def" && outer.Kind != "class" && len(list) > 1
	if nested && i == len(list)-1 {
		r.outdented(s, emit)
	}
	if nested && i == 0 && !continues(outer) {
		c, ok := r.before(outer, r.plainText(s))
		r.move(s, c, ok, "before the block", 0.6, emit)
	}
	if i+1 < len(list) && opens(list[i+1]) {
		c, ok := r.opening(list[i+1], r.plainText(s))
		r.move(s, c, ok, "in the block below", 0.7, emit)
	}
	if i > 0 {
		r.indentedInto(s, list[i-1], emit)
	}
}

// position is the place of a statement among those of its block but the docstring.
func (r *Region) position(s *pysrc.Stmt) int {
	list := r.list[s]
	return r.place[s] - (len(list) - len(undocumented(list)))
}

func (r *Region) plainText(s *pysrc.Stmt) string {
	text, _ := r.relative([]*pysrc.Stmt{s})
	return text
}

func opens(s *pysrc.Stmt) bool {
	return (s.Kind == "if" || s.Kind == "for" || s.Kind == "while" || s.Kind == "with" || s.Kind == "else" || s.Kind == "elif") && len(s.Block) > 0 && !s.Block[0].Inline
}

// outdented ends the block around the last statement before it.
func (r *Region) outdented(s *pysrc.Stmt, emit emitter) {
	w := 0.8
	if s.Kind == "return" {
		w = 1
	}
	around := s.Parent
	for range 2 { // out of one block, and of two
		head := around
		for continues(head) && r.place[head] > 0 {
			head = r.list[head][r.place[head]-1]
		}
		if r.list[head] == nil || (s.Kind == "break" || s.Kind == "continue") && (around.Kind == "for" || around.Kind == "while") {
			return
		}
		c, ok := r.after(head, r.plainText(s))
		r.move(s, c, ok, "after "+names.Quote(r.head(around)), w, emit)
		around, w = around.Parent, 0.6*w
		if around == nil || around == r.root || around.Kind == "def" || around.Kind == "class" {
			return
		}
	}
}

// indentedInto moves a statement into the block that ends before it.
func (r *Region) indentedInto(s, above *pysrc.Stmt, emit emitter) {
	w := 0.8
	for range 2 {
		if !opens(above) || terminates(above.Block) {
			return
		}
		last := above.Block[len(above.Block)-1]
		head := last
		for continues(head) && r.place[head] > 0 {
			head = above.Block[r.place[head]-1]
		}
		c, ok := r.after(head, r.plainText(s))
		r.move(s, c, ok, "in the block above", w, emit)
		above, w = last, 0.6*w
	}
}

// move emits the removal of a statement together with its text elsewhere.
func (r *Region) move(s *pysrc.Stmt, to Change, ok bool, where string, w float64, emit emitter) {
	if _, plain := r.relative([]*pysrc.Stmt{s}); !plain || !ok {
		return
	}
	from, ok := r.remove([]*pysrc.Stmt{s})
	if !ok || from.Text != "" {
		return
	}
	// What goes to the end of the last line that is removed goes with it.
	if to.Start > from.Start && to.Start < from.End {
		from.End = to.Start
		from.Start -= len(r.newline())
		if from.Start < 0 {
			return
		}
	}
	emit(Mutation{
		Site: siteOf(s), Weight: w, What: names.Quote(r.code(s)) + " should stand " + where,
		Changes: []Change{from, to},
	})
}

// exchangedWithNext swaps a statement with the next one when they share a variable.
func (r *Region) exchangedWithNext(s *pysrc.Stmt, emit emitter) {
	list, i := r.list[s], r.place[s]
	if i+1 >= len(list) || continues(list[i+1]) || list[i+1].Inline || len(r.chain(s)) > 1 || len(r.chain(list[i+1])) > 1 {
		return
	}
	next := list[i+1]
	if !r.shareVariable(s, next) || next.Kind == "decorator" || terminates([]*pysrc.Stmt{s}) {
		return
	}
	w := 1.0
	if len(s.Block) > 0 || len(next.Block) > 0 {
		w = 0.6
	}
	if next.Kind == "return" {
		w = 0.1
	}
	emit(Mutation{
		Site: siteOf(s), Weight: w, What: names.Quote(r.code(s)) + " should come after " + names.Quote(r.code(next)),
		Changes: []Change{{s.Off, s.End, r.code(next)}, {next.Off, next.End, r.code(s)}},
	})
}

func (r *Region) shareVariable(a, b *pysrc.Stmt) bool {
	seen := map[string]bool{}
	tokens := func(s *pysrc.Stmt, f func(string)) {
		s.Walk(func(s *pysrc.Stmt) {
			for _, t := range s.Tokens {
				if t.Kind == pysrc.Name && r.byName[t.Text] != nil {
					f(t.Text)
				}
			}
		})
	}
	tokens(a, func(n string) { seen[n] = true })
	shared := false
	tokens(b, func(n string) { shared = shared || seen[n] })
	return shared
}

// missingElse makes a branch that follows a branch its alternative, and the reverse.
func missingElse(r *Region, s *pysrc.Stmt, emit emitter) {
	switch s.Kind {
	case "elif":
		emit(Mutation{Site: siteOf(s), Weight: 0.8, What: names.Quote(r.head(s)) + " should not depend on the branch before", Changes: []Change{{s.Off, s.Off + 4, "if"}}})
	case "if":
		list, i := r.list[s], r.place[s]
		if s.Inline || i == 0 {
			return
		}
		if p := list[i-1]; (p.Kind == "if" || p.Kind == "elif") && !p.Inline {
			emit(Mutation{Site: siteOf(s), Weight: 1, What: names.Quote(r.head(s)) + " should be an alternative to the branch before", Changes: []Change{{s.Off, s.Off + 2, "elif"}}})
		}
	case "assign", "augassign", "expr", "return":
		r.missingElseOf(s, emit)
	}
}

// missingElseOf puts a statement after a branch into an else.
func (r *Region) missingElseOf(s *pysrc.Stmt, emit emitter) {
	list, i := r.list[s], r.place[s]
	if i == 0 || s.Inline || !r.simple(s) {
		return
	}
	p := list[i-1]
	if p.Kind != "if" && p.Kind != "elif" || terminates(p.Block) || p.Inline {
		return
	}
	emit(Mutation{
		Site: siteOf(s), Weight: 0.8, What: names.Quote(r.code(s)) + " should be in an else branch",
		Changes: []Change{{s.Off, s.Off, "else:" + r.newline() + s.Indent + r.mod.unit}},
	})
}
