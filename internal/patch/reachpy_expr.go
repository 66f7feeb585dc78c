package patch

import (
	"regexp"
	"strings"

	"ratchet/internal/pysrc"
)

// expr reads an expression and all its parts.
func (w *pyWalker) expr(e *pysrc.Expr) {
	if e == nil {
		return
	}
	switch e.Kind {
	case pysrc.NameExpr:
		w.mention(e)
	case pysrc.AttributeExpr:
		w.attribute(e)
		return
	case pysrc.CallExpr:
		if w.call(e) {
			return
		}
	case pysrc.StringExpr:
		w.strings(e) // with its fields, whose tokens are not those of the statement
		return
	case pysrc.KeywordExpr:
		if e.Name == "stack_info" && w.truth(e.Parts[0]) != no {
			w.soft("a stack in a log")
		}
	case pysrc.BinaryExpr:
		if s, ok := w.constText(e); ok {
			w.text(s)
		}
		if e.Op == "/" {
			w.checkPaths(e)
		}
	case pysrc.LambdaExpr:
		w.lambda(e)
		return
	}
	for _, p := range e.Parts {
		w.expr(p)
	}
}

// lambda reads a function without a name: its parameters hide names in its body.
func (w *pyWalker) lambda(e *pysrc.Expr) {
	params := map[string]bool{}
	last := len(e.Parts) - 1
	for _, p := range e.Parts[:last] {
		params[p.Name] = true
		w.expr(p)
	}
	w.params = append(w.params, params)
	w.inDef++
	w.expr(e.Parts[last])
	w.inDef--
	w.params = w.params[:len(w.params)-1]
}

// mention checks a bare name: one that must not be used at all, or a module that
// is handed on.
func (w *pyWalker) mention(e *pysrc.Expr) {
	name := w.resolve(e)
	switch {
	case name == "":
	case name == "~exec" || name == "~eval" || name == "~compile" || name == "~__import__":
		w.hard("a mention of " + name[1:])
	case name == "~__builtins__" || name == "~__loader__" || name == "~__spec__":
		w.hard("a mention of " + name[1:])
	case sensitiveModules[name]:
		w.hard("the module " + name + " as a value")
	default:
		w.use(name)
	}
}

// attribute reads x.name, for a module as a whole.
func (w *pyWalker) attribute(e *pysrc.Expr) {
	if hiddenNames[e.Name] {
		w.hard("a use of ." + e.Name)
	}
	base := w.resolve(e.Parts[0])
	if base != "" {
		w.use(base + "." + e.Name)
	}
	if base != "" && !strings.HasPrefix(base, "~") && leakedModules[strings.TrimPrefix(e.Name, "_")] {
		w.hard("the module " + e.Name + " by way of another")
	}
	if e.Name == "__dict__" && w.foreign(base) {
		w.hard("the variables of " + base)
	}
	if f := unparen(e.Parts[0]); f.Kind == pysrc.CallExpr && w.namespace(f) && namespaceWrites[e.Name] {
		w.hard("an assignment into a namespace")
	}
	w.base(base, e.Parts[0])
}

// base reads what an attribute is taken from, unless it is a module by its name.
func (w *pyWalker) base(resolved string, e *pysrc.Expr) {
	if resolved == "" || strings.HasPrefix(resolved, "~") || unparen(e).Kind != pysrc.NameExpr {
		w.expr(e)
	}
}

var namespaceWrites = wordSet("update setdefault pop popitem clear __setitem__ __delitem__ __ior__")

// use notes a dotted name that reaches out of the program.
func (w *pyWalker) use(name string) {
	switch {
	case name == "sys.exit":
		w.exit("a use of sys.exit")
	case within(exposed, name):
		w.hard("a use of " + entry(exposed, name))
	case within(outside, name):
		w.soft("a use of " + entry(outside, name))
	}
}

// hiddenNames are attributes by which code reaches into other code.
var hiddenNames = wordSet(`
__code__ __globals__ __closure__ cell_contents f_back f_locals f_globals f_builtins f_trace f_lineno tb_frame gi_frame gi_code cr_frame
ag_frame __subclasses__ __builtins__ __loader__ __defaults__ __kwdefaults__ co_code co_consts co_filename _getframe __import__
`)

