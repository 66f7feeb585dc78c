package pysearch

import (
	"strings"

	"ratchet/internal/propose/search/names"
	"ratchet/internal/pysrc"
)

// perTerm bounds the variables that may join one expression.
const perTerm = 4

// addedTerm completes a computed value by an operand: variables that nothing
// reads first, then others in scope, constants, and separators of texts.
func addedTerm(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind == pysrc.BinaryExpr && e.Op == "+" {
		r.separated(e, emit)
	}
	if !r.valued(e) || constant(e) || !r.holdsResult(e) {
		return
	}
	k := r.kindOf(e)
	if k.known() && !k.number() && !k.ordered() || k.name == "bool" {
		return
	}
	used := r.usedIn(r.owner[e])
	count := 0
	for _, v := range r.visible(e) {
		if used[v.name] || v.name == r.self || !k.fits(v.kind) || count == perTerm {
			continue
		}
		count++
		w := 0.25 / float64(count)
		if v.reads == 0 {
			w = 1
		}
		r.joined(e, k, v.name, w, emit)
	}
	if k.number() || !k.known() && e.Kind == pysrc.BinaryExpr {
		r.becomes(e, r.tight(e, inProduct)+" // 2", 0.2, emit)
		r.becomes(e, r.tight(e, inProduct)+" / 2", 0.15, emit)
		r.becomes(e, r.tight(e, inProduct)+" * 2", 0.2, emit)
		r.becomes(e, r.tight(e, inSigned)+" % 2", 0.1, emit)
	}
}

// usedIn are the names that a statement's own expressions use.
func (r *Region) usedIn(s *pysrc.Stmt) map[string]bool {
	out := map[string]bool{}
	for _, t := range s.Tokens {
		if t.Kind == pysrc.Name {
			out[t.Text] = true
		}
	}
	return out
}

// separated puts a separator between two texts that are joined.
func (r *Region) separated(e *pysrc.Expr, emit emitter) {
	k := r.kindOf(e)
	if k.known() && k.name != "str" {
		return
	}
	scale := 1.0
	if !k.known() {
		scale = 0.4
	}
	for _, t := range r.mod.missing {
		r.becomes(e, r.text(e.Parts[0])+" + '"+t+"' + "+r.tight(e.Parts[1], inSum+1), 1, emit)
	}
	for i, t := range []string{" ", ".", ", ", "-", "_", "\\n", ":", "/", ","} {
		r.becomes(e, r.text(e.Parts[0])+" + '"+t+"' + "+r.tight(e.Parts[1], inSum+1), scale*0.8/(1+0.25*float64(i)), emit)
	}
}

func (r *Region) joined(e *pysrc.Expr, k kind, name string, w float64, emit emitter) {
	sum := r.tight(e, inSum)
	r.becomes(e, r.outer(e, sum+" + "+name, inSum), w, emit)
	if k.ordered() {
		r.becomes(e, r.outer(e, name+" + "+sum, inSum), 0.7*w, emit)
		return
	}
	r.becomes(e, r.outer(e, sum+" - "+name, inSum), 0.8*w, emit)
	r.becomes(e, r.outer(e, name+" - "+r.tight(e, inSum+1), inSum), 0.4*w, emit)
	product := r.tight(e, inProduct)
	r.becomes(e, r.outer(e, product+" * "+name, inProduct), 0.8*w, emit)
	r.becomes(e, r.outer(e, product+" / "+name, inProduct), 0.4*w, emit)
	r.becomes(e, r.outer(e, product+" // "+name, inProduct), 0.4*w, emit)
	r.becomes(e, r.outer(e, product+" % "+name, inProduct), 0.4*w, emit)
}

