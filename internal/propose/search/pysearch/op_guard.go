package pysearch

import (
	"ratchet/internal/propose/search/names"
	"ratchet/internal/pysrc"
)

// entryGuards adds an early return for empty, missing, zero and negative
// parameters at the start of a function, and an error where tests expect one.
func entryGuards(r *Region, s *pysrc.Stmt, emit emitter) {
	b := body(s)
	if s.Kind != "def" || len(b) == 0 || b[0].Inline {
		return
	}
	exits := r.exitValues(s)
	for _, p := range r.parts[s] {
		if p.Role != pysrc.RoleParameter || p.Expr.Name == "" || p.Expr.Name == r.self || p.Expr.Op != "" {
			continue
		}
		v := r.byName[p.Expr.Name]
		if v == nil { // named _
			continue
		}
		need := r.guardNeed(v)
		for i, c := range emptiness(v) {
			if r.asks(c.text) {
				continue
			}
			for j, exit := range exits {
				text := r.block("if "+c.text, exit)
				change, ok := r.before(b[0], text)
				insert(siteOf(b[0]), need*c.weight/(1+0.4*float64(i))/(1+0.5*float64(j)), "a guard is missing: `if "+c.text+": "+exit+"`", emit)(change, ok)
			}
		}
	}
}

// asks says that the region has the condition already.
func (r *Region) asks(cond string) bool {
	for _, a := range r.atomics {
		if r.text(a) == cond {
			return true
		}
	}
	return false
}

// guardNeed weighs how likely a parameter needs a guard: fully when it is
// indexed, divided by its length, or handed to min or max; less when it is only gone through.
func (r *Region) guardNeed(v *variable) float64 {
	if v.kind.number() {
		return 0.8
	}
	for _, e := range r.exprs {
		p := r.parent[e]
		if e.Kind != pysrc.NameExpr || e.Name != v.name || p == nil {
			continue
		}
		switch {
		case p.Kind == pysrc.SubscriptExpr && p.Parts[0] == e, p.Kind == pysrc.AttributeExpr:
			return 1
		case p.Kind == pysrc.CallExpr && (r.callee(p) == "max" || r.callee(p) == "min"):
			return 1
		case p.Kind == pysrc.CallExpr && r.callee(p) == "len":
			if d := r.parent[p]; d != nil && d.Kind == pysrc.BinaryExpr && (d.Op == "/" || d.Op == "//" || d.Op == "%") {
				return 1
			}
		}
	}
	return 0.4
}

// emptiness is the conditions under which a value is worth a guard.
func emptiness(v *variable) []option {
	n := v.name
	switch {
	case v.kind.sized():
		return []option{{"not " + n, 1}, {"len(" + n + ") < 2", 0.4}, {n + " is None", 0.3}}
	case v.kind.name == "bool":
		return []option{{n, 0.3}, {"not " + n, 0.3}}
	case v.kind.number():
		return []option{{n + " <= 0", 0.8}, {n + " < 0", 0.8}, {n + " == 0", 0.8}, {n + " < 2", 0.5}, {n + " == 1", 0.4}, {n + " <= 1", 0.2}}
	}
	return []option{{"not " + n, 0.8}, {n + " is None", 0.6}, {n + " < 0", 0.2}, {n + " == 0", 0.2}, {n + " < 2", 0.2}}
}

// exitValues are the returns that an early exit may make: values of the kinds that
// the function returns first, errors first of all where tests expect them.
func (r *Region) exitValues(def *pysrc.Stmt) []string {
	var out []string
	for _, e := range r.mod.raised {
		out = append(out, "raise "+e)
	}
	for _, k := range r.returnKinds(def) {
		switch k {
		case "bool":
			out = append(out, "return False", "return True")
		case "int", "float":
			out = append(out, "return 0", "return 1", "return -1")
		case "str":
			out = append(out, "return ''")
		case "list":
			out = append(out, "return []")
		case "dict":
			out = append(out, "return {}")
		case "set":
			out = append(out, "return set()")
		}
	}
	out = append(out, "return None")
	for _, p := range r.params {
		if p != r.self && len(out) < 8 {
			out = append(out, "return "+p)
		}
	}
	for _, t := range []string{"return []", "return 0", "return False", "return ''", "return True"} {
		if len(out) < 8 {
			out = append(out, t)
		}
	}
	return unique(out)
}

