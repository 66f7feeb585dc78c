package patch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"ratchet/internal/model"
)

// finding is one thing in a Go file that only serves to reach into the grader,
// in words for people; equal things are equal strings.
type finding string

// gateReach refuses what a Go file has more of than before. A file that did
// such things already may go on doing them: only additions count.
func gateReach(_ model.Tree, c change) *Refusal {
	if c.new == nil || path.Ext(c.path) != ".go" {
		return nil
	}
	if c.old != nil && buildConstraints(c.old.Data) != buildConstraints(c.new.Data) {
		return &Refusal{Rule: RuleReach, Why: "it changes under which build constraints the file is compiled"}
	}
	had := map[finding]int{}
	for _, f := range reaches(c.path, c.oldData()) {
		had[f]++
	}
	for _, f := range reaches(c.path, c.newData()) {
		if had[f]--; had[f] < 0 {
			return &Refusal{Rule: RuleReach, Why: "it adds " + string(f)}
		}
	}
	return nil
}

// buildConstraints returns the constraint lines of a file, which stand before
// the package clause.
func buildConstraints(src []byte) string {
	var out []string
	for line := range strings.Lines(string(src)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "package ") {
			break
		}
		if strings.HasPrefix(line, "//go:build ") || plusBuild.MatchString(line) {
			out = append(out, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(out, "\n")
}

var plusBuild = regexp.MustCompile(`^//\s*\+build\s`)

// reaches lists the findings of a Go file, sorted; of one that does not parse, none.
func reaches(name string, src []byte) []finding {
	if len(src) == 0 {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	r := &reachWalker{file: file, imports: importNames(file)}
	r.checkImports()
	r.checkDirectives()
	ast.Inspect(file, r.checkNode)
	r.checkInit()
	sort.Slice(r.found, func(i, j int) bool { return r.found[i] < r.found[j] })
	return r.found
}

type reachWalker struct {
	file    *ast.File
	imports map[string]string // local name to import path; "." and the path for a dot import
	found   []finding
}

func (r *reachWalker) add(format string, args ...any) {
	r.found = append(r.found, finding(fmt.Sprintf(format, args...)))
}

func importNames(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, imp := range file.Imports {
		p := importPath(imp)
		name := path.Base(p)
		if imp.Name != nil {
			name = imp.Name.Name
		}
		if name == "." { // its names appear bare
			name = "." + p
		}
		names[name] = p
	}
	return names
}

func importPath(imp *ast.ImportSpec) string {
	p, err := strconv.Unquote(imp.Path.Value)
	if err != nil {
		return imp.Path.Value
	}
	return p
}

func (r *reachWalker) checkImports() {
	for _, imp := range r.file.Imports {
		p := importPath(imp)
		switch {
		case p == "testing", strings.HasPrefix(p, "testing/"), p == "internal/testdeps", p == "unsafe", p == "plugin", p == "C":
			r.add("the import of %q", p)
		}
	}
}

func (r *reachWalker) checkDirectives() {
	for _, group := range r.file.Comments {
		for _, c := range group.List {
			r.checkDirective(c.Text)
		}
	}
}

// marker matches text by which test runners report results or are controlled.
var marker = regexp.MustCompile(`--- (?:PASS|FAIL|SKIP|BENCH)|=== (?:RUN|PAUSE|CONT|NAME)|"Action":\s*"(?:pass|fail|skip|run)"|(?:^|[^\w-])--?test\.|^test\.(?:run|v|list|skip|count|timeout|short|failfast|parallel|bench|paniconexit0|testlogfile|gocoverdir|coverprofile|outputdir)\b|` +
	`^\.test$|testing\.(?:tRunner|\()|/proc/(?:self|\d|%)|^GOCOVERDIR$`)

func (r *reachWalker) checkNode(n ast.Node) bool {
	r.checkProbe(n)
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if s, ok := constString(n); ok {
			r.checkText(s)
			return false // its parts were read as a whole
		}
	case *ast.BasicLit:
		if s, ok := constString(n); ok {
			r.checkText(s)
		}
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			r.checkTargets(n.Lhs...)
		}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			r.checkTargets(n.Key, n.Value)
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			r.checkTargets(n.X)
		}
	case *ast.CallExpr:
		for _, p := range []string{"syscall", "golang.org/x/sys/unix"} {
			for _, f := range []string{"Dup2", "Dup3"} {
				if r.refers(n.Fun, p, f) {
					r.add("a call of %s.%s", path.Base(p), f)
				}
			}
		}
	}
	return true
}

func (r *reachWalker) checkText(s string) {
	if m := marker.FindString(s); m != "" {
		r.add("a string that contains %q", strings.TrimSpace(m))
	}
}

// checkTargets looks at what is written to, or could be through a pointer.
func (r *reachWalker) checkTargets(targets ...ast.Expr) {
	for _, t := range targets {
		t = ast.Unparen(orNil(t))
		for {
			ix, ok := t.(*ast.IndexExpr)
			if !ok {
				break
			}
			t = ast.Unparen(ix.X)
		}
		for _, name := range []string{"Stdout", "Stderr", "Args"} {
			if r.refers(t, "os", name) {
				r.add("a write to os.%s", name)
			}
		}
	}
}

// orNil spares callers a check: a range statement may lack key or value.
func orNil(e ast.Expr) ast.Expr {
	if e == nil {
		return &ast.BadExpr{}
	}
	return e
}

// refers says whether an expression names something of a package.
func (r *reachWalker) refers(e ast.Expr, pkg, name string) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		return ok && e.Sel.Name == name && r.imports[x.Name] == pkg
	case *ast.Ident:
		return e.Name == name && r.imports["."+pkg] == pkg
	}
	return false
}

// constString evaluates a string literal or a sum of them.
func constString(e ast.Expr) (string, bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, ok := constString(e.X)
		if !ok {
			return "", false
		}
		right, ok := constString(e.Y)
		return left + right, ok
	}
	return "", false
}
