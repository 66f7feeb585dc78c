package pysrc

import "strings"

// Canonical prints the code without comments, blank lines, docstrings and white
// space of choice, such that files that differ in these alone print the same.
// Simple statements stand on lines of their own, indented by one tab a level;
// string and number literals are written in one way as far as that is plain to
// see; statements without effect (a string, a needless pass) are left out.
func (f *File) Canonical() string {
	var b strings.Builder
	canonical(&b, f.Body, 0)
	return b.String()
}

// Canonical prints one statement and its block, as File.Canonical does.
func (s *Stmt) Canonical() string {
	var b strings.Builder
	canonical(&b, []*Stmt{s}, 0)
	return b.String()
}

func canonical(b *strings.Builder, list []*Stmt, depth int) {
	written := 0
	for _, s := range list {
		if s.idle() {
			continue
		}
		written++
		indent(b, depth)
		line(b, s.Tokens)
		if len(s.Block) > 0 {
			b.WriteString(" :\n")
			canonical(b, s.Block, depth+1)
		} else {
			b.WriteByte('\n')
		}
	}
	if written == 0 && depth > 0 {
		indent(b, depth)
		b.WriteString("pass\n")
	}
}

func indent(b *strings.Builder, depth int) {
	for range depth {
		b.WriteByte('\t')
	}
}

// idle says that a statement does nothing: a string or pass.
func (s *Stmt) idle() bool { return s.Kind == "pass" || s.IsDocstring() }

// IsDocstring says that the statement is nothing but string literals that are
// not computed: a docstring, or a remark in the form of one.
func (s *Stmt) IsDocstring() bool {
	if s.Kind != "expr" {
		return false
	}
	for _, t := range s.Tokens {
		if t.Kind != String {
			return false
		}
		if prefix, _, _ := SplitString(t.Text); strings.ContainsAny(prefix, "ft") {
			return false
		}
	}
	return true
}

func line(b *strings.Builder, tokens []Token) {
	for i, t := range tokens {
		if t.Is(",") && i+1 < len(tokens) && trails(tokens, i) {
			continue
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(plain(t))
	}
}

// trails says that the comma at i means nothing: one before the end of a list,
// or of arguments or parameters, but never the one that makes a tuple of one.
func trails(tokens []Token, i int) bool {
	end := tokens[i+1]
	if end.Is("]") || end.Is("}") {
		return end.Is("}") || !subscripted(tokens, i)
	}
	if !end.Is(")") {
		return false
	}
	open := opening(tokens, i)
	if open > 0 && follows(tokens[open-1]) && !softKeyword(tokens[:open]) {
		return true // a call or parameters
	}
	depth := 0
	for j := open + 1; j < i; j++ {
		switch t := tokens[j]; {
		case t.Is("(") || t.Is("[") || t.Is("{"):
			depth++
		case t.Is(")") || t.Is("]") || t.Is("}"):
			depth--
		case depth == 0 && t.Is(","):
			return true
		}
	}
	return false
}

// subscripted says that the bracket around i is that of a subscript, where a
// comma makes a tuple.
func subscripted(tokens []Token, i int) bool {
	open := opening(tokens, i)
	return open > 0 && follows(tokens[open-1])
}

// opening is the index of the innermost bracket that is open at i.
func opening(tokens []Token, i int) int {
	depth := 0
	for j := i - 1; j >= 0; j-- {
		switch t := tokens[j]; {
		case t.Is(")") || t.Is("]") || t.Is("}"):
			depth++
		case t.Is("(") || t.Is("[") || t.Is("{"):
			if depth == 0 {
				return j
			}
			depth--
		}
	}
	return 0
}

// follows says that a bracket after the token belongs to it.
func follows(t Token) bool {
	return t.Kind == Name || t.Kind == String || t.Is(")") || t.Is("]") || t.Is("}")
}

// softKeyword says that the tokens are match or case, which are no function there.
func softKeyword(before []Token) bool {
	return len(before) == 1 && (before[0].Text == "match" || before[0].Text == "case")
}

// plain writes a literal in one of the ways that mean the same.
func plain(t Token) string {
	switch t.Kind {
	case Number:
		return strings.ReplaceAll(strings.ToLower(t.Text), "_", "")
	case String:
		return plainString(t.Text)
	}
	return t.Text
}

// plainString writes strings without escapes and fields with the same quotes and line ends.
func plainString(literal string) string {
	prefix, quote, body := SplitString(literal)
	if strings.ContainsAny(prefix, "ft") {
		return literal
	}
	body = strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\r", "\n")
	kind := ""
	if strings.Contains(prefix, "b") {
		kind = "b"
	}
	if !strings.Contains(body, `\`) && !strings.ContainsAny(body, "\n\"") {
		return kind + `"` + body + `"`
	}
	return strings.ReplaceAll(prefix, "u", "") + quote + body + quote
}
