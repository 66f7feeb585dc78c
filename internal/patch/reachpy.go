package patch

import (
	"path"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"

	"ratchet/internal/model"
	"ratchet/internal/pysrc"
)

// pyReach is what a Python file does that only serves to reach into the grader,
// or that a benchmark can be told by.
type pyReach struct {
	hard map[finding]int  // counted: none may be added
	soft map[finding]bool // a file that has one may have more
}

// gateReachPython refuses what a Python file has more of than before, as gateReach
// does for Go. It reads the source alone: what a program builds at run time is
// caught, if at all, by what it must use to do so.
func gateReachPython(base model.Tree, c change) *Refusal {
	if c.new == nil || !isPython(c.path) {
		return nil
	}
	own := ownModules(base)
	was, now := pyReaches(c.oldData(), own), pyReaches(c.newData(), own)
	if f := was.added(now); f != "" {
		return &Refusal{Rule: RuleReach, Why: "it adds " + string(f)}
	}
	return nil
}

func isPython(name string) bool { return path.Ext(name) == ".py" || path.Ext(name) == ".pyw" }

// added is the first thing, in the order of the alphabet, that now has more of.
func (p pyReach) added(now pyReach) finding {
	first := finding("")
	note := func(f finding) {
		if first == "" || f < first {
			first = f
		}
	}
	for f, n := range now.hard {
		if n > p.hard[f] {
			note(f)
		}
	}
	for f := range now.soft {
		if !p.soft[f] {
			note(f)
		}
	}
	return first
}

// ownModules says whether a module is code of the tree itself: a name of a file
// or folder that holds Python, but for names of the standard library.
func ownModules(base model.Tree) func(module string) bool {
	names := sync.OnceValue(func() map[string]bool {
		own := map[string]bool{}
		for _, f := range base.Files {
			if isPython(f.Path) {
				for _, p := range strings.Split(strings.TrimSuffix(f.Path, path.Ext(f.Path)), "/") {
					own[p] = true
				}
			}
		}
		return own
	})
	return func(module string) bool {
		root := rootOf(module)
		return strings.HasPrefix(module, ".") || !stdModules[root] && names()[root]
	}
}

// pyReaches lists the findings of a file; of one that does not parse, none.
func pyReaches(src []byte, own func(string) bool) pyReach {
	out := pyReach{hard: map[finding]int{}, soft: map[finding]bool{}}
	if len(src) == 0 {
		return out
	}
	if m := codingCookie(src); m != "" {
		out.hard[finding("the source encoding "+m)]++
	}
	file, err := pysrc.Parse(src)
	if err != nil {
		return out
	}
	w := &pyWalker{out: out, own: own, imports: map[string]string{}, defined: map[string]bool{}}
	w.file(file)
	return out
}

var cookie = regexp.MustCompile(`^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)`)

// codingCookie is the encoding that a file declares in its first two lines (PEP
// 263), "" for none and UTF-8. Another one can hide code from whoever reads UTF-8.
func codingCookie(src []byte) string {
	for i, line := range strings.SplitN(string(src), "\n", 3) {
		if i == 2 {
			break
		}
		if m := cookie.FindStringSubmatch(line); m != nil {
			switch strings.ReplaceAll(strings.ToLower(m[1]), "_", "-") {
			case "utf-8", "utf8", "ascii", "us-ascii":
				return ""
			}
			return m[1]
		}
	}
	return ""
}

// pyWalker reads one file.
type pyWalker struct {
	out     pyReach
	own     func(string) bool
	imports map[string]string // local name to what it stands for, dotted
	defined map[string]bool   // functions and classes of the module: they hide builtins
	exiting map[string]bool   // functions of the module that end the process
	answers map[string]truth  // functions that always answer the same
	params  []map[string]bool // parameters of the functions around, which hide names
	inDef   int               // functions around
	guarded int               // if __name__ == "__main__" around
	tokens  []pysrc.Token     // of the statement being read
	nested  int               // literals of code inside each other
}

func (w *pyWalker) hard(what string) { w.out.hard[finding(what)]++ }

func (w *pyWalker) soft(what string) {
	if w.guarded == 0 { // what a script does when it is run is no concern of a test
		w.out.soft[finding(what)] = true
	}
}

