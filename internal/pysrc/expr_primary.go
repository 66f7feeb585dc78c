package pysrc

// primary is an atom with what is called, selected and indexed on it.
func (p *parser) primary() *Expr {
	first := p.at
	e := p.atom()
	for p.more() {
		switch {
		case p.is("("):
			e = p.call(first, e)
		case p.is("["):
			p.at++
			index := p.subscript()
			p.want("]")
			e = p.node(SubscriptExpr, first, e, index)
		case p.is("."):
			p.at++
			name := p.wantName()
			e = p.node(AttributeExpr, first, e)
			e.Name, e.NameOff = name.Text, name.Off
		default:
			return e
		}
	}
	return e
}

// atom is a name, a literal, or something in brackets.
func (p *parser) atom() *Expr {
	if !p.more() {
		p.fail("expected an expression")
	}
	first := p.at
	t := p.tokens[p.at]
	switch {
	case t.Kind == Name:
		return p.leaf(NameExpr, first)
	case t.Kind == Number:
		return p.leaf(NumberExpr, first)
	case t.Kind == String:
		return p.strings(first)
	case t.Is("None"), t.Is("True"), t.Is("False"), t.Is("..."):
		return p.leaf(ConstantExpr, first)
	case t.Is("("), t.Is("["), t.Is("{"):
		return p.bracketed()
	}
	p.fail("invalid syntax at '" + short(t.Text) + "'")
	return nil
}

// strings are literals side by side, which are one.
func (p *parser) strings(first int) *Expr {
	p.enter()
	defer p.leave()
	var fields []*Expr
	for p.more() && p.tokens[p.at].Kind == String {
		fields = append(fields, p.fields(p.tokens[p.at])...)
		p.at++
	}
	e := p.node(StringExpr, first, fields...)
	e.Name = p.tokens[first].Text
	return e
}

func (p *parser) leaf(k ExprKind, first int) *Expr {
	p.at++
	e := p.node(k, first)
	e.Name = p.tokens[first].Text
	return e
}

// bracketed is a display, a comprehension, or an expression in parentheses. What
// ends an expression outside of brackets does not within.
func (p *parser) bracketed() *Expr {
	p.enter()
	defer p.leave()
	noIn := p.noIn
	p.noIn = false
	defer func() { p.noIn = noIn }()
	open := p.tokens[p.at].Text
	first := p.at
	p.at++
	var e *Expr
	switch open {
	case "(":
		e = p.parenthesised(first)
	case "[":
		e = p.display(first, ListExpr, "[", nil, p.starredOrNamed)
	default:
		e = p.braces(first)
	}
	return e
}

func (p *parser) parenthesised(first int) *Expr {
	if p.take(")") {
		return p.node(ParenExpr, first)
	}
	var inner *Expr
	if p.is("yield") {
		inner = p.yield()
	} else {
		inner = p.list(p.starredOrNamed)
	}
	if p.isFor() {
		return p.comprehension(first, inner, "(")
	}
	p.want(")")
	return p.node(ParenExpr, first, inner)
}

// display is a list, set or dictionary, or a comprehension of one, of which some
// parts may have been read.
func (p *parser) display(first int, k ExprKind, open string, parts []*Expr, item func() *Expr) *Expr {
	end := closes(open)
	for more := len(parts) > 0; more || !p.is(end); more = false {
		if !more {
			parts = append(parts, item())
		}
		if len(parts) == 1 && p.isFor() {
			return p.comprehension(first, parts[0], open)
		}
		if !p.take(",") {
			break
		}
	}
	p.want(end)
	return p.node(k, first, parts...)
}

// braces is a dictionary or a set.
func (p *parser) braces(first int) *Expr {
	if p.take("}") {
		return p.node(DictExpr, first)
	}
	if p.is("**") {
		return p.display(first, DictExpr, "{", nil, p.item)
	}
	start := p.at
	e := p.starredOrNamed()
	if !p.is(":") {
		return p.display(first, SetExpr, "{", []*Expr{e}, p.starredOrNamed)
	}
	return p.display(first, DictExpr, "{", []*Expr{p.itemOf(start, e)}, p.item)
}

// item is an entry of a dictionary.
func (p *parser) item() *Expr {
	if p.is("**") {
		return p.starred(DoubleStarExpr, "**")
	}
	first := p.at
	return p.itemOf(first, p.expr())
}

// itemOf is the entry of a dictionary whose key was read.
func (p *parser) itemOf(first int, key *Expr) *Expr {
	p.want(":")
	v := p.named()
	return p.node(ItemExpr, first, key, v)
}

func (p *parser) isFor() bool { return p.is("for") || p.is("async") && p.isAfter("for") }

// comprehension reads the clauses after an element, up to the closing bracket.
func (p *parser) comprehension(first int, element *Expr, open string) *Expr {
	parts := append([]*Expr{element}, p.clauses()...)
	p.want(closes(open))
	e := p.node(CompExpr, first, parts...)
	e.Op = open
	return e
}

