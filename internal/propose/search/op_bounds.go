package search

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
)

// offByOne adds or takes 1 at integer expressions where limits stand:
// comparisons, indexes, slice bounds, sizes and returned values. What already
// ends in ±1 loses it.
func offByOne(r *region, n ast.Node, emit emitter) {
	e, ok := n.(ast.Expr)
	if !ok || !valued(r, e) || !isInt(r.typeOf(e)) {
		return
	}
	if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.ADD || b.Op == token.SUB) && isOne(b.Y) {
		becomes(r, b, r.text(b.X), 1, emit)
		if b.Op == token.SUB {
			becomes(r, b, r.text(b.X)+" - 2", 0.3, emit)
		} else {
			becomes(r, b, r.text(b.X)+" + 2", 0.3, emit)
		}
		return
	}
	if _, ok := e.(*ast.BasicLit); ok || r.constant(e) {
		return
	}
	w := r.limitWeight(e)
	if w == 0 {
		return
	}
	text := r.text(e)
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op.Precedence() < token.ADD.Precedence() {
		text = "(" + text + ")"
	}
	minus, plus := text+" - 1", text+" + 1"
	if p, ok := r.parents[e].(*ast.BinaryExpr); ok && p.Op.Precedence() >= token.ADD.Precedence() {
		minus, plus = "("+minus+")", "("+plus+")"
	}
	first, second := minus, plus
	if c, ok := e.(*ast.CallExpr); !ok || r.text(c.Fun) != "len" {
		first, second = plus, minus
	}
	becomes(r, e, first, w, emit)
	becomes(r, e, second, 0.9*w, emit)
}

// limitWeight says how likely an expression's place is one for an off-by-one, 0 for none.
func (r *region) limitWeight(e ast.Expr) float64 {
	switch p := r.parents[e].(type) {
	case *ast.ParenExpr:
		return r.limitWeight(p)
	case *ast.IndexExpr:
		if p.Index != e {
			return 0
		}
		if _, isMap := under(r.typeOf(p.X)).(*types.Map); isMap {
			return 0.3
		}
		return 1
	case *ast.SliceExpr:
		if p.X == e {
			return 0
		}
		return 1
	case *ast.BinaryExpr:
		switch p.Op {
		case token.LSS, token.LEQ, token.GTR, token.GEQ:
			if _, loop := r.parents[p].(*ast.ForStmt); loop && p.Y == e {
				return 0.9
			}
			return 0.5
		case token.EQL, token.NEQ:
			return 0.5
		case token.ADD, token.SUB:
			if r.limitWeight(p) > 0 { // one off the whole is the same
				return 0
			}
			return 0.4
		case token.MUL, token.QUO, token.REM:
			return 0.3
		}
	case *ast.ReturnStmt:
		return 0.9
	case *ast.AssignStmt, *ast.ValueSpec, *ast.KeyValueExpr:
		return 0.7
	case *ast.CallExpr:
		return 0.5
	case *ast.RangeStmt:
		return 0.6
	}
	return 0
}

func isOne(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Value == "1"
}

// sliceBounds adds, drops and moves the bounds of slices, and turns an index
// from the front into one from the back.
func sliceBounds(r *region, n ast.Node, emit emitter) {
	switch x := n.(type) {
	case *ast.SliceExpr:
		if x.Slice3 {
			return
		}
		base := r.text(x.X)
		lo, hi := "", ""
		if x.Low != nil {
			lo = r.text(x.Low)
			becomes(r, x, base+"[:"+opt(r, x.High)+"]", 0.6, emit)
			becomes(r, x, base+"[:"+lo+"]", 1, emit)
		}
		if x.High != nil {
			hi = r.text(x.High)
			becomes(r, x, base+"["+lo+":]", 0.6, emit)
			becomes(r, x, base+"["+hi+":]", 1, emit)
		}
		fromBack(r, x, base, lo, hi, emit)
		if x.Low != nil && x.High != nil {
			becomes(r, x, base+"["+lo+":"+lo+"+"+operand(r, x.High)+"]", 0.7, emit)
		}
		becomes(r, x, base, 0.4, emit)
	case *ast.IndexExpr:
		switch under(r.typeOf(x.X)).(type) {
		case *types.Slice, *types.Array, *types.Basic:
		default:
			return
		}
		base := r.text(x.X)
		if l, ok := x.Index.(*ast.BasicLit); ok {
			if v, err := strconv.Atoi(l.Value); err == nil {
				becomes(r, x.Index, "len("+base+")-"+strconv.Itoa(v+1), 0.8, emit)
			}
			return
		}
		if r.text(x.Index) == "len("+base+")-1" || r.text(x.Index) == "len("+base+") - 1" {
			becomes(r, x.Index, "0", 1, emit)
			return
		}
		becomes(r, x.Index, "len("+base+")-1-"+operand(r, x.Index), 0.4, emit)
	}
}

// fromBack counts a bound from the other end, and cuts one element off where there is no bound.
func fromBack(r *region, x *ast.SliceExpr, base, lo, hi string, emit emitter) {
	if x.Low == nil {
		becomes(r, x, base+"[1:"+hi+"]", 0.8, emit)
	} else if !r.constant(x.Low) {
		becomes(r, x.Low, "len("+base+")-"+operand(r, x.Low), 0.8, emit)
	}
	if x.High == nil {
		becomes(r, x, base+"["+lo+":len("+base+")-1]", 0.6, emit)
	} else {
		becomes(r, x.High, "len("+base+")-"+operand(r, x.High), 0.7, emit)
	}
}

func opt(r *region, e ast.Expr) string {
	if e == nil {
		return ""
	}
	return r.text(e)
}
