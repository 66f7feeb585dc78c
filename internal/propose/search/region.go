package search

import (
	"go/ast"
	"go/token"
	"go/types"
	"sort"
	"strings"

	"ratchet/internal/propose/search/names"
)

// region is one top-level declaration that is searched for repairs.
type region struct {
	u       *unit
	src     *source
	node    ast.Decl
	fn      *ast.FuncDecl // nil for other declarations
	name    string
	parents map[ast.Node]ast.Node
	places  places
	// suspicion is the highest of the region's places, 0..1.
	suspicion float64
	// indirect is set for declarations that suspicious functions only refer to.
	indirect bool
	cluster  int
	problems []string
	uses     map[types.Object]int // how often the region reads each variable
	writes   map[types.Object]int
	literals *pool // of the package; nil for none
	lex      names.Lexicon
	fnSig    *types.Signature
}

func newRegion(u *unit, src *source, d ast.Decl) *region {
	r := &region{
		u: u, src: src, node: d, parents: map[ast.Node]ast.Node{},
		uses: map[types.Object]int{}, writes: map[types.Object]int{},
	}
	r.name = "declaration"
	if fd, ok := d.(*ast.FuncDecl); ok {
		r.fn, r.name = fd, fd.Name.Name
		if obj, ok := u.info.Defs[fd.Name].(*types.Func); ok {
			r.fnSig, _ = obj.Type().(*types.Signature)
		}
	}
	var stack []ast.Node
	ast.Inspect(d, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if len(stack) > 0 {
			r.parents[n] = stack[len(stack)-1]
		}
		stack = append(stack, n)
		return true
	})
	r.count()
	return r
}

// count tells reads of variables from writes.
func (r *region) count() {
	ast.Inspect(r.node, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		obj := r.u.info.Uses[id]
		if obj == nil {
			return true
		}
		if r.assigned(id) {
			r.writes[obj]++
		} else {
			r.uses[obj]++
		}
		return true
	})
}

// assigned says that the identifier is a target of an assignment, ++ or --.
func (r *region) assigned(id ast.Expr) bool {
	switch p := r.parents[id].(type) {
	case *ast.AssignStmt:
		for _, l := range p.Lhs {
			if l == id {
				return true
			}
		}
	case *ast.IncDecStmt:
		return true
	case *ast.RangeStmt:
		return p.Key == id || p.Value == id
	}
	return false
}

// statement is the statement that directly holds the node, within a list.
func (r *region) statement(n ast.Node) ast.Stmt {
	for ; n != nil; n = r.parents[n] {
		if s, ok := n.(ast.Stmt); ok && r.listed(s) {
			return s
		}
	}
	return nil
}

// list is the statement list that holds s, and s's place in it.
func (r *region) list(s ast.Stmt) ([]ast.Stmt, int) {
	var list []ast.Stmt
	switch p := r.parents[s].(type) {
	case *ast.BlockStmt:
		list = p.List
	case *ast.CaseClause:
		list = p.Body
	case *ast.CommClause:
		list = p.Body
	}
	for i, x := range list {
		if x == s {
			return list, i
		}
	}
	return nil, -1
}

func (r *region) listed(s ast.Stmt) bool {
	_, i := r.list(s)
	return i >= 0
}

// inLoop says that a continue or break at n means a loop, and that loop's body.
func (r *region) inLoop(n ast.Node) (*ast.BlockStmt, bool) {
	for n = r.parents[n]; n != nil; n = r.parents[n] {
		switch l := n.(type) {
		case *ast.ForStmt:
			return l.Body, true
		case *ast.RangeStmt:
			return l.Body, true
		case *ast.FuncLit:
			return nil, false
		}
	}
	return nil, false
}

// signature is that of the function that a return at n leaves.
func (r *region) signature(n ast.Node) *types.Signature {
	for ; n != nil; n = r.parents[n] {
		if lit, ok := n.(*ast.FuncLit); ok {
			sig, _ := r.typeOf(lit).(*types.Signature)
			return sig
		}
	}
	return r.fnSig
}

// typeOf is the type of an expression, nil when it is not known.
func (r *region) typeOf(e ast.Expr) types.Type {
	t := r.u.info.TypeOf(e)
	if t == nil || t == types.Typ[types.Invalid] {
		return nil
	}
	return t
}

