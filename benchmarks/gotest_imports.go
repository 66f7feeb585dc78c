package benchmarks

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"ratchet/internal/model"
)

// packageNames maps the import paths of a tree's own packages to their names.
func packageNames(pkgs []goPackage) map[string]string {
	out := make(map[string]string, len(pkgs))
	for _, p := range pkgs {
		out[p.importPath] = p.base()
	}
	return out
}

// unusedImports returns the indexes of the imports that only the declarations in
// gone use. The name of a package outside the tree is guessed from its path; an
// import that may still be used under a name nobody can guess is left alone.
func unusedImports(file model.File, gone []ast.Decl, known map[string]string) []int {
	removed := map[int]bool{}
	for _, d := range gone {
		removed[int(d.Pos())] = true
	}
	// Only with object resolution does the parser tell package names from local variables.
	f, err := parser.ParseFile(token.NewFileSet(), file.Path, file.Data, parser.ParseComments)
	if err != nil {
		return nil
	}
	before, after := usedPackages(f, removed)
	var names [][]string
	explained := map[string]bool{}
	for _, spec := range f.Imports {
		n := importNames(spec, known)
		names = append(names, n)
		for _, name := range n {
			explained[name] = true
		}
	}
	strangers := func(used map[string]bool) bool {
		for n := range used {
			if !explained[n] {
				return true
			}
		}
		return false
	}
	var out []int
	for i, spec := range f.Imports {
		in := func(used map[string]bool) bool {
			return slices.ContainsFunc(names[i], func(n string) bool { return used[n] })
		}
		switch {
		case spec.Name != nil && (spec.Name.Name == "_" || spec.Name.Name == "."), in(after):
		case in(before), strangers(before) && !strangers(after):
			out = append(out, i)
		}
	}
	return out
}

// usedPackages returns the names before a dot that no declaration of the file
// explains, in the declarations that go and in those that stay. Both parses of a
// file are alone in their file sets, so that positions agree.
func usedPackages(f *ast.File, removed map[int]bool) (before, after map[string]bool) {
	unresolved := map[*ast.Ident]bool{}
	for _, id := range f.Unresolved {
		unresolved[id] = true
	}
	before, after = map[string]bool{}, map[string]bool{}
	for _, d := range f.Decls {
		used := after
		if removed[int(d.Pos())] {
			used = before
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if id, ok := sel.X.(*ast.Ident); ok && unresolved[id] {
					used[id.Name] = true
				}
			}
			return true
		})
	}
	return before, after
}

// importNames are the names under which an import may be known in its file: the
// given one, that of a package of the tree, or guesses from the path: without a
// major version, without affixes such as "go-" and ".go", and without what a name cannot hold.
func importNames(spec *ast.ImportSpec, known map[string]string) []string {
	if spec.Name != nil {
		return []string{spec.Name.Name}
	}
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return nil
	}
	if name, ok := known[p]; ok {
		return []string{name}
	}
	base := binaryName(p)
	if i := strings.LastIndex(base, ".v"); i > 0 && strings.Trim(base[i+2:], "0123456789") == "" {
		base = base[:i] // gopkg.in/yaml.v3
	}
	bare := strings.TrimPrefix(base, "go-")
	for _, affix := range []string{"-go", ".go", "-golang"} {
		bare = strings.TrimSuffix(bare, affix)
	}
	out := []string{path.Base(p), base, bare}
	for _, n := range []string{base, bare} {
		out = append(out, strings.ReplaceAll(n, "-", ""), strings.ReplaceAll(n, "-", "_"), strings.ReplaceAll(n, ".", ""))
		parts := strings.FieldsFunc(n, func(r rune) bool { return r == '-' || r == '.' })
		if len(parts) > 1 {
			out = append(out, parts[0], parts[len(parts)-1])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
