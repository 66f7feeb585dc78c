package patch

import (
	"strings"

	"ratchet/internal/pysrc"
)

func (w *pyWalker) block(list []*pysrc.Stmt) {
	for _, s := range list {
		w.stmt(s)
	}
}

// stmt reads a statement and what is below it.
func (w *pyWalker) stmt(s *pysrc.Stmt) {
	if s.IsDocstring() {
		return
	}
	parts, err := s.Parts()
	if err != nil {
		parts = nil
	}
	w.tokens = s.Tokens
	for _, p := range parts {
		if p.Role == pysrc.RoleTarget {
			w.target(p.Expr)
		} else {
			w.expr(p.Expr)
		}
	}
	switch s.Kind {
	case "def":
		w.define(s, parts)
		return
	case "class":
		w.class(parts)
	case "assign", "annassign":
		w.assignment(s, parts)
	case "raise":
		w.raise(parts)
	}
	w.callsAtImport(parts)
	if mainGuard(s) {
		w.guarded++
		defer func() { w.guarded-- }()
	}
	w.block(s.Block)
}

// define reads a function.
func (w *pyWalker) define(s *pysrc.Stmt, parts []pysrc.Part) {
	w.name(definedName(s))
	if inClass(s) {
		w.method(s)
	}
	params := map[string]bool{}
	for _, p := range parts {
		if p.Role == pysrc.RoleParameter {
			params[p.Expr.Name] = true
		}
	}
	w.params = append(w.params, params)
	w.inDef++
	w.block(s.Block)
	w.inDef--
	w.params = w.params[:len(w.params)-1]
}

func inClass(s *pysrc.Stmt) bool {
	for p := s.Parent; p != nil; p = p.Parent {
		switch p.Kind {
		case "class":
			return true
		case "def":
			return false
		}
	}
	return false
}

// name checks what a definition or an assignment is called: test runners call
// some names without being asked.
func (w *pyWalker) name(name string) {
	switch {
	case strings.HasPrefix(name, "pytest_"):
		w.hard("a definition of " + name)
	case hookNames[name]:
		w.hard("a definition of " + name)
	}
}

var hookNames = wordSet("collect_ignore collect_ignore_glob load_tests setUpModule tearDownModule setup_module teardown_module __tracebackhide__ __test__ __pytest_wrapped__")

// class checks the bases of a class.
func (w *pyWalker) class(parts []pysrc.Part) {
	for _, p := range parts {
		if p.Role == pysrc.RoleArgument && pyExits[w.resolve(p.Expr)] {
			w.hard("an exception that ends the process")
		}
	}
}

// pyExits are exceptions that end the process, or a run of tests.
var pyExits = wordSet("~SystemExit ~KeyboardInterrupt ~GeneratorExit builtins.SystemExit builtins.KeyboardInterrupt")

func (w *pyWalker) raise(parts []pysrc.Part) {
	for _, p := range parts {
		e := unparen(p.Expr)
		if e.Kind == pysrc.CallExpr {
			e = e.Parts[0]
		}
		if name := w.resolve(e); pyExits[name] {
			w.exit("a raise of " + strings.TrimPrefix(name, "~"))
		}
	}
}

// exit notes a way to end the process: at once while a module is imported, and
// for the first time anywhere else.
func (w *pyWalker) exit(what string) {
	if w.inDef == 0 && w.guarded == 0 {
		w.hard(what + " while the module is imported")
	}
	w.soft(what)
}

// assignment checks values of class and module variables that act like methods,
// and names that test runners look for.
func (w *pyWalker) assignment(s *pysrc.Stmt, parts []pysrc.Part) {
	var value *pysrc.Expr
	for _, p := range parts {
		if p.Role == pysrc.RoleValue {
			value = unparen(p.Expr)
		}
	}
	for _, p := range parts {
		if p.Role != pysrc.RoleTarget {
			continue
		}
		if value != nil && answersAlways(p.Expr.Name, w.answerOf(value)) {
			w.hard("a method " + p.Expr.Name + " that always answers the same")
		}
		if value != nil && value.Kind == pysrc.CallExpr && comparing[p.Expr.Name] {
			w.hard("a method " + p.Expr.Name + " that a call makes")
		}
		if p.Expr.Kind != pysrc.NameExpr {
			continue
		}
		w.name(p.Expr.Name)
		if inClass(s) && p.Expr.Name == "__class__" {
			w.hard("a definition of __class__")
		}
	}
}

