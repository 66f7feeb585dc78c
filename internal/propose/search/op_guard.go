package search

import (
	"go/ast"
	"go/token"
	"go/types"

	"ratchet/internal/propose/search/names"
)

// entryGuards adds an early return for empty, nil, zero and negative
// parameters at the start of a function.
func entryGuards(r *region, n ast.Node, emit emitter) {
	b, ok := n.(*ast.BlockStmt)
	if !ok || r.fn == nil || b != r.fn.Body || r.fnSig == nil || len(b.List) == 0 {
		return
	}
	exits := r.exitValues(r.fnSig)
	if len(exits) == 0 {
		return
	}
	params := []*types.Var{}
	for p := range r.fnSig.Params().Variables() {
		params = append(params, p)
	}
	if r.fnSig.Recv() != nil {
		params = append(params, r.fnSig.Recv())
	}
	for _, p := range params {
		if p.Name() == "" || p.Name() == "_" {
			continue
		}
		need := r.guardNeed(p)
		for i, c := range emptiness(p) {
			if r.asks(c.text) {
				continue
			}
			for j, exit := range exits {
				emit(mutation{
					site: b.List[0], weight: need * c.weight / (1 + 0.4*float64(i)) / (1 + 0.7*float64(j)),
					what:    "a guard is missing: `if " + c.text + " { " + exit + " }`",
					changes: []change{r.before(b.List[0], "if "+c.text+" {\n\t"+exit+"\n}")},
				})
			}
		}
	}
}

// asks says that the region has the condition already.
func (r *region) asks(cond string) bool {
	for _, a := range atoms(r) {
		if r.text(a) == cond {
			return true
		}
	}
	return false
}

// guardNeed weighs how likely a parameter needs a guard: fully when it is
// indexed, divided by, dereferenced or a number; hardly when it is only ranged over.
func (r *region) guardNeed(p *types.Var) float64 {
	if isNumber(p.Type()) {
		return 0.8
	}
	need := 0.4
	ast.Inspect(r.fn.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || r.u.info.Uses[id] != p {
			return true
		}
		switch x := r.parents[id].(type) {
		case *ast.IndexExpr:
			if x.X == id {
				need = 1
			}
		case *ast.SliceExpr, *ast.SelectorExpr, *ast.StarExpr:
			need = 1
		case *ast.CallExpr: // len(p) as a divisor
			for up := r.parents[x]; up != nil; up = r.parents[up] {
				if b, ok := up.(*ast.BinaryExpr); ok && (b.Op == token.QUO || b.Op == token.REM) {
					need = 1
				}
			}
		}
		return true
	})
	return need
}

// emptiness is the conditions under which a value is worth a guard.
func emptiness(v *types.Var) []option {
	name := v.Name()
	switch u := v.Type().Underlying().(type) {
	case *types.Slice, *types.Map:
		return []option{{"len(" + name + ") == 0", 1}, {"len(" + name + ") < 2", 0.4}}
	case *types.Pointer, *types.Interface, *types.Signature, *types.Chan:
		return []option{{name + " == nil", 0.8}}
	case *types.Basic:
		switch {
		case u.Info()&types.IsString != 0:
			return []option{{name + ` == ""`, 0.9}}
		case u.Info()&types.IsUnsigned != 0:
			return []option{{name + " == 0", 0.8}}
		case u.Info()&types.IsNumeric != 0:
			return []option{{name + " <= 0", 0.8}, {name + " < 0", 0.8}, {name + " == 0", 0.8}, {name + " < 2", 0.5}, {name + " <= 1", 0.2}}
		case u.Info()&types.IsBoolean != 0:
			return []option{{name, 0.3}, {"!" + name, 0.3}}
		}
	}
	return nil
}

