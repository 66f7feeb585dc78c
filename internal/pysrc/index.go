package pysrc

import (
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// index lists the functions and classes of statements.
func (f *File) index(list []*Stmt, prefix, class string) {
	for i, s := range list {
		switch s.Kind {
		case "def":
			first := decorated(list, i)
			name := definedName(s)
			fn := Func{
				Name: name, Qualified: prefix + name, Class: class, Stmt: s, First: first,
				Params: parameterNames(s), Line: first.Line, End: s.EndLine,
			}
			f.Funcs = append(f.Funcs, fn)
			f.index(s.Block, fn.Qualified+".", "")
		case "class":
			first := decorated(list, i)
			name := definedName(s)
			f.Classes = append(f.Classes, Class{name, prefix + name, s, first, first.Line, s.EndLine})
			f.index(s.Block, prefix+name+".", prefix+name)
		default:
			f.index(s.Block, prefix, class)
		}
	}
}

// decorated is the first decorator of a definition, or itself.
func decorated(list []*Stmt, i int) *Stmt {
	for i > 0 && list[i-1].Kind == "decorator" {
		i--
	}
	return list[i]
}

// definedName is the name that a def or class defines.
func definedName(s *Stmt) string {
	for i, t := range s.Tokens {
		if (t.Is("def") || t.Is("class")) && i+1 < len(s.Tokens) {
			return s.Tokens[i+1].Text
		}
	}
	return ""
}

// parameterNames are the parameters of a def, in order; none where they cannot be parsed.
func parameterNames(s *Stmt) []string {
	var out []string
	parts, err := s.Parts()
	if err != nil {
		return nil
	}
	for _, p := range parts {
		if p.Role == RoleParameter && p.Expr.Name != "" {
			out = append(out, p.Expr.Name)
		}
	}
	return out
}

// Enclosing finds the innermost function that holds a line.
func (f *File) Enclosing(line int) (Func, bool) {
	best, found := Func{}, false
	for _, fn := range f.Funcs {
		if fn.Line > line {
			break
		}
		if line <= fn.End {
			best, found = fn, true
		}
	}
	return best, found
}

// EnclosingStmt finds the innermost statement that holds a line, nil for none.
func (f *File) EnclosingStmt(line int) *Stmt {
	var best *Stmt
	list := f.Body
	for list != nil {
		var in *Stmt
		for _, s := range list {
			if s.Line <= line && line <= s.EndLine {
				in = s
				break
			}
		}
		if in == nil {
			break
		}
		best, list = in, in.Block
	}
	return best
}

// Imports lists what the file imports, anywhere in it. Import statements that
// cannot be understood are left out.
func (f *File) Imports() []Import {
	var out []Import
	f.Walk(func(s *Stmt) {
		switch s.Kind {
		case "import":
			out = append(out, modules(s)...)
		case "from":
			out = append(out, members(s)...)
		}
	})
	return out
}

// modules reads `import a.b as c, d`.
func modules(s *Stmt) []Import {
	var out []Import
	for _, part := range splitAt(s.Tokens[1:], ",") {
		name, as := aliased(part)
		if name == "" {
			continue
		}
		if as == "" {
			as, _, _ = strings.Cut(name, ".")
		}
		out = append(out, Import{Module: name, As: as, Stmt: s})
	}
	return out
}

// members reads `from ..a import b as c, d`.
func members(s *Stmt) []Import {
	at := 1
	level := 0
	for ; at < len(s.Tokens) && (s.Tokens[at].Is(".") || s.Tokens[at].Is("...")); at++ {
		level += len(s.Tokens[at].Text)
	}
	start := at
	for at < len(s.Tokens) && !s.Tokens[at].Is("import") {
		at++
	}
	if at == len(s.Tokens) {
		return nil
	}
	module := dotted(s.Tokens[start:at])
	names := s.Tokens[at+1:]
	if n := len(names); n > 1 && names[0].Is("(") && names[n-1].Is(")") {
		names = names[1 : n-1]
	}
	var out []Import
	for _, part := range splitAt(names, ",") {
		name, as := aliased(part)
		if name == "" {
			continue
		}
		if as == "" {
			as = name
		}
		out = append(out, Import{Module: module, Name: name, As: as, Level: level, Stmt: s})
	}
	return out
}

func aliased(tokens []Token) (name, as string) {
	for i, t := range tokens {
		if t.Is("as") && i+1 < len(tokens) {
			return dotted(tokens[:i]), tokens[i+1].Text
		}
	}
	return dotted(tokens), ""
}

func dotted(tokens []Token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.Text)
	}
	return b.String()
}

// splitAt splits tokens at a separator.
func splitAt(tokens []Token, separator string) [][]Token {
	var out [][]Token
	start := 0
	for i, t := range tokens {
		if t.Is(separator) {
			out = append(out, tokens[start:i])
			start = i + 1
		}
	}
	return append(out, tokens[start:])
}
