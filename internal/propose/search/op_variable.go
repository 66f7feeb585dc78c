package search

import (
	"go/ast"
	"go/types"
	"sort"

	"ratchet/internal/propose/search/names"
)

// perSite bounds the replacements of one identifier.
const perSite = 12

// variables replaces a variable by another of its type: parameters and locals
// first, those that nothing reads above all, then constants, fields of
// variables, and what the package declares.
func variables(r *region, n ast.Node, emit emitter) {
	id, ok := n.(*ast.Ident)
	if !ok || !r.replaceable(id) {
		return
	}
	obj := r.u.info.Uses[id]
	scale := 1.0
	if r.assigned(id) {
		scale = 0.4
	}
	for i, c := range r.substitutes(id, obj) {
		if i == perSite {
			break
		}
		becomes(r, id, c.text, scale*c.weight/(1+0.15*float64(i)), emit)
	}
}

// replaceable says that the identifier is a variable or constant in use.
func (r *region) replaceable(id *ast.Ident) bool {
	switch o := r.u.info.Uses[id].(type) {
	case *types.Var:
		return !isSelected(r, id)
	case *types.Const:
		return !isSelected(r, id) && o.Parent() != types.Universe
	}
	return false
}

// substitutes ranks what could stand instead of a variable.
func (r *region) substitutes(id *ast.Ident, obj types.Object) []option {
	t := obj.Type()
	if t == nil || t == types.Typ[types.Invalid] {
		t = nil
	}
	var out []option
	assigned := r.assigned(id)
	for i, o := range r.visible(id.Pos(), !assigned) {
		if o == obj || o.Name() == id.Name && o.Pos() == obj.Pos() {
			continue
		}
		if t == nil && (o.Type() != types.Typ[types.Invalid] || r.isPackageLevel(o)) {
			continue
		}
		w := r.preference(id.Name, o, i)
		if t == nil || same(o.Type(), t) || !assigned && isUntypedFor(o.Type(), t) {
			out = append(out, option{o.Name(), w})
			continue
		}
		if r.isPackageLevel(o) {
			continue
		}
		out = append(out, r.parts(id, o, t, 0.45*w)...)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].weight > out[j].weight })
	return out
}

// isUntypedFor says that an untyped constant can stand for a value of type t.
func isUntypedFor(c, t types.Type) bool {
	b, ok := c.(*types.Basic)
	return ok && b.Info()&types.IsUntyped != 0 && types.AssignableTo(types.Default(c), t)
}

// preference weighs a variable in scope as a replacement, from its distance in scope.
func (r *region) preference(name string, o types.Object, i int) float64 {
	w := 0.5 + 0.5*r.lex.Kinship(name, o.Name())
	if r.isPackageLevel(o) {
		return 0.35 * w
	}
	if r.uses[o] == 0 { // nothing reads it: it was meant to be used
		if r.isParam(o) {
			return 2 * w
		}
		return 1.5 * w
	}
	return w / (1 + 0.05*float64(i))
}

// parts are the fields of a variable that have the wanted type, and its length
// where an integer is wanted.
func (r *region) parts(id *ast.Ident, o types.Object, want types.Type, w float64) []option {
	var out []option
	if st, ok := under(o.Type()).(*types.Struct); ok {
		for f := range st.Fields() {
			if !same(f.Type(), want) || f.Pkg() != r.u.pkg && !f.Exported() {
				continue
			}
			fw := w * (0.4 + 0.6*r.lex.Kinship(id.Name, f.Name()))
			if f.Name() == id.Name {
				fw = 1.5 * w
			}
			out = append(out, option{o.Name() + "." + f.Name(), fw})
		}
	}
	switch under(o.Type()).(type) {
	case *types.Slice, *types.Map, *types.Array:
		if same(want, types.Typ[types.Int]) {
			out = append(out, option{"len(" + o.Name() + ")", 0.6 * w})
		}
	}
	return out
}

// fields replaces a selected field by another of the same type, and drops the selection.
func fields(r *region, n ast.Node, emit emitter) {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return
	}
	s := r.u.info.Selections[sel]
	if s == nil {
		r.declared(sel, emit)
		return
	}
	if s.Kind() != types.FieldVal {
		return
	}
	st, ok := under(s.Recv()).(*types.Struct)
	if !ok {
		return
	}
	for f := range st.Fields() {
		if f == s.Obj() || !same(f.Type(), s.Obj().Type()) || f.Pkg() != r.u.pkg && !f.Exported() {
			continue
		}
		w := 0.4 + 0.6*r.lex.Kinship(sel.Sel.Name, f.Name())
		becomes(r, sel.Sel, f.Name(), w, emit)
	}
	i := 0
	for _, o := range r.visible(sel.Pos(), false) {
		if r.isPackageLevel(o) || !same(o.Type(), s.Obj().Type()) || i == 4 {
			continue
		}
		w := 0.4 * (0.4 + 0.6*r.lex.Kinship(sel.Sel.Name, o.Name()))
		if o.Name() == sel.Sel.Name {
			w = 1
		}
		if r.uses[o] == 0 {
			w = 1.2
		}
		becomes(r, sel, o.Name(), w, emit)
		i++
	}
}

