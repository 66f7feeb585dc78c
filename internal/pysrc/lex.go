package pysrc

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// lexer turns source into tokens.
type lexer struct {
	src       string
	pos       int
	line      int
	lineStart int
	tokens    []Token
	indents   []column
	brackets  []Token // that are open
	err       *Error
}

// column is a width of indentation, with tabs to multiples of eight, and with
// tabs as one: where the two disagree in order, the indentation is ambiguous.
type column struct{ wide, narrow int }

// Tokenize splits source into tokens; the last one is End. Its error is an *Error.
func Tokenize(src []byte) ([]Token, error) {
	l := &lexer{src: string(src), line: 1, indents: []column{{}}}
	if at := invalidUTF8(src); at >= 0 {
		return nil, &Error{1 + bytes.Count(src[:at], []byte("\n")), 1, "source is not UTF-8, and declares no other encoding"}
	}
	l.tokens = make([]Token, 0, len(src)/4+2)
	if strings.HasPrefix(l.src, "\ufeff") {
		l.pos, l.lineStart = 3, 3
	}
	for l.err == nil && l.pos < len(l.src) {
		if l.startsLine() && len(l.brackets) == 0 {
			l.indentation()
		} else {
			l.token()
		}
	}
	if l.err == nil {
		l.finish()
	}
	if l.err != nil {
		return nil, l.err
	}
	return l.tokens, nil
}

// declaredEncoding is the comment that names an encoding, on one of the first two lines.
var declaredEncoding = regexp.MustCompile(`^(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*[-_.a-zA-Z0-9]+`)

// invalidUTF8 is where source stops being UTF-8 although it has to be; else -1.
func invalidUTF8(src []byte) int {
	if utf8.Valid(src) || declaredEncoding.Match(src) {
		return -1
	}
	for at := 0; ; {
		c, n := utf8.DecodeRune(src[at:])
		if c == utf8.RuneError && n < 2 {
			return at
		}
		at += n
	}
}

func (l *lexer) fail(line, col int, reason string) {
	if l.err == nil {
		l.err = &Error{line, col, reason}
	}
}

func (l *lexer) failHere(reason string) { l.fail(l.line, l.pos-l.lineStart+1, reason) }

// startsLine says that the position is the start of a line that continues nothing.
func (l *lexer) startsLine() bool {
	if l.pos != l.lineStart {
		return false
	}
	n := len(l.tokens)
	return n == 0 || l.tokens[n-1].Kind == Newline || l.tokens[n-1].Kind == Blank
}

func (l *lexer) emit(k Kind, off, end int) {
	l.tokens = append(l.tokens, Token{k, l.src[off:end], off, end, l.line, off - l.lineStart + 1})
}

// eol is the length of the line end at the offset, 0 when there is none.
func (l *lexer) eol(at int) int {
	if at >= len(l.src) {
		return 0
	}
	switch {
	case l.src[at] == '\n':
		return 1
	case l.src[at] == '\r' && at+1 < len(l.src) && l.src[at+1] == '\n':
		return 2
	case l.src[at] == '\r':
		return 1
	}
	return 0
}

func (l *lexer) nextLine(n int) {
	l.pos += n
	l.line++
	l.lineStart = l.pos
}

// indentation reads the white space at the start of a line.
func (l *lexer) indentation() {
	var c column
	continued := false
	for ; l.pos < len(l.src); l.pos++ {
		switch ch := l.src[l.pos]; {
		case ch == ' ' && !continued:
			c.wide++
			c.narrow++
		case ch == '\t' && !continued:
			c.wide = (c.wide/8 + 1) * 8
			c.narrow++
		case ch == '\f' && !continued:
			c = column{}
		case ch == ' ', ch == '\t', ch == '\f':
		case ch == '\\' && l.eol(l.pos+1) > 0:
			l.nextLine(1 + l.eol(l.pos+1))
			l.pos--
			continued = true
		default:
			l.indentTo(c)
			return
		}
	}
}

// indentTo compares an indentation with those that are open. Lines without code have none.
func (l *lexer) indentTo(c column) {
	if ch := l.src[l.pos]; ch == '#' || l.eol(l.pos) > 0 {
		l.token()
		return
	}
	top := l.indents[len(l.indents)-1]
	switch {
	case c.wide > top.wide:
		if c.narrow <= top.narrow {
			l.failHere("inconsistent use of tabs and spaces in indentation")
			return
		}
		if len(l.indents) == maxIndents {
			l.failHere("too many levels of indentation")
			return
		}
		l.indents = append(l.indents, c)
		l.emit(Indent, l.lineStart, l.pos)
	case c.wide == top.wide && c.narrow != top.narrow:
		l.failHere("inconsistent use of tabs and spaces in indentation")
		return
	default:
		l.dedentTo(c)
	}
	if l.err == nil {
		l.token()
	}
}

func (l *lexer) dedentTo(c column) {
	for c.wide < l.indents[len(l.indents)-1].wide {
		l.indents = l.indents[:len(l.indents)-1]
		l.emit(Dedent, l.pos, l.pos)
	}
	if top := l.indents[len(l.indents)-1]; c != top {
		l.failHere("unindent does not match any outer indentation level")
	}
}