// holdsResult says that an expression is a whole result: returned, assigned, an
// element, an argument, or part of a sum of texts.
func (r *Region) holdsResult(e *pysrc.Expr) bool {
	p := r.parent[e]
	if p == nil {
		return r.role[e] == pysrc.RoleValue
	}
	switch p.Kind {
	case pysrc.ItemExpr:
		return p.Parts[1] == e
	case pysrc.CompExpr:
		return p.Parts[0] == e
	case pysrc.CallExpr:
		return r.callee(p) == "append" || r.callee(p) == "add"
	case pysrc.ConditionalExpr:
		return p.Parts[1] != e
	case pysrc.TupleExpr, pysrc.ListExpr, pysrc.KeywordExpr:
		return true
	}
	return false
}

// returned changes what a function returns: the order and number of values, other
// variables, and the truth of two returns together.
func returned(r *Region, s *pysrc.Stmt, emit emitter) {
	if s.Kind != "return" {
		return
	}
	e := r.value(s)
	if e == nil {
		for i, t := range r.exitValues(r.function(s)) {
			r.swap(siteOf(s), Span{s.Off, s.End}, t, 0.5/float64(i+1), emit)
		}
		return
	}
	r.bothReturns(s, e, emit)
	if e.Kind == pysrc.TupleExpr && len(e.Parts) == 2 {
		r.becomes(e, r.text(e.Parts[1])+", "+r.text(e.Parts[0]), 1, emit)
	}
	if !isNone(e) {
		r.becomes(e, "None", 0.25, emit)
	}
	k := r.kindOf(e)
	if (k.name == "bool" || !k.known()) && !constant(e) {
		r.becomes(e, "True", 0.2, emit)
		r.becomes(e, "False", 0.2, emit)
	}
	if e.Kind == pysrc.NameExpr {
		return // variables has these
	}
	count := 0
	for _, v := range r.visible(e) {
		if v.name == r.self || count == 5 || !k.fits(v.kind) && !isNone(e) || v.scope.End < s.End {
			continue
		}
		w := 0.5
		if v.reads == 0 {
			w = 1
		}
		r.becomes(e, v.name, w/(1+0.3*float64(count)), emit)
		count++
	}
}

// bothReturns swaps the values of a return with those of later ones.
func (r *Region) bothReturns(s *pysrc.Stmt, e *pysrc.Expr, emit emitter) {
	count := 0
	for _, o := range r.stmts {
		x := r.value(o)
		if o.Kind != "return" || o.Off <= s.Off || x == nil || r.text(x) == r.text(e) || r.function(o) != r.function(s) || count == 4 {
			continue
		}
		count++
		w := 0.4
		if k := r.kindOf(e); k.name == "bool" && k == r.kindOf(x) && constant(e) && constant(x) {
			w = 1
		}
		emit(Mutation{
			Site: siteOf(s), Weight: w / float64(count), What: names.Quote(r.code(s)) + " and " + names.Quote(r.code(o)) + " should be swapped",
			Changes: []Change{{e.Off, e.End, r.text(x)}, {x.Off, x.End, r.text(e)}},
		})
	}
}

// composites swaps the elements of a display, and the key with the value.
func composites(r *Region, e *pysrc.Expr, emit emitter) {
	switch e.Kind {
	case pysrc.ListExpr, pysrc.TupleExpr, pysrc.DictExpr:
		if r.assigned(e) || len(e.Parts) > 10 || r.role[e] == pysrc.RoleTarget {
			return
		}
		r.swapped(e, emit)
	case pysrc.ItemExpr:
		if r.parent[e].Kind == pysrc.CompExpr {
			r.becomes(e, r.text(e.Parts[1])+": "+r.text(e.Parts[0]), 0.8, emit)
		}
	}
}