// declared replaces a constant or variable of another package, such as a unit of
// time, by another of its type, the most alike in name first.
func (r *region) declared(sel *ast.SelectorExpr, emit emitter) {
	o := r.u.info.Uses[sel.Sel]
	switch o.(type) {
	case *types.Const, *types.Var:
	default:
		return
	}
	if o.Pkg() == nil || o.Parent() != o.Pkg().Scope() {
		return
	}
	var out []option
	for _, name := range o.Pkg().Scope().Names() {
		other := o.Pkg().Scope().Lookup(name)
		if _, isType := other.(*types.TypeName); isType || other == o || !other.Exported() || !same(other.Type(), o.Type()) {
			continue
		}
		out = append(out, option{name, 0.3 + 0.7*r.lex.Kinship(sel.Sel.Name, name)})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].weight > out[j].weight })
	for i, c := range out {
		if i == 6 {
			return
		}
		becomes(r, sel.Sel, c.text, c.weight/(1+0.2*float64(i)), emit)
	}
}

// exchanged swaps two variables of the same type throughout one statement, and
// replaces all uses of one in it.
func exchanged(r *region, n ast.Node, emit emitter) {
	s, ok := n.(ast.Stmt)
	if !ok || !r.simple(s) {
		return
	}
	uses := map[types.Object][]*ast.Ident{}
	var order []types.Object
	ast.Inspect(s, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || !r.replaceable(id) {
			return true
		}
		o := r.u.info.Uses[id]
		if uses[o] == nil {
			order = append(order, o)
		}
		uses[o] = append(uses[o], id)
		return true
	})
	for i, a := range order {
		for _, b := range order[:i] {
			if !same(a.Type(), b.Type()) {
				continue
			}
			changes := append(renamed(r, uses[a], b.Name()), renamed(r, uses[b], a.Name())...)
			emit(mutation{
				site: s, weight: 0.5 + 0.5*r.lex.Kinship(a.Name(), b.Name()), changes: changes,
				what: "`" + a.Name() + "` and `" + b.Name() + "` in " + names.Quote(r.text(s)) + " should be exchanged",
			})
		}
		if len(uses[a]) < 2 {
			continue
		}
		for k, c := range r.substitutes(uses[a][0], a) {
			if k == 3 {
				break
			}
			emit(mutation{
				site: s, weight: 0.5 * c.weight, changes: renamed(r, uses[a], c.text),
				what: "every `" + a.Name() + "` in " + names.Quote(r.text(s)) + " should be `" + c.text + "`",
			})
		}
	}
}

func renamed(r *region, ids []*ast.Ident, to string) []change {
	out := make([]change, len(ids))
	for i, id := range ids {
		out[i] = r.replace(id, to)
	}
	return out
}

// simple says that a statement stands in a list and holds no block.
func (r *region) simple(s ast.Stmt) bool {
	if !r.listed(s) {
		return false
	}
	switch s.(type) {
	case *ast.AssignStmt, *ast.ExprStmt, *ast.IncDecStmt, *ast.ReturnStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt:
		found := false
		ast.Inspect(s, func(n ast.Node) bool {
			_, lit := n.(*ast.FuncLit)
			found = found || lit
			return !found
		})
		return !found
	}
	return false
}

// exitKind turns one way out into another: break, continue, return.
func exitKind(r *region, n ast.Node, emit emitter) {
	switch s := n.(type) {
	case *ast.BranchStmt:
		if s.Label != nil {
			return
		}
		switch s.Tok.String() {
		case "break":
			becomes(r, s, "continue", 1, emit)
		case "continue":
			becomes(r, s, "break", 1, emit)
		default:
			return
		}
		if text, ok := r.zeroReturn(s); ok {
			becomes(r, s, text, 0.4, emit)
		}
	case *ast.ReturnStmt:
		if _, ok := r.inLoop(s); ok {
			becomes(r, s, "continue", 0.7, emit)
			becomes(r, s, "break", 0.7, emit)
		}
	}
}
