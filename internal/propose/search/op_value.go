package search

import (
	"go/ast"
	"go/token"
	"go/types"

	"ratchet/internal/propose/search/names"
)

// locks fixes the kind and the place of locks: a read lock for a lock, an
// unlock that is not deferred, a missing unlock.
func locks(r *region, n ast.Node, emit emitter) {
	switch s := n.(type) {
	case *ast.ExprStmt:
		recv, name, ok := lockCall(r, s.X)
		if !ok {
			return
		}
		switch name {
		case "Lock", "RLock":
			un := map[string]string{"Lock": "Unlock", "RLock": "RUnlock"}[name]
			emit(mutation{site: s, weight: 1, what: "`defer " + recv + "." + un + "()` is missing",
				changes: []change{r.after(s, "defer "+recv+"."+un+"()")}})
		case "Unlock", "RUnlock", "Close", "Done":
			becomes(r, s, "defer "+r.text(s), 0.7, emit)
		}
	case *ast.DeferStmt:
		if _, _, ok := lockCall(r, s.Call); ok {
			becomes(r, s, r.text(s.Call), 0.5, emit)
		}
	case *ast.BlockStmt:
		if r.fn != nil && s == r.fn.Body {
			r.missingLock(s, emit)
		}
	}
}

func lockCall(r *region, e ast.Expr) (recv, name string, ok bool) {
	c, isCall := e.(*ast.CallExpr)
	if !isCall || len(c.Args) != 0 {
		return "", "", false
	}
	sel, isSel := c.Fun.(*ast.SelectorExpr)
	if !isSel {
		return "", "", false
	}
	switch sel.Sel.Name {
	case "Lock", "RLock", "Unlock", "RUnlock", "Close", "Done":
		return r.text(sel.X), sel.Sel.Name, true
	}
	return "", "", false
}

// missingLock takes a mutex of the receiver that the method does not take.
func (r *region) missingLock(body *ast.BlockStmt, emit emitter) {
	if r.fnSig == nil || r.fnSig.Recv() == nil || len(body.List) == 0 || r.fnSig.Recv().Name() == "" {
		return
	}
	st, ok := under(r.fnSig.Recv().Type()).(*types.Struct)
	if !ok {
		return
	}
	for f := range st.Fields() {
		name := r.fnSig.Recv().Name() + "." + f.Name()
		kind := types.TypeString(f.Type(), nil)
		if kind != "sync.Mutex" && kind != "sync.RWMutex" {
			continue
		}
		emit(mutation{
			site: body.List[0], weight: 0.5, what: "`" + name + "` is not locked",
			changes: []change{r.before(body.List[0], name+".Lock()\ndefer "+name+".Unlock()")},
		})
	}
}

// composites swaps the values of a composite literal, drops one, and moves a
// size given to make between length and capacity.
func composites(r *region, n ast.Node, emit emitter) {
	switch x := n.(type) {
	case *ast.CompositeLit:
		r.literalValues(x, emit)
	case *ast.CallExpr:
		if id, ok := x.Fun.(*ast.Ident); !ok || id.Name != "make" || len(x.Args) < 2 {
			return
		}
		if _, ok := under(r.typeOf(x.Args[0])).(*types.Slice); !ok {
			return
		}
		t, size := r.text(x.Args[0]), r.text(x.Args[len(x.Args)-1])
		if len(x.Args) == 2 {
			becomes(r, x, "make("+t+", 0, "+size+")", 1, emit)
		} else {
			becomes(r, x, "make("+t+", "+size+")", 1, emit)
		}
	}
}

func (r *region) literalValues(x *ast.CompositeLit, emit emitter) {
	if len(x.Elts) > 12 {
		return
	}
	value := func(e ast.Expr) ast.Expr {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			return kv.Value
		}
		return e
	}
	for i, a := range x.Elts {
		for _, b := range x.Elts[:i] {
			va, vb := value(a), value(b)
			if same(r.typeOf(va), r.typeOf(vb)) && r.text(va) != r.text(vb) {
				emit(mutation{
					site: x, weight: 0.8, changes: []change{r.replace(va, r.text(vb)), r.replace(vb, r.text(va))},
					what: names.Quote(r.text(vb)) + " and " + names.Quote(r.text(va)) + " in " + names.Quote(r.text(x)) + " should be swapped",
				})
			}
		}
	}
}

// ranges exchanges index and value, and skips the first or last element.
func ranges(r *region, n ast.Node, emit emitter) {
	l, ok := n.(*ast.RangeStmt)
	if !ok || l.Tok != token.DEFINE || l.Key == nil {
		return
	}
	key, base := r.text(l.Key), r.text(l.X)
	head := change{r.offset(l.Key.Pos()), r.offset(l.TokPos), ""}
	if l.Value == nil {
		head.text = "_, " + key + " "
		emit(mutation{site: l, weight: 1, what: "`" + key + "` should range over the values of " + names.Quote(base), changes: []change{head}})
	} else if key == "_" {
		head.text = r.text(l.Value) + " "
		emit(mutation{site: l, weight: 1, what: names.Quote(r.text(l.Value)) + " should range over the indexes of " + names.Quote(base), changes: []change{head}})
	} else {
		head.text = r.text(l.Value) + ", " + key + " "
		emit(mutation{site: l, weight: 0.8, what: "index and value of the loop over " + names.Quote(base) + " should be exchanged", changes: []change{head}})
	}
	switch under(r.typeOf(l.X)).(type) {
	case *types.Slice, *types.Basic, *types.Array:
		if isInt(r.typeOf(l.X)) {
			return
		}
		if _, sliced := l.X.(*ast.SliceExpr); !sliced {
			becomes(r, l.X, base+"[1:]", 0.6, emit)
			becomes(r, l.X, base+"[:len("+base+")-1]", 0.5, emit)
		}
	}
}
