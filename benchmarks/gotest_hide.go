package benchmarks

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"ratchet/internal/model"
)

// Hide removes the functions of the given problems with their comments, and the
// imports that only they used. Everything else stays as it is, byte for byte; a
// file in which nothing is declared any more is dropped. Helpers that only hidden
// tests called may stay: they compile without being used.
func (s *goSuite) Hide(trusted model.Tree, problems []model.Problem) (model.Tree, error) {
	hidden := map[string]map[string]bool{}
	for _, p := range problems {
		if hidden[p.Package] == nil {
			hidden[p.Package] = map[string]bool{}
		}
		hidden[p.Package][p.Name] = true
	}
	pkgs, err := s.packages(trusted)
	if err != nil {
		return model.Tree{}, err
	}
	var edits []model.Edit
	for _, p := range pkgs {
		for _, f := range p.files {
			if !f.test || len(hidden[p.dir]) == 0 {
				continue
			}
			e, changed, err := hideIn(f, trusted, hidden[p.dir], packageNames(pkgs))
			if err != nil {
				return model.Tree{}, fmt.Errorf("suite %q: hide tests: %w", s.cfg.Name, err)
			}
			if changed {
				edits = append(edits, e)
			}
		}
	}
	return trusted.With(edits...), nil
}

// span is a stretch of a file, by offset, the end excluded.
type span struct{ from, to int }

func hideIn(f goFile, t model.Tree, names map[string]bool, known map[string]string) (model.Edit, bool, error) {
	file, _ := t.Find(f.path)
	var gone []ast.Decl
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && names[fn.Name.Name] {
			gone = append(gone, d)
		}
	}
	if len(gone) == 0 {
		return model.Edit{}, false, nil
	}
	var cuts []span
	for _, d := range gone {
		cuts = append(cuts, f.spanOf(d, file.Data))
	}
	if !f.needed(gone) {
		return model.Edit{Path: f.path, Delete: true}, true, nil
	}
	for _, i := range unusedImports(file, gone, known) {
		cuts = append(cuts, f.importSpan(f.ast.Imports[i], file.Data))
	}
	data := cut(file.Data, cuts)
	if _, err := parser.ParseFile(token.NewFileSet(), f.path, data, 0); err != nil {
		return model.Edit{}, false, fmt.Errorf("%s without its hidden tests does not parse: %w", f.path, err)
	}
	return model.Edit{Path: f.path, Data: data}, true, nil
}

// needed reports whether a file still declares anything but imports. Blank and
// dot imports do not count: their effects served the tests that are gone.
func (f goFile) needed(gone []ast.Decl) bool {
	return slices.ContainsFunc(f.ast.Decls, func(d ast.Decl) bool {
		g, ok := d.(*ast.GenDecl)
		return !slices.Contains(gone, d) && !(ok && g.Tok == token.IMPORT)
	})
}

// spanOf covers a declaration, its doc comment, what follows on its last line,
// and one blank line after it.
func (f goFile) spanOf(d ast.Decl, data []byte) span {
	from := d.Pos()
	if fn, ok := d.(*ast.FuncDecl); ok && fn.Doc != nil {
		from = fn.Doc.Pos()
	}
	return span{f.offset(from), pastBlank(data, f.lineEnd(d.End(), data))}
}

// lineEnd is the offset of the line after the one that ends a node, when only
// comments follow on it.
func (f goFile) lineEnd(end token.Pos, data []byte) int {
	at := f.offset(end)
	for _, c := range f.ast.Comments {
		if o := f.offset(c.Pos()); o >= at && !strings.Contains(string(data[at:o]), "\n") {
			at = f.offset(c.End())
		}
	}
	return pastBlank(data, at)
}

// pastBlank returns the offset behind the end of the line, when only blanks come before it.
func pastBlank(data []byte, at int) int {
	for i := at; i < len(data); i++ {
		switch data[i] {
		case ' ', '\t', '\r':
		case '\n':
			return i + 1
		default:
			return at
		}
	}
	return len(data)
}

func (f goFile) offset(p token.Pos) int { return f.fset.PositionFor(p, false).Offset }

// importSpan covers an import, or its whole declaration when it stands alone.
func (f goFile) importSpan(spec *ast.ImportSpec, data []byte) span {
	for _, d := range f.ast.Decls {
		g, ok := d.(*ast.GenDecl)
		if ok && len(g.Specs) == 1 && g.Specs[0] == ast.Spec(spec) && !g.Lparen.IsValid() {
			return span{f.offset(g.Pos()), pastBlank(data, f.lineEnd(g.End(), data))}
		}
	}
	s := span{f.offset(spec.Pos()), f.lineEnd(spec.End(), data)}
	for s.from > 0 && (data[s.from-1] == ' ' || data[s.from-1] == '\t') {
		s.from--
	}
	return s
}

// cut returns data without the given stretches, which do not overlap but may touch.
func cut(data []byte, cuts []span) []byte {
	slices.SortFunc(cuts, func(a, b span) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, c := range cuts {
		if c.from > at {
			out = append(out, data[at:c.from]...)
		}
		at = max(at, c.to)
	}
	return append(out, data[at:]...)
}

// declared lists the identifiers that a file declares at its top level.
func (f goFile) declared() []string {
	var out []string
	for _, d := range f.ast.Decls {
		out = append(out, declaredNames(d)...)
	}
	return out
}

func declaredNames(d ast.Decl) []string {
	var out []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		out = append(out, d.Name.Name)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					out = append(out, n.Name)
				}
			case *ast.TypeSpec:
				out = append(out, s.Name.Name)
			}
		}
	}
	return out
}
