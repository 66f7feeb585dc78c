package benchmarks

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"

	"ratchet/internal/model"
)

// goModule is one module of a tree.
type goModule struct {
	dir  string // from the repository's root, "." for it
	path string // module path
}

// goPackage is one folder that holds Go files which are built on the target.
type goPackage struct {
	dir        string // from the repository's root
	importPath string
	files      []goFile // in the order in which the go command reads them
}

// goFile is one Go source file that the build constraints of the target include.
type goFile struct {
	path string
	fset *token.FileSet
	ast  *ast.File // what could be parsed; never nil
	test bool      // its name ends in _test.go
}

// external reports whether f belongs to the package's external tests (x_test).
func (f goFile) external() bool { return f.test && strings.HasSuffix(f.ast.Name.Name, "_test") }

// imports lists the import paths of f.
func (f goFile) imports() []string {
	var out []string
	for _, i := range f.ast.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// base returns the package's name without the suffix of external tests.
func (p goPackage) base() string {
	for _, f := range p.files {
		if !f.external() {
			return f.ast.Name.Name
		}
	}
	return strings.TrimSuffix(p.files[0].ast.Name.Name, "_test")
}

// modules returns the modules that a go command started in Root would work on:
// the one there and, in a workspace, those that it uses.
func (s *goSuite) modules(t model.Tree) ([]goModule, error) {
	dirs := []string{s.cfg.Root}
	work, inWorkspace := t.Find(path.Join(s.cfg.Root, "go.work"))
	if inWorkspace {
		w, err := modfile.ParseWork(work.Path, work.Data, nil)
		if err != nil {
			return nil, fmt.Errorf("suite %q: read %s: %w", s.cfg.Name, work.Path, err)
		}
		dirs = nil
		for _, u := range w.Use {
			dirs = append(dirs, path.Join(s.cfg.Root, u.Path))
		}
		slices.Sort(dirs)
	}
	var out []goModule
	for _, dir := range slices.Compact(dirs) {
		mod, ok := t.Find(path.Join(dir, "go.mod"))
		if !ok {
			return nil, fmt.Errorf("suite %q: %w: no go.mod in folder %q of the tree; set the suite's root to the folder of the module",
				s.cfg.Name, ErrConfig, dir)
		}
		name := modfile.ModulePath(mod.Data)
		if name == "" {
			return nil, fmt.Errorf("suite %q: %s names no module", s.cfg.Name, mod.Path)
		}
		out = append(out, goModule{dir: dir, path: name})
	}
	return out, nil
}

// packages returns the packages of all modules, by folder, skipping what the go
// command skips. A file that cannot be parsed counts with what could be read.
func (s *goSuite) packages(t model.Tree) ([]goPackage, error) {
	mods, err := s.modules(t)
	if err != nil {
		return nil, err
	}
	nested := moduleDirs(t)
	target := targetContext(t)
	byDir := map[string]*goPackage{}
	for _, f := range t.Files {
		dir, base := path.Split(f.Path)
		dir = path.Clean(dir)
		mod, ok := owner(mods, nested, dir)
		if !ok || !strings.HasSuffix(base, ".go") || f.Mode == model.ModeSymlink || ignoredDir(within(mod.dir, dir)) {
			continue
		}
		if included, err := target.MatchFile(dir, base); err != nil || !included {
			continue
		}
		p := byDir[dir]
		if p == nil {
			p = &goPackage{dir: dir, importPath: path.Join(mod.path, within(mod.dir, dir))}
			byDir[dir] = p
		}
		p.files = append(p.files, parseGo(f))
	}
	out := make([]goPackage, 0, len(byDir))
	for _, p := range byDir {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b goPackage) int { return strings.Compare(a.dir, b.dir) })
	return out, nil
}

// selected reports whether a package belongs to the suite's patterns.
func (s *goSuite) selected(dir string) bool {
	rel := within(s.cfg.Root, dir)
	return slices.ContainsFunc(s.patterns, func(p pattern) bool { return p.match(rel) })
}

func parseGo(f model.File) goFile {
	fset := token.NewFileSet()
	// The error is the compiler's to report; a partial file still names its tests.
	parsed, _ := parser.ParseFile(fset, f.Path, f.Data, parser.ParseComments|parser.SkipObjectResolution)
	if parsed == nil || parsed.Name == nil {
		parsed = &ast.File{Name: ast.NewIdent("_")}
	}
	return goFile{path: f.Path, fset: fset, ast: parsed, test: strings.HasSuffix(f.Path, "_test.go")}
}

// moduleDirs are the folders with a go.mod.
func moduleDirs(t model.Tree) map[string]bool {
	dirs := map[string]bool{}
	for _, f := range t.Files {
		if path.Base(f.Path) == "go.mod" {
			dirs[path.Dir(f.Path)] = true
		}
	}
	return dirs
}

// owner returns the module that a folder belongs to, if it is one of mods.
func owner(mods []goModule, moduleDir map[string]bool, dir string) (goModule, bool) {
	for d := dir; ; d = path.Dir(d) {
		if moduleDir[d] {
			i := slices.IndexFunc(mods, func(m goModule) bool { return m.dir == d })
			if i < 0 {
				return goModule{}, false
			}
			return mods[i], true
		}
		if d == "." {
			return goModule{}, false
		}
	}
}

// within returns dir relative to root, both relative to the repository.
func within(root, dir string) string {
	switch {
	case root == ".":
		return dir
	case root == dir:
		return "."
	}
	return strings.TrimPrefix(dir, root+"/")
}

// ignoredDir reports whether the go command leaves a folder out of "./...".
func ignoredDir(rel string) bool {
	for part := range strings.SplitSeq(rel, "/") {
		if part == "testdata" || part == "vendor" || part != "." && strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_") {
			return true
		}
	}
	return false
}

// targetContext applies the build constraints of the boxes, which run
// linux/amd64 without cgo, to the files of a tree.
func targetContext(t model.Tree) *build.Context {
	c := build.Default
	c.GOOS, c.GOARCH, c.Compiler, c.CgoEnabled = "linux", "amd64", "gc", false
	c.BuildTags, c.InstallSuffix = nil, ""
	c.JoinPath = path.Join
	c.OpenFile = func(name string) (io.ReadCloser, error) {
		f, ok := t.Find(name)
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: name, Err: errors.ErrUnsupported}
		}
		return io.NopCloser(bytes.NewReader(f.Data)), nil
	}
	return &c
}
