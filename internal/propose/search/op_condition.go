package search

import (
	"go/ast"
	"go/token"
	"go/types"

	"ratchet/internal/propose/search/names"
)

// option is a replacement with its weight.
type option struct {
	text   string
	weight float64
}

// relational swaps comparison operators, the nearest first.
func relational(r *region, n ast.Node, emit emitter) {
	b, ok := n.(*ast.BinaryExpr)
	if !ok {
		return
	}
	ordered := isOrdered(r.typeOf(b.X)) && !isNil(b.Y) && !isNil(b.X)
	for _, o := range relationalOptions(b.Op) {
		if !ordered && o.text != "==" && o.text != "!=" {
			continue
		}
		w := o.weight
		if isNil(b.X) || isNil(b.Y) {
			w *= 0.6
		}
		emit(mutation{
			site: b, weight: w, what: "`" + b.Op.String() + "` in " + names.Quote(r.text(b)) + " should be `" + o.text + "`",
			changes: []change{r.replaceToken(b.OpPos, b.Op, o.text)},
		})
	}
}

func relationalOptions(op token.Token) []option {
	switch op {
	case token.LSS:
		return []option{{"<=", 1}, {">", 0.6}, {">=", 0.35}, {"!=", 0.1}, {"==", 0.1}}
	case token.LEQ:
		return []option{{"<", 1}, {">=", 0.6}, {">", 0.35}, {"==", 0.1}, {"!=", 0.1}}
	case token.GTR:
		return []option{{">=", 1}, {"<", 0.6}, {"<=", 0.35}, {"!=", 0.1}, {"==", 0.1}}
	case token.GEQ:
		return []option{{">", 1}, {"<=", 0.6}, {"<", 0.35}, {"==", 0.1}, {"!=", 0.1}}
	case token.EQL:
		return []option{{"!=", 1}, {"<=", 0.3}, {">=", 0.3}, {"<", 0.15}, {">", 0.15}}
	case token.NEQ:
		return []option{{"==", 1}, {"<", 0.3}, {">", 0.3}, {"<=", 0.15}, {">=", 0.15}}
	}
	return nil
}

func isNil(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "nil"
}

func logical(r *region, n ast.Node, emit emitter) {
	b, ok := n.(*ast.BinaryExpr)
	if !ok || b.Op != token.LAND && b.Op != token.LOR {
		return
	}
	to := "||"
	if b.Op == token.LOR {
		to = "&&"
	}
	emit(mutation{
		site: b, weight: 1, what: "`" + b.Op.String() + "` in " + names.Quote(r.text(b)) + " should be `" + to + "`",
		changes: []change{r.replaceToken(b.OpPos, b.Op, to)},
	})
}

// condition is that of a branch or loop, nil for other nodes.
func condition(n ast.Node) ast.Expr {
	switch s := n.(type) {
	case *ast.IfStmt:
		return s.Cond
	case *ast.ForStmt:
		return s.Cond
	}
	return nil
}

// negated puts or takes away a `!`. Comparisons are left to relational.
func negated(r *region, n ast.Node, emit emitter) {
	if u, ok := n.(*ast.UnaryExpr); ok && u.Op == token.NOT {
		becomes(r, u, r.text(u.X), 1, emit)
		return
	}
	e, ok := n.(ast.Expr)
	if !ok || !isBool(r.typeOf(e)) || !r.isValue(e) || r.constant(e) {
		return
	}
	if _, ok := r.parents[e].(*ast.UnaryExpr); ok {
		return
	}
	switch x := e.(type) {
	case *ast.Ident, *ast.CallExpr, *ast.SelectorExpr, *ast.IndexExpr:
		if id, ok := e.(*ast.Ident); ok && (r.assigned(id) || r.u.info.Defs[id] != nil || isSelected(r, id)) {
			return
		}
		becomes(r, e, "!"+r.text(e), 0.9, emit)
	case *ast.BinaryExpr:
		if x.Op == token.LAND || x.Op == token.LOR {
			becomes(r, e, "!("+r.text(e)+")", 0.3, emit)
		}
	}
}

// isSelected says that the identifier is the right side of a selector or a key.
func isSelected(r *region, id *ast.Ident) bool {
	switch p := r.parents[id].(type) {
	case *ast.SelectorExpr:
		return p.Sel == id
	case *ast.KeyValueExpr:
		_, field := r.u.info.Uses[id].(*types.Var)
		return p.Key == id && (!field || r.u.info.Uses[id].(*types.Var).IsField())
	}
	return false
}

func constantCondition(r *region, n ast.Node, emit emitter) {
	if s, ok := n.(*ast.IfStmt); ok {
		becomes(r, s.Cond, "true", 0.7, emit)
		becomes(r, s.Cond, "false", 1, emit)
	}
}