// hiddenText are words that, as a text, serve to look such things up.
var hiddenText = wordSet(`
__code__ __globals__ __closure__ cell_contents f_back f_locals f_globals f_builtins tb_frame gi_frame __subclasses__ __builtins__
__loader__ __defaults__ __kwdefaults__ _getframe __import__ _exit settrace setprofile __eq__ __ne__ __bool__ __instancecheck__
`)

// call reads a call; it reports true when all of it has been read.
func (w *pyWalker) call(e *pysrc.Expr) bool {
	f := w.resolve(e.Parts[0])
	args := e.Parts[1:]
	switch f {
	case "~exec", "~eval", "~compile", "builtins.exec", "builtins.eval", "builtins.compile":
		return w.code(f, args)
	case "~exit", "~quit":
		w.exit("a call of " + f[1:])
	case "~setattr", "~delattr":
		if len(args) > 0 && w.foreign(w.resolve(args[0])) {
			w.hard("an assignment to an attribute of " + w.resolve(args[0]))
		}
	case "~getattr", "~hasattr":
		return w.lookup(f, args)
	case "~vars":
		if len(args) == 1 && w.foreign(w.resolve(args[0])) {
			w.hard("the variables of " + w.resolve(args[0]))
		}
	case "~breakpoint":
		w.hard("a call of breakpoint")
	case "importlib.import_module", "importlib.__import__":
		w.importByName(args)
	case "threading.Thread", "threading.Timer", "concurrent.futures.ThreadPoolExecutor", "concurrent.futures.ProcessPoolExecutor":
		if w.inDef == 0 && w.guarded == 0 {
			w.hard("a thread that is started while the module is imported")
		}
	case "pickle.loads", "_pickle.loads", "codecs.decode", "base64.b64decode":
		if len(args) > 0 && unparen(args[0]).Kind == pysrc.StringExpr {
			w.hard("an encoded literal")
		}
	}
	if (f == "~open" || f == "io.open" || f == "os.fdopen") && len(args) > 0 && unparen(args[0]).Kind == pysrc.NumberExpr {
		w.hard("the opening of a descriptor by its number")
	}
	if fileCalls[f] || fileMethods[attributeName(e.Parts[0])] {
		for _, a := range args {
			w.checkPaths(a)
		}
	}
	return false
}

// fileMethods are methods, of a path or of anything, that take names of files.
var fileMethods = wordSet("joinpath with_name glob rglob write_text read_text")

func attributeName(e *pysrc.Expr) string {
	if e.Kind == pysrc.AttributeExpr {
		return e.Name
	}
	return ""
}

// code reads exec, eval and compile: a literal is read as code, anything else
// cannot be known.
func (w *pyWalker) code(f string, args []*pysrc.Expr) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(f, "~"), "builtins.")
	if len(args) == 0 {
		w.hard("a call of " + name)
		return true
	}
	text, ok := w.constText(args[0])
	if !ok || !w.source(text) {
		w.hard("a call of " + name + " with code that is made while it runs")
	}
	for _, a := range args[1:] {
		w.expr(a)
	}
	return true
}

// maxNested bounds how deep literals of code in literals of code are read.
const maxNested = 4

// source reads a text as code, with the names of this module.
func (w *pyWalker) source(text string) bool {
	if w.nested == maxNested {
		return false
	}
	file, err := pysrc.Parse([]byte(text))
	if err != nil {
		return false
	}
	tokens := w.tokens
	w.nested++
	for _, imp := range file.Imports() {
		w.importOf(imp)
	}
	w.block(file.Body)
	w.nested--
	w.tokens = tokens
	return true
}

// lookup reads getattr and hasattr. What is looked up in a module that matters
// must be known.
func (w *pyWalker) lookup(f string, args []*pysrc.Expr) bool {
	if len(args) < 2 {
		return false
	}
	base := w.resolve(args[0])
	name, known := w.constText(args[1])
	switch {
	case f == "~getattr" && base != "" && known:
		w.use(base + "." + name)
	case f == "~getattr" && sensitiveModules[base]:
		w.hard("a look-up of a computed name in " + base)
	}
	w.base(base, args[0])
	for _, a := range args[1:] {
		w.expr(a)
	}
	return true
}

func (w *pyWalker) importByName(args []*pysrc.Expr) {
	if len(args) == 0 {
		return
	}
	name, ok := w.constText(args[0])
	switch {
	case !ok:
		w.hard("an import of a computed name")
	case within(graderModules, name), sensitiveModules[name], testModule(name):
		w.hard("the import of " + name)
	}
}

