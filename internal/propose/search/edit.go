package search

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"sort"
	"strconv"
	"strings"
)

// change replaces the bytes [start, end) of a file.
type change struct {
	start, end int
	text       string
}

// apply makes the changes, which must not overlap, and reports false when they do.
func apply(data []byte, changes []change) ([]byte, bool) {
	sorted := append([]change(nil), changes...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].start < sorted[j].start })
	var out []byte
	at := 0
	for _, c := range sorted {
		if c.start < at || c.end < c.start || c.end > len(data) {
			return nil, false
		}
		out = append(append(out, data[at:c.start]...), c.text...)
		at = c.end
	}
	return append(out, data[at:]...), true
}

// rewrite applies the changes to a file, adds imports, and formats the result
// when the file was formatted before, so that nothing else moves. It reports
// false when the result does not parse.
func (s *source) rewrite(changes []change, imports []string) ([]byte, bool) {
	all := append([]change(nil), changes...)
	for _, p := range imports {
		if c, needed := s.importChange(p); needed {
			all = append(all, c)
		}
	}
	out, ok := apply(s.data, all)
	if !ok {
		return nil, false
	}
	if s.clean {
		formatted, err := format.Source(out)
		return formatted, err == nil
	}
	_, err := parser.ParseFile(token.NewFileSet(), s.path, out, parser.SkipObjectResolution)
	return out, err == nil
}

// importChange adds an import, where it is not there yet.
func (s *source) importChange(p string) (change, bool) {
	quoted := strconv.Quote(p)
	var last *ast.ImportSpec
	for _, spec := range s.syntax.Imports {
		if spec.Path.Value == quoted && spec.Name == nil {
			return change{}, false
		}
		last = spec
	}
	if last == nil {
		at := s.tok.Offset(s.syntax.Name.End())
		return change{at, at, "\n\nimport " + quoted}, true
	}
	for _, d := range s.syntax.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		if g.Lparen.IsValid() {
			at := s.importSlot(g, quoted)
			return change{at, at, "\n\t" + quoted}, true
		}
		return s.groupImports(g, quoted), true
	}
	return change{}, false
}

// groupImports makes a group of a single import and another one.
func (s *source) groupImports(g *ast.GenDecl, quoted string) change {
	spec := g.Specs[0].(*ast.ImportSpec)
	start, end := s.tok.Offset(g.Pos()), s.tok.Offset(g.End())
	first, second := quoted, string(s.data[s.tok.Offset(spec.Pos()):end])
	if spec.Path.Value < quoted {
		first, second = second, first
	}
	return change{start, end, "import (\n\t" + first + "\n\t" + second + "\n)"}
}

// importSlot is where in a group an import belongs by the alphabet.
func (s *source) importSlot(g *ast.GenDecl, quoted string) int {
	at := s.tok.Offset(g.Lparen) + 1
	for _, spec := range g.Specs {
		if spec.(*ast.ImportSpec).Path.Value > quoted {
			break
		}
		at = s.tok.Offset(spec.End())
	}
	return at
}

// Positions and text of nodes.

func (r *region) offset(p token.Pos) int { return r.src.tok.Offset(p) }

func (r *region) text(n ast.Node) string {
	return string(r.src.data[r.offset(n.Pos()):r.offset(n.End())])
}

func (r *region) replace(n ast.Node, text string) change {
	return change{r.offset(n.Pos()), r.offset(n.End()), text}
}

func (r *region) replaceToken(at token.Pos, old token.Token, text string) change {
	o := r.offset(at)
	return change{o, o + len(old.String()), text}
}

// indent is the white space at the start of the line that holds the offset.
func (r *region) indent(at int) string {
	start := at
	for start > 0 && r.src.data[start-1] != '\n' {
		start--
	}
	end := start
	for end < at && (r.src.data[end] == ' ' || r.src.data[end] == '\t') {
		end++
	}
	return string(r.src.data[start:end])
}

// before inserts text as a statement before one.
func (r *region) before(s ast.Stmt, text string) change {
	at := r.offset(s.Pos())
	in := r.indent(at)
	return change{at, at, reindent(text, in) + "\n" + in}
}

// after inserts text as a statement after one.
func (r *region) after(s ast.Stmt, text string) change {
	at := r.offset(s.End())
	in := r.indent(r.offset(s.Pos()))
	return change{at, at, "\n" + in + reindent(text, in)}
}

// opening inserts text as the first statement of a block.
func (r *region) opening(b *ast.BlockStmt, text string) change {
	at := r.offset(b.Lbrace) + 1
	in := r.indent(at-1) + "\t"
	return change{at, at, "\n" + in + reindent(text, in)}
}

func reindent(text, indent string) string {
	return strings.ReplaceAll(text, "\n", "\n"+indent)
}

// remove takes a statement out, with its line when it stands alone there.
func (r *region) remove(s ast.Stmt) change {
	start, end := r.offset(s.Pos()), r.offset(s.End())
	data := r.src.data
	a, b := start, end
	for a > 0 && (data[a-1] == ' ' || data[a-1] == '\t') {
		a--
	}
	for b < len(data) && (data[b] == ' ' || data[b] == '\t' || data[b] == '\r' || data[b] == ';') {
		b++
	}
	if b+1 < len(data) && data[b] == '/' && data[b+1] == '/' {
		for b < len(data) && data[b] != '\n' {
			b++
		}
	}
	if a > 0 && data[a-1] == '\n' && b < len(data) && data[b] == '\n' {
		return change{a, b + 1, ""}
	}
	return change{start, end, ""}
}
