package search

import (
	"go/ast"
	"go/token"
	"go/types"

	"ratchet/internal/propose/search/names"
)

// perTerm bounds the variables that may join one expression.
const perTerm = 4

// addedTerm completes a computed value by an operand: variables that nothing
// reads first, then others in scope, and the factor two.
func addedTerm(r *region, n ast.Node, emit emitter) {
	e, ok := n.(ast.Expr)
	if !ok || !valued(r, e) || r.constant(e) || !r.holdsResult(e) {
		return
	}
	t := r.typeOf(e)
	if !isNumber(t) && !same(t, types.Typ[types.String]) {
		return
	}
	used := map[types.Object]bool{}
	ast.Inspect(r.statement(e), func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			used[r.object(id)] = true
		}
		return true
	})
	count := 0
	for _, o := range r.visible(e.Pos(), false) {
		if count == perTerm {
			break
		}
		if used[o] || r.isPackageLevel(o) || !same(o.Type(), t) {
			continue
		}
		count++
		w := 0.25 / float64(count)
		if r.uses[o] == 0 {
			w = 1
		}
		r.joined(e, t, o.Name(), w, emit)
	}
	if isNumber(t) {
		becomes(r, e, r.tight(e)+" / 2", 0.2, emit)
		becomes(r, e, r.tight(e)+" * 2", 0.2, emit)
	}
}

func (r *region) joined(e ast.Expr, t types.Type, name string, w float64, emit emitter) {
	becomes(r, e, r.text(e)+" + "+name, w, emit)
	if isString(t) {
		becomes(r, e, name+" + "+r.text(e), 0.7*w, emit)
		return
	}
	becomes(r, e, r.text(e)+" - "+name, 0.8*w, emit)
	becomes(r, e, r.tight(e)+" * "+name, 0.8*w, emit)
	becomes(r, e, r.tight(e)+" / "+name, 0.6*w, emit)
	if isInt(t) {
		becomes(r, e, r.tight(e)+" % "+name, 0.5*w, emit)
	}
}

// tight is the text of an expression to which a product may be joined.
func (r *region) tight(e ast.Expr) string {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op.Precedence() < token.MUL.Precedence() {
		return "(" + r.text(e) + ")"
	}
	return r.text(e)
}

// holdsResult says that an expression is a whole result: returned, assigned or an element.
func (r *region) holdsResult(e ast.Expr) bool {
	if r.statement(e) == nil {
		return false
	}
	switch p := r.parents[e].(type) {
	case *ast.ReturnStmt, *ast.AssignStmt:
		return true
	case *ast.KeyValueExpr:
		return p.Value == e
	}
	return false
}

// removedPart takes out what is not a statement of its own: an else branch, a
// case, one of a case's values, an element of a literal.
func removedPart(r *region, n ast.Node, emit emitter) {
	switch x := n.(type) {
	case *ast.IfStmt:
		if x.Else != nil {
			emit(mutation{
				site: x.Else, weight: 1, what: "the else branch of `if " + trim(r.text(x.Cond)) + "` should be removed",
				changes: []change{{r.offset(x.Body.End()), r.offset(x.Else.End()), ""}},
			})
		}
		if e, ok := x.Else.(*ast.IfStmt); ok && e.Else != nil {
			emit(mutation{
				site: e, weight: 0.8, what: "`else if " + trim(r.text(e.Cond)) + "` should be removed",
				changes: []change{{r.offset(x.Else.Pos()), r.offset(e.Else.Pos()), ""}},
			})
		}
	case *ast.CaseClause:
		emit(mutation{
			site: x, weight: 0.7, what: names.Quote(r.text(x)) + " should be removed",
			changes: []change{{r.offset(x.Pos()), r.offset(x.End()), ""}},
		})
		r.withoutEach(x, x.List, emit)
	case *ast.CompositeLit:
		if len(x.Elts) <= 12 {
			r.withoutEach(x, x.Elts, emit)
		}
	}
}

// withoutEach drops each element of a list in turn.
func (r *region) withoutEach(site ast.Node, list []ast.Expr, emit emitter) {
	if len(list) < 2 {
		return
	}
	for i, e := range list {
		c := change{r.offset(e.Pos()), r.offset(e.End()), ""}
		if i+1 < len(list) {
			c.end = r.offset(list[i+1].Pos())
		} else {
			c.start = r.offset(list[i-1].End())
		}
		emit(mutation{site: site, weight: 0.5, what: names.Quote(r.text(e)) + " should be removed", changes: []change{c}})
	}
}
