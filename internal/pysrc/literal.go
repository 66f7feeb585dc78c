package pysrc

import (
	"strconv"
	"strings"
)

// numberEnd is where the number that starts at the offset ends.
func numberEnd(s string, at int) int {
	if s[at] == '0' && at+1 < len(s) {
		switch s[at+1] {
		case 'x', 'X':
			return digitsEnd(s, at+2, isHex)
		case 'o', 'O', 'b', 'B':
			return digitsEnd(s, at+2, isDigit)
		}
	}
	at = digitsEnd(s, at, isDigit)
	if at < len(s) && s[at] == '.' {
		at = digitsEnd(s, at+1, isDigit)
	}
	if at < len(s) && (s[at] == 'e' || s[at] == 'E') {
		digits := at + 1
		if digits < len(s) && (s[digits] == '+' || s[digits] == '-') {
			digits++
		}
		if digits < len(s) && isDigit(s[digits]) { // else it is a word: `1else`
			at = digitsEnd(s, digits, isDigit)
		}
	}
	if at < len(s) && (s[at] == 'j' || s[at] == 'J') {
		at++
	}
	return at
}

func digitsEnd(s string, at int, is func(byte) bool) int {
	for at < len(s) && (is(s[at]) || s[at] == '_' && at+1 < len(s) && is(s[at+1])) {
		at++
	}
	return at
}

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// prefixLength is the length of the string prefix at the offset, such as rb in
// rb"x"; -1 when no string starts there.
func prefixLength(s string, at int) int {
	n := 0
	for n < 3 && at+n < len(s) {
		switch s[at+n] {
		case '"', '\'':
			if isPrefix(s[at : at+n]) {
				return n
			}
			return -1
		}
		n++
	}
	return -1
}

func isPrefix(p string) bool {
	switch strings.ToLower(p) {
	case "", "r", "u", "b", "f", "t", "br", "rb", "fr", "rf", "tr", "rt":
		return true
	}
	return false
}

func (l *lexer) isString() bool { return prefixLength(l.src, l.pos) >= 0 }

// str reads a string literal.
func (l *lexer) str() {
	start, line, lineStart := l.pos, l.line, l.lineStart
	if !l.skipString(0) {
		return
	}
	l.tokens = append(l.tokens, Token{String, l.src[start:l.pos], start, l.pos, line, start - lineStart + 1})
}

// skipString moves behind the string literal at the position.
func (l *lexer) skipString(depth int) bool {
	line, col := l.line, l.pos-l.lineStart+1
	n := prefixLength(l.src, l.pos)
	prefix := strings.ToLower(l.src[l.pos : l.pos+n])
	l.pos += n
	quote := l.src[l.pos : l.pos+1]
	if strings.HasPrefix(l.src[l.pos:], quote+quote+quote) {
		quote = quote + quote + quote
	}
	l.pos += len(quote)
	s := stringReader{
		lexer: l, quote: quote, depth: depth,
		raw: strings.Contains(prefix, "r"), fields: strings.ContainsAny(prefix, "ft"),
	}
	if s.text(false) {
		return true
	}
	l.fail(line, col, "unterminated string literal")
	return false
}

// stringReader reads one string literal; the fields of an f-string hold others.
type stringReader struct {
	*lexer
	quote       string
	depth       int
	raw, fields bool
}

// text moves to the end of the literal or, in a format specification, to the
// brace that ends its field.
func (s *stringReader) text(spec bool) bool {
	for s.pos < len(s.src) && s.err == nil {
		c := s.src[s.pos]
		switch {
		case strings.HasPrefix(s.src[s.pos:], s.quote):
			if spec {
				return false
			}
			s.pos += len(s.quote)
			return true
		case s.eol(s.pos) > 0:
			if len(s.quote) == 1 {
				return false
			}
			s.nextLine(s.eol(s.pos))
		case c == '\\':
			s.escape()
		case c == '}' && spec:
			return true
		case c == '{' && s.fields:
			if strings.HasPrefix(s.src[s.pos:], "{{") && !spec {
				s.pos += 2
			} else if !s.field() {
				return false
			}
		default:
			s.pos++
		}
	}
	return false
}

// escape moves behind a backslash and what it quotes.
func (s *stringReader) escape() {
	s.pos++
	switch {
	case s.pos >= len(s.src):
	case s.eol(s.pos) > 0:
		s.nextLine(s.eol(s.pos))
	case s.fields && !s.raw && strings.HasPrefix(s.src[s.pos:], "N{"):
		s.pos += 2
	case s.fields && (s.src[s.pos] == '{' || s.src[s.pos] == '}'):
	default:
		s.pos++
	}
}

// field moves behind a replacement field, {expression!r:specification}.
func (s *stringReader) field() bool {
	s.pos++
	open := []byte{'}'}
	for s.pos < len(s.src) && s.err == nil {
		c := s.src[s.pos]
		switch {
		case s.isString():
			// Before 3.12 the quote of the literal itself could only end it: valid
			// files of that time never have it here.
			if s.depth >= maxStrings || !s.skipString(s.depth+1) {
				return false
			}
		case isNameStart(c):
			for s.pos < len(s.src) && isNamePart(s.src[s.pos]) {
				s.pos++
			}
		case c == '(' || c == '[' || c == '{':
			if len(open) > maxBrackets {
				return false
			}
			open = append(open, closes(string(c))[0])
			s.pos++
		case c == ')' || c == ']' || c == '}':
			if c != open[len(open)-1] {
				return false
			}
			s.pos++
			if open = open[:len(open)-1]; len(open) == 0 {
				return true
			}
		case c == ':' && len(open) == 1:
			return s.spec()
		case c == '#':
			s.skipComment()
		case s.eol(s.pos) > 0:
			s.nextLine(s.eol(s.pos))
		default:
			s.pos++
		}
	}
	return false
}

func (s *stringReader) skipComment() {
	for s.pos < len(s.src) && s.eol(s.pos) == 0 {
		s.pos++
	}
}

// spec moves behind a format specification and its field.
func (s *stringReader) spec() bool {
	s.pos++
	if s.depth >= maxStrings {
		return false
	}
	inner := *s
	inner.depth++
	if !inner.text(true) {
		return false
	}
	s.pos++
	return true
}

// SplitString takes a string literal apart: the prefix in lower case, the quote
// (one or three characters) and what stands between, not decoded.
func SplitString(literal string) (prefix, quote, body string) {
	n := prefixLength(literal, 0)
	if n < 0 {
		return "", "", literal
	}
	prefix, rest := strings.ToLower(literal[:n]), literal[n:]
	quote = rest[:1]
	if len(rest) >= 6 && strings.HasPrefix(rest, quote+quote+quote) {
		quote += quote + quote
	}
	if len(rest) < 2*len(quote) {
		return prefix, quote, ""
	}
	return prefix, quote, rest[len(quote) : len(rest)-len(quote)]
}

func quoteByte(c byte) string { return strconv.QuoteRune(rune(c)) }
