package search

import (
	"go/ast"
	"go/types"
	"sort"
	"strings"

	"ratchet/internal/propose/search/names"
)

// functions calls another function or method that takes and gives the same
// types, the most alike in name first, and swaps min and max.
func functions(r *region, n ast.Node, emit emitter) {
	var id *ast.Ident
	switch x := n.(type) {
	case *ast.SelectorExpr:
		id = x.Sel
	case *ast.Ident:
		if isSelected(r, x) || r.isSel(x) {
			return
		}
		id = x
	default:
		return
	}
	if b, ok := r.u.info.Uses[id].(*types.Builtin); ok {
		switch b.Name() {
		case "min":
			becomes(r, id, "max", 1, emit)
		case "max":
			becomes(r, id, "min", 1, emit)
		case "len":
			becomes(r, id, "cap", 0.1, emit)
		}
		return
	}
	fn, ok := r.u.info.Uses[id].(*types.Func)
	if !ok {
		r.unknownFunction(id, emit)
		return
	}
	rank := 0.0
	for _, o := range r.rivals(id, fn) {
		becomes(r, id, o.text, o.weight/(1+0.2*rank), emit)
		rank++
		if rank == perSite {
			break
		}
	}
}

func (r *region) isSel(id *ast.Ident) bool {
	s, ok := r.parents[id].(*ast.SelectorExpr)
	return ok && s.Sel == id
}

// unknownFunction offers opposites of a function of a package that could not be loaded.
func (r *region) unknownFunction(id *ast.Ident, emit emitter) {
	sel, ok := r.parents[id].(*ast.SelectorExpr)
	call, called := r.parents[sel].(*ast.CallExpr)
	if !ok || !called || call.Fun != sel || r.u.info.Uses[id] != nil {
		return
	}
	ws := names.Words(id.Name)
	for _, w := range ws {
		for i, o := range r.lex.Opposite[w] {
			title := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
			if strings.Contains(id.Name, title(w)) {
				becomes(r, id, strings.Replace(id.Name, title(w), title(o), 1), 1/(1+float64(i)), emit)
			}
		}
	}
}

// rivals are the functions that could be called instead, the best first.
func (r *region) rivals(id *ast.Ident, fn *types.Func) []option {
	sig, ok := fn.Type().(*types.Signature)
	if !ok {
		return nil
	}
	var out []option
	consider := func(o types.Object, scale float64) {
		f, ok := o.(*types.Func)
		if !ok || f == fn || !f.Exported() && f.Pkg() != r.u.pkg || f == r.self() && f.Name() != fn.Name() {
			return
		}
		other := f.Type().(*types.Signature)
		if identicalSignature(sig, other) {
			out = append(out, option{f.Name(), scale * (0.3 + 0.7*r.lex.Kinship(id.Name, f.Name()))})
		}
	}
	if recv := sig.Recv(); recv != nil {
		set := types.NewMethodSet(types.NewPointer(deref(recv.Type())))
		if types.IsInterface(recv.Type()) {
			set = types.NewMethodSet(recv.Type())
		}
		for m := range set.Methods() {
			consider(m.Obj(), 1)
		}
	} else if fn.Pkg() != nil {
		scope := fn.Pkg().Scope()
		for _, name := range scope.Names() {
			consider(scope.Lookup(name), 1)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].weight > out[j].weight })
	return out
}

// self is the function that the region is.
func (r *region) self() types.Object {
	if r.fn == nil {
		return nil
	}
	return r.u.info.Defs[r.fn.Name]
}

func deref(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// identicalSignature compares parameters and results, not receivers. Generic
// functions count as alike when they take the same number of values.
func identicalSignature(a, b *types.Signature) bool {
	if a.TypeParams().Len() > 0 && b.TypeParams().Len() > 0 {
		return a.Params().Len() == b.Params().Len() && a.Results().Len() == b.Results().Len()
	}
	return a.Variadic() == b.Variadic() && identicalTuple(a.Params(), b.Params()) && identicalTuple(a.Results(), b.Results())
}

func identicalTuple(a, b *types.Tuple) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if !types.Identical(a.At(i).Type(), b.At(i).Type()) {
			return false
		}
	}
	return true
}