// answerOf is what a function always answers: a lambda, or one by its name.
func (w *pyWalker) answerOf(e *pysrc.Expr) truth {
	switch e.Kind {
	case pysrc.LambdaExpr:
		return w.truth(e.Parts[len(e.Parts)-1])
	case pysrc.NameExpr:
		return w.answers[e.Name]
	}
	return unknown
}

// method checks methods by which objects compare: one that always says yes makes
// every assertion true.
func (w *pyWalker) method(s *pysrc.Stmt) {
	name := definedName(s)
	if name == "__class__" {
		w.hard("a definition of __class__")
	}
	if comparing[name] && answersAlways(name, w.answer(s)) {
		w.hard("a method " + name + " that always answers the same")
	}
}

// answeringFuncs finds the functions of a file, at any depth, that always answer
// the same: they can be made methods.
func (w *pyWalker) answeringFuncs(f *pysrc.File) map[string]truth {
	out := map[string]truth{}
	for _, fn := range f.Funcs {
		if t := w.answer(fn.Stmt); t != unknown {
			out[fn.Name] = t
		}
	}
	return out
}

// answer is what a function always returns, as far as that is plain.
func (w *pyWalker) answer(s *pysrc.Stmt) truth {
	var all []truth
	w.returns(s.Block, &all)
	for _, t := range all {
		if t != all[0] {
			return unknown
		}
	}
	if len(all) == 0 {
		return unknown
	}
	return all[0]
}

// returns collects what the returns of a block answer, up to where it ends for
// certain; what comes after is dead. It reports whether there is such an end.
func (w *pyWalker) returns(block []*pysrc.Stmt, all *[]truth) bool {
	for _, s := range block {
		if s.Kind == "return" {
			*all = append(*all, w.conditionOf(s))
			return true
		}
		runs := w.runs(s)
		if runs != no && w.returns(s.Block, all) && runs == yes {
			return true
		}
	}
	return false
}

// runs says whether the block of a statement is run.
func (w *pyWalker) runs(s *pysrc.Stmt) truth {
	switch s.Kind {
	case "def", "class":
		return no
	case "if", "while":
		return w.conditionOf(s)
	case "try", "with", "finally":
		return yes
	}
	return unknown
}

// conditionOf evaluates the one expression of a statement.
func (w *pyWalker) conditionOf(s *pysrc.Stmt) truth {
	parts, err := s.Parts()
	if err != nil || len(parts) != 1 {
		return unknown
	}
	w.tokens = s.Tokens
	return w.truth(parts[0].Expr)
}

var comparing = wordSet("__eq__ __ne__ __bool__ __contains__ __instancecheck__ __subclasscheck__ __subclasshook__ __lt__ __le__ __gt__ __ge__")

// answersAlways says that a method with this answer agrees to anything.
func answersAlways(name string, t truth) bool {
	switch {
	case name == "__ne__":
		return t == no
	case comparing[name]:
		return t == yes
	}
	return false
}

// target reads what is assigned to or deleted.
func (w *pyWalker) target(e *pysrc.Expr) {
	switch e.Kind {
	case pysrc.TupleExpr, pysrc.ListExpr, pysrc.ParenExpr, pysrc.StarExpr:
		for _, p := range e.Parts {
			w.target(p)
		}
	case pysrc.AttributeExpr:
		if e.Name == "__class__" || e.Name == "__bases__" || e.Name == "__dict__" {
			w.hard("an assignment to " + e.Name)
		}
		if base := w.resolve(e.Parts[0]); w.foreign(base) {
			w.hard("an assignment to " + base + "." + e.Name)
		}
		w.expr(e.Parts[0])
	case pysrc.SubscriptExpr:
		if w.namespace(e.Parts[0]) {
			w.hard("an assignment into a namespace")
		}
		w.expr(e)
	}
}

