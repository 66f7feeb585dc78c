package search

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
)

// stdlib type-checks the standard library's declarations out of GOROOT, without
// function bodies, and remembers them. The library's own source importer is not
// used because it runs cgo for packages such as net. Without a GOROOT it knows
// nothing, which callers must bear. It is safe for concurrent use.
type stdlib struct {
	mu     sync.Mutex
	ctx    build.Context
	fset   *token.FileSet
	loaded map[string]*types.Package // nil: tried and not found
}

func newStdlib() *stdlib {
	ctx := build.Default
	ctx.CgoEnabled = false
	return &stdlib{ctx: ctx, fset: token.NewFileSet(), loaded: map[string]*types.Package{"unsafe": types.Unsafe}}
}

// load returns the package, or nil when it is not of the standard library or
// the library is not there.
func (s *stdlib) load(path string) *types.Package {
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") || !fs.ValidPath(path) || s.ctx.GOROOT == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.get(path)
}

func (s *stdlib) get(path string) *types.Package {
	if p, ok := s.loaded[path]; ok {
		return p
	}
	s.loaded[path] = nil
	src := filepath.Join(s.ctx.GOROOT, "src")
	dir := filepath.Join(src, filepath.FromSlash(path))
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
		dir = filepath.Join(src, "vendor", filepath.FromSlash(path))
	}
	bp, err := s.ctx.ImportDir(dir, 0)
	if err != nil {
		return nil
	}
	var files []*ast.File
	for _, name := range bp.GoFiles {
		f, err := parser.ParseFile(s.fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil
		}
		files = append(files, f)
	}
	conf := types.Config{
		Importer: importFunc(s.get), IgnoreFuncBodies: true, FakeImportC: true, Error: func(error) {},
		Sizes: types.SizesFor("gc", s.ctx.GOARCH),
	}
	pkg, _ := conf.Check(path, s.fset, files, nil)
	s.loaded[path] = pkg
	return pkg
}

// importFunc adapts a lookup to types.Importer.
type importFunc func(path string) *types.Package

func (f importFunc) Import(path string) (*types.Package, error) {
	if p := f(path); p != nil {
		return p, nil
	}
	p := types.NewPackage(path, guessName(path))
	p.MarkComplete()
	return p, nil
}
