package search

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"strings"
)

// maxFollowUps bounds the repairs of a mutant's left-overs: an import and
// variables that nothing uses any more.
const maxFollowUps = 3

// compiles says whether a mutant of a file has no type errors that the file
// does not have anyway. A mutant that leaves an import or a variable of a loop
// unused loses it. Where imports are unknown the answer is the lenient one.
func (u *unit) compiles(s *source, data []byte) ([]byte, bool) {
	base, ok := u.baseline[s]
	if !ok {
		base = map[string]int{}
		for _, e := range u.errorsIn(s, s.data) {
			base[e.msg]++
		}
		u.baseline[s] = base
	}
	for range maxFollowUps {
		e, found := u.newError(s, data, base)
		if !found {
			return data, true
		}
		if data, ok = s.tidied(data, e); !ok {
			return nil, false
		}
	}
	return nil, false
}

// typeError is what the type checker says of a mutant.
type typeError struct {
	msg    string
	offset int // in the mutant; -1 elsewhere
}

// newError is the first error that the base does not have; one that cannot be
// tidied up comes before others.
func (u *unit) newError(s *source, data []byte, base map[string]int) (typeError, bool) {
	seen := map[string]int{}
	var first typeError
	found := false
	for _, e := range u.errorsIn(s, data) {
		seen[e.msg]++
		if seen[e.msg] <= base[e.msg] || u.partial && strings.HasPrefix(e.msg, "undefined: ") && strings.Contains(e.msg, ".") {
			continue
		}
		if !unusedImport.MatchString(e.msg) && !strings.HasPrefix(e.msg, unusedVariable) {
			return e, true
		}
		if !found {
			first, found = e, true
		}
	}
	return first, found
}

var unusedImport = regexp.MustCompile(`^("[^"]+") imported and not used$`)

const unusedVariable = "declared and not used: "

// tidied removes what the error says is unused.
func (s *source) tidied(data []byte, e typeError) ([]byte, bool) {
	var out []byte
	ok := false
	if m := unusedImport.FindStringSubmatch(e.msg); m != nil {
		out, ok = withoutImport(data, m[1])
	} else if strings.HasPrefix(e.msg, unusedVariable) {
		out, ok = withoutVariable(data, e.offset)
	}
	if !ok || !s.clean {
		return out, ok
	}
	formatted, err := format.Source(out)
	return formatted, err == nil
}

// withoutImport removes an import that stands in a line of its own.
func withoutImport(data []byte, quoted string) ([]byte, bool) {
	lines := strings.SplitAfter(string(data), "\n")
	for i, l := range lines {
		if t := strings.TrimSpace(l); t != quoted && t != "import "+quoted {
			continue
		}
		out := strings.Join(append(lines[:i:i], lines[i+1:]...), "")
		return []byte(strings.Replace(out, "import (\n)\n", "", 1)), true
	}
	return nil, false
}

// withoutVariable drops the variable at the offset from a range clause or from
// one side of an assignment of several.
func withoutVariable(data []byte, offset int) ([]byte, bool) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", data, parser.SkipObjectResolution)
	if err != nil || offset < 0 {
		return nil, false
	}
	file := fset.File(f.FileStart)
	at := func(p token.Pos) int { return file.Offset(p) }
	is := func(e ast.Expr) bool { return e != nil && at(e.Pos()) == offset }
	var drop *change
	ast.Inspect(f, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.RangeStmt:
			switch {
			case is(s.Value):
				drop = &change{at(s.Key.End()), at(s.Value.End()), ""}
			case is(s.Key) && s.Value == nil:
				drop = &change{at(s.Key.Pos()), at(s.Range), ""}
			case is(s.Key):
				drop = &change{at(s.Key.Pos()), at(s.Key.End()), "_"}
			}
		case *ast.AssignStmt:
			for _, l := range s.Lhs {
				if is(l) && len(s.Lhs) > 1 {
					drop = &change{at(l.Pos()), at(l.End()), "_"}
				}
			}
		}
		return drop == nil
	})
	if drop == nil {
		return nil, false
	}
	return apply(data, []change{*drop})
}

// errorsIn type-checks one file of the package, with the others' declarations.
// Other files' bodies are left out: they cannot have become wrong, as no
// mutation changes a declaration's type.
func (u *unit) errorsIn(s *source, data []byte) []typeError {
	var mutant *token.File
	var files []*ast.File
	for _, f := range u.files {
		if f != s {
			files = append(files, declarations(f.syntax))
			continue
		}
		syntax, err := parser.ParseFile(u.fset, s.path, data, parser.SkipObjectResolution)
		if err != nil {
			return []typeError{{"syntax error", -1}}
		}
		mutant = u.fset.File(syntax.FileStart)
		files = append(files, syntax)
	}
	defer u.fset.RemoveFile(mutant)
	var out []typeError
	conf := types.Config{Importer: u.imp, FakeImportC: true, Error: func(err error) {
		if e, ok := err.(types.Error); ok {
			found := typeError{e.Msg, -1}
			if u.fset.File(e.Pos) == mutant {
				found.offset = mutant.Offset(e.Pos)
			}
			out = append(out, found)
		}
	}}
	path := ""
	if u.pkg != nil {
		path = u.pkg.Path()
	}
	// What is wrong has been noted by Error.
	_, _ = conf.Check(path, u.fset, files, nil)
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
