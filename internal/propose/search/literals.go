package search

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
)

// pool gathers the literals of a package and of its failing tests.
func (q *query) pool(u *unit) *pool {
	if p, ok := q.pools[u]; ok {
		return p
	}
	p := newPool()
	q.pools[u] = p
	for _, s := range u.files {
		p.addPackage(s.syntax)
	}
	failing := map[string]bool{}
	for _, w := range q.brief.Weakest {
		if path.Clean(w.Package) == u.dir {
			failing[w.Name] = true
		}
	}
	for _, f := range q.loader.byDir[u.dir] {
		if !isTestFile(f.Path) || len(failing) == 0 {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Data, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, d := range syntax.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok && failing[fd.Name.Name] && fd.Body != nil {
				p.addTest(fd.Body)
			}
		}
	}
	return p
}
