package pysearch

import (
	"sort"

	"ratchet/internal/pysrc"
)

// Region is one function with what it holds, or one statement outside of functions.
type Region struct {
	mod     *Module
	root    *pysrc.Stmt
	class   string // that it is a method of
	Name    string // of the function or variable
	Start   int    // first line
	End     int    // last line
	params  []string
	self    string // the first parameter of a method
	stmts   []*pysrc.Stmt
	parts   map[*pysrc.Stmt][]pysrc.Part
	exprs   []*pysrc.Expr // all, outer before inner
	parent  map[*pysrc.Expr]*pysrc.Expr
	owner   map[*pysrc.Expr]*pysrc.Stmt
	role    map[*pysrc.Expr]pysrc.Role // of the outermost expressions
	list    map[*pysrc.Stmt][]*pysrc.Stmt
	place   map[*pysrc.Stmt]int
	vars    []*variable
	byName  map[string]*variable
	atomics []*pysrc.Expr        // the conditions of branches, split at and/or
	asides  []Span               // texts for people: of exceptions, logs and warnings
	field   map[*pysrc.Expr]bool // in a replacement field of an f-string
	// literals are those of the region, the first ones, without repeats.
	literals map[pysrc.ExprKind][]string
}

// variable is a name that a region binds.
type variable struct {
	name          string
	first         int  // offset of its first binding
	param         bool // of the function itself
	scope         Span // where it can be read
	kind          kind
	value         *pysrc.Expr // first assigned, if plainly
	reads, writes int
}

func (m *Module) newRegion(s *pysrc.Stmt, class string) *Region {
	r := &Region{
		mod: m, root: s, class: class, Start: s.Line, End: s.EndLine,
		parts: map[*pysrc.Stmt][]pysrc.Part{}, parent: map[*pysrc.Expr]*pysrc.Expr{}, owner: map[*pysrc.Expr]*pysrc.Stmt{},
		role: map[*pysrc.Expr]pysrc.Role{}, list: map[*pysrc.Stmt][]*pysrc.Stmt{}, place: map[*pysrc.Stmt]int{}, byName: map[string]*variable{},
		field: map[*pysrc.Expr]bool{},
	}
	s.Walk(func(s *pysrc.Stmt) { r.add(s) })
	r.name()
	r.bind()
	r.guess()
	r.count()
	r.collect()
	return r
}

// add takes a statement with its expressions.
func (r *Region) add(s *pysrc.Stmt) {
	for i, x := range s.Block {
		r.list[x], r.place[x] = s.Block, i
	}
	r.stmts = append(r.stmts, s)
	if s.IsDocstring() {
		return
	}
	parts, err := s.Parts()
	if err != nil { // the module was checked
		return
	}
	r.parts[s] = parts
	for _, p := range parts {
		if p.Role == pysrc.RoleAnnotation {
			continue
		}
		r.role[p.Expr] = p.Role
		r.enter(p.Expr, s, p.Role)
		if p.Role == pysrc.RoleCondition && s.Kind != "assert" {
			r.atomics = append(r.atomics, split(p.Expr)...)
		}
	}
}

func (r *Region) enter(e *pysrc.Expr, s *pysrc.Stmt, role pysrc.Role) {
	r.exprs = append(r.exprs, e)
	r.owner[e] = s
	for i, p := range e.Parts {
		if p == nil || e.Kind == pysrc.ParamExpr && i == 0 {
			continue // annotations are no code
		}
		r.parent[p] = e
		if e.Kind == pysrc.StringExpr || r.field[e] {
			r.field[p] = true
		}
		r.enter(p, s, role)
	}
}

func (r *Region) name() {
	if r.root.Kind != "def" {
		r.Name = r.root.Tokens[0].Text
		return
	}
	for _, p := range r.parts[r.root] {
		if p.Role == pysrc.RoleParameter && p.Expr.Name != "" {
			r.params = append(r.params, p.Expr.Name)
		}
	}
	for i, t := range r.root.Tokens {
		if t.Is("def") {
			r.Name = r.root.Tokens[i+1].Text
			break
		}
	}
	if r.class != "" && len(r.params) > 0 && (r.params[0] == "self" || r.params[0] == "cls") {
		r.self = r.params[0]
	}
}

