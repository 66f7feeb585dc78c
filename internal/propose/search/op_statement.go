package search

import (
	"go/ast"
	"go/token"
	"go/types"

	"ratchet/internal/propose/search/names"
)

// removed takes a statement out.
func removed(r *region, n ast.Node, emit emitter) {
	s, ok := n.(ast.Stmt)
	if !ok || !r.listed(s) {
		return
	}
	w := 0.0
	switch x := s.(type) {
	case *ast.BranchStmt, *ast.IncDecStmt:
		w = 1
	case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		w = 0.8
	case *ast.AssignStmt:
		if x.Tok != token.DEFINE {
			w = 0.9
		}
	case *ast.ReturnStmt:
		w = 0.6
	case *ast.IfStmt:
		w = 0.8
		if terminates(x.Body) {
			w = 1
		}
	case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt:
		w = 0.2
	}
	if w > 0 {
		emit(mutation{site: s, weight: w, what: names.Quote(r.text(s)) + " should be removed", changes: []change{r.remove(s)}})
	}
}

func terminates(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

// unwrapped runs a branch unconditionally, or keeps the other one.
func unwrapped(r *region, n ast.Node, emit emitter) {
	s, ok := n.(*ast.IfStmt)
	if !ok || !r.listed(s) || s.Init != nil {
		return
	}
	if !terminates(s.Body) {
		emit(mutation{
			site: s, weight: 0.7, what: "the body of `if " + trim(r.text(s.Cond)) + "` should always run",
			changes: []change{r.replace(s, r.inner(s.Body))},
		})
	}
	if e, ok := s.Else.(*ast.BlockStmt); ok {
		emit(mutation{
			site: s, weight: 0.7, what: "the else branch of `if " + trim(r.text(s.Cond)) + "` should run in any case",
			changes: []change{{r.offset(s.Body.End()), r.offset(s.End()), "\n" + r.indent(r.offset(s.Pos())) + r.inner(e)}},
		})
	}
	if _, loop := r.inLoop(s); loop || s.Else != nil {
		return
	}
	emit(mutation{
		site: s, weight: 0.25, what: "`if " + trim(r.text(s.Cond)) + "` should be a loop",
		changes: []change{{r.offset(s.If), r.offset(s.If) + 2, "for"}},
	})
}

func trim(s string) string {
	q := names.Quote(s)
	return q[1 : len(q)-1]
}

// inner is the text of a block's statements.
func (r *region) inner(b *ast.BlockStmt) string {
	if len(b.List) == 0 {
		return ""
	}
	return string(r.src.data[r.offset(b.List[0].Pos()):r.offset(b.List[len(b.List)-1].End())])
}

// moved exchanges neighbours that share a variable, and moves statements into
// and out of branches and loops.
func moved(r *region, n ast.Node, emit emitter) {
	s, ok := n.(ast.Stmt)
	if !ok || !r.listed(s) {
		return
	}
	list, i := r.list(s)
	if i+1 < len(list) && r.shareVariable(s, list[i+1]) {
		next := list[i+1]
		w := 1.0
		if holdsBlock(s) || holdsBlock(next) {
			w = 0.6
		}
		emit(mutation{
			site: s, weight: w, what: names.Quote(r.text(s)) + " should come after " + names.Quote(r.text(next)),
			changes: []change{r.replace(s, r.text(next)), r.replace(next, r.text(s))},
		})
	}
	if !r.simple(s) {
		return
	}
	if block, ok := r.parents[s].(*ast.BlockStmt); ok && len(list) > 1 {
		if outer, ok := r.parents[block].(ast.Stmt); ok && r.listed(outer) {
			if i == len(list)-1 {
				r.move(s, r.after(outer, r.text(s)), "after the block", 0.8, emit)
			}
			if i == 0 {
				r.move(s, r.before(outer, r.text(s)), "before the block", 0.8, emit)
			}
		}
	}
	if i+1 < len(list) {
		if b := body(list[i+1]); b != nil {
			r.move(s, r.opening(b, r.text(s)), "into the block below", 0.8, emit)
		}
	}
	if i > 0 {
		if b := body(list[i-1]); b != nil && len(b.List) > 0 && !terminates(b) {
			r.move(s, r.after(b.List[len(b.List)-1], r.text(s)), "into the block above", 0.8, emit)
		}
	}
}

func (r *region) move(s ast.Stmt, to change, where string, w float64, emit emitter) {
	emit(mutation{
		site: s, weight: w, what: names.Quote(r.text(s)) + " should stand " + where,
		changes: []change{r.remove(s), to},
	})
}

func holdsBlock(s ast.Stmt) bool { return body(s) != nil }

// body is the block of a branch or loop.
func body(s ast.Stmt) *ast.BlockStmt {
	switch s := s.(type) {
	case *ast.IfStmt:
		return s.Body
	case *ast.ForStmt:
		return s.Body
	case *ast.RangeStmt:
		return s.Body
	}
	return nil
}

func (r *region) shareVariable(a, b ast.Node) bool {
	seen := map[types.Object]bool{}
	use := func(n ast.Node, f func(types.Object)) {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if v, ok := r.object(id).(*types.Var); ok {
					f(v)
				}
			}
			return true
		})
	}
	use(a, func(o types.Object) { seen[o] = true })
	shared := false
	use(b, func(o types.Object) { shared = shared || seen[o] })
	return shared
}

