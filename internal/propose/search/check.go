package search

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"strings"
)

// compiles says whether a mutant of a file has no type errors that the file
// does not have anyway. A mutant that leaves an import unused loses it. Where
// imports are unknown the answer is the lenient one.
func (u *unit) compiles(s *source, data []byte) ([]byte, bool) {
	base, ok := u.baseline[s]
	if !ok {
		base = u.errorsIn(s, s.data)
		u.baseline[s] = base
	}
	for range 3 {
		unused := ""
		for msg, n := range u.errorsIn(s, data) {
			if n <= base[msg] || u.partial && strings.HasPrefix(msg, "undefined: ") && strings.Contains(msg, ".") {
				continue
			}
			m := unusedImport.FindStringSubmatch(msg)
			if m == nil {
				return nil, false
			}
			unused = m[1]
		}
		if unused == "" {
			return data, true
		}
		if data, ok = dropImport(data, unused); !ok {
			return nil, false
		}
	}
	return nil, false
}

var unusedImport = regexp.MustCompile(`^("[^"]+") imported and not used$`)

// errorsIn type-checks one file of the package, with the others' declarations,
// and counts the messages. Other files' bodies are left out: they cannot have
// become wrong, as no mutation changes a declaration's type.
func (u *unit) errorsIn(s *source, data []byte) map[string]int {
	fset := token.NewFileSet()
	out := map[string]int{}
	var files []*ast.File
	for _, f := range u.files {
		if f != s {
			files = append(files, declarations(f.syntax))
			continue
		}
		syntax, err := parser.ParseFile(fset, s.path, data, parser.SkipObjectResolution)
		if err != nil {
			return map[string]int{"syntax error": 1}
		}
		files = append(files, syntax)
	}
	conf := types.Config{Importer: u.imp, FakeImportC: true, Error: func(err error) {
		if e, ok := err.(types.Error); ok {
			out[e.Msg]++
		}
	}}
	path := ""
	if u.pkg != nil {
		path = u.pkg.Path()
	}
	// What is wrong has been counted by Error.
	_, _ = conf.Check(path, fset, files, nil)
	return out
}

// declarations is the file with its functions' bodies left out. It shares what
// it keeps with the original, which the type checker only reads.
func declarations(f *ast.File) *ast.File {
	out := *f
	out.Decls = make([]ast.Decl, len(f.Decls))
	for i, d := range f.Decls {
		if fd, ok := d.(*ast.FuncDecl); ok && fd.Body != nil {
			bare := *fd
			bare.Body = nil
			d = &bare
		}
		out.Decls[i] = d
	}
	return &out
}
