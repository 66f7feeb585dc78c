// Package pysrc reads Python source without a Python interpreter: tokens with
// their places, the tree of statements, functions and classes, and expressions
// with the spans of all their parts. It knows the syntax of Python 3.6 to 3.14. It
// is pure, takes time linear in the source, and is safe for concurrent use.
//
// Parse finds what cannot be taken apart: unbalanced brackets, bad indentation,
// strings without an end. Check also parses every expression, and finds most of
// what an interpreter would call a syntax error; neither looks at meaning, such as
// a return outside of a function.
package pysrc

import "fmt"

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens. Soft keywords (match, case, type, _) are names.
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

// Is says that the token is this operator or keyword.
func (t Token) Is(text string) bool { return (t.Kind == Op || t.Kind == Keyword) && t.Text == text }

// Stmt is a statement: a logical line, or one of several on it, with the block below it.
type Stmt struct {
	// Kind is the keyword it begins with ("def", "class", "if", "elif", "else",
	// "for", "while", "try", "except", "finally", "with", "match", "case", "return",
	// "import", "from", "type", …; "def" and the like also after async),
	// "decorator", "assign", "augassign", "annassign", or "expr".
	Kind   string
	Async  bool
	Tokens []Token // of its own line or lines, without comments and the colon of a block
	Block  []*Stmt // the statements below it
	Parent *Stmt   // nil at the top
	// Off and End bound it with its block, in bytes; Line and EndLine likewise,
	// EndLine is its last line. Head is the end of its own line or lines, after
	// the colon.
	Off, End      int
	Line, EndLine int
	Head          int
	Indent        string // white space before its line
	Inline        bool   // shares the line of its parent, as in `if x: return`
}

// Func is a function or method.
type Func struct {
	Name      string // "parse"
	Qualified string // "Parser.parse", "outer.inner"
	Class     string // qualified name of the class that it is a method of, or ""
	Stmt      *Stmt
	First     *Stmt // its first decorator, or Stmt
	Params    []string
	Line, End int // first and last line, with decorators
}

// Class is a class.
type Class struct {
	Name      string
	Qualified string
	Stmt      *Stmt
	First     *Stmt // its first decorator, or Stmt
	Line, End int   // first and last line, with decorators
}

// Import is one module, or one name of a module, that a file imports.
type Import struct {
	Module string // "os.path"; "" in `from . import x`
	Name   string // "join" in `from os.path import join`, "*"; "" when the module is imported
	As     string // the name that it is bound to here: "j" in `import x as j`; for `import os.path` it is "os"
	Level  int    // leading dots
	Stmt   *Stmt
}

// File is a source file that was taken apart.
type File struct {
	Src     []byte
	Tokens  []Token
	Body    []*Stmt
	Funcs   []Func  // in order of their place, outer before inner
	Classes []Class // likewise
}

// Error says where source cannot be read, and why.
type Error struct {
	Line, Col int // from 1
	Reason    string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Limits of nesting, CPython's own, which also bound the depth of trees.
const (
	maxIndents  = 100
	maxBrackets = 200
	maxStrings  = 150 // f-strings in f-strings
)

// Parse takes a file apart. Its error is an *Error.
func Parse(src []byte) (*File, error) {
	tokens, err := Tokenize(src)
	if err != nil {
		return nil, err
	}
	b := &builder{tokens: tokens, src: string(src)}
	body, err := b.body(nil)
	if err != nil {
		return nil, err
	}
	f := &File{Src: src, Tokens: tokens, Body: body}
	f.index(body, "", "")
	return f, nil
}

// Walk visits the statements in the order of the source, each before its block.
func (f *File) Walk(visit func(*Stmt)) { walk(f.Body, visit) }

// Walk visits the statement and those below it.
func (s *Stmt) Walk(visit func(*Stmt)) { walk([]*Stmt{s}, visit) }

func walk(list []*Stmt, visit func(*Stmt)) {
	for _, s := range list {
		visit(s)
		walk(s.Block, visit)
	}
}
