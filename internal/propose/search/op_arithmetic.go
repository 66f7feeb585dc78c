package search

import (
	"go/ast"
	"go/token"
	"go/types"

	"ratchet/internal/propose/search/names"
)

func arithmeticOptions(op token.Token) []option {
	switch op {
	case token.ADD:
		return []option{{"-", 1}, {"*", 0.5}, {"/", 0.15}, {"%", 0.1}, {"|", 0.1}, {"^", 0.1}}
	case token.SUB:
		return []option{{"+", 1}, {"/", 0.3}, {"*", 0.3}, {"%", 0.2}}
	case token.MUL:
		return []option{{"/", 0.8}, {"+", 0.8}, {"-", 0.3}, {"%", 0.15}}
	case token.QUO:
		return []option{{"*", 0.8}, {"%", 0.8}, {"-", 0.4}, {"+", 0.2}, {">>", 0.05}}
	case token.REM:
		return []option{{"/", 1}, {"*", 0.3}, {"-", 0.3}, {"&", 0.1}}
	case token.AND:
		return []option{{"|", 1}, {"^", 0.6}, {"&^", 0.5}}
	case token.OR:
		return []option{{"&", 1}, {"^", 0.7}, {"+", 0.2}}
	case token.XOR:
		return []option{{"|", 0.8}, {"&", 0.8}}
	case token.AND_NOT:
		return []option{{"&", 1}, {"|", 0.5}}
	case token.SHL:
		return []option{{">>", 1}, {"*", 0.1}}
	case token.SHR:
		return []option{{"<<", 1}, {"/", 0.1}}
	}
	return nil
}

// integerOnly are operators that floats do not have.
func integerOnly(op string) bool {
	switch op {
	case "%", "&", "|", "^", "&^", "<<", ">>":
		return true
	}
	return false
}

func arithmetic(r *region, n ast.Node, emit emitter) {
	b, ok := n.(*ast.BinaryExpr)
	if !ok || isString(r.typeOf(b)) {
		return
	}
	for _, o := range arithmeticOptions(b.Op) {
		if integerOnly(o.text) && isFloat(r.typeOf(b)) {
			continue
		}
		emit(mutation{
			site: b, weight: o.weight, what: "`" + b.Op.String() + "` in " + names.Quote(r.text(b)) + " should be `" + o.text + "`",
			changes: []change{r.replaceToken(b.OpPos, b.Op, o.text)},
		})
	}
}

func assignmentOptions(op token.Token) []option {
	switch op {
	case token.ADD_ASSIGN:
		return []option{{"-=", 1}, {"=", 0.8}, {"*=", 0.4}, {"|=", 0.1}}
	case token.SUB_ASSIGN:
		return []option{{"+=", 1}, {"=", 0.5}, {"/=", 0.2}}
	case token.MUL_ASSIGN:
		return []option{{"+=", 0.8}, {"/=", 0.8}, {"=", 0.4}}
	case token.QUO_ASSIGN:
		return []option{{"*=", 0.8}, {"-=", 0.6}, {"%=", 0.6}, {"=", 0.2}}
	case token.REM_ASSIGN:
		return []option{{"/=", 1}, {"-=", 0.4}, {"=", 0.2}}
	case token.AND_ASSIGN:
		return []option{{"|=", 1}, {"^=", 0.6}, {"&^=", 0.5}}
	case token.OR_ASSIGN:
		return []option{{"&=", 1}, {"^=", 0.6}, {"=", 0.4}, {"+=", 0.1}}
	case token.XOR_ASSIGN:
		return []option{{"|=", 0.8}, {"&=", 0.8}, {"=", 0.3}}
	case token.AND_NOT_ASSIGN:
		return []option{{"&=", 0.8}, {"|=", 0.8}}
	case token.SHL_ASSIGN:
		return []option{{">>=", 1}}
	case token.SHR_ASSIGN:
		return []option{{"<<=", 1}}
	case token.ASSIGN:
		return []option{{"+=", 1}, {"-=", 0.4}, {"*=", 0.25}, {":=", 0.3}, {"|=", 0.15}}
	case token.DEFINE:
		return []option{{"=", 1}}
	}
	return nil
}

