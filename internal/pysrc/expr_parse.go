package pysrc

// value is what may stand right of an assignment: a yield or a list of expressions.
func (p *parser) value() *Expr {
	if p.is("yield") {
		return p.yield()
	}
	return p.list(p.starredOrNamed)
}

// list is one item, or a tuple of items without parentheses.
func (p *parser) list(item func() *Expr) *Expr {
	first := p.at
	e := item()
	if !p.is(",") {
		return e
	}
	parts := []*Expr{e}
	for p.take(",") {
		if !p.startsExpr() {
			break
		}
		parts = append(parts, item())
	}
	return p.node(TupleExpr, first, parts...)
}

// startsExpr says that an expression can start at the position.
func (p *parser) startsExpr() bool {
	if !p.more() {
		return false
	}
	t := p.tokens[p.at]
	switch t.Kind {
	case Name, Number, String:
		return true
	case Keyword:
		switch t.Text {
		case "None", "True", "False", "not", "lambda", "await", "yield":
			return true
		}
	case Op:
		switch t.Text {
		case "(", "[", "{", "-", "+", "~", "...", "*", "**":
			return true
		}
	}
	return false
}

func (p *parser) yield() *Expr {
	first := p.at
	p.want("yield")
	if p.take("from") {
		v := p.expr()
		e := p.node(YieldExpr, first, v)
		e.Op = "from"
		return e
	}
	if !p.startsExpr() {
		return p.node(YieldExpr, first)
	}
	v := p.list(p.starredOrNamed)
	return p.node(YieldExpr, first, v)
}

func (p *parser) starredOrNamed() *Expr {
	if p.is("*") {
		return p.starred(StarExpr, "*")
	}
	return p.named()
}

func (p *parser) starred(k ExprKind, op string) *Expr {
	first := p.at
	p.want(op)
	var e *Expr
	if k == StarExpr {
		e = p.binary(bitwise)
	} else {
		e = p.expr()
	}
	return p.node(k, first, e)
}

// named is an expression, with a walrus or, in patterns, an alias.
func (p *parser) named() *Expr {
	first := p.at
	if p.more() && p.tokens[p.at].Kind == Name && p.isAfter(":=") {
		target := p.atom()
		p.at++
		v := p.expr()
		return p.node(WalrusExpr, first, target, v)
	}
	e := p.expr()
	if p.pattern && p.take("as") {
		name := p.atom()
		return p.node(AliasExpr, first, e, name)
	}
	return e
}

// expr is one expression: a lambda or a conditional one.
func (p *parser) expr() *Expr {
	p.enter()
	defer p.leave()
	if p.is("lambda") {
		return p.lambda()
	}
	first := p.at
	e := p.binary(0)
	if p.pattern || !p.take("if") {
		return e
	}
	cond := p.binary(0)
	p.want("else")
	other := p.expr()
	return p.node(ConditionalExpr, first, e, cond, other)
}

// Binding powers of the binary operators.
const (
	comparing = 3
	bitwise   = 4 // the weakest that may follow a star
	unary     = 9
	power     = 10
)

func binding(op string) int {
	switch op {
	case "or":
		return 1
	case "and":
		return 2
	case "<", ">", "==", ">=", "<=", "!=", "in", "not", "is":
		return comparing
	case "|":
		return bitwise
	case "^":
		return 5
	case "&":
		return 6
	case "<<", ">>":
		return 7
	case "+", "-":
		return 8
	case "*", "/", "//", "%", "@":
		return unary
	case "**":
		return power
	}
	return 0
}

// Precedence is how tightly an expression binds its parts, from 0: what has a
// lower one than its surroundings ask for needs parentheses there.
func (e *Expr) Precedence() int {
	switch e.Kind {
	case TupleExpr, YieldExpr, WalrusExpr, StarExpr, DoubleStarExpr, SliceExpr, AliasExpr:
		return -1
	case LambdaExpr, ConditionalExpr:
		return 0
	case BinaryExpr:
		return binding(e.Op)
	case CompareExpr:
		return comparing
	case UnaryExpr:
		switch e.Op {
		case "not":
			return 2
		case "await":
			return power + 1
		}
		return unary
	}
	return power + 2
}

// binary is an expression of operators that bind at least as tightly as least.
func (p *parser) binary(least int) *Expr {
	p.enter()
	defer p.leave()
	first := p.at
	left := p.prefix(least)
	for p.more() {
		op, from, n := p.infix()
		if n == 0 || op == 0 || op < least {
			return left
		}
		if op == comparing {
			left = p.comparison(first, left)
			continue
		}
		text := p.tokens[from].Text
		p.at++
		operand := p.right(op)
		left = p.node(BinaryExpr, first, left, operand)
		left.Op, left.Ops = text, []Operator{p.operator(text, from, from+1)}
	}
	return left
}

// right is the right operand of an operator. That of a power may have a sign, and
// may be another power.
func (p *parser) right(op int) *Expr {
	if op == power {
		return p.signed()
	}
	return p.binary(op + 1)
}

// infix is the binding power of the operator at the position, its token, and how
// many tokens it has; all zero when there is none.
func (p *parser) infix() (bind, from, n int) {
	t := p.tokens[p.at]
	if t.Kind != Op && t.Kind != Keyword {
		return 0, 0, 0
	}
	b := binding(t.Text)
	switch t.Text {
	case "in":
		if p.noIn {
			return 0, 0, 0
		}
	case "not":
		if !p.isAfter("in") || p.noIn {
			return 0, 0, 0
		}
		return b, p.at, 2
	case "is":
		if p.isAfter("not") {
			return b, p.at, 2
		}
	}
	if b == 0 {
		return 0, 0, 0
	}
	return b, p.at, 1
}

// comparison reads the rest of a chain of comparisons.
func (p *parser) comparison(first int, left *Expr) *Expr {
	parts := []*Expr{left}
	var ops []Operator
	for p.more() {
		bind, from, n := p.infix()
		if bind != comparing {
			break
		}
		text := p.tokens[from].Text
		if n == 2 {
			text += " " + p.tokens[from+1].Text
		}
		p.at += n
		ops = append(ops, p.operator(text, from, from+n))
		parts = append(parts, p.binary(bitwise))
	}
	e := p.node(CompareExpr, first, parts...)
	e.Ops = ops
	return e
}

// prefix is a unary operator with its operand, or a primary expression.
func (p *parser) prefix(least int) *Expr {
	p.enter()
	defer p.leave()
	first := p.at
	switch {
	case p.is("not"):
		if least > comparing {
			p.fail("invalid syntax at 'not'")
		}
		p.at++
		return p.unary("not", first, p.binary(comparing))
	case p.is("-"), p.is("+"), p.is("~"):
		op := p.tokens[p.at].Text
		p.at++
		return p.unary(op, first, p.signed())
	case p.is("await"):
		p.at++
		return p.unary("await", first, p.primary())
	}
	return p.primary()
}

// signed is the operand of a sign: another sign, or a power.
func (p *parser) signed() *Expr {
	if p.is("-") || p.is("+") || p.is("~") {
		return p.prefix(unary)
	}
	return p.binary(power)
}

func (p *parser) unary(op string, first int, operand *Expr) *Expr {
	e := p.node(UnaryExpr, first, operand)
	e.Op, e.Ops = op, []Operator{p.operator(op, first, first+1)}
	return e
}
