package pysrc

// Role says what an expression is to its statement.
type Role string

// The roles of expressions.
const (
	RoleValue      Role = "value"      // computed: of an assignment, a return, an expression statement, …
	RoleTarget     Role = "target"     // assigned to or deleted
	RoleCondition  Role = "condition"  // of if, elif, while, assert, and the guard of a case
	RoleIterable   Role = "iterable"   // of a for
	RoleSubject    Role = "subject"    // of a match
	RolePattern    Role = "pattern"    // of a case
	RoleContext    Role = "context"    // of a with
	RoleException  Role = "exception"  // of an except or raise
	RoleMessage    Role = "message"    // of an assert
	RoleAnnotation Role = "annotation" // of a variable or a result; the value of a type statement
	RoleParameter  Role = "parameter"  // a ParamExpr
	RoleArgument   Role = "argument"   // of a class: a base or a keyword
	RoleDecorator  Role = "decorator"
)

// Part is an expression of a statement.
type Part struct {
	Role Role
	Expr *Expr
}

// Parts parses the expressions of the statement itself, without its block, in
// the order of the source. Names that are not expressions (of a def, an import, a
// global) are left out. The error is an *Error.
func (s *Stmt) Parts() ([]Part, error) {
	p := &partParser{parser: parser{tokens: s.Tokens}}
	if _, err := p.guarded(func() *Expr { p.statement(s); return nil }); err != nil {
		return nil, err
	}
	return p.parts, p.finished()
}

// Operator is the operator of an assignment: "=", "+=", …; false for other statements.
func (s *Stmt) Operator() (Operator, bool) {
	if s.Kind != "assign" && s.Kind != "augassign" && s.Kind != "annassign" {
		return Operator{}, false
	}
	depth, lambdas := 0, 0
	for _, t := range s.Tokens {
		switch {
		case t.Is("(") || t.Is("[") || t.Is("{"):
			depth++
		case t.Is(")") || t.Is("]") || t.Is("}"):
			depth--
		case depth > 0:
		case t.Is("lambda"):
			lambdas++
		case t.Is(":") && lambdas > 0:
			lambdas--
		case lambdas == 0 && t.Kind == Op && (t.Text == "=" || IsAugmented(t.Text)):
			return Operator{t.Text, t.Off, t.End}, true
		}
	}
	return Operator{}, false
}

type partParser struct {
	parser
	parts []Part
}

func (p *partParser) add(r Role, e *Expr) { p.parts = append(p.parts, Part{r, e}) }

func (p *partParser) statement(s *Stmt) {
	p.take("async")
	switch s.Kind {
	case "expr":
		p.add(RoleValue, p.value())
	case "assign":
		p.assignment()
	case "augassign":
		p.add(RoleTarget, p.list(p.starredOrNamed))
		p.at++ // the operator
		p.add(RoleValue, p.value())
	case "annassign":
		p.annotated()
	case "match":
		p.at++
		p.add(RoleSubject, p.value())
	case "case":
		p.pattern()
	case "type":
		p.typeAlias()
	case "decorator":
		p.want("@")
		p.add(RoleDecorator, p.named())
	default:
		p.at++
		p.keyword(s.Kind)
	}
}

// keyword reads the rest of a statement that begins with a reserved word.
func (p *partParser) keyword(kind string) {
	switch kind {
	case "if", "elif", "while":
		p.add(RoleCondition, p.named())
	case "for":
		p.add(RoleTarget, p.targets())
		p.want("in")
		p.add(RoleIterable, p.list(p.starredOrNamed))
	case "with":
		p.contexts()
	case "except":
		p.except()
	case "def":
		p.definition()
	case "class":
		p.class()
	case "return":
		if p.more() {
			p.add(RoleValue, p.value())
		}
	case "raise":
		p.raise()
	case "assert":
		p.add(RoleCondition, p.named())
		if p.take(",") {
			p.add(RoleMessage, p.expr())
		}
	case "del":
		p.add(RoleTarget, p.list(p.primary))
	case "import", "from", "global", "nonlocal":
		p.names(kind)
	}
}

func (p *partParser) assignment() {
	e := p.value()
	for p.take("=") {
		p.add(RoleTarget, e)
		e = p.value()
	}
	p.add(RoleValue, e)
}

