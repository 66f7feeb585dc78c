package pysearch

import (
	"strings"

	"ratchet/internal/propose/search/names"
	"ratchet/internal/pysrc"
)

// block makes a statement with one line below it.
func (r *Region) block(head, line string) string { return head + ":\n" + r.mod.unit + line }

// repeated copies a statement of a loop to after it, alone and when there is
// something left, which is the missing flush; and copies statements to the ends of
// other blocks, which is the missing twin.
func repeated(r *Region, s *pysrc.Stmt, emit emitter) {
	if !r.simple(s) || s.Kind != "assign" && s.Kind != "augassign" && s.Kind != "expr" {
		return
	}
	text, ok := r.relative([]*pysrc.Stmt{s})
	if !ok {
		return
	}
	if loop := r.loop(s); loop != nil {
		c, ok := r.after(loop, text)
		insert(siteOf(s), 0.7, names.Quote(text)+" should be repeated after the loop", emit)(c, ok)
		for i, cond := range r.leftovers(s) {
			c, ok := r.after(loop, "if "+cond+":\n"+r.mod.unit+r.relativeTo(text))
			insert(siteOf(s), 0.9/float64(i+1), names.Quote(text)+" should be repeated after the loop if `"+cond+"`", emit)(c, ok)
		}
	}
	count := 0
	for _, b := range r.stmts {
		if !opens(b) || s.Parent == b || count >= 8 {
			continue
		}
		count++
		c, ok := r.ending(b.Block, text)
		insert(siteOf(b.Block[len(b.Block)-1]), 0.25, names.Quote(text)+" is missing at the end of "+names.Quote(r.head(b)), emit)(c, ok)
	}
}

// relativeTo indents the further lines of a text by one level.
func (r *Region) relativeTo(text string) string {
	return strings.ReplaceAll(text, "\n", "\n"+r.mod.unit)
}

// leftovers are conditions that a variable read by a statement still holds something.
func (r *Region) leftovers(s *pysrc.Stmt) []string {
	var out []string
	seen := map[string]bool{}
	for _, e := range r.exprs {
		if r.owner[e] != s || e.Kind != pysrc.NameExpr || r.assigned(e) || seen[e.Name] || len(out) == 3 {
			continue
		}
		v := r.byName[e.Name]
		if v == nil || v.param || v.writes == 0 {
			continue
		}
		seen[e.Name] = true
		out = append(out, e.Name)
	}
	return out
}

// resets gives a variable that a loop builds up its first value again: at the
// start of the loop around, and after it was used up within.
func resets(r *Region, s *pysrc.Stmt, emit emitter) {
	if s.Kind != "for" && s.Kind != "while" || len(s.Block) == 0 || s.Block[0].Inline {
		return
	}
	for _, v := range r.builtUp(s) {
		text := v.name + " = " + r.text(v.value)
		w := 0.5
		if r.loop(s) != nil || holdsLoop(s) {
			w = 1
		}
		c, ok := r.opening(s, text)
		insert(siteOf(s), w, "`"+text+"` is missing at the start of the loop", emit)(c, ok)
		s.Walk(func(b *pysrc.Stmt) {
			if b == s || !opens(b) {
				return
			}
			c, ok := r.ending(b.Block, text)
			insert(siteOf(b.Block[len(b.Block)-1]), 0.7, "`"+text+"` is missing at the end of "+names.Quote(r.head(b)), emit)(c, ok)
			if b.Kind == "if" && len(r.chain(b)) == 1 {
				c, ok := r.after(b, r.block("else", text))
				insert(siteOf(b), 0.7, "`"+text+"` is missing in an else branch", emit)(c, ok)
			}
		})
	}
}

func holdsLoop(s *pysrc.Stmt) bool {
	found := false
	for _, b := range s.Block {
		b.Walk(func(s *pysrc.Stmt) { found = found || s.Kind == "for" || s.Kind == "while" })
	}
	return found
}

// builtUp lists the variables that a plain value is given before a loop and that change in it.
func (r *Region) builtUp(loop *pysrc.Stmt) []*variable {
	var out []*variable
	for _, v := range r.vars {
		if v.value == nil || v.param || v.first > loop.Off || len(out) == 6 || len(r.text(v.value)) > 40 {
			continue
		}
		if r.changedIn(loop, v.name) {
			out = append(out, v)
		}
	}
	return out
}

// changedIn says that a block assigns to a variable or calls something on it.
func (r *Region) changedIn(block *pysrc.Stmt, name string) bool {
	for _, e := range r.exprs {
		if e.Kind != pysrc.NameExpr || e.Name != name || e.Off < block.Head || e.End > block.End {
			continue
		}
		if r.assigned(e) {
			return true
		}
		if p := r.parent[e]; p != nil && p.Kind == pysrc.AttributeExpr {
			switch p.Name {
			case "append", "add", "extend", "update", "insert":
				return true
			}
		}
	}
	return false
}