func (r *Region) swapped(e *pysrc.Expr, emit emitter) {
	value := func(x *pysrc.Expr) *pysrc.Expr {
		if x.Kind == pysrc.ItemExpr {
			return x.Parts[1]
		}
		return x
	}
	for i, a := range e.Parts {
		for _, b := range e.Parts[:i] {
			x, y := value(a), value(b)
			if r.text(x) == r.text(y) || !r.kindOf(x).fits(r.kindOf(y)) {
				continue
			}
			emit(Mutation{
				Site: site(e), Weight: 0.6, Changes: []Change{{x.Off, x.End, r.text(y)}, {y.Off, y.End, r.text(x)}},
				What: names.Quote(r.text(y)) + " and " + names.Quote(r.text(x)) + " in " + names.Quote(r.text(e)) + " should be swapped",
			})
		}
	}
}

// exceptions changes which exception is raised or caught.
func exceptions(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind != pysrc.NameExpr {
		return
	}
	root := e
	for r.parent[root] != nil {
		root = r.parent[root]
	}
	if r.role[root] != pysrc.RoleException || r.byName[e.Name] != nil {
		return
	}
	for i, n := range unique(append(append([]string(nil), r.mod.raised...), relatives(e.Name)...)) {
		r.becomes(e, n, 1/(1+0.3*float64(i)), emit)
	}
}

// relatives are the exceptions that are confused with one.
func relatives(name string) []string {
	table := []string{
		"ValueError TypeError KeyError IndexError", "TypeError ValueError AttributeError", "KeyError IndexError ValueError LookupError AttributeError", "IndexError KeyError ValueError LookupError",
		"AttributeError TypeError KeyError", "ZeroDivisionError ArithmeticError ValueError", "FileNotFoundError OSError", "OSError FileNotFoundError", "StopIteration ValueError",
		"NotImplementedError TypeError", "RuntimeError ValueError", "Exception ValueError TypeError",
	}
	out := rivals(table, name)
	if out == nil {
		out = []string{"ValueError", "TypeError", "KeyError"}
	}
	if name != "Exception" {
		out = append(out, "Exception")
	}
	return out
}

// mutableDefaults makes a default that is shared between calls anew in each.
func mutableDefaults(r *Region, s *pysrc.Stmt, emit emitter) {
	b := body(s)
	if s.Kind != "def" || len(b) == 0 {
		return
	}
	for _, p := range r.parts[s] {
		if p.Role != pysrc.RoleParameter || p.Expr.Parts[1] == nil {
			continue
		}
		d := p.Expr.Parts[1]
		text := r.text(d)
		if !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "{") && d.Kind != pysrc.CallExpr {
			continue
		}
		c, ok := r.before(b[0], r.block("if "+p.Expr.Name+" is None", p.Expr.Name+" = "+text))
		if ok {
			emit(Mutation{
				Site: siteOf(b[0]), Weight: 1, What: "the default of `" + p.Expr.Name + "` is shared between calls",
				Changes: []Change{{d.Off, d.End, "None"}, c},
			})
		}
	}
}

// idioms are repairs of what Python programs are known to get wrong: lists shared
// instead of copied, results of methods that have none, methods not called,
// coroutines not awaited, look-ups of keys that may be missing.
func idioms(r *Region, e *pysrc.Expr, emit emitter) {
	switch e.Kind {
	case pysrc.NameExpr, pysrc.AttributeExpr:
		r.uncalled(e, emit)
		r.copies(e, emit)
	case pysrc.SubscriptExpr:
		if k := r.kindOf(e.Parts[0]); (k.name == "dict" || !k.known()) && e.Parts[1].Kind != pysrc.SliceExpr && !r.assigned(e) && r.valued(e) {
			w := 0.8
			if !k.known() {
				w = 0.2
			}
			r.becomes(e, r.text(e.Parts[0])+".get("+r.text(e.Parts[1])+", 0)", w, emit)
			r.becomes(e, r.text(e.Parts[0])+".get("+r.text(e.Parts[1])+")", w, emit)
		}
	case pysrc.CallExpr:
		r.calls(e, emit)
	}
}