// arguments swaps two arguments of the same type, neighbours first, and the
// receiver with an argument of its type.
func arguments(r *region, n ast.Node, emit emitter) {
	c, ok := n.(*ast.CallExpr)
	if !ok || len(c.Args) > 8 {
		return
	}
	fun := r.text(c.Fun)
	if fun == "append" || strings.HasPrefix(fun, "fmt.") && len(c.Args) > 2 {
		return
	}
	for i, a := range c.Args {
		for j := i + 1; j < len(c.Args); j++ {
			b := c.Args[j]
			if !r.mayStandFor(a, b) {
				continue
			}
			w := 1 / float64(j-i)
			if fun == "min" || fun == "max" {
				w = 0.01
			}
			emit(mutation{
				site: c, weight: w, changes: []change{r.replace(a, r.text(b)), r.replace(b, r.text(a))},
				what: names.Quote(r.text(a)) + " and " + names.Quote(r.text(b)) + " in " + names.Quote(r.text(c)) + " should be swapped",
			})
		}
	}
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || r.u.info.Selections[sel] == nil {
		return
	}
	for _, a := range c.Args {
		if same(r.typeOf(a), r.typeOf(sel.X)) {
			emit(mutation{
				site: c, weight: 1, changes: []change{r.replace(a, r.text(sel.X)), r.replace(sel.X, r.text(a))},
				what: names.Quote(r.text(sel.X)) + " and " + names.Quote(r.text(a)) + " in " + names.Quote(r.text(c)) + " should be swapped",
			})
		}
	}
}

// mayStandFor says that two expressions are values of one type, or of types not known.
func (r *region) mayStandFor(a, b ast.Expr) bool {
	if !r.isValue(a) || !r.isValue(b) || r.text(a) == r.text(b) {
		return false
	}
	ta, tb := r.typeOf(a), r.typeOf(b)
	if ta == nil || tb == nil {
		return ta == nil && tb == nil && r.u.partial
	}
	return same(ta, tb) || types.AssignableTo(ta, tb) || types.AssignableTo(tb, ta)
}

// droppedCall puts an argument of the call's own type in the place of the call.
func droppedCall(r *region, n ast.Node, emit emitter) {
	c, ok := n.(*ast.CallExpr)
	if !ok || r.u.info.Types[c.Fun].IsType() {
		return
	}
	t := r.typeOf(c)
	for i, a := range c.Args {
		if same(t, r.typeOf(a)) && !r.constant(a) {
			becomes(r, c, r.text(a), 1/(1+float64(i)), emit)
		}
	}
	if sel, ok := c.Fun.(*ast.SelectorExpr); ok && r.u.info.Selections[sel] != nil && same(t, r.typeOf(sel.X)) {
		becomes(r, c, r.text(sel.X), 1, emit)
	}
}

// addedCall wraps a value in a function that gives a value of the same type:
// those of the package, and what is usual for strings.
func addedCall(r *region, n ast.Node, emit emitter) {
	e, ok := n.(ast.Expr)
	if !ok || !valued(r, e) || r.constant(e) {
		return
	}
	switch e.(type) {
	case *ast.Ident, *ast.CallExpr, *ast.SelectorExpr, *ast.IndexExpr, *ast.SliceExpr:
	default:
		return
	}
	t := r.typeOf(e)
	if t == nil {
		return
	}
	if same(t, types.Typ[types.String]) {
		for i, f := range []string{"ToLower", "TrimSpace", "ToUpper"} {
			if r.text(e) != f {
				becomes(r, e, "strings."+f+"("+r.text(e)+")", 0.6-0.15*float64(i), emit, "strings")
			}
		}
	}
	count := 0
	for _, f := range r.wrappers(t) {
		if count++; count > 6 {
			return
		}
		becomes(r, e, f+"("+r.text(e)+")", 0.6/float64(count), emit)
	}
}

// wrappers are the package's functions from t to t.
func (r *region) wrappers(t types.Type) []string {
	if r.u.pkg == nil {
		return nil
	}
	var out []string
	scope := r.u.pkg.Scope()
	for _, name := range scope.Names() {
		f, ok := scope.Lookup(name).(*types.Func)
		if !ok || f == r.self() {
			continue
		}
		sig := f.Type().(*types.Signature)
		if sig.Params().Len() == 1 && sig.Results().Len() == 1 && !sig.Variadic() &&
			same(sig.Params().At(0).Type(), t) && same(sig.Results().At(0).Type(), t) {
			out = append(out, name)
		}
	}
	return out
}
