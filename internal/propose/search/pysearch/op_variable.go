package pysearch

import (
	"sort"

	"ratchet/internal/propose/search/names"
	"ratchet/internal/pysrc"
)

// perSite bounds the replacements of one name.
const perSite = 12

// variables replaces a variable by another of a kind that fits: parameters and
// locals first, those that nothing reads above all, then attributes of self, then
// variables of the module.
func variables(r *Region, e *pysrc.Expr, emit emitter) {
	if !r.replaceable(e) {
		return
	}
	scale := 1.0
	if r.assigned(e) {
		scale = 0.4
	}
	for i, o := range r.substitutes(e) {
		if i == perSite {
			return
		}
		r.becomes(e, o.text, scale*o.weight/(1+0.15*float64(i)), emit)
	}
}

// replaceable says that an expression is a variable, not a function that is called.
func (r *Region) replaceable(e *pysrc.Expr) bool {
	if e.Kind != pysrc.NameExpr || e.Name == r.self || r.patterned(e) || r.role[e] == pysrc.RoleArgument {
		return false
	}
	if _, function := r.mod.functions[e.Name]; function && r.byName[e.Name] == nil {
		return false
	}
	p := r.parent[e]
	if p != nil && p.Kind == pysrc.CallExpr && p.Parts[0] == e {
		return false
	}
	return r.byName[e.Name] != nil || r.global(e.Name) || r.mod.isField(r.class, e.Name)
}

func (r *Region) global(name string) bool {
	for _, g := range r.mod.globals {
		if g == name {
			return true
		}
	}
	return false
}

func (m *Module) isField(class, name string) bool {
	for _, f := range m.fields[class] {
		if f == name {
			return true
		}
	}
	return false
}

// substitutes ranks what could stand instead of a variable.
func (r *Region) substitutes(e *pysrc.Expr) []option {
	k := r.kindOf(e)
	assigned := r.assigned(e)
	var out []option
	for i, v := range r.visible(e) {
		if v.name == e.Name || v.name == r.self {
			continue
		}
		w := r.preference(e.Name, v, i)
		switch {
		case k.fits(v.kind):
			if !k.known() || !v.kind.known() {
				w *= 0.7
			}
			out = append(out, option{v.name, w})
		case assigned:
		case k.number() && v.kind.sized():
			out = append(out, option{"len(" + v.name + ")", 0.3 * w})
		}
		if !assigned {
			out = append(out, r.elements(e, v, k, w)...)
		}
	}
	if !assigned {
		out = append(out, r.attributes(e)...)
	}
	for _, g := range r.mod.globals {
		if g != e.Name && r.byName[g] == nil && !assigned {
			out = append(out, option{g, 0.35 * (0.5 + 0.5*r.mod.lex.Kinship(e.Name, g))})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].weight > out[j].weight })
	return out
}

// preference weighs a variable in scope as a replacement, from its distance in scope.
func (r *Region) preference(name string, v *variable, i int) float64 {
	w := 0.5 + 0.5*r.mod.lex.Kinship(name, v.name)
	if v.reads == 0 { // nothing reads it: it was meant to be used
		if v.param {
			return 2 * w
		}
		return 1.5 * w
	}
	return w / (1 + 0.05*float64(i))
}

// elements are the elements of a sequence at the indexes in scope.
func (r *Region) elements(e *pysrc.Expr, v *variable, want kind, w float64) []option {
	if v.kind.name != "list" && v.kind.name != "tuple" && v.kind.name != "str" && v.kind.known() {
		return nil
	}
	if p := r.parent[e]; p != nil && p.Kind == pysrc.SubscriptExpr && p.Parts[0] == e {
		return nil
	}
	elem := r.element(v.kind)
	if !want.fits(elem) || want.name == "list" || !v.kind.known() && !r.indexed(v.name) {
		return nil
	}
	var out []option
	for _, i := range r.visible(e) {
		if i.kind.name == "int" && !i.param && i.name != v.name {
			out = append(out, option{v.name + "[" + i.name + "]", 0.35 * w})
		}
		if len(out) == 2 {
			break
		}
	}
	return out
}

// indexed says that the region takes elements of a variable.
func (r *Region) indexed(name string) bool {
	for _, e := range r.exprs {
		if e.Kind == pysrc.SubscriptExpr && e.Parts[0].Kind == pysrc.NameExpr && e.Parts[0].Name == name {
			return true
		}
	}
	return false
}

// attributes are those of self, the one with the variable's name above all.
func (r *Region) attributes(e *pysrc.Expr) []option {
	if r.self == "" {
		return nil
	}
	var out []option
	for _, f := range r.mod.fields[r.class] {
		w := 0.4 * (0.4 + 0.6*r.mod.lex.Kinship(e.Name, f))
		if f == e.Name {
			w = 1
		}
		out = append(out, option{r.self + "." + f, w})
	}
	return out
}

