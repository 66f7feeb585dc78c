package benchmarks

import (
	"path"
	"slices"
	"strings"

	"ratchet/internal/model"
	"ratchet/internal/pysrc"
)

// Affected implements Suite. A test can depend on a changed file when its own
// file, or a conftest.py above it, imports it, directly or through others. Where
// what is imported cannot be told from the source (imports by name, programs that
// are started, files that cannot be parsed) the test is affected; a changed file
// that is not ordinary Python source affects all.
func (s *pySuite) Affected(tree model.Tree, paths []string, problems []model.Problem) []model.Problem {
	for _, p := range paths {
		if path.Ext(p) != ".py" || s.Harness(p) {
			return problems
		}
		if _, ok := tree.Find(p); !ok { // a new file may stand before an old one
			return problems
		}
	}
	g := newPyImports(tree)
	affected := map[string]bool{}
	var out []model.Problem
	for _, p := range problems {
		file := path.Join(p.Package, nodeFile(p.Name))
		hit, known := affected[file]
		if !known {
			hit = g.reaches(file, paths)
			affected[file] = hit
		}
		if hit {
			out = append(out, p)
		}
	}
	return out
}

// pyImports knows which files of a tree each file may import.
type pyImports struct {
	tree  model.Tree
	bySuf map[string][]string // dotted name, whole or its end, to files
	edges map[string][]string
	vague map[string]bool // files that import what cannot be told
}

func newPyImports(t model.Tree) *pyImports {
	g := &pyImports{tree: t, bySuf: map[string][]string{}, edges: map[string][]string{}, vague: map[string]bool{}}
	for _, f := range t.Files {
		if path.Ext(f.Path) != ".py" {
			continue
		}
		parts := strings.Split(strings.TrimSuffix(strings.TrimSuffix(f.Path, ".py"), "/__init__"), "/")
		for i := range parts {
			name := strings.Join(parts[i:], ".")
			g.bySuf[name] = append(g.bySuf[name], f.Path)
		}
	}
	return g
}

// reaches reports whether a test file can run any of the given files.
func (g *pyImports) reaches(file string, targets []string) bool {
	queue := []string{file}
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		for _, base := range []string{"conftest.py", "__init__.py"} {
			if _, ok := g.tree.Find(path.Join(dir, base)); ok {
				queue = append(queue, path.Join(dir, base))
			}
		}
		if dir == "." {
			break
		}
	}
	seen := map[string]bool{}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		next, ok := g.imports(at)
		if !ok || slices.Contains(targets, at) {
			return true
		}
		queue = append(queue, next...)
	}
	return false
}

// imports lists the files that a file may import; ok is false when they cannot be told.
func (g *pyImports) imports(file string) (files []string, ok bool) {
	if edges, done := g.edges[file]; done {
		return edges, !g.vague[file]
	}
	f, _ := g.tree.Find(file)
	src, err := pysrc.Parse(f.Data)
	g.vague[file] = err != nil || f.Mode == model.ModeSymlink || slices.ContainsFunc(src.Tokens, vagueImport)
	g.edges[file] = nil
	if g.vague[file] {
		return nil, false
	}
	var out []string
	for _, i := range src.Imports() {
		name := i.Module
		if i.Level > 0 {
			name = relativeModule(file, i)
		}
		out = append(out, g.modules(name)...)
		if i.Name != "" {
			out = append(out, g.modules(joinModule(name, i.Name))...)
		}
	}
	for _, t := range src.Tokens { // such as of mock.patch("pkg.module.name")
		if t.Kind == pysrc.String {
			_, _, body := pysrc.SplitString(t.Text)
			if strings.Trim(body, moduleLetters) == "" {
				out = append(out, g.modules(body)...)
			}
		}
	}
	g.edges[file] = out
	return out, true
}

const moduleLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

// vagueWords are names that stand for running or importing something by name.
var vagueWords = map[string]bool{
	"__import__": true, "importlib": true, "import_module": true, "pkgutil": true, "runpy": true, "exec": true, "eval": true,
	"compile": true, "subprocess": true, "system": true, "popen": true, "Popen": true, "execv": true, "execve": true, "spawnv": true,
	"multiprocessing": true, "entry_points": true, "pytest_plugins": true, "__path__": true, "meta_path": true, "path_hooks": true,
	"pytester": true, "testdir": true, "doctest": true, "importorskip": true, "zipimport": true, "create_subprocess_exec": true, "create_subprocess_shell": true,
}

func vagueImport(t pysrc.Token) bool { return t.Kind == pysrc.Name && vagueWords[t.Text] }

// modules are the files of a dotted name: its own, those of the packages that it
// is in, and that of the longest part of it that is a module.
func (g *pyImports) modules(name string) []string {
	var out []string
	for name != "" {
		out = append(out, g.bySuf[name]...)
		i := strings.LastIndexByte(name, '.')
		if i < 0 {
			break
		}
		name = name[:i]
	}
	return out
}

// relativeModule is the dotted name, from the repository's root, of a module
// that is imported with leading dots.
func relativeModule(file string, i pysrc.Import) string {
	dir := path.Dir(file)
	for range i.Level - 1 {
		dir = path.Dir(dir)
	}
	if dir == "." {
		return i.Module
	}
	return joinModule(strings.ReplaceAll(dir, "/", "."), i.Module)
}

func joinModule(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "." + b
}

// moduleName is the name under which a file or folder is imported.
func moduleName(base string) string { return strings.TrimSuffix(base, ".py") }