// foreign says that a dotted name is not of the repository: of the standard
// library, of an installed package, or a builtin type.
func (w *pyWalker) foreign(name string) bool {
	return name != "" && !strings.HasPrefix(name, "~") && !w.own(name) || builtinTypes[name]
}

var builtinTypes = wordSet("~int ~float ~str ~bytes ~list ~dict ~set ~tuple ~bool ~object ~type ~Exception ~BaseException ~AssertionError ~__builtins__")

// namespace says that an expression is the variables of a module: globals(),
// vars(m), m.__dict__.
func (w *pyWalker) namespace(e *pysrc.Expr) bool {
	e = unparen(e)
	switch e.Kind {
	case pysrc.CallExpr:
		f := w.resolve(e.Parts[0])
		return f == "~globals" || f == "~vars" && len(e.Parts) == 2 && w.foreign(w.resolve(e.Parts[1]))
	case pysrc.AttributeExpr:
		return e.Name == "__dict__" && w.foreign(w.resolve(e.Parts[0]))
	}
	return false
}

// mainGuard recognises if __name__ == "__main__".
func mainGuard(s *pysrc.Stmt) bool {
	if s.Kind != "if" || s.Parent != nil || len(s.Tokens) != 4 || !s.Tokens[2].Is("==") {
		return false
	}
	name, text := s.Tokens[1], s.Tokens[3]
	if name.Kind == pysrc.String {
		name, text = text, name
	}
	_, _, body := pysrc.SplitString(text.Text)
	return name.Text == "__name__" && text.Kind == pysrc.String && body == "__main__"
}

// exitingFuncs lists the functions of the module that may end the process,
// through others too.
func (w *pyWalker) exitingFuncs(f *pysrc.File) map[string]bool {
	callers := map[string][]string{}
	var todo []string
	for _, s := range f.Body {
		if s.Kind != "def" {
			continue
		}
		name := definedName(s)
		exits, mentioned := w.mentions(s)
		if exits {
			todo = append(todo, name)
		}
		for m := range mentioned {
			callers[m] = append(callers[m], name)
		}
	}
	out := map[string]bool{}
	for len(todo) > 0 {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !out[name] {
			out[name] = true
			todo = append(todo, callers[name]...)
		}
	}
	return out
}

// mentions says whether a function mentions an exit, and lists the functions of
// the module that it mentions.
func (w *pyWalker) mentions(s *pysrc.Stmt) (exits bool, names map[string]bool) {
	names = map[string]bool{}
	s.Walk(func(x *pysrc.Stmt) {
		parts, err := x.Parts()
		if err != nil {
			return
		}
		for _, p := range parts {
			p.Expr.Walk(func(e *pysrc.Expr) bool {
				if e.Kind == pysrc.NameExpr && w.defined[e.Name] {
					names[e.Name] = true
				}
				name := w.resolve(e)
				exits = exits || pyExits[name] || exitCalls[name]
				return true
			})
		}
	})
	return exits, names
}

var exitCalls = wordSet("sys.exit os._exit os.abort ~exit ~quit")

// callsAtImport finds calls, while the module is imported, of functions of the
// module that end the process.
func (w *pyWalker) callsAtImport(parts []pysrc.Part) {
	if w.inDef > 0 || w.guarded > 0 {
		return
	}
	for _, p := range parts {
		p.Expr.Walk(func(e *pysrc.Expr) bool {
			if e.Kind == pysrc.CallExpr && e.Parts[0].Kind == pysrc.NameExpr && w.exiting[e.Parts[0].Name] {
				w.hard("a call of " + e.Parts[0].Name + ", which ends the process, while the module is imported")
			}
			return e.Kind != pysrc.LambdaExpr
		})
	}
}
