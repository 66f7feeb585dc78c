package diagnose

import (
	"go/token"
	"path"
	"slices"
	"strings"

	"ratchet/internal/model"
	"ratchet/internal/pysrc"
)

func isPython(name string) bool { return strings.HasSuffix(name, ".py") }

// pythonFiles are the Python files of a tree.
type pythonFiles struct {
	all    []string // by path
	parsed map[string]*pythonFile
}

type pythonFile struct {
	src   *pysrc.File // empty when it does not parse
	funcs []function
}

func newPythonFiles() pythonFiles { return pythonFiles{parsed: map[string]*pythonFile{}} }

// pythonFile takes a file apart, once.
func (s *source) pythonFile(name string) *pythonFile {
	if f, ok := s.python.parsed[name]; ok {
		return f
	}
	out := &pythonFile{src: &pysrc.File{}}
	s.python.parsed[name] = out
	f, ok := s.tree.Find(name)
	if !ok {
		return out
	}
	src, err := pysrc.Parse(f.Data)
	if err != nil {
		return out
	}
	out.src = src
	for _, fn := range src.Funcs {
		out.funcs = append(out.funcs, pythonFunction(name, fn))
	}
	return out
}

// pythonFunction says where a function is: from its def to the end of its last line.
func pythonFunction(file string, fn pysrc.Func) function {
	return function{
		name: fn.Name, file: file, declStart: fn.Line,
		start: token.Position{Line: fn.Stmt.Line, Column: fn.Stmt.Tokens[0].Col}, end: token.Position{Line: fn.End + 1, Column: 1},
	}
}

// enclosingPython finds the innermost function that holds the line.
func (s *source) enclosingPython(name string, line int) (function, bool) {
	fn, ok := s.pythonFile(name).src.Enclosing(line)
	if !ok {
		return function{}, false
	}
	return pythonFunction(name, fn), true
}

// pythonFunctions lists all Python functions, those of the harness left out.
func (s *source) pythonFunctions() []function {
	var out []function
	for _, name := range s.python.all {
		if !s.harness(name) {
			out = append(out, s.pythonFile(name).funcs...)
		}
	}
	return out
}

// pythonTest finds the source of a test by what its problem is called, such as
// "tests/test_a.py::TestA::test_b[1]", or "tests.test_a.TestA" and "test_b".
func (s *source) pythonTest(p model.Problem) (file string, test pysrc.Func, ok bool) {
	id := p.GroupID()
	if at := strings.IndexByte(id, '['); at > 0 {
		id = id[:at]
	}
	words := strings.FieldsFunc(id, func(r rune) bool { return strings.ContainsRune("/:.", r) })
	if len(words) == 0 {
		return "", test, false
	}
	best := 0
	for _, name := range s.python.all {
		if !s.harness(name) {
			continue
		}
		for _, fn := range s.pythonFile(name).src.Funcs {
			if fn.Name != words[len(words)-1] {
				continue
			}
			if n := wordsInOrder(words, name, fn); n > best {
				file, test, best, ok = name, fn, n, true
			} else if n == best {
				ok = false // it could be either
			}
		}
	}
	return file, test, ok
}

// wordsInOrder counts the parts of a test's place that its id names.
func wordsInOrder(id []string, file string, fn pysrc.Func) int {
	place := append(strings.Split(strings.TrimSuffix(file, ".py"), "/"), strings.Split(fn.Qualified, ".")...)
	n := 0
	for _, w := range id {
		if at := slices.Index(place, w); at >= 0 {
			n, place = n+1, place[at+1:]
		}
	}
	return n
}

// calledByPython lists the functions that a Python test names, of the modules
// that its file imports.
func (s *source) calledByPython(p model.Problem) []function {
	file, test, ok := s.pythonTest(p)
	if !ok {
		return nil
	}
	names := pythonNames(test.Stmt)
	var out []function
	for _, module := range s.importedFiles(file, 1) {
		for _, fn := range s.pythonFile(module).src.Funcs {
			made := fn.Name == "__init__" && names[path.Ext("." + fn.Class)[1:]] // calling the class calls it
			if names[fn.Name] || made {
				out = append(out, pythonFunction(module, fn))
			}
		}
	}
	return out
}

// pythonNames collects the names in a statement and its block, attributes too.
func pythonNames(s *pysrc.Stmt) map[string]bool {
	names := map[string]bool{}
	s.Walk(func(s *pysrc.Stmt) {
		for _, t := range s.Tokens {
			if t.Kind == pysrc.Name {
				names[t.Text] = true
			}
		}
	})
	return names
}

// importedFiles lists the files of the tree that a file imports, and those that
// packages among them import in turn, to the given depth; sorted.
func (s *source) importedFiles(file string, depth int) []string {
	found := map[string]bool{}
	for _, imp := range s.pythonFile(file).src.Imports() {
		for _, f := range s.moduleFiles(file, imp) {
			found[f] = true
			if path.Base(f) == "__init__.py" && depth > 0 {
				for _, g := range s.importedFiles(f, depth-1) {
					found[g] = true
				}
			}
		}
	}
	out := make([]string, 0, len(found))
	for f := range found {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

// moduleFiles finds the files that an import means: the module, and the name
// taken from it where that is a module. Where on the path it lies is not known, so
// any folder will do; the shortest path counts.
func (s *source) moduleFiles(from string, imp pysrc.Import) []string {
	base := ""
	if imp.Level > 0 {
		base = path.Dir(from)
		for range imp.Level - 1 {
			base = path.Dir(base)
		}
	}
	module := strings.ReplaceAll(imp.Module, ".", "/")
	var out []string
	for _, m := range []string{module, path.Join(module, imp.Name)} {
		if f := s.moduleFile(base, imp.Level > 0, m); f != "" {
			out = append(out, f)
		}
	}
	return out
}

func (s *source) moduleFile(base string, relative bool, module string) string {
	best := ""
	for _, tail := range []string{module + ".py", path.Join(module, "__init__.py")} {
		for _, name := range s.byBase[path.Base(tail)] {
			fits := name == path.Join(base, tail)
			if !relative {
				fits = fits || strings.HasSuffix(name, "/"+tail)
			}
			if fits && (best == "" || len(name) < len(best)) {
				best = name
			}
		}
	}
	return best
}