// token reads one token, white space or a line end. It always moves on or fails.
func (l *lexer) token() {
	ch := l.src[l.pos]
	switch {
	case ch == ' ' || ch == '\t' || ch == '\f':
		l.pos++
	case l.eol(l.pos) > 0:
		l.lineEnd()
	case ch == '\\':
		l.continuation()
	case ch == '#':
		l.comment()
	case l.isString():
		l.str()
	case isNameStart(ch):
		l.name()
	case isDigit(ch) || ch == '.' && l.pos+1 < len(l.src) && isDigit(l.src[l.pos+1]):
		l.number()
	default:
		l.operator()
	}
}

// lineEnd ends a logical line unless there is none or brackets are open.
func (l *lexer) lineEnd() {
	n := l.eol(l.pos)
	kind := Blank
	if len(l.brackets) == 0 && l.inLogicalLine() {
		kind = Newline
	}
	l.emit(kind, l.pos, l.pos+n)
	l.nextLine(n)
}

// inLogicalLine says that code stands before the position on its logical line.
func (l *lexer) inLogicalLine() bool {
	for i := len(l.tokens) - 1; i >= 0; i-- {
		switch l.tokens[i].Kind {
		case Comment:
			continue
		case Newline, Blank, Indent, Dedent:
			return false
		}
		return true
	}
	return false
}

func (l *lexer) continuation() {
	n := l.eol(l.pos + 1)
	if n == 0 {
		l.failHere("unexpected character after line continuation character")
		return
	}
	l.nextLine(1 + n)
	if l.pos >= len(l.src) {
		l.failHere("unexpected end of file after line continuation character")
	}
}

func (l *lexer) comment() {
	end := l.pos
	for end < len(l.src) && l.src[end] != '\n' && l.src[end] != '\r' {
		end++
	}
	l.emit(Comment, l.pos, end)
	l.pos = end
}

func (l *lexer) name() {
	end := l.pos
	for end < len(l.src) && isNamePart(l.src[end]) {
		end++
	}
	kind := Name
	if IsKeyword(l.src[l.pos:end]) {
		kind = Keyword
	}
	l.emit(kind, l.pos, end)
	l.pos = end
}

func (l *lexer) number() {
	end := numberEnd(l.src, l.pos)
	if text := l.src[l.pos:end]; strings.Trim(text, "0123456789_") == "" && text[0] == '0' && strings.Trim(text, "0_") != "" {
		l.failHere("leading zeros in decimal integer literals are not permitted")
	}
	l.emit(Number, l.pos, end)
	l.pos = end
}

func isNameStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func isNamePart(c byte) bool { return isNameStart(c) || isDigit(c) }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// IsKeyword says that a word is reserved in Python 3.7 and later.
func IsKeyword(word string) bool {
	switch word {
	case "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
		"elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
		"not", "or", "pass", "raise", "return", "try", "while", "with", "yield":
		return true
	}
	return false
}

func (l *lexer) operator() {
	n := operatorLength(l.src[l.pos:])
	if n == 0 {
		l.failHere("invalid character " + quoteByte(l.src[l.pos]))
		return
	}
	l.emit(Op, l.pos, l.pos+n)
	t := l.tokens[len(l.tokens)-1]
	switch t.Text {
	case "(", "[", "{":
		if len(l.brackets) == maxBrackets {
			l.failHere("too many nested brackets")
			return
		}
		l.brackets = append(l.brackets, t)
	case ")", "]", "}":
		l.closing(t)
	}
	l.pos += n
}

func (l *lexer) closing(t Token) {
	if len(l.brackets) == 0 {
		l.failHere("unmatched '" + t.Text + "'")
		return
	}
	open := l.brackets[len(l.brackets)-1]
	if closes(open.Text) != t.Text {
		l.failHere("closing '" + t.Text + "' does not match opening '" + open.Text + "'")
		return
	}
	l.brackets = l.brackets[:len(l.brackets)-1]
}

func closes(open string) string {
	switch open {
	case "(":
		return ")"
	case "[":
		return "]"
	}
	return "}"
}

// operatorLength is the length of the operator or delimiter that a text starts with.
func operatorLength(s string) int {
	if len(s) >= 3 {
		switch s[:3] {
		case "**=", "//=", ">>=", "<<=", "...":
			return 3
		}
	}
	if len(s) >= 2 {
		switch s[:2] {
		case "**", "//", ">>", "<<", "!=", "->", ":=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", "==", "<=", ">=":
			return 2
		}
	}
	if strings.IndexByte("+-*/%&|^~<>()[]{},:.;@=", s[0]) >= 0 {
		return 1
	}
	return 0
}

// finish ends the last line and all blocks.
func (l *lexer) finish() {
	if n := len(l.brackets); n > 0 {
		open := l.brackets[n-1]
		l.fail(open.Line, open.Col, "'"+open.Text+"' was never closed")
		return
	}
	if l.inLogicalLine() {
		l.emit(Newline, l.pos, l.pos)
	}
	for range len(l.indents) - 1 {
		l.emit(Dedent, l.pos, l.pos)
	}
	l.emit(End, l.pos, l.pos)
}
