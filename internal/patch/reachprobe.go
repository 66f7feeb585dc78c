package patch

import (
	"go/ast"
	"regexp"
	"strings"
)

// stackReaders are functions by which code sees who calls it, and so whether it is measured.
var stackReaders = []string{"Caller", "Callers", "CallersFrames", "FuncForPC", "Stack"}

// flagReaders list the flags of a program, and so those of a test binary.
var flagReaders = []string{"VisitAll", "Visit"}

// checkProbe finds what a program can tell a benchmark by: its callers, its
// arguments, its flags. A file that reads arguments or flags already may go on.
func (r *reachWalker) checkProbe(n ast.Node) {
	e, ok := n.(ast.Expr)
	if !ok {
		return
	}
	for _, name := range stackReaders {
		if r.refers(e, "runtime", name) {
			r.add("a use of runtime.%s", name)
		}
	}
	if r.refers(e, "os", "Args") {
		r.once("a use of os.Args")
	}
	for _, name := range flagReaders {
		if r.refers(e, "flag", name) {
			r.once("a use of flag." + name)
		}
	}
	if c, ok := n.(*ast.CallExpr); ok && len(c.Args) == 1 && r.refers(c.Fun, "flag", "Lookup") {
		if _, constant := constString(c.Args[0]); !constant {
			r.once("a look-up of a flag by a computed name")
		}
	}
}

// once notes a finding, however often the file has it.
func (r *reachWalker) once(what string) {
	for _, f := range r.found {
		if f == finding(what) {
			return
		}
	}
	r.add("%s", what)
}

// testEmbed matches patterns of go:embed that reach what tests are made of.
var testEmbed = regexp.MustCompile(`_test\.go|\btestdata\b|\bexpected\b|\bgolden\b`)

// checkDirective finds comments that bind to what is not the package's own, or
// change how the program runs.
func (r *reachWalker) checkDirective(text string) {
	line := strings.Join(strings.Fields(text), " ")
	switch {
	case strings.HasPrefix(text, "//go:linkname"), strings.HasPrefix(text, "//go:debug"), strings.HasPrefix(text, "//go:cgo_"):
		r.add("%s", line)
	case strings.HasPrefix(text, "//go:embed") && testEmbed.MatchString(text):
		r.add("%s", line)
	}
}
