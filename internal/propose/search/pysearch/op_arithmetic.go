package pysearch

import (
	"ratchet/internal/propose/search/names"
	"ratchet/internal/pysrc"
)

func arithmeticOptions(op string) []option {
	switch op {
	case "+":
		return []option{{"-", 1}, {"*", 0.5}, {"//", 0.1}, {"/", 0.1}, {"%", 0.1}}
	case "-":
		return []option{{"+", 1}, {"/", 0.2}, {"//", 0.2}, {"*", 0.3}, {"%", 0.2}}
	case "*":
		return []option{{"+", 0.8}, {"/", 0.6}, {"//", 0.6}, {"**", 0.6}, {"-", 0.3}, {"%", 0.15}}
	case "/":
		return []option{{"//", 1}, {"*", 0.8}, {"%", 0.6}, {"-", 0.4}, {"+", 0.2}}
	case "//":
		return []option{{"/", 1}, {"%", 0.8}, {"*", 0.6}, {"-", 0.3}, {"+", 0.15}}
	case "%":
		return []option{{"//", 1}, {"/", 0.5}, {"*", 0.3}, {"-", 0.3}, {"+", 0.15}}
	case "**":
		return []option{{"*", 1}, {"+", 0.2}, {"//", 0.1}}
	case "&":
		return []option{{"|", 1}, {"^", 0.6}, {"and", 0.3}, {"-", 0.2}}
	case "|":
		return []option{{"&", 1}, {"^", 0.7}, {"or", 0.3}, {"+", 0.2}}
	case "^":
		return []option{{"**", 1}, {"|", 0.8}, {"&", 0.8}}
	case "<<":
		return []option{{">>", 1}, {"*", 0.1}}
	case ">>":
		return []option{{"<<", 1}, {"//", 0.1}}
	}
	return nil
}

func arithmetic(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind != pysrc.BinaryExpr || isLogical(e) {
		return
	}
	if k := r.kindOf(e); k.sized() && k.name != "set" {
		return
	}
	for _, o := range arithmeticOptions(e.Op) {
		r.operatorBecomes(e, e.Ops[0], o.text, o.weight, emit)
	}
}

func assignment(r *Region, s *pysrc.Stmt, emit emitter) {
	op, ok := s.Operator()
	if !ok || s.Kind == "annassign" {
		return
	}
	change := func(to string, w float64) {
		emit(Mutation{
			Site: siteOf(s), Weight: w, What: "`" + op.Text + "` in " + names.Quote(r.code(s)) + " should be `" + to + "`",
			Changes: []Change{{op.Off, op.End, to}},
		})
	}
	if s.Kind == "augassign" {
		change("=", 0.6)
		for _, o := range arithmeticOptions(op.Text[:len(op.Text)-1]) {
			if o.text != "and" && o.text != "or" {
				change(o.text+"=", o.weight)
			}
		}
		return
	}
	t, v := r.target(s), r.value(s)
	if t == nil || v == nil || t.Kind == pysrc.TupleExpr {
		return
	}
	switch k := r.kindOf(v); {
	case k.number(), !k.known():
		change("+=", 1)
		change("-=", 0.4)
		change("*=", 0.25)
		change("//=", 0.1)
	case k.ordered():
		change("+=", 1)
	}
}

// operandOrder swaps the operands where that changes the meaning; a swapped
// comparison is the reversed operator, which relational has.
func operandOrder(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind == pysrc.CompareExpr && len(e.Ops) == 1 && (e.Ops[0].Text == "in" || e.Ops[0].Text == "not in") {
		r.becomes(e, r.text(e.Parts[1])+" "+e.Ops[0].Text+" "+r.text(e.Parts[0]), 0.6, emit)
	}
	if e.Kind != pysrc.BinaryExpr {
		return
	}
	w := 0.0
	switch e.Op {
	case "-", "/", "//", "%", "**":
		w = 1
	case "<<", ">>":
		w = 0.2
	case "and", "or": // the first guards the second
		w = 0.4
	case "+":
		if k := r.kindOf(e); k.ordered() || !k.known() {
			w = 1
		}
	}
	if w > 0 {
		least := e.Precedence()
		r.becomes(e, r.tight(e.Parts[1], least)+" "+e.Op+" "+r.tight(e.Parts[0], least+1), w, emit)
	}
	if l := e.Parts[0]; w == 1 && e.Op == "+" && l.Kind == pysrc.BinaryExpr && l.Op == "+" {
		r.becomes(e, r.text(l.Parts[0])+" + "+r.tight(e.Parts[1], inSum)+" + "+r.text(l.Parts[1]), 0.7, emit)
	}
}

// grouping moves parentheses: a * b + c to a * (b + c) and back.
func grouping(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind != pysrc.BinaryExpr {
		return
	}
	op := " " + e.Op + " "
	if x := e.Parts[0]; x.Kind == pysrc.BinaryExpr {
		r.becomes(e, r.text(x.Parts[0])+" "+x.Op+" ("+r.text(x.Parts[1])+op+r.text(e.Parts[1])+")", 0.8, emit)
		if x.Op == "//" && e.Op == "*" {
			r.becomes(e, r.text(x.Parts[0])+" * "+r.text(e.Parts[1])+" // "+r.text(x.Parts[1]), 1, emit)
		}
	}
	if y := e.Parts[1]; y.Kind == pysrc.BinaryExpr {
		r.becomes(e, "("+r.text(e.Parts[0])+op+r.text(y.Parts[0])+") "+y.Op+" "+r.text(y.Parts[1]), 0.8, emit)
	}
	for i, side := range e.Parts {
		if side.Kind == pysrc.ParenExpr && len(side.Parts) == 1 && side.Parts[0].Precedence() >= 0 {
			inner := r.text(side.Parts[0])
			if i == 0 {
				r.becomes(e, inner+op+r.text(e.Parts[1]), 0.8, emit)
			} else {
				r.becomes(e, r.text(e.Parts[0])+op+inner, 0.8, emit)
			}
		}
	}
}