// returnKinds are the kinds of what a function returns, without repeats.
func (r *Region) returnKinds(def *pysrc.Stmt) []string {
	var out []string
	for _, s := range r.stmts {
		if s.Kind != "return" || r.function(s) != def {
			continue
		}
		if v := r.value(s); v != nil {
			if k := r.kindOf(v); k.known() {
				out = append(out, k.name)
			}
		}
	}
	return unique(out)
}

func unique(list []string) []string {
	seen := map[string]bool{}
	out := list[:0:0]
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// loopGuards skips or ends a loop at empty values, and leaves after a step that
// took a number below zero.
func loopGuards(r *Region, s *pysrc.Stmt, emit emitter) {
	if s.Kind == "for" && len(s.Block) > 0 && !s.Block[0].Inline {
		r.elementGuards(s, emit)
	}
	t := r.target(s)
	op, ok := s.Operator()
	if !ok || op.Text != "-=" || t == nil || r.function(s) == nil {
		return
	}
	exits := r.exitValues(r.function(s))
	if r.loop(s) != nil {
		exits = append(exits, "continue", "break")
	}
	exits = append(exits, r.text(t)+" = 0")
	for j, exit := range exits {
		c, ok := r.after(s, r.block("if "+r.text(t)+" < 0", exit))
		insert(siteOf(s), 1/(1+0.6*float64(j)), "a guard is missing after "+names.Quote(r.code(s))+": `if "+r.text(t)+" < 0: "+exit+"`", emit)(c, ok)
	}
}

func (r *Region) elementGuards(s *pysrc.Stmt, emit emitter) {
	for _, e := range r.exprs {
		if r.owner[e] != s || e.Kind != pysrc.NameExpr || !r.assigned(e) || r.byName[e.Name] == nil {
			continue
		}
		for i, c := range emptiness(r.byName[e.Name]) {
			for j, exit := range []string{"continue", "break"} {
				change, ok := r.before(s.Block[0], r.block("if "+c.text, exit))
				insert(siteOf(s.Block[0]), 0.7*c.weight/float64(1+i)/float64(1+2*j), "a guard is missing in the loop: `if "+c.text+": "+exit+"`", emit)(change, ok)
			}
		}
	}
}

// exits adds a way out at the end of a branch.
func exits(r *Region, s *pysrc.Stmt, emit emitter) {
	if s.Kind != "if" && s.Kind != "elif" && s.Kind != "else" || !opens(s) || terminates(s.Block) {
		return
	}
	last := s.Block[len(s.Block)-1]
	add := func(text string, w float64) {
		c, ok := r.ending(s.Block, text)
		insert(siteOf(last), w, names.Quote(text)+" is missing at the end of "+names.Quote(r.head(s)), emit)(c, ok)
	}
	if r.loop(s) != nil {
		add("break", 1)
		add("continue", 0.9)
	}
	def := r.function(s)
	if def == nil {
		return
	}
	for i, text := range r.returns(def) {
		add(text, 0.5/(1+0.3*float64(i)))
	}
	for i, text := range r.exitValues(def) {
		if i < 4 {
			add(text, 0.5/float64(i+1))
		}
	}
}

// returns are the return statements of a function, as text, without repeats.
func (r *Region) returns(def *pysrc.Stmt) []string {
	var out []string
	for _, s := range r.stmts {
		if s.Kind == "return" && r.function(s) == def && oneLine(r.code(s)) {
			out = append(out, r.code(s))
		}
	}
	if out = unique(out); len(out) > 5 {
		out = out[:5]
	}
	return out
}

// exitKind turns one way out into another: break, continue, return, pass.
func exitKind(r *Region, s *pysrc.Stmt, emit emitter) {
	whole := Span{s.Off, s.End}
	to := func(text string, w float64) { r.swap(siteOf(s), whole, text, w, emit) }
	looping := r.loop(s) != nil
	switch s.Kind {
	case "break":
		to("continue", 1)
	case "continue":
		to("break", 1)
		to("pass", 0.2)
	case "pass":
		if looping {
			to("continue", 0.6)
			to("break", 0.6)
		}
	case "return":
		if looping {
			to("continue", 0.6)
			to("break", 0.6)
		}
		return
	default:
		return
	}
	if def := r.function(s); def != nil {
		for i, text := range r.returns(def) {
			to(text, 0.4/float64(i+1))
		}
	}
}