func assignment(r *region, n ast.Node, emit emitter) {
	a, ok := n.(*ast.AssignStmt)
	if !ok {
		return
	}
	// A `:=` that hides a variable of an outer scope is the one worth changing.
	if a.Tok == token.DEFINE && !shadows(r, a) {
		return
	}
	for _, o := range assignmentOptions(a.Tok) {
		t := r.typeOf(a.Lhs[0])
		if a.Tok == token.ASSIGN && o.text != ":=" {
			if len(a.Lhs) > 1 || !isNumber(t) && !(isString(t) && o.text == "+=") {
				continue
			}
			if integerOnly(o.text[:len(o.text)-1]) && !isInt(t) {
				continue
			}
		}
		emit(mutation{
			site: a, weight: o.weight, what: "`" + a.Tok.String() + "` in " + names.Quote(r.text(a)) + " should be `" + o.text + "`",
			changes: []change{r.replaceToken(a.TokPos, a.Tok, o.text)},
		})
	}
}

func shadows(r *region, a *ast.AssignStmt) bool {
	for _, l := range a.Lhs {
		id, ok := l.(*ast.Ident)
		if !ok || r.u.info.Defs[id] == nil {
			continue
		}
		own := r.u.info.Defs[id].Parent()
		if own == nil || own.Parent() == nil {
			continue
		}
		if s, o := own.Parent().LookupParent(id.Name, a.Pos()); o != nil && s != types.Universe {
			return true
		}
	}
	return false
}

func increment(r *region, n ast.Node, emit emitter) {
	s, ok := n.(*ast.IncDecStmt)
	if !ok {
		return
	}
	to := "--"
	if s.Tok == token.DEC {
		to = "++"
	}
	emit(mutation{
		site: s, weight: 1, what: names.Quote(r.text(s)) + " should be " + names.Quote(r.text(s.X)+to),
		changes: []change{r.replaceToken(s.TokPos, s.Tok, to)},
	})
	x, sign := r.text(s.X), to[:1]
	if sign == "-" {
		sign = "+"
	} else {
		sign = "-"
	}
	becomes(r, s, x+" "+sign+"= 2", 0.4, emit)
}

// operandOrder swaps the operands where that changes the meaning; a swapped
// comparison is the reversed operator, which relational has.
func operandOrder(r *region, n ast.Node, emit emitter) {
	b, ok := n.(*ast.BinaryExpr)
	if !ok {
		return
	}
	w := 0.0
	switch b.Op {
	case token.SUB, token.QUO, token.REM:
		w = 1
	case token.SHL, token.SHR, token.AND_NOT:
		w = 0.2
	case token.LAND, token.LOR: // the first guards the second
		w = 0.4
	case token.ADD:
		if isString(r.typeOf(b)) {
			w = 1
		}
	}
	if w > 0 {
		becomes(r, b, r.text(b.Y)+" "+b.Op.String()+" "+r.text(b.X), w, emit)
	}
}

// grouping moves parentheses: a*b + c to a*(b+c) and back, a/b*c to a*c/b.
func grouping(r *region, n ast.Node, emit emitter) {
	b, ok := n.(*ast.BinaryExpr)
	if !ok {
		return
	}
	op := " " + b.Op.String() + " "
	if x, ok := b.X.(*ast.BinaryExpr); ok {
		becomes(r, b, r.text(x.X)+" "+x.Op.String()+" ("+r.text(x.Y)+op+r.text(b.Y)+")", 0.8, emit)
		if x.Op == token.QUO && b.Op == token.MUL {
			becomes(r, b, r.text(x.X)+" * "+r.text(b.Y)+" / "+r.text(x.Y), 1, emit)
		}
	}
	if y, ok := b.Y.(*ast.BinaryExpr); ok {
		becomes(r, b, "("+r.text(b.X)+op+r.text(y.X)+") "+y.Op.String()+" "+r.text(y.Y), 0.8, emit)
	}
	for i, side := range []ast.Expr{b.X, b.Y} {
		if p, ok := side.(*ast.ParenExpr); ok {
			inner := r.text(p.X)
			if i == 0 {
				becomes(r, b, inner+op+r.text(b.Y), 0.8, emit)
			} else {
				becomes(r, b, r.text(b.X)+op+inner, 0.8, emit)
			}
		}
	}
}

