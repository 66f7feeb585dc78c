package pysearch

import "ratchet/internal/pysrc"

// relational swaps comparison operators, the nearest first.
func relational(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind != pysrc.CompareExpr {
		return
	}
	for i, op := range e.Ops {
		identity := isNone(e.Parts[i]) || isNone(e.Parts[i+1])
		for _, o := range relationalOptions(op.Text) {
			if identity && o.text != "is" && o.text != "is not" && o.text != "==" && o.text != "!=" {
				continue
			}
			r.operatorBecomes(e, op, o.text, o.weight, emit)
		}
	}
}

func relationalOptions(op string) []option {
	switch op {
	case "<":
		return []option{{"<=", 1}, {">", 0.6}, {">=", 0.35}, {"!=", 0.1}, {"==", 0.2}}
	case "<=":
		return []option{{"<", 1}, {">=", 0.6}, {">", 0.35}, {"==", 0.2}, {"!=", 0.1}}
	case ">":
		return []option{{">=", 1}, {"<", 0.6}, {"<=", 0.35}, {"!=", 0.1}, {"==", 0.2}}
	case ">=":
		return []option{{">", 1}, {"<=", 0.6}, {"<", 0.35}, {"==", 0.2}, {"!=", 0.1}}
	case "==":
		return []option{{"!=", 1}, {"<=", 0.3}, {">=", 0.3}, {"<", 0.15}, {">", 0.15}, {"in", 0.15}, {"is", 0.05}}
	case "!=":
		return []option{{"==", 1}, {"<", 0.3}, {">", 0.3}, {"<=", 0.15}, {">=", 0.15}, {"not in", 0.1}, {"is not", 0.05}}
	case "in":
		return []option{{"not in", 1}, {"==", 0.3}}
	case "not in":
		return []option{{"in", 1}, {"!=", 0.2}}
	case "is":
		return []option{{"is not", 1}, {"==", 0.4}}
	case "is not":
		return []option{{"is", 1}, {"!=", 0.4}}
	}
	return nil
}

func isNone(e *pysrc.Expr) bool { return e.Kind == pysrc.ConstantExpr && e.Name == "None" }

func isLogical(e *pysrc.Expr) bool {
	return e.Kind == pysrc.BinaryExpr && (e.Op == "and" || e.Op == "or")
}

func logical(r *Region, e *pysrc.Expr, emit emitter) {
	if !isLogical(e) {
		return
	}
	to := "or"
	if e.Op == "or" {
		to = "and"
	}
	r.operatorBecomes(e, e.Ops[0], to, 1, emit)
}

// decides says that an expression stands where its truth is asked for.
func (r *Region) decides(e *pysrc.Expr) bool {
	p := r.parent[e]
	if p == nil {
		return r.role[e] == pysrc.RoleCondition
	}
	switch p.Kind {
	case pysrc.IfClause:
		return true
	case pysrc.ConditionalExpr:
		return p.Parts[1] == e
	case pysrc.UnaryExpr:
		return p.Op == "not"
	case pysrc.BinaryExpr:
		return isLogical(p)
	case pysrc.ParenExpr:
		return r.decides(p)
	}
	return false
}

// negated puts or takes away a `not`. Comparisons are left to relational.
func negated(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind == pysrc.UnaryExpr && e.Op == "not" {
		r.becomes(e, r.text(e.Parts[0]), 1, emit)
		return
	}
	if p := r.parent[e]; p != nil && p.Kind == pysrc.UnaryExpr && p.Op == "not" {
		return
	}
	truth := r.decides(e)
	if !truth && (r.kindOf(e).name != "bool" || !r.valued(e)) {
		return
	}
	switch e.Kind {
	case pysrc.NameExpr, pysrc.CallExpr, pysrc.AttributeExpr, pysrc.SubscriptExpr:
		r.becomes(e, r.outer(e, "not "+r.text(e), inCompare), 0.9, emit)
	case pysrc.BinaryExpr:
		if isLogical(e) {
			r.becomes(e, "not ("+r.text(e)+")", 0.3, emit)
		}
	case pysrc.CompareExpr:
		if len(e.Ops) > 1 {
			r.becomes(e, "not "+r.text(e), 0.6, emit)
		}
	}
}

func constantCondition(r *Region, s *pysrc.Stmt, emit emitter) {
	c := r.condition(s)
	if c == nil {
		return
	}
	r.becomes(c, "False", 1, emit)
	if s.Kind != "while" {
		r.becomes(c, "True", 0.7, emit)
	}
}

// droppedOperand keeps one side of a binary expression, and one end of a chain of comparisons.
func droppedOperand(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind == pysrc.CompareExpr && len(e.Ops) > 1 {
		n := len(e.Parts)
		r.becomes(e, r.mod.src[e.Parts[1].Off:e.End], 0.6, emit)
		r.becomes(e, r.mod.src[e.Off:e.Parts[n-2].End], 0.6, emit)
	}
	if e.Kind != pysrc.BinaryExpr {
		return
	}
	w := 0.8
	if isLogical(e) {
		w = 1
	}
	r.becomes(e, r.text(e.Parts[0]), w, emit)
	if e.Op != "%" && e.Op != "**" && e.Op != "<<" && e.Op != ">>" {
		r.becomes(e, r.text(e.Parts[1]), 0.6*w, emit)
	}
	// In a sum of many, the operand before the last stands on the left side.
	if l := e.Parts[0]; l.Kind == pysrc.BinaryExpr && l.Op == e.Op {
		r.becomes(e, r.text(l.Parts[0])+r.mod.src[l.End:e.End], 0.6*w, emit)
		r.becomes(e, r.text(l.Parts[0]), 0.4*w, emit)
	}
}

