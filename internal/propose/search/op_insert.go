package search

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"ratchet/internal/propose/search/names"
)

// twinsOf inserts a copy of a statement into the other blocks of the function.
func (r *region) twinsOf(s ast.Stmt, text string, emit emitter) {
	own := r.parents[s]
	count := 0
	ast.Inspect(r.node, func(n ast.Node) bool {
		b, ok := n.(*ast.BlockStmt)
		if !ok || b == own || len(b.List) == 0 || count >= 8 {
			return true
		}
		count++
		last := b.List[len(b.List)-1]
		at := r.after(last, text)
		if terminates(b) {
			at = r.before(last, text)
		}
		emit(mutation{
			site: last, weight: 0.25, what: names.Quote(text) + " is missing at the end of the block",
			changes: []change{at},
		})
		return true
	})
}

// resets gives a variable that a loop builds up its first value again: at the
// start of the loop around, and after it was used up within.
func resets(r *region, n ast.Node, emit emitter) {
	var loop *ast.BlockStmt
	switch l := n.(type) {
	case *ast.ForStmt:
		loop = l.Body
	case *ast.RangeStmt:
		loop = l.Body
	default:
		return
	}
	for _, v := range r.builtUp(loop) {
		first, ok := r.firstValue(v)
		if !ok {
			continue
		}
		text := v.Name() + " = " + first
		w := 0.5
		if _, nested := r.inLoop(n); nested || hasLoop(loop) {
			w = 1
		}
		emit(mutation{site: n, weight: w, what: "`" + text + "` is missing at the start of the loop", changes: []change{r.opening(loop, text)}})
		ast.Inspect(loop, func(m ast.Node) bool {
			s, ok := m.(*ast.IfStmt)
			if !ok || len(s.Body.List) == 0 {
				return true
			}
			last := s.Body.List[len(s.Body.List)-1]
			at := r.after(last, text)
			if terminates(s.Body) {
				at = r.before(last, text)
			}
			emit(mutation{site: last, weight: 0.8, what: "`" + text + "` is missing at the end of the branch", changes: []change{at}})
			if e, ok := s.Else.(*ast.BlockStmt); ok && len(e.List) > 0 {
				end := e.List[len(e.List)-1]
				emit(mutation{site: end, weight: 0.6, what: "`" + text + "` is missing at the end of the else branch", changes: []change{r.after(end, text)}})
			} else if s.Else == nil {
				emit(mutation{
					site: s, weight: 0.7, what: "`" + text + "` is missing in an else branch",
					changes: []change{{r.offset(s.End()), r.offset(s.End()), " else {\n" + r.indent(r.offset(s.Pos())) + "\t" + text + "\n" + r.indent(r.offset(s.Pos())) + "}"}},
				})
			}
			return true
		})
	}
}

func hasLoop(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			found = true
		}
		return !found
	})
	return found
}

// builtUp lists the local variables declared outside of a loop and changed in it.
func (r *region) builtUp(loop *ast.BlockStmt) []*types.Var {
	var out []*types.Var
	seen := map[types.Object]bool{}
	ast.Inspect(loop, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || !r.assigned(id) {
			return true
		}
		v, ok := r.u.info.Uses[id].(*types.Var)
		if ok && !seen[v] && !r.isPackageLevel(v) && !r.isParam(v) && (v.Pos() < loop.Pos() || v.Pos() > loop.End()) {
			seen[v] = true
			out = append(out, v)
		}
		return len(out) < 6
	})
	return out
}

// firstValue is the text of the value that a variable is declared with.
func (r *region) firstValue(v *types.Var) (string, bool) {
	text, found := "", false
	ast.Inspect(r.node, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.AssignStmt:
			for i, l := range s.Lhs {
				if id, ok := l.(*ast.Ident); ok && r.u.info.Defs[id] == v && len(s.Lhs) == len(s.Rhs) {
					text, found = r.text(s.Rhs[i]), true
				}
			}
		case *ast.ValueSpec:
			for i, id := range s.Names {
				if r.u.info.Defs[id] == v {
					if len(s.Values) == len(s.Names) {
						text, found = r.text(s.Values[i]), true
					} else if len(s.Values) == 0 {
						text, found = r.zero(v.Type())
					}
				}
			}
		}
		return !found
	})
	return text, found
}

// updates adds a step of a counter where a block ends: counters that never move first.
func updates(r *region, n ast.Node, emit emitter) {
	b, ok := n.(*ast.BlockStmt)
	if !ok || len(b.List) == 0 || r.fn == nil || b == r.fn.Body {
		return
	}
	last := b.List[len(b.List)-1]
	_, looping := r.inLoop(last)
	if !looping {
		return
	}
	count := 0
	for _, o := range r.visible(last.End(), false) {
		v, ok := o.(*types.Var)
		if !ok || r.isPackageLevel(v) || !isInt(v.Type()) || count >= 4 {
			continue
		}
		count++
		w := 0.15
		if r.stepped(v) {
			w = 0.4
		}
		if r.writes[v] == 0 && !r.isParam(v) && v.Pos() < b.Pos() {
			w = 1
		}
		for i, step := range []string{v.Name() + "++", v.Name() + "--"} {
			at := r.after(last, step)
			if terminates(b) {
				at = r.before(last, step)
			}
			emit(mutation{
				site: last, weight: w * (1 - 0.4*float64(i)), what: "`" + step + "` is missing at the end of the block",
				changes: []change{at},
			})
		}
	}
}

