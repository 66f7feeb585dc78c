package search

import (
	"go/ast"
	"go/token"
	"go/types"
)

// idioms are repairs of what Go programs are known to get wrong: results not
// sorted, slices and maps shared instead of copied, maps never made, bytes for
// characters, errors compared by identity.
func idioms(r *region, n ast.Node, emit emitter) {
	switch x := n.(type) {
	case *ast.ReturnStmt:
		for _, e := range x.Results {
			r.sorting(x, e, emit)
		}
	case *ast.CallExpr:
		r.characters(x, emit)
	case *ast.SliceExpr:
		if isString(r.typeOf(x.X)) && !r.constant(x.X) {
			text := "string([]rune(" + r.text(x.X) + ")[" + opt(r, x.Low) + ":" + opt(r, x.High) + "])"
			becomes(r, x, text, 0.4, emit)
		}
	case *ast.BinaryExpr:
		r.equality(x, emit)
	case *ast.ValueSpec:
		r.unmade(x, emit)
	case *ast.AssignStmt:
		r.lazyMap(x, emit)
	}
	if e, ok := n.(ast.Expr); ok {
		r.copies(e, emit)
	}
}

// sorting orders a list before it is returned.
func (r *region) sorting(s *ast.ReturnStmt, e ast.Expr, emit emitter) {
	id, ok := e.(*ast.Ident)
	slice, isSlice := under(r.typeOf(e)).(*types.Slice)
	if !ok || !isSlice || !r.listed(s) || !basic(slice.Elem(), types.IsOrdered) {
		return
	}
	// Iterating over a map gives another order on every run.
	w := 0.4
	if r.rangesOverMap() {
		w = 1
	}
	emit(mutation{
		site: s, weight: w, what: "`" + id.Name + "` should be sorted before it is returned",
		changes: []change{r.before(s, "slices.Sort("+id.Name+")")}, imports: []string{"slices"},
	})
	emit(mutation{
		site: s, weight: 0.4, what: "`" + id.Name + "` should be reversed before it is returned",
		changes: []change{r.before(s, "slices.Reverse("+id.Name+")")}, imports: []string{"slices"},
	})
}

func (r *region) rangesOverMap() bool {
	found := false
	ast.Inspect(r.node, func(n ast.Node) bool {
		if l, ok := n.(*ast.RangeStmt); ok {
			_, isMap := under(r.typeOf(l.X)).(*types.Map)
			found = found || isMap
		}
		return !found
	})
	return found
}

// characters counts characters instead of bytes.
func (r *region) characters(c *ast.CallExpr, emit emitter) {
	if id, ok := c.Fun.(*ast.Ident); !ok || id.Name != "len" || len(c.Args) != 1 || !isString(r.typeOf(c.Args[0])) {
		return
	}
	becomes(r, c, "utf8.RuneCountInString("+r.text(c.Args[0])+")", 0.5, emit, "unicode/utf8")
}

// equality compares errors through their chains and texts without case.
func (r *region) equality(b *ast.BinaryExpr, emit emitter) {
	if b.Op != token.EQL && b.Op != token.NEQ || isNil(b.X) || isNil(b.Y) {
		return
	}
	not := ""
	if b.Op == token.NEQ {
		not = "!"
	}
	args := "(" + r.text(b.X) + ", " + r.text(b.Y) + ")"
	switch t := r.typeOf(b.X); {
	case isError(t):
		becomes(r, b, not+"errors.Is"+args, 1, emit, "errors")
	case same(t, types.Typ[types.String]) && !r.constant(b):
		becomes(r, b, not+"strings.EqualFold"+args, 0.4, emit, "strings")
	}
}

// copies clones a slice or map that is handed over, kept or returned.
func (r *region) copies(e ast.Expr, emit emitter) {
	switch e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
	default:
		return
	}
	w := 0.0
	switch p := r.parents[e].(type) {
	case *ast.ReturnStmt:
		w = 0.4
	case *ast.AssignStmt:
		if !r.assigned(e) {
			w = 0.4
		}
	case *ast.KeyValueExpr:
		if p.Value == e {
			w = 0.4
		}
	case *ast.CallExpr:
		if id, ok := p.Fun.(*ast.Ident); ok && id.Name == "append" && p.Args[0] != e && !p.Ellipsis.IsValid() {
			w = 0.8
		}
	}
	if _, field := e.(*ast.SelectorExpr); field {
		w *= 1.3
	}
	if w == 0 || !r.isValue(e) {
		return
	}
	switch under(r.typeOf(e)).(type) {
	case *types.Slice:
		becomes(r, e, "slices.Clone("+r.text(e)+")", w, emit, "slices")
	case *types.Map:
		becomes(r, e, "maps.Clone("+r.text(e)+")", w, emit, "maps")
	}
}

// unmade makes a map that is declared without a value.
func (r *region) unmade(s *ast.ValueSpec, emit emitter) {
	if len(s.Values) > 0 || s.Type == nil || len(s.Names) != 1 {
		return
	}
	if _, ok := under(r.typeOf(s.Type)).(*types.Map); ok {
		becomes(r, s, s.Names[0].Name+" = make("+r.text(s.Type)+")", 1, emit)
	}
}

// lazyMap makes a map before it is first written to.
func (r *region) lazyMap(s *ast.AssignStmt, emit emitter) {
	if !r.listed(s) || len(s.Lhs) != 1 {
		return
	}
	x, ok := s.Lhs[0].(*ast.IndexExpr)
	if !ok {
		return
	}
	if _, ok := x.X.(*ast.SelectorExpr); !ok {
		if _, ok := x.X.(*ast.IndexExpr); !ok {
			return
		}
	}
	t := r.typeOf(x.X)
	if _, ok := under(t).(*types.Map); !ok {
		return
	}
	name, ok := r.typeName(t)
	if !ok {
		return
	}
	m := r.text(x.X)
	emit(mutation{
		site: s, weight: 0.7, what: "`" + m + "` may be nil",
		changes: []change{r.before(s, "if "+m+" == nil {\n\t"+m+" = make("+name+")\n}")},
	})
}
