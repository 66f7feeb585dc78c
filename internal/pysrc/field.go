package pysrc

import "strings"

// fields are the expressions in the replacement fields of an f-string or
// t-string token, also those in format specifications, in order; none for other
// strings. Their token indexes count the field's own tokens.
func (p *parser) fields(t Token) []*Expr {
	prefix, quote, body := SplitString(t.Text)
	if !strings.ContainsAny(prefix, "ft") {
		return nil
	}
	f := &fieldParser{
		parser: p, token: t, raw: strings.Contains(prefix, "r"),
		at: len(prefix) + len(quote), end: len(prefix) + len(quote) + len(body),
	}
	f.text(false)
	return f.out
}

// fieldParser reads the fields of one string literal; at and end count bytes of it.
type fieldParser struct {
	*parser
	token   Token
	raw     bool
	at, end int
	depth   int
	out     []*Expr
}

// text reads up to the end or, in a format specification, the end of its field.
func (f *fieldParser) text(spec bool) {
	s := f.token.Text
	for f.at < f.end {
		switch {
		case s[f.at] == '\\' && !f.raw && strings.HasPrefix(s[f.at:], "\\N{"):
			f.at += 3
		case s[f.at] == '\\' && f.at+1 < f.end && s[f.at+1] != '{' && s[f.at+1] != '}':
			f.at += 2
		case s[f.at] == '{' && !spec && strings.HasPrefix(s[f.at:f.end], "{{"):
			f.at += 2
		case s[f.at] == '{':
			f.field()
		case s[f.at] == '}' && spec:
			return
		default:
			f.at++
		}
	}
}

// field reads {expression=!r:specification}.
func (f *fieldParser) field() {
	if f.depth++; f.depth > maxStrings {
		f.refuse("too deeply nested")
	}
	defer func() { f.depth-- }()
	f.at++
	start := f.at
	f.expression()
	code := f.token.Text[start:f.at]
	if trimmed := strings.TrimRight(code, " \t\n\r"); strings.HasSuffix(trimmed, "=") {
		code = trimmed[:len(trimmed)-1] // self-documenting: {x=}
	}
	f.parse(start, code)
	s := f.token.Text
	for f.at < f.end && s[f.at] != ':' && s[f.at] != '}' { // the conversion
		f.at++
	}
	if f.at < f.end && s[f.at] == ':' {
		f.at++
		f.text(true)
	}
	if f.at >= f.end {
		f.refuse("unterminated field in string literal")
	}
	f.at++
}

// expression moves behind the expression of a field.
func (f *fieldParser) expression() {
	s := f.token.Text[:f.end]
	l := &lexer{src: s, line: 1, lineStart: 0}
	for depth := 0; f.at < f.end; {
		c := s[f.at]
		l.pos = f.at
		switch {
		case l.isString():
			if !l.skipString(0) {
				f.refuse("unterminated string literal")
			}
			f.at = l.pos
			continue
		case isNameStart(c):
			for f.at < f.end && isNamePart(s[f.at]) {
				f.at++
			}
			continue
		case c == '#':
			for f.at < f.end && s[f.at] != '\n' && s[f.at] != '\r' {
				f.at++
			}
			continue
		case c == '(' || c == '[' || c == '{':
			depth++
		case depth > 0 && (c == ')' || c == ']' || c == '}'):
			depth--
		case depth == 0 && (c == '}' || c == ':' || c == '!' && !strings.HasPrefix(s[f.at:], "!=")):
			return
		case c == '!', c == '=' && f.at+1 < f.end && s[f.at+1] == '=':
			f.at++
		}
		f.at++
	}
	f.refuse("unterminated field in string literal")
}

// parse parses the code of a field, which may go over several lines.
func (f *fieldParser) parse(start int, code string) {
	tokens, err := Tokenize([]byte("(" + code + "\n)"))
	if err != nil {
		f.refuse("in a field of a string literal: " + err.(*Error).Reason)
	}
	shift := f.token.Off + start - 1
	inner := &parser{depth: f.parser.depth + 1}
	for _, t := range tokens[1:] {
		if t.Kind == Comment || t.Kind == Blank || t.Kind == Newline || t.Kind == End {
			continue
		}
		t.Off, t.End, t.Line, t.Col = t.Off+shift, t.End+shift, f.token.Line+t.Line-1, f.token.Col
		inner.tokens = append(inner.tokens, t)
	}
	inner.tokens = inner.tokens[:len(inner.tokens)-1] // the parenthesis
	e, err := inner.guarded(inner.value)
	if err == nil {
		err = inner.finished()
	}
	if err != nil {
		f.refuse("in a field of a string literal: " + err.(*Error).Reason)
	}
	f.out = append(f.out, e)
}

func (f *fieldParser) refuse(reason string) { panic(&Error{f.token.Line, f.token.Col, reason}) }