// exitValues are the returns that an early exit may make: zero values with each
// error that the package declares, true for false, a parameter of the result's type, -1.
func (r *region) exitValues(sig *types.Signature) []string {
	zero, ok := r.zeroReturn(r.fn.Body)
	if !ok {
		return nil
	}
	res := sig.Results()
	if res.Len() == 0 {
		return []string{"return"}
	}
	lead := "return"
	for i := range res.Len() - 1 {
		z, _ := r.zero(res.At(i).Type())
		lead += separator(i) + z
	}
	if res.Len() > 1 {
		lead += ","
	}
	last := res.At(res.Len() - 1).Type()
	var out []string
	if isError(last) {
		for i, name := range r.errorVars() {
			if i < 4 {
				out = append(out, lead+" "+name)
			}
		}
		return append(out, lead+" nil")
	}
	out = append(out, zero)
	switch {
	case isBool(last):
		out = append(out, lead+" true", lead+" false")
	case isNumber(last):
		out = append(out, lead+" 1", lead+" -1", lead+" 0")
	}
	if res.Len() == 1 {
		for p := range sig.Params().Variables() {
			if p.Name() != "" && p.Name() != "_" && same(p.Type(), last) {
				out = append(out, "return "+p.Name())
			}
		}
		if s, ok := last.Underlying().(*types.Slice); ok {
			if name, ok := r.typeName(types.NewSlice(s.Elem())); ok {
				out = append(out, "return "+name+"{}")
			}
		}
	}
	return unique(out)
}

func unique(list []string) []string {
	seen := map[string]bool{}
	out := list[:0:0]
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// errorVars are the errors that the package declares as variables.
func (r *region) errorVars() []string {
	var out []string
	scope := r.u.pkg.Scope()
	for _, name := range scope.Names() {
		if v, ok := scope.Lookup(name).(*types.Var); ok && isError(v.Type()) {
			out = append(out, name)
		}
	}
	return out
}

// loopGuards skips or ends a loop at empty values, and leaves after a step that
// took a number below zero.
func loopGuards(r *region, n ast.Node, emit emitter) {
	switch l := n.(type) {
	case *ast.RangeStmt:
		r.elementGuards(l, emit)
	case *ast.IncDecStmt, *ast.AssignStmt:
		if v := stepsDown(r, n); v != "" {
			r.stepGuards(n.(ast.Stmt), v, emit)
		}
	}
}

func (r *region) elementGuards(l *ast.RangeStmt, emit emitter) {
	if len(l.Body.List) == 0 {
		return
	}
	for _, e := range []ast.Expr{l.Value, l.Key} {
		id, ok := e.(*ast.Ident)
		if !ok || id.Name == "_" {
			continue
		}
		v, ok := r.u.info.Defs[id].(*types.Var)
		if !ok {
			continue
		}
		for i, c := range emptiness(v) {
			for j, exit := range []string{"continue", "break"} {
				emit(mutation{
					site: l.Body.List[0], weight: 0.7 * c.weight / float64(1+i) / float64(1+2*j),
					what:    "a guard is missing in the loop: `if " + c.text + " { " + exit + " }`",
					changes: []change{r.before(l.Body.List[0], "if "+c.text+" {\n\t"+exit+"\n}")},
				})
			}
		}
	}
}

// stepsDown is the variable that a statement lowers, if it does.
func stepsDown(r *region, n ast.Node) string {
	switch s := n.(type) {
	case *ast.IncDecStmt:
		if s.Tok == token.DEC {
			return r.text(s.X)
		}
	case *ast.AssignStmt:
		if s.Tok == token.SUB_ASSIGN {
			return r.text(s.Lhs[0])
		}
	}
	return ""
}

func (r *region) stepGuards(s ast.Stmt, v string, emit emitter) {
	if !r.listed(s) || r.fn == nil || r.fnSig == nil {
		return
	}
	exits := r.exitValues(r.fnSig)
	if _, ok := r.inLoop(s); ok {
		exits = append(exits, "continue")
	}
	exits = append(exits, v+" = 0")
	for j, exit := range exits {
		emit(mutation{
			site: s, weight: 1 / (1 + 0.6*float64(j)),
			what:    "a guard is missing after " + names.Quote(r.text(s)) + ": `if " + v + " < 0 { " + exit + " }`",
			changes: []change{r.after(s, "if "+v+" < 0 {\n\t"+exit+"\n}")},
		})
	}
}

// uncheckedErrors returns an error that is assigned and not looked at, or thrown away.
func uncheckedErrors(r *region, n ast.Node, emit emitter) {
	s, ok := n.(ast.Stmt)
	if !ok || !r.listed(s) {
		return
	}
	sig := r.signature(s)
	if sig == nil || sig.Results().Len() == 0 || !isError(sig.Results().At(sig.Results().Len()-1).Type()) {
		return
	}
	lead, ok := r.errorReturn(sig)
	if !ok {
		return
	}
	check := "if err != nil {\n\t" + lead + "\n}"
	switch x := s.(type) {
	case *ast.ExprStmt:
		if isError(r.typeOf(x.X)) {
			text := "if err := " + r.text(x) + "; err != nil {\n\t" + lead + "\n}"
			emit(mutation{site: s, weight: 1, what: "the error of " + names.Quote(r.text(x)) + " is not checked",
				changes: []change{r.replace(s, reindent(text, r.indent(r.offset(s.Pos()))))}})
		}
	case *ast.AssignStmt:
		last, ok := x.Lhs[len(x.Lhs)-1].(*ast.Ident)
		if !ok || r.nextChecks(s) {
			return
		}
		if last.Name == "err" {
			emit(mutation{site: s, weight: 1, what: "the error of " + names.Quote(r.text(x)) + " is not checked", changes: []change{r.after(s, check)}})
		}
		if last.Name == "_" && len(x.Rhs) == 1 && r.lastIsError(x.Rhs[0]) {
			changes := []change{r.replace(last, "err"), r.after(s, check)}
			if len(x.Lhs) == 1 {
				changes = append(changes, r.replaceToken(x.TokPos, x.Tok, ":="))
			}
			emit(mutation{site: s, weight: 1, what: "the error of " + names.Quote(r.text(x)) + " is thrown away", changes: changes})
		}
	}
}

func (r *region) lastIsError(e ast.Expr) bool {
	t := r.typeOf(e)
	if tuple, ok := t.(*types.Tuple); ok && tuple.Len() > 0 {
		t = tuple.At(tuple.Len() - 1).Type()
	}
	return isError(t)
}

// errorReturn gives zero values and err.
func (r *region) errorReturn(sig *types.Signature) (string, bool) {
	text := "return"
	for i := range sig.Results().Len() - 1 {
		z, ok := r.zero(sig.Results().At(i).Type())
		if !ok {
			return "", false
		}
		text += separator(i) + z
	}
	return text + separator(sig.Results().Len()-1) + "err", true
}

// nextChecks says that the statement after s is an if that reads err.
func (r *region) nextChecks(s ast.Stmt) bool {
	list, i := r.list(s)
	if i < 0 || i+1 >= len(list) {
		return false
	}
	next, ok := list[i+1].(*ast.IfStmt)
	if !ok {
		return false
	}
	found := false
	ast.Inspect(next.Cond, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == "err" {
			found = true
		}
		return !found
	})
	return found
}