// bind lists the variables that the region binds, in order.
func (r *Region) bind() {
	whole := Span{r.root.Off, r.root.End}
	for _, e := range r.exprs {
		switch {
		case e.Kind == pysrc.ParamExpr && e.Name != "":
			r.binding(e.Name, e.Off, r.paramScope(e), r.parent[e] == nil && r.owner[e] == r.root)
		case e.Kind == pysrc.NameExpr && r.assigned(e):
			scope := whole
			if c := r.comprehension(e); c != nil {
				scope = Span{c.Off, c.End}
			}
			r.binding(e.Name, e.Off, scope, false)
		}
	}
}

// paramScope is where a parameter can be read: its lambda or its function.
func (r *Region) paramScope(e *pysrc.Expr) Span {
	if l := r.parent[e]; l != nil {
		return Span{l.Off, l.End}
	}
	s := r.owner[e]
	return Span{s.Off, s.End}
}

func (r *Region) binding(name string, off int, scope Span, param bool) {
	if name == "_" {
		return
	}
	v := r.byName[name]
	if v == nil {
		v = &variable{name: name, first: off, scope: scope, param: param}
		r.byName[name] = v
		r.vars = append(r.vars, v)
	}
	v.scope = Span{min(v.scope.Off, scope.Off), max(v.scope.End, scope.End)}
}

// comprehension is the one whose clause binds the name, nil for none.
func (r *Region) comprehension(e *pysrc.Expr) *pysrc.Expr {
	for p := r.parent[e]; p != nil; p = r.parent[p] {
		if p.Kind == pysrc.CompExpr {
			return p
		}
	}
	return nil
}

// assigned says that the name is bound here: a target, or the left of a walrus.
func (r *Region) assigned(e *pysrc.Expr) bool {
	for {
		p := r.parent[e]
		if p == nil {
			role := r.role[e]
			return role == pysrc.RoleTarget && r.owner[e].Kind != "del"
		}
		switch p.Kind {
		case pysrc.WalrusExpr, pysrc.ForClause:
			return p.Parts[0] == e
		case pysrc.TupleExpr, pysrc.ListExpr, pysrc.ParenExpr, pysrc.StarExpr:
			e = p
		default:
			return false
		}
	}
}

// count tells reads of variables from writes.
func (r *Region) count() {
	for _, e := range r.exprs {
		if e.Kind != pysrc.NameExpr {
			continue
		}
		v := r.byName[e.Name]
		if v == nil {
			continue
		}
		if r.assigned(e) {
			v.writes++
		} else {
			v.reads++
		}
	}
}

// visible lists the variables that can be read at an expression, the nearest first.
func (r *Region) visible(e *pysrc.Expr) []*variable {
	var out []*variable
	for _, v := range r.vars {
		if v.first < e.Off && v.scope.Off <= e.Off && e.End <= v.scope.End || r.later(v, e) {
			out = append(out, v)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].first > out[j].first })
	return out
}

// later says that a comprehension binds the variable after the element that reads it.
func (r *Region) later(v *variable, e *pysrc.Expr) bool {
	return v.scope.Off <= e.Off && e.End <= v.scope.End && v.scope != (Span{r.root.Off, r.root.End}) && !v.param
}

// loop is the innermost loop around a statement within its function, nil for none.
func (r *Region) loop(s *pysrc.Stmt) *pysrc.Stmt {
	for p := s.Parent; p != nil && p != r.root.Parent; p = p.Parent {
		switch p.Kind {
		case "for", "while":
			return p
		case "def", "class":
			return nil
		}
	}
	return nil
}

// function is the innermost function around a statement, nil for none.
func (r *Region) function(s *pysrc.Stmt) *pysrc.Stmt {
	for p := s.Parent; p != nil; p = p.Parent {
		if p.Kind == "def" {
			return p
		}
	}
	return nil
}

// simple says that a statement has no block and stands on lines of its own.
func (r *Region) simple(s *pysrc.Stmt) bool {
	return len(s.Block) == 0 && r.list[s] != nil && !s.IsDocstring() && s.Kind != "decorator"
}

// body is the statements of a function, without its docstring.
func body(s *pysrc.Stmt) []*pysrc.Stmt { return undocumented(s.Block) }