func basic(t types.Type, flag types.BasicInfo) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&flag != 0
}

func isInt(t types.Type) bool     { return basic(t, types.IsInteger) }
func isFloat(t types.Type) bool   { return basic(t, types.IsFloat) }
func isNumber(t types.Type) bool  { return basic(t, types.IsNumeric) }
func isString(t types.Type) bool  { return basic(t, types.IsString) }
func isBool(t types.Type) bool    { return basic(t, types.IsBoolean) }
func isOrdered(t types.Type) bool { return t == nil || basic(t, types.IsOrdered) }

func isError(t types.Type) bool {
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

// same says that two types are known and equal, an untyped constant counting as its default type.
func same(a, b types.Type) bool {
	return a != nil && b != nil && types.Identical(types.Default(a), types.Default(b))
}

// isValue says that the expression is a value, not a type, package or built-in.
func (r *region) isValue(e ast.Expr) bool {
	tv, ok := r.u.info.Types[e]
	return !ok || tv.IsValue()
}

// constant says that the compiler knows the expression's value.
func (r *region) constant(e ast.Expr) bool { return r.u.info.Types[e].Value != nil }

// visible lists the variables (and with consts the constants) that are in scope
// at pos, the innermost first, those of the package last, by name in each scope.
func (r *region) visible(pos token.Pos, consts bool) []types.Object {
	if r.u.pkg == nil {
		return nil
	}
	scope := r.u.pkg.Scope().Innermost(pos)
	seen := map[string]bool{}
	var out []types.Object
	for ; scope != nil && scope != types.Universe; scope = scope.Parent() {
		local := scope != r.u.pkg.Scope() && scope.Parent() != r.u.pkg.Scope()
		var here []types.Object
		for _, name := range scope.Names() {
			obj := scope.Lookup(name)
			if seen[name] || name == "_" {
				continue
			}
			if local && (obj.Pos() >= pos || !declaredBefore(scope, name, pos)) {
				continue
			}
			switch obj.(type) {
			case *types.Var:
				here = append(here, obj)
			case *types.Const:
				if consts {
					here = append(here, obj)
				}
			default:
				continue
			}
			seen[name] = true
		}
		// The variable declared last is the nearest.
		if local {
			sort.SliceStable(here, func(i, j int) bool { return here[i].Pos() > here[j].Pos() })
		}
		out = append(out, here...)
	}
	return out
}

func declaredBefore(scope *types.Scope, name string, pos token.Pos) bool {
	s, obj := scope.LookupParent(name, pos)
	return s == scope && obj != nil
}

// isPackageLevel says that an object is declared outside all functions.
func (r *region) isPackageLevel(o types.Object) bool {
	return r.u.pkg != nil && o.Parent() == r.u.pkg.Scope()
}

// isParam says that an object is a parameter or receiver of the region's function.
func (r *region) isParam(o types.Object) bool {
	if r.fn == nil {
		return false
	}
	p := o.Pos()
	return r.fn.Type.Params != nil && r.fn.Type.Params.Pos() <= p && p < r.fn.Type.Params.End() ||
		r.fn.Recv != nil && r.fn.Recv.Pos() <= p && p < r.fn.Recv.End()
}

// typeName writes a type as the region's file would, false when it cannot.
func (r *region) typeName(t types.Type) (string, bool) {
	ok := true
	s := types.TypeString(t, func(p *types.Package) string {
		if p == r.u.pkg {
			return ""
		}
		name := ""
		for _, spec := range r.src.syntax.Imports {
			if strings.Trim(spec.Path.Value, "\"`") == p.Path() {
				name = p.Name()
				if spec.Name != nil {
					name = spec.Name.Name
				}
			}
		}
		ok = ok && name != "" && name != "." && name != "_"
		return name
	})
	return s, ok
}

// zero writes the zero value of a type.
func (r *region) zero(t types.Type) (string, bool) {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsBoolean != 0:
			return "false", true
		case u.Info()&types.IsNumeric != 0:
			return "0", true
		case u.Info()&types.IsString != 0:
			return `""`, true
		}
	case *types.Struct, *types.Array:
		if name, ok := r.typeName(t); ok {
			return name + "{}", true
		}
		return "", false
	}
	if _, generic := t.(*types.TypeParam); generic {
		name, ok := r.typeName(t)
		return "*new(" + name + ")", ok
	}
	return "nil", true
}
