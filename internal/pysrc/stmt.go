package pysrc

import "strings"

// builder makes the tree of statements of the tokens.
type builder struct {
	tokens []Token
	src    string
	at     int
}

// errorAt places an error at a token.
func errorAt(t Token, reason string) error { return &Error{t.Line, t.Col, reason} }

// next is the token at hand, past comments and blank lines.
func (b *builder) next() Token {
	for b.tokens[b.at].Kind == Comment || b.tokens[b.at].Kind == Blank {
		b.at++
	}
	return b.tokens[b.at]
}

// body reads statements up to the end of their block.
func (b *builder) body(parent *Stmt) ([]*Stmt, error) {
	var out []*Stmt
	for {
		switch t := b.next(); t.Kind {
		case End, Dedent:
			return out, nil
		case Indent:
			return nil, errorAt(t, "unexpected indent")
		default:
			line, err := b.line(parent)
			if err != nil {
				return nil, err
			}
			out = append(out, line...)
		}
	}
}

// line reads a logical line, and the block that it opens.
func (b *builder) line(parent *Stmt) ([]*Stmt, error) {
	tokens := b.logical()
	if kind, async := compound(tokens, parent); kind != "" {
		s := &Stmt{Kind: kind, Async: async, Parent: parent}
		return []*Stmt{s}, b.compound(s, tokens)
	}
	return b.simple(tokens, parent, false)
}

// logical is the tokens of a logical line, without its end and comments.
func (b *builder) logical() []Token {
	start, plain := b.at, true
	for b.tokens[b.at].Kind != Newline {
		plain = plain && b.tokens[b.at].Kind != Comment && b.tokens[b.at].Kind != Blank
		b.at++
	}
	line := b.tokens[start:b.at:b.at]
	b.at++
	if plain {
		return line
	}
	out := make([]Token, 0, len(line))
	for _, t := range line {
		if t.Kind != Comment && t.Kind != Blank {
			out = append(out, t)
		}
	}
	return out
}

// compound is the kind of statement with a block that a line begins, or "".
func compound(tokens []Token, parent *Stmt) (kind string, async bool) {
	first := tokens[0]
	if first.Is("async") && len(tokens) > 1 {
		async, first = true, tokens[1]
	}
	switch first.Text {
	case "if", "elif", "else", "for", "while", "try", "except", "finally", "with", "def", "class":
		if first.Kind == Keyword {
			return first.Text, async
		}
	case "match":
		if first.Kind == Name && len(tokens) > 2 && tokens[len(tokens)-1].Is(":") && !tokens[1].Is(":") {
			return "match", false
		}
	case "case":
		if first.Kind == Name && parent != nil && parent.Kind == "match" {
			return "case", false
		}
	}
	return "", false
}

// compound reads the block of a statement that has one.
func (b *builder) compound(s *Stmt, tokens []Token) error {
	colon := headEnd(tokens)
	if colon < 0 {
		return errorAt(tokens[len(tokens)-1], "expected ':'")
	}
	b.place(s, tokens[:colon])
	s.Head = tokens[colon].End
	s.End, s.EndLine = s.Head, tokens[colon].Line
	rest := tokens[colon+1:]
	var err error
	if len(rest) > 0 {
		if kind, _ := compound(rest, s); kind != "" && kind != "match" && kind != "case" {
			return errorAt(rest[0], "a statement with a block cannot follow ':' on its line")
		}
		s.Block, err = b.simple(rest, s, true)
	} else {
		if t := b.next(); t.Kind != Indent {
			return errorAt(t, "expected an indented block after '"+s.Kind+"' on line "+itoa(s.Line))
		}
		b.at++
		s.Block, err = b.body(s)
		if err == nil {
			b.at++ // the dedent
		}
	}
	if err != nil {
		return err
	}
	last := s.Block[len(s.Block)-1]
	s.End, s.EndLine = last.End, last.EndLine
	return nil
}

// headEnd is the index of the colon that ends the head of a compound statement.
func headEnd(tokens []Token) int {
	depth, lambdas := 0, 0
	for i, t := range tokens {
		switch {
		case t.Kind != Op && t.Kind != Keyword:
		case t.Text == "(" || t.Text == "[" || t.Text == "{":
			depth++
		case t.Text == ")" || t.Text == "]" || t.Text == "}":
			depth--
		case depth > 0:
		case t.Text == "lambda":
			lambdas++
		case t.Text == ":" && lambdas > 0:
			lambdas--
		case t.Text == ":":
			return i
		}
	}
	return -1
}

// simple reads the simple statements of a line, which semicolons separate.
func (b *builder) simple(tokens []Token, parent *Stmt, inline bool) ([]*Stmt, error) {
	var out []*Stmt
	for start := 0; start < len(tokens); {
		end := start
		for end < len(tokens) && !tokens[end].Is(";") {
			end++
		}
		if end == start {
			return nil, errorAt(tokens[start], "unexpected ';'")
		}
		s := &Stmt{Parent: parent, Inline: inline || start > 0}
		b.place(s, tokens[start:end:end])
		s.Kind = simpleKind(s.Tokens)
		out = append(out, s)
		start = end + 1
	}
	return out, nil
}

// place sets where a statement without block stands.
func (b *builder) place(s *Stmt, tokens []Token) {
	first, last := tokens[0], tokens[len(tokens)-1]
	s.Tokens = tokens
	s.Off, s.End, s.Head = first.Off, last.End, last.End
	s.Line, s.EndLine = first.Line, last.Line+strings.Count(last.Text, "\n")
	start := first.Off - first.Col + 1
	end := start
	for end < first.Off && (b.src[end] == ' ' || b.src[end] == '\t' || b.src[end] == '\f') {
		end++
	}
	s.Indent = b.src[start:end]
}

// simpleKind is the kind of a statement without block.
func simpleKind(tokens []Token) string {
	first := tokens[0]
	if first.Kind == Keyword {
		switch first.Text {
		case "return", "import", "from", "pass", "break", "continue", "raise", "global", "nonlocal", "del", "assert":
			return first.Text
		}
	}
	if first.Is("@") {
		return "decorator"
	}
	if first.Kind == Name && first.Text == "type" && len(tokens) > 3 && tokens[1].Kind == Name {
		return "type"
	}
	return assignmentKind(tokens)
}

func assignmentKind(tokens []Token) string {
	depth, lambdas := 0, 0
	for _, t := range tokens {
		if t.Kind != Op && t.Kind != Keyword {
			continue
		}
		switch t.Text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case "lambda":
			if depth == 0 {
				lambdas++
			}
		case ":":
			if depth == 0 && lambdas == 0 {
				return "annassign"
			}
			if depth == 0 {
				lambdas--
			}
		case "=":
			if depth == 0 && lambdas == 0 {
				return "assign"
			}
		default:
			if depth == 0 && IsAugmented(t.Text) {
				return "augassign"
			}
		}
	}
	return "expr"
}

// IsAugmented says that an operator is that of an augmented assignment, as += is.
func IsAugmented(op string) bool {
	switch op {
	case "+=", "-=", "*=", "/=", "//=", "%=", "**=", "@=", "&=", "|=", "^=", ">>=", "<<=":
		return true
	}
	return false
}