// graderFile matches paths of what a benchmark reads and writes, and of what
// changes how Python starts.
var graderFile = regexp.MustCompile(`(?i)(?:^|/)\.\.(?:/|$)|(?:^|[/_.-])(?:tests?|conftest|expected|junit|reports?|results?)(?:[/_.-]|$)|` +
	`\.pth$|\.pyc$|\.so$|sitecustomize|usercustomize|__pycache__|^/proc(?:/|$)|^/dev/(?:shm|fd|stdout|stderr)|^/box(?:/|$)|\*[^/]*\.py$|(?:pytest|tox)\.ini$|setup\.cfg$|pyproject\.toml$|\.coveragerc$`)

// checkPaths looks at the texts in an expression that names a file.
func (w *pyWalker) checkPaths(e *pysrc.Expr) {
	e.Walk(func(x *pysrc.Expr) bool {
		if s, ok := w.constText(x); ok {
			if graderFile.MatchString(s) {
				w.hard("a use of the file " + s)
			}
			return false
		}
		return true
	})
}

// pyMarker matches text by which a benchmark is recognised or controlled.
var pyMarker = regexp.MustCompile(`PYTEST_|_pytest|pytest_|\bconftest\b|/proc/(?:self|\d|%)|\bsitecustomize\b|\busercustomize\b|COVERAGE_(?:PROCESS|FILE|RUN|RCFILE)|\.pth$|` +
	`(?:^|[/\\])tests?[/\\]|\btest_\w+\.py\b|\bjunit[\w.-]*\.xml\b|\bexpected[\w.-]*\.(?:json|jsonl|txt|xml|csv|ya?ml|out)\b`)

// text checks a constant text.
func (w *pyWalker) text(s string) {
	w.marks(s)
	for _, part := range strings.Split(s, ".") { // as for operator.attrgetter
		if hiddenText[part] {
			w.hard("the text " + part)
		}
	}
}

func (w *pyWalker) marks(s string) {
	if m := pyMarker.FindString(s); m != "" {
		w.hard("a text that contains " + m)
	}
}

// strings checks string literals, and the code in f-strings.
func (w *pyWalker) strings(e *pysrc.Expr) {
	if s, ok := w.constText(e); ok {
		w.text(s)
		return
	}
	for _, t := range w.tokens[e.First:e.Last] {
		prefix, _, body := pysrc.SplitString(t.Text)
		if strings.ContainsAny(prefix, "ft") {
			for _, field := range replacementFields(body) {
				if !w.source("(" + field + ")\n") {
					w.hard("an f-string that cannot be read")
				}
			}
		}
		w.marks(body)
	}
}

func unparen(e *pysrc.Expr) *pysrc.Expr {
	for e.Kind == pysrc.ParenExpr && len(e.Parts) == 1 {
		e = e.Parts[0]
	}
	return e
}

// resolve says what an expression names: "json.loads" for something imported,
// "~open" for a name that nothing in the module defines, "" when it cannot be told.
func (w *pyWalker) resolve(e *pysrc.Expr) string {
	e = unparen(e)
	switch e.Kind {
	case pysrc.NameExpr:
		return w.resolveName(e.Name)
	case pysrc.AttributeExpr:
		if base := w.resolve(e.Parts[0]); base != "" && !strings.HasPrefix(base, "~") {
			return base + "." + e.Name
		}
	case pysrc.WalrusExpr:
		return w.resolve(e.Parts[1])
	case pysrc.CallExpr:
		return w.resolveCall(e)
	}
	return ""
}

func (w *pyWalker) resolveName(name string) string {
	for _, p := range w.params {
		if p[name] {
			return ""
		}
	}
	if full, ok := w.imports[name]; ok {
		return full
	}
	if w.defined[name] {
		return ""
	}
	return "~" + name
}

// resolveCall follows look-ups and imports with constant names.
func (w *pyWalker) resolveCall(e *pysrc.Expr) string {
	switch f := w.resolve(e.Parts[0]); {
	case f == "~getattr" && len(e.Parts) >= 3:
		base := w.resolve(e.Parts[1])
		if name, ok := w.constText(e.Parts[2]); ok && base != "" && !strings.HasPrefix(base, "~") {
			return base + "." + name
		}
	case (f == "~__import__" || f == "importlib.import_module") && len(e.Parts) >= 2:
		if name, ok := w.constText(e.Parts[1]); ok {
			return name
		}
	}
	return ""
}