// sign negates numbers and takes their absolute value.
func sign(r *region, n ast.Node, emit emitter) {
	if u, ok := n.(*ast.UnaryExpr); ok {
		if u.Op == token.SUB || u.Op == token.XOR || u.Op == token.ADD {
			becomes(r, u, r.text(u.X), 1, emit)
		}
		return
	}
	e, ok := n.(ast.Expr)
	if !ok || !valued(r, e) || !isNumber(r.typeOf(e)) || r.constant(e) {
		return
	}
	text := r.text(e)
	if _, ok := e.(*ast.BinaryExpr); ok {
		text = "(" + text + ")"
	}
	w := 0.4
	if _, ok := r.parents[e].(*ast.ReturnStmt); ok {
		w = 1
	}
	becomes(r, e, "-"+text, w, emit)
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.SUB && isInt(r.typeOf(e)) {
		becomes(r, e, "max("+r.text(e)+", "+operand(r, b.Y)+" - "+operand(r, b.X)+")", 0.8, emit)
	}
	if isFloat(r.typeOf(e)) {
		becomes(r, e, "math.Abs("+r.text(e)+")", w, emit, "math")
	}
}

// valued says that an expression stands where another value could stand.
func valued(r *region, e ast.Expr) bool {
	if _, ok := e.(*ast.ParenExpr); ok || !r.isValue(e) || r.assigned(e) {
		return false
	}
	if id, ok := e.(*ast.Ident); ok && (r.u.info.Defs[id] != nil || isSelected(r, id)) {
		return false
	}
	switch p := r.parents[e].(type) {
	case *ast.UnaryExpr:
		return p.Op != token.AND
	case *ast.CallExpr:
		return p.Fun != e
	case *ast.SelectorExpr, *ast.Field, *ast.ValueSpec, *ast.ExprStmt, *ast.StarExpr, *ast.ArrayType:
		v, ok := p.(*ast.ValueSpec)
		return ok && v.Type != e
	case *ast.CompositeLit:
		return p.Type != e
	}
	return true
}

// conversion moves conversions between integers and floats, and rounds.
func conversion(r *region, n ast.Node, emit emitter) {
	if b, ok := n.(*ast.BinaryExpr); ok && b.Op == token.QUO && isInt(r.typeOf(b)) && !r.constant(b) {
		becomes(r, b, "("+r.text(b.X)+" + "+r.text(b.Y)+" - 1) / "+operand(r, b.Y), 0.5, emit)
	}
	c, ok := n.(*ast.CallExpr)
	if !ok || len(c.Args) != 1 || !r.u.info.Types[c.Fun].IsType() {
		return
	}
	to, arg := r.typeOf(c), c.Args[0]
	fn := r.text(c.Fun)
	if b, ok := arg.(*ast.BinaryExpr); ok {
		op := " " + b.Op.String() + " "
		becomes(r, c, fn+"("+r.text(b.X)+")"+op+fn+"("+r.text(b.Y)+")", 1, emit)
	}
	if isInt(to) && isFloat(r.typeOf(arg)) {
		for i, f := range []string{"Round", "Ceil", "Floor"} {
			becomes(r, arg, "math."+f+"("+r.text(arg)+")", 1-0.2*float64(i), emit, "math")
		}
	}
	if b, ok := r.parents[c].(*ast.BinaryExpr); ok && isInt(to) && isFloat(r.typeOf(arg)) && b.X == c && isInt(r.typeOf(b.Y)) {
		becomes(r, b, fn+"("+r.text(arg)+" "+b.Op.String()+" float64("+r.text(b.Y)+"))", 0.7, emit)
	}
}

// operand writes an expression such that an operator may stand next to it.
func operand(r *region, e ast.Expr) string {
	if _, ok := e.(*ast.BinaryExpr); ok {
		return "(" + r.text(e) + ")"
	}
	return r.text(e)
}