func (w *pyWalker) file(f *pysrc.File) {
	for _, imp := range f.Imports() {
		w.importOf(imp)
	}
	w.names(f)
	w.answers = w.answeringFuncs(f)
	w.exiting = w.exitingFuncs(f)
	w.block(f.Body)
}

// names notes which functions and classes the module defines, and names that are
// not what they look like. A name is the module's own when it stands nowhere
// before its definition, where it would be the builtin, and is not deleted after.
func (w *pyWalker) names(f *pysrc.File) {
	first := map[string]int{}
	for _, t := range f.Tokens {
		if t.Kind != pysrc.Name {
			continue
		}
		if _, seen := first[t.Text]; !seen {
			first[t.Text] = t.Off
		}
		if !norm.NFKC.IsNormalString(t.Text) { // Python reads what is left of it after that
			w.hard("a name that is not in Unicode's normal form")
		}
	}
	for _, s := range f.Body {
		if s.Kind == "def" || s.Kind == "class" {
			name := definedName(s)
			w.defined[name] = w.defined[name] || s.Off <= first[name] && first[name] <= s.Head
		}
	}
	f.Walk(func(s *pysrc.Stmt) {
		for _, t := range s.Tokens {
			if s.Kind == "del" {
				w.defined[t.Text] = false
			}
		}
	})
}

// importOf notes what a name stands for, and what must not be imported.
func (w *pyWalker) importOf(i pysrc.Import) {
	module := strings.Repeat(".", i.Level) + i.Module
	full, bound := module, module
	switch {
	case i.Name != "" && i.Module == "":
		full, bound = module+i.Name, module+i.Name
	case i.Name != "":
		full, bound = module+"."+i.Name, module+"."+i.Name
	case i.As == rootOf(module): // import a.b binds a
		bound = i.As
	}
	w.bind(i.As, bound)
	switch {
	case i.Level > 0 && !testModule(full), w.own(module) && !testModule(full):
	case within(graderModules, full):
		w.out.soft[finding("the import of "+module)] = true
	case testModule(full):
		w.out.soft[finding("the import of the test module "+module)] = true
	case strings.HasPrefix(module, "pytest_"):
		w.hard("the import of " + module)
	case i.Name == "*" && sensitiveModules[rootOf(module)]:
		w.hard("the import of everything from " + module)
	case i.Name != "" && within(exposed, full):
		w.hard("the import of " + full)
	case i.Name != "" && within(outside, full):
		w.soft("the import of " + full)
	}
}

// bind notes what an import makes of a name. A name that means two things, or hides
// a builtin by which code is reached, could be read as the harmless one.
func (w *pyWalker) bind(name, full string) {
	old, known := w.imports[name]
	if known && old != full && (reaching(old) || reaching(full)) {
		w.hard("a name that is imported as two things, " + name)
	}
	if !known || reaching(full) {
		w.imports[name] = full
	}
	if reachingBuiltins[name] {
		w.hard("an import under the name " + name)
	}
	if last := full[strings.LastIndexByte(full, '.')+1:]; full != last && leakedModules[strings.TrimPrefix(last, "_")] {
		w.hard("the module " + last + " by way of another")
	}
}

func reaching(name string) bool {
	return sensitiveModules[rootOf(name)] && name != "os.path" && !strings.HasPrefix(name, "os.path.")
}

// reachingBuiltins are what no import may hide.
var reachingBuiltins = wordSet("exec eval __import__ getattr setattr delattr vars globals __builtins__")

// leakedModules are what other modules import and so hand on, as in random._os.
var leakedModules = wordSet("sys os builtins importlib gc ctypes posix")

// testModule says that part of a module's name is that of tests.
func testModule(name string) bool {
	for _, p := range strings.Split(name, ".") {
		if p == "test" || p == "tests" || p == "conftest" || strings.HasPrefix(p, "test_") || strings.HasSuffix(p, "_test") {
			return true
		}
	}
	return false
}

func definedName(s *pysrc.Stmt) string {
	for i, t := range s.Tokens {
		if (t.Is("def") || t.Is("class")) && i+1 < len(s.Tokens) {
			return s.Tokens[i+1].Text
		}
	}
	return ""
}
