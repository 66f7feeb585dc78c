package pysrc

// ExprKind is the kind of an expression.
type ExprKind uint8

// The kinds of expressions, with what their parts are.
const (
	NameExpr        ExprKind = iota + 1 // Name
	NumberExpr                          // Name is the literal
	StringExpr                          // one or several literals side by side; Name is the first; Parts: what stands in replacement fields
	ConstantExpr                        // True, False, None, ...; Name says which
	TupleExpr                           // without parentheses of its own; Parts are the elements
	ParenExpr                           // Parts: what stands in parentheses, at most one
	ListExpr                            // Parts: the elements
	SetExpr                             // Parts: the elements
	DictExpr                            // Parts: ItemExpr, DoubleStarExpr
	ItemExpr                            // Parts: key, value
	CompExpr                            // a comprehension; Parts: the element, then ForClause and IfClause; Op is its bracket, "" for a generator as a lone argument
	ForClause                           // Parts: target, iterable
	IfClause                            // Parts: condition
	UnaryExpr                           // Op: - + ~ not await; Parts: operand
	BinaryExpr                          // Op: or and | ^ & << >> + - * / // % @ **; Parts: both operands
	CompareExpr                         // Ops: one fewer than Parts
	CallExpr                            // Parts: function, then arguments
	KeywordExpr                         // Name = Parts[0], in a call or a class pattern
	SubscriptExpr                       // Parts: base, index (a TupleExpr for several)
	SliceExpr                           // Parts: lower, upper, step; each may be nil
	AttributeExpr                       // Parts: base; Name
	LambdaExpr                          // Parts: ParamExpr…, body
	ParamExpr                           // a parameter: Name, Op "", "*", "**" or "/"; Parts: annotation, default; each may be nil
	ConditionalExpr                     // a if b else c; Parts: a, b, c
	StarExpr                            // *Parts[0]
	DoubleStarExpr                      // **Parts[0]
	WalrusExpr                          // Parts: target, value
	YieldExpr                           // Parts: value, none for a bare yield; Op is "from" for yield from
	AliasExpr                           // a as b; Parts: a, b
)

// Operator is an operator with its place; Text of `not  in` is "not in".
type Operator struct {
	Text     string
	Off, End int
}

// Expr is an expression. Off and End bound it in bytes of the file; First and
// Last in the tokens that were parsed, Last being the index after its last token.
type Expr struct {
	Kind        ExprKind
	Name        string
	NameOff     int // of Name, where the name is not the whole
	Op          string
	Ops         []Operator // with places: one for unary, binary and augmented ones
	Parts       []*Expr
	Off, End    int
	First, Last int
	depth       int
}

// maxDepth bounds the depth of expressions, so that walking them cannot exhaust the stack.
const maxDepth = 3000

// Walk visits the expression and all its parts, outer before inner, in order.
// It does not go below an expression for which visit returns false.
func (e *Expr) Walk(visit func(*Expr) bool) {
	if e == nil || !visit(e) {
		return
	}
	for _, p := range e.Parts {
		p.Walk(visit)
	}
}

// ParseExpr parses tokens that are one expression, such as the tokens of an
// expression statement or of a condition: anything that may stand on the right
// of an assignment. Its error is an *Error.
func ParseExpr(tokens []Token) (*Expr, error) {
	p := &parser{tokens: tokens}
	e, err := p.guarded(p.value)
	if err != nil {
		return nil, err
	}
	return e, p.finished()
}

// parser reads expressions by recursive descent, binary operators by precedence climbing.
// Its methods panic with a *Error, which guarded recovers.
type parser struct {
	tokens  []Token
	at      int
	depth   int
	noIn    bool // `in` ends the expression, as in the targets of a for
	pattern bool // `as` binds, `if` ends the expression, as in a case
}

// guarded runs a parsing method and returns what it panicked with as an error.
func (p *parser) guarded(parse func() *Expr) (e *Expr, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Error:
			e, err = nil, r
		default:
			panic(r)
		}
	}()
	return parse(), nil
}

// finished says that nothing is left.
func (p *parser) finished() error {
	if p.at < len(p.tokens) {
		return errorAt(p.tokens[p.at], "invalid syntax at '"+short(p.tokens[p.at].Text)+"'")
	}
	return nil
}

func short(s string) string {
	if len(s) > 20 {
		return s[:20] + "…"
	}
	return s
}

func (p *parser) more() bool { return p.at < len(p.tokens) }

func (p *parser) is(text string) bool { return p.at < len(p.tokens) && p.tokens[p.at].Is(text) }

func (p *parser) isAfter(text string) bool {
	return p.at+1 < len(p.tokens) && p.tokens[p.at+1].Is(text)
}

func (p *parser) take(text string) bool {
	if p.is(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) want(text string) Token {
	if !p.is(text) {
		p.fail("expected '" + text + "'")
	}
	p.at++
	return p.tokens[p.at-1]
}

func (p *parser) wantName() Token {
	if !p.more() || p.tokens[p.at].Kind != Name {
		p.fail("expected a name")
	}
	p.at++
	return p.tokens[p.at-1]
}

func (p *parser) fail(reason string) {
	if len(p.tokens) == 0 {
		panic(&Error{1, 1, reason})
	}
	t := p.tokens[min(p.at, len(p.tokens)-1)]
	panic(&Error{t.Line, t.Col, reason})
}

// enter guards against nesting that would exhaust the stack; leave undoes it.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail("too deeply nested")
	}
}

func (p *parser) leave() { p.depth-- }

// node makes an expression that spans from token first to the position.
func (p *parser) node(k ExprKind, first int, parts ...*Expr) *Expr {
	e := &Expr{Kind: k, Parts: parts, First: first, Last: p.at}
	e.Off, e.End = p.tokens[first].Off, p.tokens[p.at-1].End
	for _, x := range parts {
		if x != nil {
			e.depth = max(e.depth, x.depth+1)
		}
	}
	if e.depth > maxDepth {
		p.fail("too deeply nested")
	}
	return e
}

func (p *parser) operator(text string, first, last int) Operator {
	return Operator{text, p.tokens[first].Off, p.tokens[last-1].End}
}