// uncalled calls a method whose value is used as if it had been.
func (r *Region) uncalled(e *pysrc.Expr, emit emitter) {
	p := r.parent[e]
	if e.Kind != pysrc.AttributeExpr || p != nil && p.Kind == pysrc.CallExpr && p.Parts[0] == e || r.assigned(e) {
		return
	}
	for _, row := range rivalMethods() {
		if name, _, _ := strings.Cut(row, " "); name == e.Name {
			r.becomes(e, r.text(e)+"()", 1, emit)
			return
		}
	}
}

// copies hands on a copy of a list or dictionary.
func (r *Region) copies(e *pysrc.Expr, emit emitter) {
	k := r.kindOf(e)
	if r.assigned(e) || k.known() && k.name != "list" && k.name != "dict" && k.name != "set" {
		return
	}
	w := 0.0
	switch p := r.parent[e]; {
	case p == nil:
		if r.role[e] == pysrc.RoleValue && r.owner[e].Kind != "expr" {
			w = 0.4
		}
	case p.Kind == pysrc.CallExpr && p.Parts[0] != e && r.callee(p) == "append":
		w = 0.8
	case p.Kind == pysrc.ItemExpr && p.Parts[1] == e:
		w = 0.4
	}
	if !k.known() {
		w *= 0.4
	}
	if w > 0 {
		r.becomes(e, r.text(e)+".copy()", w, emit)
		r.becomes(e, "list("+r.text(e)+")", 0.5*w, emit)
	}
}

// calls mends calls whose result is lost or not there, and awaits.
func (r *Region) calls(e *pysrc.Expr, emit emitter) {
	f, s := e.Parts[0], r.owner[e]
	lone := r.parent[e] == nil && s.Kind == "expr"
	if f.Kind == pysrc.AttributeExpr && !lone {
		r.inPlace(e, emit)
	}
	if lone {
		r.lostResult(e, emit)
	}
	if def := r.function(s); def != nil && def.Async {
		if p := r.parent[e]; p == nil || p.Kind != pysrc.UnaryExpr || p.Op != "await" {
			r.becomes(e, r.outer(e, "await "+r.text(e), inSigned), 0.8, emit)
		}
	}
}

// inPlace mends the use of a value that a method does not give, since it changes its object.
func (r *Region) inPlace(e *pysrc.Expr, emit emitter) {
	f, s := e.Parts[0], r.owner[e]
	switch f.Name {
	case "sort":
		sep := ", "
		if len(e.Parts) == 1 {
			sep = ""
		}
		r.becomes(e, "sorted("+r.text(f.Parts[0])+sep+strings.TrimPrefix(r.mod.src[f.End:e.End], "("), 1, emit)
	case "reverse":
		r.becomes(e, r.text(f.Parts[0])+"[::-1]", 1, emit)
	}
	if r.parent[e] == nil && s.Kind == "assign" && changesItsObject(f.Name) {
		emit(Mutation{Site: siteOf(s), Weight: 1, What: names.Quote(r.text(e)) + " has no value", Changes: []Change{{s.Off, e.Off, ""}}})
	}
}

// lostResult keeps the result of a call that does nothing else.
func (r *Region) lostResult(e *pysrc.Expr, emit emitter) {
	var to *pysrc.Expr
	switch f := e.Parts[0]; {
	case f.Kind == pysrc.AttributeExpr && r.kindOf(e).name == "str":
		to = f.Parts[0]
	case r.callee(e) == "sorted" && len(e.Parts) > 1:
		to = e.Parts[1]
	default:
		return
	}
	emit(Mutation{Site: site(e), Weight: 1, What: "the result of " + names.Quote(r.text(e)) + " is lost", Changes: []Change{{e.Off, e.Off, r.text(to) + " = "}}})
}

// changesItsObject says that a method changes its object and returns nothing.
func changesItsObject(name string) bool {
	switch name {
	case "append", "extend", "insert", "remove", "sort", "reverse", "update", "add", "clear":
		return true
	}
	return false
}