// undocumented is a block without its docstring.
func undocumented(list []*pysrc.Stmt) []*pysrc.Stmt {
	if len(list) > 0 && list[0].IsDocstring() {
		return list[1:]
	}
	return list
}

// condition is that of a branch or loop, nil for other statements.
func (r *Region) condition(s *pysrc.Stmt) *pysrc.Expr {
	if s.Kind != "if" && s.Kind != "elif" && s.Kind != "while" {
		return nil
	}
	if parts := r.parts[s]; len(parts) > 0 {
		return parts[0].Expr
	}
	return nil
}

// split breaks a condition at and/or.
func split(e *pysrc.Expr) []*pysrc.Expr {
	switch {
	case e.Kind == pysrc.ParenExpr && len(e.Parts) == 1:
		return split(e.Parts[0])
	case e.Kind == pysrc.BinaryExpr && (e.Op == "and" || e.Op == "or"):
		return append(split(e.Parts[0]), split(e.Parts[1])...)
	}
	return []*pysrc.Expr{e}
}

// terminates says that a block ends by leaving it.
func terminates(list []*pysrc.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch list[len(list)-1].Kind {
	case "return", "break", "continue", "raise":
		return true
	}
	return false
}

// value is the expression of a return or an assignment to one target, nil for none.
func (r *Region) value(s *pysrc.Stmt) *pysrc.Expr {
	for _, p := range r.parts[s] {
		if p.Role == pysrc.RoleValue {
			return p.Expr
		}
	}
	return nil
}

// target is the only target of an assignment or loop, nil for none or several.
func (r *Region) target(s *pysrc.Stmt) *pysrc.Expr {
	var out *pysrc.Expr
	for _, p := range r.parts[s] {
		if p.Role == pysrc.RoleTarget {
			if out != nil {
				return nil
			}
			out = p.Expr
		}
	}
	return out
}

// Mentions says that the region uses a name.
func (r *Region) Mentions(name string) bool {
	for _, e := range r.exprs {
		if (e.Kind == pysrc.NameExpr || e.Kind == pysrc.AttributeExpr) && e.Name == name {
			return true
		}
	}
	return false
}

// Function says that the region is a function.
func (r *Region) Function() bool { return r.root.Kind == "def" }

// Owner is the line and column, from 1, of the statement that coverage would count
// an offset to: the one that holds it, or the first in the block of an else.
func (r *Region) Owner(off int) (line, col int) {
	best := r.root
	r.root.Walk(func(s *pysrc.Stmt) {
		if s.Off <= off && off <= s.End {
			best = s
		}
	})
	for (best.Kind == "else" || best.Kind == "try" || best.Kind == "finally") && len(best.Block) > 0 {
		best = best.Block[0]
	}
	return best.Tokens[0].Line, best.Tokens[0].Col
}

// Head says that the offset is in the line that defines the function.
func (r *Region) Head(off int) bool { return r.root.Kind == "def" && off < r.root.Head }

// Aside says that a span is text for people: of an exception, a log or a warning.
func (r *Region) Aside(at Span) bool {
	for _, a := range r.asides {
		if a.Off <= at.Off && at.End <= a.End {
			return true
		}
	}
	return false
}

// collect lists the literals of the region, and the texts for people.
func (r *Region) collect() {
	r.literals = map[pysrc.ExprKind][]string{}
	seen := map[pysrc.ExprKind]map[string]int{}
	for _, e := range r.exprs {
		note(e, seen)
		if seen[e.Kind][e.Name] == 1 && len(r.literals[e.Kind]) < most {
			r.literals[e.Kind] = append(r.literals[e.Kind], e.Name)
		}
		if e.Kind != pysrc.CallExpr {
			continue
		}
		f := e.Parts[0]
		raised := r.parent[e] == nil && r.owner[e].Kind == "raise"
		logged := f.Kind == pysrc.AttributeExpr && f.Parts[0].Kind == pysrc.NameExpr && logs(f.Parts[0].Name)
		if raised || logged {
			r.asides = append(r.asides, Span{f.End, e.End})
		}
	}
}

func logs(name string) bool {
	return name == "logging" || name == "logger" || name == "log" || name == "warnings"
}