func (p *partParser) annotated() {
	p.add(RoleTarget, p.primary())
	p.want(":")
	p.add(RoleAnnotation, p.starredOrExpr())
	if p.take("=") {
		p.add(RoleValue, p.value())
	}
}

// contexts reads the items of a with, which may stand in parentheses.
func (p *partParser) contexts() {
	if p.is("(") && p.closing(p.at) == len(p.tokens)-1 {
		at, n := p.at, len(p.parts)
		p.at++
		if p.parenthesisedContexts() {
			return
		}
		p.at, p.parts = at, p.parts[:n]
	}
	p.context()
	for p.take(",") {
		p.context()
	}
}

// parenthesisedContexts reports false when the parentheses hold one expression.
func (p *partParser) parenthesisedContexts() bool {
	for !p.is(")") {
		if p.is("yield") || p.is("*") {
			return false
		}
		p.context()
		if p.isFor() {
			return false
		}
		if !p.take(",") {
			break
		}
	}
	p.want(")")
	return true
}

func (p *partParser) context() {
	p.add(RoleContext, p.named())
	if p.take("as") {
		p.add(RoleTarget, p.starredOrPrimary())
	}
}

func (p *partParser) starredOrPrimary() *Expr {
	if p.is("*") {
		return p.starred(StarExpr, "*")
	}
	return p.primary()
}

// closing is the index of the bracket that closes the one at i.
func (p *partParser) closing(i int) int {
	depth := 0
	for ; i < len(p.tokens); i++ {
		switch t := p.tokens[i]; {
		case t.Is("(") || t.Is("[") || t.Is("{"):
			depth++
		case t.Is(")") || t.Is("]") || t.Is("}"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func (p *partParser) except() {
	p.take("*")
	if !p.more() {
		return
	}
	p.add(RoleException, p.list(p.expr))
	if p.take("as") {
		p.wantName()
	}
}

func (p *partParser) raise() {
	if !p.more() {
		return
	}
	p.add(RoleException, p.expr())
	if p.take("from") {
		p.add(RoleValue, p.expr())
	}
}

func (p *partParser) definition() {
	p.wantName()
	p.typeParameters()
	p.want("(")
	for _, e := range p.parameters(")", true) {
		p.add(RoleParameter, e)
	}
	p.want(")")
	if p.take("->") {
		p.add(RoleAnnotation, p.list(p.expr))
	}
}

func (p *partParser) class() {
	p.wantName()
	p.typeParameters()
	if !p.take("(") {
		return
	}
	for !p.is(")") {
		p.add(RoleArgument, p.argument())
		if !p.take(",") {
			break
		}
	}
	p.want(")")
}

// typeParameters reads [T: bound = default, *Ts, **P], as annotations.
func (p *partParser) typeParameters() {
	if !p.take("[") {
		return
	}
	for !p.is("]") {
		if !p.take("*") {
			p.take("**")
		}
		p.wantName()
		if p.take(":") {
			p.add(RoleAnnotation, p.expr())
		}
		if p.take("=") {
			p.add(RoleAnnotation, p.starredOrExpr())
		}
		if !p.take(",") {
			break
		}
	}
	p.want("]")
}

func (p *partParser) typeAlias() {
	p.at++
	p.wantName()
	p.typeParameters()
	p.want("=")
	p.add(RoleAnnotation, p.expr())
}

// pattern reads a case: what it matches, as far as that looks like an
// expression, and its guard.
func (p *partParser) pattern() {
	p.at++
	p.parser.pattern = true
	p.add(RolePattern, p.list(p.starredOrNamed))
	p.parser.pattern = false
	if p.take("if") {
		p.add(RoleCondition, p.named())
	}
}

// names checks the names of an import, global or nonlocal.
func (p *partParser) names(kind string) {
	if kind == "from" {
		for p.take(".") || p.take("...") {
		}
		if !p.is("import") {
			p.dotted()
		}
		p.want("import")
		if p.take("*") {
			return
		}
	}
	open := kind == "from" && p.take("(")
	for {
		p.dotted()
		if p.take("as") {
			p.wantName()
		}
		if !p.take(",") || open && p.is(")") {
			break
		}
	}
	if open {
		p.want(")")
	}
}

func (p *partParser) dotted() {
	p.wantName()
	for p.take(".") {
		p.wantName()
	}
}
