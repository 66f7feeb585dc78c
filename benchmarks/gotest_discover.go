package benchmarks

import (
	"context"
	"fmt"
	"go/ast"
	"go/doc"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ratchet/internal/model"
)

// testKind is a kind of top-level test function; Go runs them in this order.
type testKind int

const (
	kindTest testKind = iota
	kindFuzz
	kindExample
)

var testPrefix = [...]string{kindTest: "Test", kindFuzz: "Fuzz", kindExample: "Example"}

// kindOf returns the kind that a problem's name tells.
func kindOf(name string) testKind {
	switch {
	case strings.HasPrefix(name, testPrefix[kindFuzz]):
		return kindFuzz
	case strings.HasPrefix(name, testPrefix[kindExample]):
		return kindExample
	}
	return kindTest
}

// Discover lists the tests, the examples with an output and the fuzz tests
// (whose seeds are run) of the packages that the suite selects. Equal names in a
// package and its external tests are one problem, which passes when all pass.
func (s *goSuite) Discover(_ context.Context, t Target) ([]model.Problem, error) {
	trusted := t.Trusted
	pkgs, err := s.packages(trusted)
	if err != nil {
		return nil, err
	}
	var out []model.Problem
	for _, p := range pkgs {
		if !s.selected(p.dir) {
			continue
		}
		for name := range p.tests() {
			out = append(out, s.problem(p.dir, name))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("suite %q: %w: no test, example with output or fuzz test for linux/amd64 in %s of folder %q",
			s.cfg.Name, ErrNoProblems, strings.Join(s.cfg.Packages, " "), s.cfg.Root)
	}
	slices.SortFunc(out, func(a, b model.Problem) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

func (s *goSuite) problem(dir, name string) model.Problem {
	id := s.cfg.Name + "/" + dir + "/" + name
	if dir == "." {
		id = s.cfg.Name + "/" + name
	}
	return model.Problem{ID: id, Suite: s.cfg.Name, Package: dir, Name: name, Split: model.SplitSearch}
}

// tests counts the functions that the go command would run, by name.
func (p goPackage) tests() map[string]int {
	count := map[string]int{}
	for _, f := range p.files {
		if !f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && isTestFunc(fn) {
				count[fn.Name.Name]++
			}
		}
		for _, e := range doc.Examples(f.ast) {
			if e.Output != "" || e.EmptyOutput {
				count["Example"+e.Name]++
			}
		}
	}
	return count
}

// hasTestMain reports whether the trusted tests set up the process themselves.
func (p goPackage) hasTestMain() bool {
	for _, f := range p.files {
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if f.test && ok && fn.Recv == nil && fn.Name.Name == "TestMain" && takes(fn, "M") {
				return true
			}
		}
	}
	return false
}

// isTestFunc follows the go command's rule for TestXxx(*testing.T) and
// FuzzXxx(*testing.F); examples are left to go/doc.
func isTestFunc(fn *ast.FuncDecl) bool {
	if fn.Recv != nil || fn.Type.TypeParams != nil {
		return false
	}
	name := fn.Name.Name
	return hasPrefix(name, "Test") && takes(fn, "T") || hasPrefix(name, "Fuzz") && takes(fn, "F")
}

// hasPrefix reports whether what follows the prefix does not start in lower case.
func hasPrefix(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return false
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !unicode.IsLower(r)
}

// takes reports whether fn has no result and one parameter *testing.<arg>, by
// whatever name testing is imported.
func takes(fn *ast.FuncDecl, arg string) bool {
	params := fn.Type.Params
	if fn.Type.Results != nil && len(fn.Type.Results.List) > 0 || params == nil || len(params.List) != 1 || len(params.List[0].Names) > 1 {
		return false
	}
	star, ok := params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	switch x := star.X.(type) {
	case *ast.Ident:
		return x.Name == arg
	case *ast.SelectorExpr:
		return x.Sel.Name == arg
	}
	return false
}