// valued says that an expression is a value that another could stand for.
func (r *Region) valued(e *pysrc.Expr) bool {
	switch e.Kind {
	case pysrc.ParenExpr, pysrc.KeywordExpr, pysrc.ItemExpr, pysrc.ForClause, pysrc.IfClause, pysrc.ParamExpr, pysrc.SliceExpr,
		pysrc.StarExpr, pysrc.DoubleStarExpr, pysrc.TupleExpr, pysrc.YieldExpr, pysrc.AliasExpr, pysrc.WalrusExpr:
		return false
	}
	p := r.parent[e]
	if p == nil {
		switch r.role[e] {
		case pysrc.RoleValue:
			return r.owner[e].Kind != "expr"
		case pysrc.RoleCondition, pysrc.RoleIterable, pysrc.RoleSubject:
			return true
		}
		return false
	}
	switch p.Kind {
	case pysrc.CallExpr, pysrc.AttributeExpr:
		return p.Parts[0] != e
	case pysrc.ForClause, pysrc.WalrusExpr:
		return p.Parts[0] != e
	case pysrc.AliasExpr:
		return false
	case pysrc.ParenExpr, pysrc.TupleExpr, pysrc.ListExpr, pysrc.StarExpr:
		return !r.assigned(e) && !r.patterned(e)
	}
	return !r.patterned(e)
}

// patterned says that an expression is part of a pattern or a parameter's place.
func (r *Region) patterned(e *pysrc.Expr) bool {
	for r.parent[e] != nil {
		e = r.parent[e]
	}
	role := r.role[e]
	return role == pysrc.RolePattern || role == pysrc.RoleDecorator || role == pysrc.RoleException
}

func constant(e *pysrc.Expr) bool {
	switch e.Kind {
	case pysrc.NumberExpr, pysrc.StringExpr, pysrc.ConstantExpr:
		return true
	case pysrc.UnaryExpr:
		return constant(e.Parts[0])
	}
	return false
}

// sign negates numbers and takes their absolute value.
func sign(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind == pysrc.UnaryExpr && e.Op != "not" && e.Op != "await" {
		r.becomes(e, r.text(e.Parts[0]), 1, emit)
		return
	}
	if !r.valued(e) || constant(e) {
		return
	}
	k := r.kindOf(e)
	if !k.number() || k.name == "bool" {
		if k.known() || e.Kind != pysrc.BinaryExpr || e.Op != "-" {
			return
		}
	}
	w := 0.4
	if r.parent[e] == nil && r.owner[e].Kind == "return" {
		w = 1
	}
	if e.Kind == pysrc.BinaryExpr && e.Op == "-" {
		r.becomes(e, "abs("+r.text(e)+")", 1, emit)
	} else {
		r.becomes(e, "abs("+r.text(e)+")", 0.5*w, emit)
	}
	r.becomes(e, "-"+r.operand(e), w, emit)
}

// conversion moves conversions of numbers, and rounds.
func conversion(r *Region, e *pysrc.Expr, emit emitter) {
	switch {
	case e.Kind == pysrc.BinaryExpr && e.Op == "//":
		a, b := r.text(e.Parts[0]), r.text(e.Parts[1])
		r.becomes(e, r.outer(e, "("+a+" + "+r.tight(e.Parts[1], inSum)+" - 1) // "+b, inProduct), 0.6, emit)
	case e.Kind == pysrc.BinaryExpr && e.Op == "/" && r.valued(e):
		r.becomes(e, "int("+r.text(e)+")", 0.6, emit)
		r.becomes(e, "round("+r.text(e)+")", 0.6, emit)
	case e.Kind == pysrc.CallExpr && len(e.Parts) == 2 && e.Parts[0].Kind == pysrc.NameExpr:
		r.converted(e, emit)
	case r.valued(e) && r.kindOf(e).name == "float" && !constant(e):
		r.becomes(e, "int("+r.text(e)+")", 0.4, emit)
		r.becomes(e, "round("+r.text(e)+")", 0.5, emit)
	}
}

// converted moves the operation out of or into a conversion.
func (r *Region) converted(e *pysrc.Expr, emit emitter) {
	fn, arg := e.Parts[0].Name, e.Parts[1]
	if fn != "int" && fn != "round" && fn != "float" && fn != "abs" {
		return
	}
	if arg.Kind == pysrc.BinaryExpr && !isLogical(arg) {
		a, b := r.text(arg.Parts[0]), r.text(arg.Parts[1])
		r.becomes(e, r.outer(e, fn+"("+a+") "+arg.Op+" "+fn+"("+b+")", inSum), 1, emit)
		r.becomes(e, r.outer(e, fn+"("+a+") "+arg.Op+" "+b, inSum), 0.7, emit)
	}
	if p := r.parent[e]; p != nil && p.Kind == pysrc.BinaryExpr && p.Parts[0] == e && !isLogical(p) {
		r.becomes(p, fn+"("+r.text(arg)+" "+p.Op+" "+r.text(p.Parts[1])+")", 0.7, emit)
	}
	if fn == "int" {
		r.becomes(e, "int(round("+r.text(arg)+"))", 0.6, emit)
	}
}
