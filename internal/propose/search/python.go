package search

import (
	"go/ast"
	"go/token"
	"path"
	"sort"
	"strings"

	"ratchet/internal/diagnose"
	"ratchet/internal/model"
	"ratchet/internal/propose"
	"ratchet/internal/propose/search/names"
	"ratchet/internal/propose/search/pysearch"
	"ratchet/internal/pysrc"
)

// python is the Python side of a query.
type python struct {
	request  propose.Request
	lex      names.Lexicon
	symptoms symptoms
	tests    []*pysrc.Stmt // the failing tests
	compared []comparison  // what messages show
}

func newPython(r propose.Request, lex names.Lexicon) python {
	p := python{request: r, lex: lex}
	for _, s := range r.Brief.Suspects {
		if isPython(s.File) {
			p.symptoms = newSymptoms(r.Brief.Weakest, readPythonSymptoms)
			p.tests = failingPythonTests(r)
			p.compared = failedComparisons(r.Brief.Weakest)
			break
		}
	}
	return p
}

func isPython(file string) bool { return strings.HasSuffix(file, ".py") }

// isPythonTest says that pytest collects a file, or takes its set-up from it.
func isPythonTest(file string) bool {
	base := path.Base(file)
	return strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py") || base == "conftest.py"
}

// grounds finds the Python functions that hold suspects, and the statements
// outside of functions that these refer to.
func (p python) grounds() []ground {
	byFile := map[string]places{}
	for _, s := range p.request.Brief.Suspects {
		if isPython(s.File) && !isPythonTest(s.File) && (p.request.Allowed == nil || p.request.Allowed(s.File)) {
			byFile[s.File] = append(byFile[s.File], s)
		}
	}
	files := make([]string, 0, len(byFile))
	for f := range byFile {
		files = append(files, f)
	}
	sort.Strings(files)
	var out []ground
	for _, f := range files {
		for _, g := range p.inFile(f, byFile[f]) {
			out = append(out, g)
		}
	}
	return out
}

// inFile makes the grounds of a file; none when it cannot be parsed.
func (p python) inFile(file string, all places) []*pyGround {
	data, ok := contents(p.request.Tree, file)
	if !ok {
		return nil
	}
	m, err := pysearch.NewModule(data, p.lex)
	if err != nil {
		return nil
	}
	for _, t := range p.tests {
		m.AddTest(t)
	}
	for _, c := range p.compared {
		m.AddExpected(c.want)
		m.AddDifference(c.got, c.want)
	}
	starts := lineStarts(data)
	var out, rest []*pyGround
	for _, r := range m.Regions() {
		g := &pyGround{path: file, data: data, module: m, region: r, starts: starts}
		if g.claim(all) {
			out = append(out, g)
		} else if !r.Function() {
			rest = append(rest, g)
		}
	}
	return append(out, referredBy(out, rest)...)
}

func contents(t model.Tree, file string) ([]byte, bool) {
	for _, f := range t.Files {
		if f.Path == file && f.Mode != model.ModeSymlink {
			return f.Data, true
		}
	}
	return nil, false
}

// referredBy finds the statements whose variable suspicious functions use.
func referredBy(functions, statements []*pyGround) []*pyGround {
	var out []*pyGround
	for _, s := range statements {
		for _, f := range functions {
			if sus := indirectShare * f.suspicion; sus > s.suspicion && f.region.Mentions(s.region.Name) {
				s.indirect, s.suspicion, s.cluster, s.problems = true, sus, f.cluster, f.problems
			}
		}
		if s.suspicion > 0 {
			out = append(out, s)
		}
	}
	return out
}

// pyGround is a Python function, or a statement outside of functions.
type pyGround struct {
	path      string
	data      []byte
	module    *pysearch.Module
	region    *pysearch.Region
	starts    []int // offset of each line
	places    places
	suspicion float64
	indirect  bool // only referred to
	cluster   int
	problems  []string
}

var _ ground = (*pyGround)(nil)

// claim takes the suspects that lie in the region, false when there are none.
func (g *pyGround) claim(all places) bool {
	for _, s := range all {
		if s.StartLine > g.region.End || s.EndLine < g.region.Start || s.EndLine == g.region.Start && s.EndCol <= 1 {
			continue
		}
		g.places = append(g.places, s)
		if s.Score > g.suspicion {
			g.suspicion, g.cluster, g.problems = s.Score, s.Cluster, s.Problems
		}
	}
	return len(g.places) > 0
}

