package pysearch

import (
	"sort"
	"strings"
	"unicode/utf8"

	"ratchet/internal/propose/search/names"
	"ratchet/internal/pysrc"
)

// Module is one file that is searched.
type Module struct {
	file      *pysrc.File
	src       string
	canonical []byte
	unit      string // one level of indentation
	lex       names.Lexicon
	near      map[pysrc.ExprKind]map[string]int // literals of the file, by how often
	test      map[pysrc.ExprKind]map[string]int // literals of the failing tests
	functions map[string]int                    // module-level functions to their number of parameters
	globals   []string                          // module-level variables, in order
	fields    map[string][]string               // class to names that its methods select on self
	methods   map[string][]string               // class to its methods
	imported  map[string]bool                   // names that imports bind
	raised    []string                          // exceptions that failing tests expect
	missing   []string                          // pieces of text that results lack
	excess    []string                          // pieces of text that results should not have
}

// NewModule reads a file that is searched. Its error is a *pysrc.Error.
func NewModule(src []byte, lex names.Lexicon) (*Module, error) {
	f, err := pysrc.Parse(src)
	if err != nil {
		return nil, err
	}
	if err := f.Check(); err != nil {
		return nil, err
	}
	m := &Module{
		file: f, src: string(src), canonical: []byte(f.Canonical()), unit: "    ", lex: lex,
		near: map[pysrc.ExprKind]map[string]int{}, test: map[pysrc.ExprKind]map[string]int{},
		functions: map[string]int{}, fields: map[string][]string{}, methods: map[string][]string{}, imported: map[string]bool{},
	}
	for _, i := range f.Imports() {
		m.imported[i.As] = true
	}
	for _, t := range f.Tokens {
		if t.Kind == pysrc.Indent {
			m.unit = t.Text
			break
		}
	}
	m.literals(f.Body, m.near)
	for k := range m.near {
		m.near[k] = frequent(m.near[k])
	}
	m.declarations()
	return m, nil
}

// AddTest takes note of the literals of a statement of a failing test, and of the
// exceptions that it expects.
func (m *Module) AddTest(s *pysrc.Stmt) {
	m.literals([]*pysrc.Stmt{s}, m.test)
	s.Walk(func(s *pysrc.Stmt) {
		for i, t := range s.Tokens {
			if (t.Text == "raises" || t.Text == "assertRaises") && i+2 < len(s.Tokens) && s.Tokens[i+1].Is("(") && s.Tokens[i+2].Kind == pysrc.Name {
				m.raised = unique(append(m.raised, s.Tokens[i+2].Text))
			}
		}
	})
}

// AddExpected takes note of literals that a failing test's message shows.
func (m *Module) AddExpected(text string) {
	if s, err := pysrc.Parse([]byte(text + "\n")); err == nil && len(text) < 200 {
		m.literals(s.Body, m.test)
	}
}

// AddDifference takes note of how a text that was computed differs from the one
// expected: what stands in one only, between what they share at both ends.
func (m *Module) AddDifference(got, want string) {
	const most = 12 // bytes of a piece that may be one constant's
	start := 0
	for start < len(got) && start < len(want) && got[start] == want[start] {
		start++
	}
	end := 0
	for end < len(got)-start && end < len(want)-start && got[len(got)-1-end] == want[len(want)-1-end] {
		end++
	}
	plain := func(s string) bool {
		return s != "" && len(s) <= most && utf8.ValidString(s) && !strings.ContainsAny(s, "'\"\\\r\n{}%")
	}
	if start+end == 0 {
		return
	}
	if piece := want[start : len(want)-end]; plain(piece) {
		m.missing = unique(append(m.missing, piece))
	}
	if piece := got[start : len(got)-end]; plain(piece) {
		m.excess = unique(append(m.excess, piece))
	}
}