// fields replaces an attribute of self by another, by a variable, and a key by another.
func fields(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind != pysrc.AttributeExpr || e.Parts[0].Kind != pysrc.NameExpr {
		return
	}
	if p := r.parent[e]; p != nil && p.Kind == pysrc.CallExpr && p.Parts[0] == e {
		return
	}
	name := Span{e.NameOff, e.End}
	for i, o := range r.siblings(e) {
		if i == perSite {
			break
		}
		r.swap(site(e), name, o.text, o.weight, emit)
	}
	if r.assigned(e) || e.Parts[0].Name != r.self {
		return
	}
	for i, v := range r.visible(e) {
		if v.name == r.self || i == 4 {
			continue
		}
		w := 0.4 * (0.4 + 0.6*r.mod.lex.Kinship(e.Name, v.name))
		if v.name == e.Name {
			w = 1
		}
		if v.reads == 0 {
			w = 1.2
		}
		r.becomes(e, v.name, w, emit)
	}
}

// siblings are the other attributes that the file selects on what e selects from.
func (r *Region) siblings(e *pysrc.Expr) []option {
	seen := map[string]bool{e.Name: true}
	var out []option
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			out = append(out, option{name, 0.4 + 0.6*r.mod.lex.Kinship(e.Name, name)})
		}
	}
	if e.Parts[0].Name == r.self && r.self != "" {
		for _, f := range r.mod.fields[r.class] {
			add(f)
		}
	}
	for _, x := range r.exprs {
		if x.Kind == pysrc.AttributeExpr && r.text(x.Parts[0]) == r.text(e.Parts[0]) {
			if p := r.parent[x]; p == nil || p.Kind != pysrc.CallExpr || p.Parts[0] != x {
				add(x.Name)
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].weight > out[j].weight })
	return out
}

// exchanged swaps two variables throughout one statement, and replaces all uses of one in it.
func exchanged(r *Region, s *pysrc.Stmt, emit emitter) {
	if !r.simple(s) && r.condition(s) == nil {
		return
	}
	uses := map[string][]*pysrc.Expr{}
	var order []string
	for _, e := range r.exprs {
		if r.owner[e] == s && r.replaceable(e) {
			if uses[e.Name] == nil {
				order = append(order, e.Name)
			}
			uses[e.Name] = append(uses[e.Name], e)
		}
	}
	for i, a := range order {
		for _, b := range order[:i] {
			if !r.kindOf(uses[a][0]).fits(r.kindOf(uses[b][0])) {
				continue
			}
			emit(Mutation{
				Site: siteOf(s), Weight: 0.5 + 0.5*r.mod.lex.Kinship(a, b), Changes: append(renamed(uses[a], b), renamed(uses[b], a)...),
				What: "`" + a + "` and `" + b + "` in " + names.Quote(r.code(s)) + " should be exchanged",
			})
		}
		if len(uses[a]) < 2 {
			continue
		}
		for k, o := range r.substitutes(uses[a][0]) {
			if k == 3 {
				break
			}
			emit(Mutation{
				Site: siteOf(s), Weight: 0.5 * o.weight, Changes: renamed(uses[a], o.text),
				What: "every `" + a + "` in " + names.Quote(r.code(s)) + " should be `" + o.text + "`",
			})
		}
	}
}

func renamed(uses []*pysrc.Expr, to string) []Change {
	out := make([]Change, len(uses))
	for i, e := range uses {
		out[i] = Change{e.Off, e.End, to}
	}
	return out
}

// ingredients replaces a value by another expression of the same function: the
// code that a repair needs is often there already (Barr et al., "The Plastic
// Surgery Hypothesis", FSE 2014).
func ingredients(r *Region, e *pysrc.Expr, emit emitter) {
	switch e.Kind {
	case pysrc.CallExpr, pysrc.SubscriptExpr, pysrc.BinaryExpr, pysrc.AttributeExpr, pysrc.NameExpr, pysrc.CompareExpr:
	default:
		return
	}
	if !r.valued(e) || r.assigned(e) {
		return
	}
	const perExpression = 10
	k := r.kindOf(e)
	seen := map[string]bool{r.text(e): true}
	for _, x := range r.exprs {
		if !ingredient(x) || seen[r.text(x)] || x.Off <= e.Off && e.End <= x.End || !k.fits(r.kindOf(x)) || !r.readable(x, e) {
			continue
		}
		seen[r.text(x)] = true
		w := 0.8 / (1 + 0.2*float64(len(seen)))
		if !k.known() || !r.kindOf(x).known() {
			w *= 0.5
		}
		r.becomes(e, r.outer(e, r.text(x), x.Precedence()), w, emit)
		if len(seen) > perExpression {
			return
		}
	}
}

// ingredient says that an expression is worth using elsewhere.
func ingredient(e *pysrc.Expr) bool {
	switch e.Kind {
	case pysrc.CallExpr, pysrc.SubscriptExpr, pysrc.BinaryExpr, pysrc.AttributeExpr:
		return e.End-e.Off < 60
	}
	return false
}
