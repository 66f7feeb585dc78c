package diagnose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"sort"
	"strconv"
	"strings"

	"ratchet/internal/model"
)

// source reads the files of a tree, each at most once: functions of Go and
// Python, and of other languages the names of files. Files that do not parse are
// treated as empty. It is not safe for concurrent use.
type source struct {
	tree    model.Tree
	harness func(string) bool
	parsed  map[string]*file
	byBase  map[string][]string // non-harness source files by base name
	byDir   map[string][]string // all Go files by directory
	modules []module
	python  pythonFiles
}

// module is a go.mod: its directory and its path.
type module struct{ dir, path string }

// file is a parsed Go file with its functions.
type file struct {
	syntax *ast.File
	funcs  []function
}

// function is a function with a body and where the body is.
type function struct {
	name      string        // without receiver
	decl      *ast.FuncDecl // nil in other languages
	file      string
	start     token.Position // of the body's opening brace
	end       token.Position // past its closing brace
	declStart int            // line of the declaration
}

func newSource(t model.Tree, harness func(string) bool) *source {
	s := &source{
		tree: t, harness: harness, parsed: map[string]*file{},
		byBase: map[string][]string{}, byDir: map[string][]string{}, python: newPythonFiles(),
	}
	for _, f := range t.Files {
		switch {
		case path.Base(f.Path) == "go.mod":
			if p := modulePath(f.Data); p != "" {
				s.modules = append(s.modules, module{path.Dir(f.Path), p})
			}
		case isSourceFile(f.Path):
			if !harness(f.Path) {
				s.byBase[path.Base(f.Path)] = append(s.byBase[path.Base(f.Path)], f.Path)
			}
		}
		switch {
		case strings.HasSuffix(f.Path, ".go"):
			s.byDir[path.Dir(f.Path)] = append(s.byDir[path.Dir(f.Path)], f.Path)
		case isPython(f.Path):
			s.python.all = append(s.python.all, f.Path)
		}
	}
	// The innermost module decides on an import.
	sort.SliceStable(s.modules, func(i, j int) bool { return len(s.modules[i].path) > len(s.modules[j].path) })
	return s
}

// modulePath reads the module line of a go.mod; the little that is needed here
// does not justify failing on a file that the go tool would refuse.
func modulePath(data []byte) string {
	for _, line := range strings.Split(string(data), "\n") {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == "module" {
			if p, err := strconv.Unquote(fields[1]); err == nil {
				return p
			}
			return fields[1]
		}
	}
	return ""
}

func (s *source) file(name string) *file {
	if f, ok := s.parsed[name]; ok {
		return f
	}
	out := &file{}
	s.parsed[name] = out
	f, ok := s.tree.Find(name)
	if !ok {
		return out
	}
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, name, f.Data, parser.SkipObjectResolution)
	if err != nil || syntax == nil {
		return out
	}
	out.syntax = syntax
	for _, decl := range syntax.Decls {
		fd, ok := decl.(*ast.FuncDecl)
		if !ok || fd.Body == nil {
			continue
		}
		// PositionFor without line directives: the tree's own lines are meant.
		out.funcs = append(out.funcs, function{
			name: fd.Name.Name, decl: fd, file: name, declStart: set.PositionFor(fd.Pos(), false).Line,
			start: set.PositionFor(fd.Body.Pos(), false), end: set.PositionFor(fd.Body.End(), false),
		})
	}
	return out
}

// enclosing finds the function of a non-harness file that holds the line.
func (s *source) enclosing(name string, line int) (function, bool) {
	if isPython(name) {
		return s.enclosingPython(name, line)
	}
	for _, f := range s.file(name).funcs {
		if f.declStart <= line && line <= f.end.Line {
			return f, true
		}
	}
	return function{}, false
}

// functions lists the functions of the package in dir, harness files left out.
func (s *source) functions(dir string) []function {
	var out []function
	for _, name := range s.byDir[dir] {
		if !s.harness(name) {
			out = append(out, s.file(name).funcs...)
		}
	}
	return out
}

// testFunc finds a test by its package's directory and its name.
func (s *source) testFunc(dir, name string) (function, *ast.File, bool) {
	for _, n := range s.byDir[dir] {
		if !s.harness(n) {
			continue
		}
		f := s.file(n)
		for _, fn := range f.funcs {
			if fn.name == name && fn.decl.Recv == nil {
				return fn, f.syntax, true
			}
		}
	}
	return function{}, nil, false
}

// importDirs maps the names by which a file imports packages of the tree to
// their directories.
func (s *source) importDirs(f *ast.File) map[string]string {
	out := map[string]string{}
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		dir, ok := s.dirOf(p)
		if !ok {
			continue
		}
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		out[name] = dir
	}
	return out
}

// dirOf resolves an import path within the tree's modules.
func (s *source) dirOf(importPath string) (string, bool) {
	for _, m := range s.modules {
		if importPath == m.path {
			return m.dir, true
		}
		if rest, ok := strings.CutPrefix(importPath, m.path+"/"); ok {
			dir := path.Join(m.dir, rest)
			if len(s.byDir[dir]) > 0 {
				return dir, true
			}
		}
	}
	return "", false
}

// resolve finds the one file of the tree that a path in a stack trace or a
// report means: the whole path, else the longest suffix of it that exists.
func (s *source) resolve(p string) (string, bool) {
	p = path.Clean(strings.ReplaceAll(p, `\`, "/"))
	candidates := s.byBase[path.Base(p)]
	best, bestLen := "", 0
	tied := false
	for _, c := range candidates {
		n := commonSuffix(p, c)
		if n > bestLen {
			best, bestLen, tied = c, n, false
		} else if n == bestLen {
			tied = true
		}
	}
	return best, best != "" && !tied
}

// commonSuffix counts the path elements that a and b share at their ends.
func commonSuffix(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < len(x) && n < len(y) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
}

// calledBy lists the functions of the tree that a problem's test names, none when
// its source is not found.
func (s *source) calledBy(p model.Problem) []function {
	if fn, syntax, ok := s.testFunc(p.Package, p.Name); ok {
		return s.called(fn, syntax, p.Package)
	}
	return s.calledByPython(p)
}

// called lists the functions of the tree that a function names, directly, in
// the order of their places: those of its own package, and those of packages
// it imports.
func (s *source) called(fn function, syntax *ast.File, dir string) []function {
	own, qualified := names(fn.decl.Body)
	var out []function
	for _, f := range s.functions(dir) {
		if own[f.name] {
			out = append(out, f)
		}
	}
	imports := s.importDirs(syntax)
	pkgs := make([]string, 0, len(imports))
	for name := range imports {
		pkgs = append(pkgs, name)
	}
	sort.Strings(pkgs)
	for _, name := range pkgs {
		for _, f := range s.functions(imports[name]) {
			// A method is called on a value, so its package's name need not stand before it.
			if qualified[name+"."+f.name] || f.decl.Recv != nil && own[f.name] {
				out = append(out, f)
			}
		}
	}
	return out
}

// names collects identifiers, and selections from identifiers as "x.y".
func names(n ast.Node) (own, qualified map[string]bool) {
	own, qualified = map[string]bool{}, map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			own[n.Name] = true
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				qualified[x.Name+"."+n.Sel.Name] = true
			}
		}
		return true
	})
	return own, qualified
}
