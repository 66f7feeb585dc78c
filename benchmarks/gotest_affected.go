package benchmarks

import (
	"path"
	"strings"

	"ratchet/internal/model"
)

// Affected implements Suite. A package's tests can depend on a changed file when
// the file lies in the package, or when the package or its tests import, directly
// or through others, the package that it lies in. A file that is no Go source may
// be read from anywhere, so then all problems are affected; so they are when an
// import graph cannot be made.
func (s *goSuite) Affected(tree model.Tree, paths []string, problems []model.Problem) []model.Problem {
	dirs, ok := s.dependents(tree, paths)
	if !ok {
		return problems
	}
	var out []model.Problem
	for _, p := range problems {
		if dirs[p.Package] {
			out = append(out, p)
		}
	}
	return out
}

// dependents returns the folders of the packages whose tests can depend on the
// files at paths; ok is false when that cannot be told.
func (s *goSuite) dependents(tree model.Tree, paths []string) (dirs map[string]bool, ok bool) {
	pkgs, err := s.packages(tree)
	if err != nil {
		return nil, false
	}
	g := newImportGraph(pkgs)
	dirs = map[string]bool{}
	for _, p := range paths {
		dir := path.Dir(p)
		if !strings.HasSuffix(p, ".go") || g.path[dir] == "" {
			return nil, false
		}
		g.reach(g.path[dir], dirs)
	}
	return dirs, true
}

// importGraph knows who imports whom in the modules of one tree.
type importGraph struct {
	path    map[string]string   // folder to import path
	dir     map[string]string   // the other way round
	code    map[string][]string // import path to those whose code imports it
	tests   map[string][]string // import path to those whose tests import it
	visited map[string]bool
}

func newImportGraph(pkgs []goPackage) *importGraph {
	g := &importGraph{
		path: map[string]string{}, dir: map[string]string{},
		code: map[string][]string{}, tests: map[string][]string{}, visited: map[string]bool{},
	}
	for _, p := range pkgs {
		g.path[p.dir], g.dir[p.importPath] = p.importPath, p.dir
		for _, f := range p.files {
			by := g.code
			if f.test {
				by = g.tests
			}
			for _, imported := range f.imports() {
				by[imported] = append(by[imported], p.importPath)
			}
		}
	}
	return g
}

// reach marks the folders whose tests can run the code of a package: its own,
// those whose tests import it, and the same of everything whose code imports it.
func (g *importGraph) reach(importPath string, dirs map[string]bool) {
	if g.visited[importPath] {
		return
	}
	g.visited[importPath] = true
	dirs[g.dir[importPath]] = true
	for _, by := range g.tests[importPath] {
		dirs[g.dir[by]] = true
	}
	for _, by := range g.code[importPath] {
		g.reach(by, dirs)
	}
}