// pySite is where a Python mutation is made, in the form that ranking keys sites by.
type pySite struct{ off, end int }

func (s pySite) Pos() token.Pos { return token.Pos(s.off + 1) }

func (s pySite) End() token.Pos { return token.Pos(s.end + 1) }

func (g *pyGround) file() string { return g.path }

func (g *pyGround) source() []byte { return g.data }

func (g *pyGround) rewrite(m mutation) ([]byte, bool) { return apply(g.data, m.changes) }

func (g *pyGround) valid(data []byte) ([]byte, bool) { return data, g.module.Valid(data) == nil }

func (g *pyGround) failing() []string { return g.problems }

func (g *pyGround) suspected() float64 { return g.suspicion }

func (g *pyGround) symptoms(q *query) symptoms { return q.python.symptoms }

func (g *pyGround) line(site ast.Node) int { return g.position(site).Line }

func (g *pyGround) position(site ast.Node) token.Position {
	off := int(site.Pos()) - 1
	i := sort.SearchInts(g.starts, off+1)
	return token.Position{Line: i, Column: off - g.starts[i-1] + 1}
}

func lineStarts(data []byte) []int {
	starts := []int{0}
	for i, c := range data {
		if c == '\n' || c == '\r' && (i+1 == len(data) || data[i+1] != '\n') {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func (g *pyGround) suspicionAt(site ast.Node) (float64, diagnose.Suspect) {
	own := diagnose.Suspect{Cluster: g.cluster, Problems: g.problems}
	if g.indirect {
		return g.suspicion, own
	}
	if s, ok := g.places.at(g.position(site)); ok {
		return s.Score, s
	}
	// Coverage counts the lines of a statement to its first, and none to an else.
	off := int(site.Pos()) - 1
	line, col := g.region.Owner(off)
	if s, ok := g.places.at(token.Position{Line: line, Column: col}); ok {
		return s.Score, s
	}
	if g.region.Head(off) { // runs when the function is defined, and shows when it is called
		return indirectShare * g.suspicion, own
	}
	return unreached * g.suspicion, own
}

// plausible lowers what stands in the texts of errors and logs.
func (g *pyGround) plausible(site ast.Node) float64 {
	if s, ok := site.(pySite); ok && g.region.Aside(pysearch.Span{Off: s.off, End: s.end}) {
		return 0.25
	}
	return 1
}

func (g *pyGround) families(yield func(name string, mass float64, mutate func(emitter))) {
	g.region.Each(func(name string, mass float64, mutate func(func(pysearch.Mutation))) {
		yield(name, mass, func(emit emitter) {
			mutate(func(m pysearch.Mutation) { emit(fromPython(m)) })
		})
	})
}

func fromPython(m pysearch.Mutation) mutation {
	out := mutation{site: pySite{m.Site.Off, m.Site.End}, weight: m.Weight, what: m.What}
	for _, c := range m.Changes {
		out.changes = append(out.changes, change{c.Start, c.End, c.Text})
	}
	return out
}

// failingPythonTests finds the test functions that fail.
func failingPythonTests(r propose.Request) []*pysrc.Stmt {
	failing := map[string]bool{}
	for _, w := range r.Brief.Weakest {
		failing[testFunction(w.Name)] = true
	}
	var out []*pysrc.Stmt
	for _, f := range r.Tree.Files {
		if !isPython(f.Path) || !isPythonTest(f.Path) || f.Mode == model.ModeSymlink {
			continue
		}
		file, err := pysrc.Parse(f.Data)
		if err != nil {
			continue
		}
		for _, fn := range file.Funcs {
			if failing[fn.Name] {
				out = append(out, fn.Stmt)
			}
		}
	}
	return out
}

// testFunction is the function of a test's name, such as test_a of
// "tests/test_x.py::TestA::test_a[1-2]".
func testFunction(name string) string {
	name, _, _ = strings.Cut(name, "[")
	name = name[strings.LastIndexByte(name, ':')+1:]
	return name[strings.LastIndexByte(name, '.')+1:]
}