// stepped says that some statement of the region steps the variable.
func (r *region) stepped(v *types.Var) bool {
	found := false
	ast.Inspect(r.node, func(n ast.Node) bool {
		if s, ok := n.(*ast.IncDecStmt); ok {
			if id, ok := s.X.(*ast.Ident); ok && r.u.info.Uses[id] == v {
				found = true
			}
		}
		return !found
	})
	return found
}

// exits adds a way out at the end of a branch.
func exits(r *region, n ast.Node, emit emitter) {
	s, ok := n.(*ast.IfStmt)
	if !ok || len(s.Body.List) == 0 || terminates(s.Body) {
		return
	}
	last := s.Body.List[len(s.Body.List)-1]
	add := func(text string, w float64) {
		emit(mutation{
			site: last, weight: w, what: names.Quote(text) + " is missing at the end of `if " + trim(r.text(s.Cond)) + "`",
			changes: []change{r.after(last, text)},
		})
	}
	if _, ok := r.inLoop(s); ok {
		add("break", 1)
		add("continue", 0.9)
	}
	if text, ok := r.zeroReturn(s); ok {
		add(text, 0.6)
	}
	for _, text := range r.returns(s) {
		add(text, 0.4)
	}
}

// returns are the return statements of the region, as text, without repeats.
func (r *region) returns(at ast.Node) []string {
	var out []string
	seen := map[string]bool{}
	ast.Inspect(r.node, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		if s, ok := n.(*ast.ReturnStmt); ok && !seen[r.text(s)] {
			seen[r.text(s)] = true
			out = append(out, r.text(s))
		}
		return len(out) < 5
	})
	return out
}

// zeroReturn is a return with zero values from where n stands.
func (r *region) zeroReturn(n ast.Node) (string, bool) {
	sig := r.signature(n)
	if sig == nil {
		return "", false
	}
	text := "return"
	if sig.Results().Len() > 0 && sig.Results().At(0).Name() != "" {
		return text, true
	}
	for i := range sig.Results().Len() {
		z, ok := r.zero(sig.Results().At(i).Type())
		if !ok {
			return "", false
		}
		text += separator(i) + z
	}
	return text, true
}

func separator(i int) string {
	if i == 0 {
		return " "
	}
	return ", "
}

// missingElse makes what follows a branch its alternative.
func missingElse(r *region, n ast.Node, emit emitter) {
	s, ok := n.(*ast.IfStmt)
	if !ok || s.Else != nil || !r.listed(s) {
		return
	}
	list, i := r.list(s)
	if i+1 >= len(list) || terminates(s.Body) {
		return
	}
	next := list[i+1]
	if a, ok := next.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
		return
	}
	gap := change{r.offset(s.End()), r.offset(next.Pos()), " else "}
	if _, ok := next.(*ast.IfStmt); ok {
		emit(mutation{site: next, weight: 1, what: names.Quote(r.text(next)) + " should be the else branch of the one before", changes: []change{gap}})
		return
	}
	gap.text = " else {\n" + r.indent(r.offset(s.Pos())) + "\t"
	end := r.offset(next.End())
	emit(mutation{
		site: next, weight: 0.8, what: names.Quote(r.text(next)) + " should be in an else branch",
		changes: []change{gap, {end, end, "\n" + r.indent(r.offset(s.Pos())) + "}"}},
	})
}

// records adds an entry to a map that the region reads and never writes, with
// the key by which it is read: the missing mark of what was seen.
func records(r *region, n ast.Node, emit emitter) {
	x, ok := n.(*ast.IndexExpr)
	if !ok || r.assigned(x) {
		return
	}
	m, ok := under(r.typeOf(x.X)).(*types.Map)
	if !ok || r.written(r.text(x.X)) {
		return
	}
	value, ok := r.zero(m.Elem())
	switch {
	case isBool(m.Elem()):
		value = "true"
	case !ok:
		return
	}
	entry := r.text(x.X) + "[" + r.text(x.Index) + "]"
	texts := []string{entry + " = " + value}
	if isNumber(m.Elem()) {
		texts = []string{entry + "++", entry + "--"}
	}
	for i, text := range texts {
		for _, at := range r.slots(x) {
			at.weight /= float64(1 + i)
			at.what = names.Quote(text) + " is missing"
			at.changes[0].text = strings.ReplaceAll(at.changes[0].text, slotMark, text)
			emit(at)
		}
	}
}

// slotMark stands for a statement that is to be filled in.
const slotMark = "\x00"

// slots are the places where something may be noted that was looked up at x:
// in the branch that the look-up decides, and after the statement with it.
func (r *region) slots(x ast.Node) []mutation {
	var out []mutation
	s := r.statement(x)
	if s == nil {
		return nil
	}
	if b := body(s); b != nil && len(b.List) > 0 {
		out = append(out, mutation{site: s, weight: 1, changes: []change{r.opening(b, slotMark)}})
	}
	return append(out, mutation{site: s, weight: 0.9, changes: []change{r.after(s, slotMark)}})
}

// written says that the region assigns to entries of the map or passes it on.
func (r *region) written(m string) bool {
	found := false
	ast.Inspect(r.node, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.IndexExpr:
			found = found || r.text(x.X) == m && r.assigned(x)
		case *ast.CallExpr:
			for _, a := range x.Args {
				found = found || r.text(a) == m && r.text(x.Fun) != "len"
			}
		}
		return !found
	})
	return found
}
