package patch

import "go/ast"

// exits are the functions by which a process, or a test's goroutine, ends
// before the tests are done.
var exits = []struct{ pkg, name string }{{"os", "Exit"}, {"syscall", "Exit"}, {"runtime", "Goexit"}}

// checkInit finds exits that run while the package is initialised, before any
// test: in an init function, in the initialiser of a package variable, or in a
// function of the same file which these call.
func (r *reachWalker) checkInit() {
	exiting := r.exitingFuncs()
	for _, decl := range r.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" && d.Body != nil && r.exitsIn(d.Body, exiting) {
				r.add("an exit from an init function")
			}
		case *ast.GenDecl:
			for _, v := range initialisers(d) {
				if r.exitsAtOnce(v, exiting) {
					r.add("an exit from the initialiser of a package variable")
				}
			}
		}
	}
}

func initialisers(d *ast.GenDecl) []ast.Expr {
	var out []ast.Expr
	for _, spec := range d.Specs {
		if v, ok := spec.(*ast.ValueSpec); ok {
			out = append(out, v.Values...)
		}
	}
	return out
}

// exitingFuncs lists the functions of the file that may exit, through others too.
func (r *reachWalker) exitingFuncs() map[string]bool {
	out := map[string]bool{}
	for grown := true; grown; {
		grown = false
		for _, decl := range r.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || f.Body == nil || out[f.Name.Name] {
				continue
			}
			if r.exitsIn(f.Body, out) {
				out[f.Name.Name], grown = true, true
			}
		}
	}
	return out
}

// exitsIn finds any mention of an exit, so that one kept in a variable counts.
func (r *reachWalker) exitsIn(n ast.Node, exiting map[string]bool) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && r.isExit(e, exiting) {
			found = true
		}
		return !found
	})
	return found
}

// exitsAtOnce finds exits that evaluating an expression calls. A function that
// is only stored, as in var exit = os.Exit, is not one.
func (r *reachWalker) exitsAtOnce(e ast.Expr, exiting map[string]bool) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			lit, called := ast.Unparen(n.Fun).(*ast.FuncLit)
			if r.isExit(n.Fun, exiting) || called && r.exitsIn(lit.Body, exiting) {
				found = true
			}
		}
		return !found
	})
	return found
}

func (r *reachWalker) isExit(e ast.Expr, exiting map[string]bool) bool {
	for _, x := range exits {
		if r.refers(e, x.pkg, x.name) {
			return true
		}
	}
	id, ok := e.(*ast.Ident)
	return ok && exiting[id.Name]
}