// addedOperand joins a condition with another: a bound that an index in it needs,
// a condition of the same function, or the condition itself with one part replaced.
func addedOperand(r *Region, e *pysrc.Expr, emit emitter) {
	p := r.parent[e]
	if root := p == nil && r.role[e] == pysrc.RoleCondition && r.owner[e].Kind != "assert"; !root && (p == nil || p.Kind != pysrc.IfClause) {
		return
	}
	rank := 1.0
	add := func(extra, op string, first bool, w float64) {
		least := inAnd
		if op == "or" {
			least = inOr
		}
		text := r.tight(e, least) + " " + op + " " + extra
		if first {
			text = extra + " " + op + " " + r.tight(e, least)
		}
		r.becomes(e, text, w*rank, emit)
	}
	for _, bound := range r.bounds(e) {
		add(bound, "and", true, 1)
	}
	for _, twin := range r.twins(e) {
		add(twin, "or", false, 0.5)
		add(twin, "and", false, 0.5)
		rank *= 0.9
	}
	rank = 1
	for _, a := range r.atomics {
		if a.Off >= e.Off && a.End <= e.End || !r.readable(a, e) {
			continue
		}
		add(r.tight(a, inCompare-1), "or", false, 0.5)
		add(r.tight(a, inCompare-1), "and", false, 0.5)
		rank *= 0.85
	}
	rank = 1
	for _, c := range r.questions(e) {
		add(c, "and", false, 0.4)
		add(c, "or", false, 0.35)
		rank *= 0.85
	}
}

// readable says that all variables of a can be read at e.
func (r *Region) readable(a, e *pysrc.Expr) bool {
	seen := map[string]bool{}
	for _, v := range r.visible(e) {
		seen[v.name] = true
	}
	ok := true
	a.Walk(func(x *pysrc.Expr) bool {
		if x != nil && x.Kind == pysrc.NameExpr && r.byName[x.Name] != nil && !seen[x.Name] {
			ok = r.comprehension(x) != nil && x.Off >= a.Off && ok && r.within(x, a)
		}
		return ok
	})
	return ok
}

// within says that the comprehension that binds x lies in a.
func (r *Region) within(x, a *pysrc.Expr) bool {
	c := r.comprehension(x)
	return c != nil && a.Off <= c.Off && c.End <= a.End
}

// bounds are the conditions under which the indexes in an expression are valid.
func (r *Region) bounds(e *pysrc.Expr) []string {
	var out []string
	e.Walk(func(x *pysrc.Expr) bool {
		if x == nil || x.Kind != pysrc.SubscriptExpr || x.Parts[1].Kind == pysrc.SliceExpr {
			return true
		}
		base, index := r.text(x.Parts[0]), r.text(x.Parts[1])
		switch k := r.kindOf(x.Parts[0]); {
		case k.name == "dict":
			out = append(out, index+" in "+base)
		case index == "0", index == "-1":
			out = append(out, base)
		case x.Parts[1].Kind == pysrc.NumberExpr:
			out = append(out, "len("+base+") > "+index)
		default:
			out = append(out, r.tight(x.Parts[1], inCompare)+" < len("+base+")", r.tight(x.Parts[1], inCompare)+" >= 0")
		}
		return true
	})
	return out
}

// twins are the atomic conditions in c with one called function or variable replaced.
func (r *Region) twins(c *pysrc.Expr) []string {
	const most = 12
	var out []string
	for _, a := range split(c) {
		collect := func(m Mutation) {
			if len(m.Changes) == 1 && m.Weight >= 0.2 && len(out) < most {
				ch := m.Changes[0]
				out = append(out, r.mod.src[a.Off:ch.Start]+ch.Text+r.mod.src[ch.End:a.End])
			}
		}
		a.Walk(func(e *pysrc.Expr) bool {
			if e != nil {
				functions(r, e, collect)
				variables(r, e, collect)
			}
			return true
		})
	}
	return out
}

// questions ask variables that the condition does not use: flags, and whether
// something holds anything.
func (r *Region) questions(c *pysrc.Expr) []string {
	used := r.names(c)
	var out []string
	for _, v := range r.visible(c) {
		if used[v.name] || v.name == r.self {
			continue
		}
		switch {
		case v.kind.name == "bool":
			out = append(out, v.name, "not "+v.name)
		case v.kind.sized():
			out = append(out, v.name)
		case v.kind.number():
			out = append(out, v.name+" > 0")
		}
	}
	return out
}

// names are the names in an expression.
func (r *Region) names(e *pysrc.Expr) map[string]bool {
	out := map[string]bool{}
	e.Walk(func(x *pysrc.Expr) bool {
		if x != nil && x.Kind == pysrc.NameExpr {
			out[x.Name] = true
		}
		return true
	})
	return out
}

// conditional changes `a if b else c`: swaps the values, keeps one, makes one of a branch's value.
func conditional(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind != pysrc.ConditionalExpr {
		return
	}
	a, c, b := r.text(e.Parts[0]), r.text(e.Parts[1]), r.text(e.Parts[2])
	r.becomes(e, r.tight(e.Parts[2], inOr)+" if "+c+" else "+a, 1, emit)
	r.becomes(e, a, 0.6, emit)
	r.becomes(e, b, 0.6, emit)
}