func (m *Module) literals(list []*pysrc.Stmt, into map[pysrc.ExprKind]map[string]int) {
	for _, s := range list {
		s.Walk(func(s *pysrc.Stmt) {
			if s.IsDocstring() {
				return
			}
			parts, err := s.Parts()
			if err != nil {
				return
			}
			for _, p := range parts {
				p.Expr.Walk(func(e *pysrc.Expr) bool {
					note(e, into)
					return true
				})
			}
		})
	}
}

// maxLiterals bounds the literals of a file that are compared with each other.
const maxLiterals = 200

// frequent keeps the literals that occur most often.
func frequent(all map[string]int) map[string]int {
	if len(all) <= maxLiterals {
		return all
	}
	list := make([]string, 0, len(all))
	for v := range all {
		list = append(list, v)
	}
	sort.Slice(list, func(i, j int) bool {
		if all[list[i]] != all[list[j]] {
			return all[list[i]] > all[list[j]]
		}
		return list[i] < list[j]
	})
	out := make(map[string]int, maxLiterals)
	for _, v := range list[:maxLiterals] {
		out[v] = all[v]
	}
	return out
}

// note counts a literal that could stand elsewhere.
func note(e *pysrc.Expr, into map[pysrc.ExprKind]map[string]int) {
	if e == nil || e.Kind != pysrc.NumberExpr && e.Kind != pysrc.StringExpr {
		return
	}
	if e.Kind == pysrc.StringExpr {
		if prefix, _, body := pysrc.SplitString(e.Name); prefix != "" || len(body) > 60 {
			return
		}
	}
	if into[e.Kind] == nil {
		into[e.Kind] = map[string]int{}
	}
	into[e.Kind][e.Name]++
}

// declarations lists what functions may refer to.
func (m *Module) declarations() {
	for _, fn := range m.file.Funcs {
		switch {
		case fn.Qualified == fn.Name:
			m.functions[fn.Name] = len(fn.Params)
		case fn.Class != "":
			m.methods[fn.Class] = append(m.methods[fn.Class], fn.Name)
			m.selections(fn)
		}
	}
	for _, s := range m.file.Body {
		if s.Kind == "assign" || s.Kind == "annassign" {
			for _, t := range s.Tokens[:1] {
				if t.Kind == pysrc.Name {
					m.globals = append(m.globals, t.Text)
				}
			}
		}
	}
}

// selections notes the attributes of self that a method uses.
func (m *Module) selections(fn pysrc.Func) {
	if len(fn.Params) == 0 {
		return
	}
	seen := map[string]bool{}
	for _, f := range m.fields[fn.Class] {
		seen[f] = true
	}
	fn.Stmt.Walk(func(s *pysrc.Stmt) {
		for i := 2; i < len(s.Tokens); i++ {
			t := s.Tokens
			called := i+1 < len(t) && t[i+1].Is("(")
			if t[i].Kind == pysrc.Name && t[i-1].Is(".") && t[i-2].Text == fn.Params[0] && !called && !seen[t[i].Text] {
				seen[t[i].Text] = true
				m.fields[fn.Class] = append(m.fields[fn.Class], t[i].Text)
			}
		}
	})
}

// Regions lists what can be searched: functions and methods with what they hold,
// and statements that stand outside of functions.
func (m *Module) Regions() []*Region { return m.regions(m.file.Body, "") }

func (m *Module) regions(list []*pysrc.Stmt, class string) []*Region {
	var out []*Region
	for _, s := range list {
		switch {
		case s.Kind == "def":
			out = append(out, m.newRegion(s, class))
		case s.Kind == "class":
			name := ""
			for _, c := range m.file.Classes {
				if c.Stmt == s {
					name = c.Qualified
				}
			}
			out = append(out, m.regions(s.Block, name)...)
		case s.Kind == "assign" || s.Kind == "annassign" || s.Kind == "augassign":
			out = append(out, m.newRegion(s, class))
		case len(s.Block) > 0:
			out = append(out, m.regions(s.Block, class)...)
		}
	}
	return out
}

// oneLine says whether the text has one line only.
func oneLine(s string) bool { return !strings.ContainsAny(s, "\r\n") }