// object is what an identifier stands for, where it is declared or used.
func (r *region) object(id *ast.Ident) types.Object {
	if o := r.u.info.Uses[id]; o != nil {
		return o
	}
	return r.u.info.Defs[id]
}

// repeated copies a statement of a loop to after it, alone and when there is
// something left, which is the missing flush; and copies statements to the
// beginnings and ends of other blocks, which is the missing twin.
func repeated(r *region, n ast.Node, emit emitter) {
	s, ok := n.(ast.Stmt)
	if !ok || !r.simple(s) {
		return
	}
	if _, ok := s.(*ast.ReturnStmt); ok {
		return
	}
	a, _ := s.(*ast.AssignStmt)
	if a != nil && a.Tok == token.DEFINE {
		return
	}
	text := r.text(s)
	if loop := r.outerLoop(s); loop != nil {
		emit(mutation{
			site: s, weight: 0.7, what: names.Quote(text) + " should be repeated after the loop",
			changes: []change{r.after(loop, text)},
		})
		for i, c := range r.leftovers(s) {
			emit(mutation{
				site: s, weight: 0.9 / float64(i+1), what: names.Quote(text) + " should be repeated after the loop if `" + c + "`",
				changes: []change{r.after(loop, "if "+c+" {\n\t"+text+"\n}")},
			})
		}
	}
	r.twinsOf(s, text, emit)
}

// outerLoop is the loop that holds s, when it stands in a list.
func (r *region) outerLoop(s ast.Stmt) ast.Stmt {
	var n ast.Node = s
	for n = r.parents[n]; n != nil; n = r.parents[n] {
		switch l := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if r.listed(l.(ast.Stmt)) {
				return l.(ast.Stmt)
			}
			return nil
		case *ast.FuncLit:
			return nil
		}
	}
	return nil
}

// leftovers are conditions that a variable read by s still holds something.
func (r *region) leftovers(s ast.Stmt) []string {
	var out []string
	seen := map[types.Object]bool{}
	ast.Inspect(s, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || r.assigned(id) {
			return true
		}
		v, ok := r.u.info.Uses[id].(*types.Var)
		if !ok || v.IsField() || seen[v] || r.writes[v] == 0 {
			return true
		}
		seen[v] = true
		switch u := v.Type().Underlying().(type) {
		case *types.Slice, *types.Map:
			out = append(out, "len("+v.Name()+") > 0")
		case *types.Basic:
			if u.Info()&types.IsString != 0 {
				out = append(out, v.Name()+` != ""`)
			} else if u.Info()&types.IsNumeric != 0 {
				out = append(out, v.Name()+" > 0")
			}
		}
		return len(out) < 3
	})
	return out
}
