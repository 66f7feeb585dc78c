// Package pysrc reads Python source without a Python interpreter: tokens with
// their places, the tree of statements, functions and classes. It does not judge
// whether a file is a valid program, only what cannot be taken apart; it knows the
// syntax of Python 3.6 to 3.14. It is pure and safe for concurrent use.
package pysrc

// Kind is the kind of a token.
type Kind uint8

const (
	Name Kind = iota + 1 // an identifier
	Keyword
	Number
	String // with prefix and quotes; an f-string is one token
	Op     // an operator or a delimiter
	Comment
	Newline // end of a logical line
	Blank   // end of a line that ends no logical line
	Indent
	Dedent
	End
)

// Token is one token. Offsets count bytes from 0, lines from 1, columns bytes from 1.
type Token struct {
	Kind      Kind
	Text      string
	Off, End  int
	Line, Col int
}

// Stmt is a statement: a logical line, or one of several on it, with the block below it.
type Stmt struct {
	// Kind is the keyword it begins with ("def", "class", "if", "elif", "else",
	// "for", "while", "try", "except", "finally", "with", "return", "import", …;
	// "def" and the like also after async), "decorator", "assign", "augassign",
	// "annassign", or "expr".
	Kind   string
	Tokens []Token // of its own line or lines, without comments and the colon of a block
	Block  []*Stmt // the statements below it
	Parent *Stmt   // nil at the top
	// Off and End bound it with its block, in bytes; Line and EndLine likewise.
	Off, End      int
	Line, EndLine int
	Indent        string // white space before it
}

// Func is a function or method.
type Func struct {
	Name      string // "parse"
	Qualified string // "Parser.parse", "outer.inner"
	Stmt      *Stmt
	Params    []string
	Line, End int // lines, with decorators
}

// File is a source file that was taken apart.
type File struct {
	Src    []byte
	Tokens []Token
	Body   []*Stmt
	Funcs  []Func // outer before inner
}