func (p *parser) clauses() []*Expr {
	var out []*Expr
	for {
		first := p.at
		switch {
		case p.isFor():
			p.take("async")
			p.want("for")
			target := p.targets()
			p.want("in")
			out = append(out, p.node(ForClause, first, target, p.binaryOrLambda()))
		case p.take("if"):
			out = append(out, p.node(IfClause, first, p.condition()))
		default:
			return out
		}
	}
}

// binaryOrLambda is an expression that a following `if` does not belong to.
func (p *parser) binaryOrLambda() *Expr {
	if p.is("lambda") {
		return p.lambda()
	}
	return p.binary(0)
}

// condition is that of a clause, where a walrus may stand.
func (p *parser) condition() *Expr {
	first := p.at
	if p.more() && p.tokens[p.at].Kind == Name && p.isAfter(":=") {
		target := p.atom()
		p.at++
		v := p.binaryOrLambda()
		return p.node(WalrusExpr, first, target, v)
	}
	return p.binaryOrLambda()
}

// targets are what a for assigns to, which `in` ends.
func (p *parser) targets() *Expr {
	noIn := p.noIn
	p.noIn = true
	defer func() { p.noIn = noIn }()
	return p.list(func() *Expr {
		if p.is("*") {
			return p.starred(StarExpr, "*")
		}
		return p.primary()
	})
}

// call reads the arguments of a call of fn.
func (p *parser) call(first int, fn *Expr) *Expr {
	p.enter()
	defer p.leave()
	noIn := p.noIn
	p.noIn = false
	defer func() { p.noIn = noIn }()
	p.want("(")
	parts := []*Expr{fn}
	for !p.is(")") {
		from := p.at
		arg := p.argument()
		if p.isFor() {
			clauses := p.clauses()
			arg = p.node(CompExpr, from, append([]*Expr{arg}, clauses...)...)
		}
		parts = append(parts, arg)
		if !p.take(",") {
			break
		}
	}
	p.want(")")
	return p.node(CallExpr, first, parts...)
}

func (p *parser) argument() *Expr {
	first := p.at
	switch {
	case p.is("*"):
		p.at++
		e := p.expr()
		return p.node(StarExpr, first, e)
	case p.is("**"):
		return p.starred(DoubleStarExpr, "**")
	case p.more() && p.tokens[p.at].Kind == Name && p.isAfter("="):
		name := p.tokens[p.at]
		p.at += 2
		v := p.named()
		e := p.node(KeywordExpr, first, v)
		e.Name, e.NameOff = name.Text, name.Off
		return e
	}
	return p.named()
}

// subscript is what stands in the brackets of a subscript.
func (p *parser) subscript() *Expr {
	p.enter()
	defer p.leave()
	noIn := p.noIn
	p.noIn = false
	defer func() { p.noIn = noIn }()
	first := p.at
	e := p.slice()
	if !p.is(",") {
		return e
	}
	parts := []*Expr{e}
	for p.take(",") {
		if p.is("]") {
			break
		}
		parts = append(parts, p.slice())
	}
	return p.node(TupleExpr, first, parts...)
}

func (p *parser) slice() *Expr {
	first := p.at
	var parts [3]*Expr
	if p.is("*") {
		return p.starred(StarExpr, "*")
	}
	if !p.is(":") {
		if parts[0] = p.named(); !p.is(":") {
			return parts[0]
		}
	}
	for i := 1; i < 3 && p.take(":"); i++ {
		if !p.is(":") && !p.is("]") && !p.is(",") {
			parts[i] = p.expr()
		}
	}
	return p.node(SliceExpr, first, parts[:]...)
}

// lambda is an anonymous function.
func (p *parser) lambda() *Expr {
	p.enter()
	defer p.leave()
	first := p.at
	p.want("lambda")
	parts := p.parameters(":", false)
	p.want(":")
	parts = append(parts, p.expr())
	return p.node(LambdaExpr, first, parts...)
}

// parameters reads parameters up to the token that ends them.
func (p *parser) parameters(end string, annotated bool) []*Expr {
	var out []*Expr
	for !p.is(end) {
		out = append(out, p.parameter(annotated))
		if !p.take(",") {
			break
		}
	}
	return out
}

func (p *parser) parameter(annotated bool) *Expr {
	first := p.at
	op := ""
	for _, o := range []string{"*", "**", "/"} {
		if p.take(o) {
			op = o
		}
	}
	var name Token
	if op != "/" && (op != "*" || !p.is(",")) {
		name = p.wantName()
	}
	var annotation, value *Expr
	if annotated && name.Text != "" && p.take(":") {
		annotation = p.starredOrExpr()
	}
	if name.Text != "" && p.take("=") {
		value = p.expr()
	}
	e := p.node(ParamExpr, first, annotation, value)
	e.Op, e.Name, e.NameOff = op, name.Text, name.Off
	return e
}

func (p *parser) starredOrExpr() *Expr {
	if p.is("*") {
		return p.starred(StarExpr, "*")
	}
	return p.expr()
}