// returned gives back something else: zero, true for false, another variable, the results in another order.
func returned(r *region, n ast.Node, emit emitter) {
	s, ok := n.(*ast.ReturnStmt)
	if !ok {
		return
	}
	for i, e := range s.Results {
		t := r.typeOf(e)
		for _, other := range s.Results[:i] {
			if same(r.typeOf(other), t) {
				emit(mutation{site: s, weight: 1, what: "the results of " + names.Quote(r.text(s)) + " should be swapped",
					changes: []change{r.replace(e, r.text(other)), r.replace(other, r.text(e))}})
			}
		}
		if _, literal := e.(*ast.BasicLit); literal || t == nil {
			continue
		}
		sig := r.signature(s)
		if sig != nil && sig.Results().Len() == len(s.Results) {
			t = sig.Results().At(i).Type()
		}
		if z, ok := r.zero(t); ok && r.text(e) != "true" {
			becomes(r, e, z, 0.3, emit)
		}
		if _, isVar := e.(*ast.Ident); isVar && !isNil(e) {
			continue // variables has these
		}
		if isBool(t) && !r.constant(e) {
			becomes(r, e, "true", 0.2, emit)
		}
		r.returnVariables(s, e, t, emit)
	}
}

func (r *region) returnVariables(s *ast.ReturnStmt, e ast.Expr, t types.Type, emit emitter) {
	count := 0
	for _, o := range r.visible(s.Pos(), false) {
		if count == 5 {
			return
		}
		if isErr := isError(t) && isNil(e); r.isPackageLevel(o) && !isErr || !same(o.Type(), t) {
			continue
		}
		w := 0.6
		if r.uses[o] == 0 {
			w = 1
		}
		becomes(r, e, o.Name(), w/(1+0.3*float64(count)), emit)
		count++
	}
}