// updates adds a step of a counter where a block of a loop ends: counters that
// never move first.
func updates(r *Region, s *pysrc.Stmt, emit emitter) {
	if !opens(s) || s.Kind == "with" || r.loop(s.Block[0]) == nil {
		return
	}
	last := s.Block[len(s.Block)-1]
	count := 0
	for _, v := range r.vars {
		if v.kind.name != "int" || v.first > last.Off || count >= 4 || v.scope.End-v.scope.Off < r.root.End-r.root.Off {
			continue
		}
		count++
		w := 0.15
		if r.stepped(v.name) {
			w = 0.4
		}
		if v.writes < 2 && !v.param && !r.looped(v.name) {
			w = 1
		}
		for i, step := range []string{v.name + " += 1", v.name + " -= 1"} {
			c, ok := r.ending(s.Block, step)
			insert(siteOf(last), w*(1-0.4*float64(i)), "`"+step+"` is missing at the end of "+names.Quote(r.head(s)), emit)(c, ok)
		}
	}
}

// stepped says that some statement steps the variable.
func (r *Region) stepped(name string) bool {
	for _, s := range r.stmts {
		if t := r.target(s); s.Kind == "augassign" && t != nil && t.Kind == pysrc.NameExpr && t.Name == name {
			return true
		}
	}
	return false
}

// looped says that the variable is the target of a loop.
func (r *Region) looped(name string) bool {
	for _, s := range r.stmts {
		if s.Kind == "for" && r.names(r.parts[s][0].Expr)[name] {
			return true
		}
	}
	return false
}

// records adds what was looked up to the set, list or dictionary that was asked,
// when nothing ever does: the missing mark of what was seen.
func records(r *Region, s *pysrc.Stmt, emit emitter) {
	c := r.condition(s)
	if c == nil || !opens(s) {
		return
	}
	for _, a := range split(c) {
		if a.Kind != pysrc.CompareExpr || len(a.Ops) != 1 || !strings.HasSuffix(a.Ops[0].Text, "in") {
			continue
		}
		held := a.Parts[1]
		if held.Kind != pysrc.NameExpr || r.byName[held.Name] == nil || r.recorded(held.Name) {
			continue
		}
		key := r.text(a.Parts[0])
		for i, text := range r.marks(held, key) {
			c, ok := r.ending(s.Block, text)
			insert(siteOf(s), 1/float64(1+i), names.Quote(text)+" is missing", emit)(c, ok)
			c, ok = r.after(s, text)
			insert(siteOf(s), 0.8/float64(1+i), names.Quote(text)+" is missing after the branch", emit)(c, ok)
		}
	}
}

// recorded says that something is put into the variable.
func (r *Region) recorded(name string) bool {
	for _, e := range r.exprs {
		if e.Kind != pysrc.NameExpr || e.Name != name {
			continue
		}
		p := r.parent[e]
		if p == nil {
			continue
		}
		if p.Kind == pysrc.SubscriptExpr && r.assigned(p) {
			return true
		}
		if p.Kind == pysrc.AttributeExpr && (p.Name == "add" || p.Name == "append" || p.Name == "update" || p.Name == "insert" || p.Name == "extend") {
			return true
		}
	}
	return false
}

func (r *Region) marks(held *pysrc.Expr, key string) []string {
	switch r.kindOf(held).name {
	case "dict":
		return []string{held.Name + "[" + key + "] = 1", held.Name + "[" + key + "] = True"}
	case "list":
		return []string{held.Name + ".append(" + key + ")"}
	}
	return []string{held.Name + ".add(" + key + ")", held.Name + ".append(" + key + ")"}
}

// missingReturn returns a variable at the end of a function that ends without.
func missingReturn(r *Region, s *pysrc.Stmt, emit emitter) {
	if s.Kind != "def" || len(s.Block) == 0 || s.Block[0].Inline {
		return
	}
	last := s.Block[len(s.Block)-1]
	if last.Kind == "expr" && r.value(last) != nil && last.Tokens[0].Text != "yield" && !last.IsDocstring() {
		emit(Mutation{Site: siteOf(last), Weight: 1, What: names.Quote(r.code(last)) + " should be returned", Changes: []Change{{last.Off, last.Off, "return "}}})
	}
	if last.Kind == "return" || last.Kind == "raise" {
		return
	}
	if t := r.target(last); last.Kind == "assign" && t != nil && r.value(last) != nil {
		emit(Mutation{Site: siteOf(last), Weight: 0.6, What: names.Quote(r.code(last)) + " should return its value", Changes: []Change{{last.Off, r.value(last).Off, "return "}}})
	}
	count := 0
	for i := len(r.vars) - 1; i >= 0 && count < 5; i-- {
		v := r.vars[i]
		if v.name == r.self || v.first < s.Off || v.first > s.End {
			continue
		}
		count++
		text := "return " + v.name
		head := last
		for continues(head) && r.place[head] > 0 {
			head = s.Block[r.place[head]-1]
		}
		c, ok := r.after(head, text)
		w := 1.0
		if v.param {
			w = 0.4
		}
		insert(siteOf(last), w/(1+0.2*float64(count)), "`"+text+"` is missing at the end", emit)(c, ok)
	}
	for i, text := range []string{"return False", "return True", "return None"} {
		c, ok := r.ending(s.Block, text)
		insert(siteOf(last), 0.5/float64(1+i), "`"+text+"` is missing at the end", emit)(c, ok)
	}
}