// droppedOperand keeps one side of a binary expression.
func droppedOperand(r *region, n ast.Node, emit emitter) {
	b, ok := n.(*ast.BinaryExpr)
	if !ok {
		return
	}
	w := 0.0
	switch b.Op {
	case token.LAND, token.LOR:
		w = 1
	case token.ADD, token.SUB, token.MUL, token.QUO, token.REM, token.AND, token.OR, token.XOR, token.SHL, token.SHR:
		if r.constant(b) {
			return
		}
		w = 0.8
	default:
		return
	}
	becomes(r, b, r.text(b.X), w, emit)
	if b.Op != token.SHL && b.Op != token.SHR && b.Op != token.REM {
		becomes(r, b, r.text(b.Y), 0.6*w, emit)
	}
}

// addedOperand joins a condition with another: a bound that an index in it
// needs, a condition of the same function, or the condition itself with one variable replaced.
func addedOperand(r *region, n ast.Node, emit emitter) {
	c := condition(n)
	if c == nil {
		return
	}
	text := paren(r, c)
	rank := 1.0
	add := func(extra, op string, first bool, w float64) {
		out := text + " " + op + " " + extra
		if first {
			out = extra + " " + op + " " + text
		}
		becomes(r, c, out, w*rank, emit)
	}
	for _, bound := range indexBounds(r, c) {
		add(bound, "&&", true, 1)
	}
	for _, e := range twins(r, c) {
		add(e, "||", false, 0.5)
		add(e, "&&", false, 0.5)
		rank *= 0.9
	}
	rank = 1
	for _, e := range atoms(r) {
		if e.Pos() >= c.Pos() && e.End() <= c.End() {
			continue
		}
		add(r.text(e), "||", false, 0.5)
		add(r.text(e), "&&", false, 0.5)
		rank *= 0.85
	}
	for _, e := range flags(r, c) {
		add(e, "&&", false, 0.5)
		add("!"+e, "&&", false, 0.5)
		add(e, "||", false, 0.4)
		rank *= 0.8
	}
}

func paren(r *region, e ast.Expr) string {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.LOR {
		return "(" + r.text(e) + ")"
	}
	return r.text(e)
}

// indexBounds are the conditions under which the indexes in an expression are valid.
func indexBounds(r *region, e ast.Expr) []string {
	var out []string
	ast.Inspect(e, func(n ast.Node) bool {
		x, ok := n.(*ast.IndexExpr)
		if !ok || !isInt(r.typeOf(x.Index)) {
			return true
		}
		if _, isMap := under(r.typeOf(x.X)).(*types.Map); isMap {
			return true
		}
		if r.constant(x.Index) {
			out = append(out, "len("+r.text(x.X)+") > "+r.text(x.Index))
			return true
		}
		out = append(out, r.text(x.Index)+" < len("+r.text(x.X)+")", r.text(x.Index)+" >= 0")
		return true
	})
	return out
}

func under(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem().Underlying()
	}
	return t.Underlying()
}

// twins are the atomic conditions in c with one called function or variable
// replaced by another of its type.
func twins(r *region, c ast.Expr) []string {
	var out []string
	for _, a := range split(c) {
		ast.Inspect(a, func(n ast.Node) bool {
			collect := func(m mutation) {
				if len(m.changes) != 1 || m.weight < 0.2 {
					return
				}
				start := r.offset(a.Pos())
				ch := m.changes[0]
				out = append(out, string(r.src.data[start:ch.start])+ch.text+string(r.src.data[ch.end:r.offset(a.End())]))
			}
			if n != nil {
				functions(r, n, collect)
				variables(r, n, collect)
			}
			return true
		})
	}
	if len(out) > 12 {
		out = out[:12]
	}
	return out
}

// split breaks a condition at && and ||.
func split(e ast.Expr) []ast.Expr {
	if p, ok := e.(*ast.ParenExpr); ok {
		return split(p.X)
	}
	if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
		return append(split(b.X), split(b.Y)...)
	}
	return []ast.Expr{e}
}

// atoms are the atomic conditions of a region, without repeats.
func atoms(r *region) []ast.Expr {
	var out []ast.Expr
	seen := map[string]bool{}
	ast.Inspect(r.node, func(n ast.Node) bool {
		if c := condition(n); c != nil {
			for _, e := range split(c) {
				if t := r.text(e); !seen[t] {
					seen[t] = true
					out = append(out, e)
				}
			}
		}
		return true
	})
	return out
}

// flags are the boolean variables in scope that the condition does not use.
func flags(r *region, c ast.Expr) []string {
	used := map[types.Object]bool{}
	ast.Inspect(c, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			used[r.u.info.Uses[id]] = true
		}
		return true
	})
	var out []string
	for _, o := range r.visible(c.Pos(), false) {
		if isBool(o.Type()) && !used[o] && !r.isPackageLevel(o) {
			out = append(out, o.Name())
		}
	}
	return out
}
