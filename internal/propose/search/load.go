package search

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"path"
	"strconv"
	"strings"

	"ratchet/internal/model"
)

// source is one Go file of a unit.
type source struct {
	path   string
	data   []byte
	syntax *ast.File
	tok    *token.File
	clean  bool // formatted by gofmt, so a mutant may be as well
}

// unit is one package, as it is compiled without its tests.
type unit struct {
	dir   string
	fset  *token.FileSet
	files []*source
	pkg   *types.Package
	info  *types.Info
	imp   types.Importer
	// baseline is the type errors that the package has anyway, as seen when one
	// file of it is checked.
	baseline map[*source]map[string]int
	// partial is set when an import could not be loaded, so what is selected
	// from it is unknown.
	partial bool
}

// loader reads packages out of a tree held in memory. It serves one request.
type loader struct {
	std      *stdlib
	byDir    map[string][]model.File
	module   map[string]string // directory of a go.mod to module path
	units    map[string]*unit
	imported map[string]*unit // without bodies; nil while it is loaded
}

func newLoader(tree model.Tree, std *stdlib) *loader {
	l := &loader{
		std: std, byDir: map[string][]model.File{}, module: map[string]string{},
		units: map[string]*unit{}, imported: map[string]*unit{},
	}
	for _, f := range tree.Files {
		switch {
		case path.Base(f.Path) == "go.mod":
			if m := modulePath(f.Data); m != "" {
				l.module[path.Dir(f.Path)] = m
			}
		case strings.HasSuffix(f.Path, ".go") && f.Mode != model.ModeSymlink:
			l.byDir[path.Dir(f.Path)] = append(l.byDir[path.Dir(f.Path)], f)
		}
	}
	return l
}

// isTestFile says that the go tool takes a file for a test.
func isTestFile(p string) bool { return strings.HasSuffix(p, "_test.go") }

// modulePath reads the module line of a go.mod.
func modulePath(data []byte) string {
	for _, line := range strings.Split(string(data), "\n") {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "module" {
			if p, err := strconv.Unquote(f[1]); err == nil {
				return p
			}
			return f[1]
		}
	}
	return ""
}

// unit loads the package in dir; nil when nothing there can be parsed.
func (l *loader) unit(dir string) *unit {
	u, ok := l.units[dir]
	if !ok {
		if u = l.parse(dir); u != nil {
			u.check(l.importPath(dir))
		}
		l.units[dir] = u
	}
	return u
}

// declared type-checks what the package in dir declares, without function
// bodies, for those that import it. Partial says that some of it is unknown.
func (l *loader) declared(dir string) (pkg *types.Package, partial bool) {
	if u, ok := l.imported[dir]; ok {
		if u == nil {
			return nil, true
		}
		return u.pkg, u.partial
	}
	l.imported[dir] = nil // stands for an import cycle, too
	u := l.parse(dir)
	if u == nil {
		return nil, true
	}
	conf := types.Config{Importer: u.imp, FakeImportC: true, IgnoreFuncBodies: true, Error: func(error) {}}
	u.pkg, _ = conf.Check(l.importPath(dir), u.fset, u.syntax(), nil)
	l.imported[dir] = u
	return u.pkg, u.partial
}

func (l *loader) parse(dir string) *unit {
	u := &unit{dir: dir, fset: token.NewFileSet(), baseline: map[*source]map[string]int{}}
	name := ""
	for _, f := range l.byDir[dir] {
		if isTestFile(f.Path) || !matches(f) {
			continue
		}
		syntax, err := parser.ParseFile(u.fset, f.Path, f.Data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		if name == "" {
			name = syntax.Name.Name
		}
		if syntax.Name.Name != name {
			continue
		}
		formatted, err := format.Source(f.Data)
		u.files = append(u.files, &source{
			path: f.Path, data: f.Data, syntax: syntax, tok: u.fset.File(syntax.FileStart),
			clean: err == nil && bytes.Equal(formatted, f.Data),
		})
	}
	if len(u.files) == 0 {
		return nil
	}
	u.imp = treeImporter{l, u}
	return u
}

// matches says whether the go tool would compile the file on the sandbox's system.
func matches(f model.File) bool {
	ctx := build.Default
	ctx.GOOS, ctx.CgoEnabled = "linux", false
	ctx.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.Data)), nil }
	ok, err := ctx.MatchFile(path.Dir(f.Path), path.Base(f.Path))
	return err != nil || ok
}

// check type-checks the unit as far as it goes.
func (u *unit) check(importPath string) {
	u.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, Implicits: map[ast.Node]types.Object{},
	}
	conf := types.Config{Importer: u.imp, FakeImportC: true, Error: func(error) {}}
	// The checker reports what is wrong through Error and goes on.
	u.pkg, _ = conf.Check(importPath, u.fset, u.syntax(), u.info)
}

func (u *unit) syntax() []*ast.File {
	files := make([]*ast.File, len(u.files))
	for i, f := range u.files {
		files[i] = f.syntax
	}
	return files
}

// importPath is the path by which the package in dir is imported.
func (l *loader) importPath(dir string) string {
	for at := dir; ; at = path.Dir(at) {
		if m, ok := l.module[at]; ok {
			rel := strings.TrimPrefix(strings.TrimPrefix(dir, at), "/")
			if at == "." && dir != "." {
				rel = dir
			}
			if rel == "" || rel == "." {
				return m
			}
			return m + "/" + rel
		}
		if at == "." || at == "/" {
			return dir
		}
	}
}

// dirOf is the directory of the tree that an import path names.
func (l *loader) dirOf(importPath string) (string, bool) {
	best, found := "", false
	longest := -1
	for dir, m := range l.module {
		rest, ok := strings.CutPrefix(importPath, m)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		if d := path.Join(dir, rest); len(m) > longest && len(l.byDir[d]) > 0 {
			best, found, longest = d, true, len(m)
		}
	}
	if d := path.Join("vendor", importPath); !found && len(l.byDir[d]) > 0 {
		return d, true
	}
	return best, found
}

// treeImporter resolves imports: of the tree, then of the standard library, and
// otherwise by an empty package of that name.
type treeImporter struct {
	l *loader
	u *unit
}

func (i treeImporter) Import(p string) (*types.Package, error) {
	if p == "unsafe" {
		return types.Unsafe, nil
	}
	if dir, ok := i.l.dirOf(p); ok {
		if pkg, partial := i.l.declared(dir); pkg != nil {
			i.u.partial = i.u.partial || partial
			return pkg, nil
		}
	}
	if pkg := i.l.std.load(p); pkg != nil {
		return pkg, nil
	}
	i.u.partial = true
	fake := types.NewPackage(p, guessName(p))
	fake.MarkComplete()
	return fake, nil
}

// guessName is the name that a package most likely has.
func guessName(p string) string {
	name := path.Base(p)
	if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" && path.Dir(p) != "." {
		name = path.Base(path.Dir(p))
	}
	name, _, _ = strings.Cut(name, ".")
	return strings.TrimPrefix(strings.ReplaceAll(name, "-", "_"), "go_")
}
