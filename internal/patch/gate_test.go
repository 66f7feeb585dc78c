package patch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/patch"
)

// tree makes a tree of ordinary files given as path, content, ….
func tree(files ...string) model.Tree {
	return model.Tree{}.With(edits(files...)...)
}

func edits(files ...string) []model.Edit {
	var out []model.Edit
	for i := 0; i < len(files); i += 2 {
		out = append(out, model.Edit{Path: files[i], Data: []byte(files[i+1])})
	}
	return out
}

func gate(from model.Tree, p patch.Policy, e ...model.Edit) string {
	r := patch.Gate(from, model.Candidate{Edits: e}, p)
	if r == nil {
		return ""
	}
	return r.Rule
}

const goFile = `// Package a adds.
package a

import "os"

// Add adds.
func Add(x, y int) int {
	return x - y // wrong
}

var stop = os.Exit
`

var gateBase = tree("a.go", goFile, "a_test.go", "package a\n", "s.py", "# one\ndef f():\n    return 1\n", "conf.yaml", "a: 1\n", "q.py", "x = \"a\"\ny = (1, 2)\n", "README.md", "# a\n",
	"vendor/v.go", "package v\n", "old.go", "//go:build linux\n\npackage a\n").
	With(model.Edit{Path: "link", Data: []byte("/etc"), Mode: model.ModeSymlink})

func changed(old, new string) model.Edit {
	if strings.Count(goFile, old) != 1 {
		panic("not there exactly once: " + old)
	}
	return model.Edit{Path: "a.go", Data: []byte(strings.Replace(goFile, old, new, 1))}
}

func TestGate(t *testing.T) {
	policy := patch.Policy{Allow: []string{"**/*.go", "*.{py,yaml,md}", "link/**", "link", "sub"}, Deny: []string{"vendor/**"},
		Harness: func(p string) bool { return strings.HasSuffix(p, "_test.go") }, MaxFiles: 3, MaxBytes: 2000}
	fix := changed("x - y", "x + y")
	for name, c := range map[string]struct {
		want  string
		edits []model.Edit
	}{
		"an honest fix":                {"", []model.Edit{fix}},
		"a fix and its comment":        {"", []model.Edit{changed("x - y // wrong", "x + y")}},
		"a fix beside a comment":       {"", append(edits("s.py", "# two\ndef f():\n    return 1\n"), fix)},
		"a new file":                   {"", edits("sub/b.go", "package b\n")},
		"a new file with a constraint": {"", edits("sub/b.go", "//go:build linux\n\npackage b\n")},
		"a deleted file":               {"", []model.Edit{{Path: "old.go", Delete: true}}},
		"a new mode":                   {"", []model.Edit{{Path: "s.py", Mode: model.ModeExec, Data: []byte("# one\ndef f():\n    return 1\n")}}},
		"indentation in Python":        {patch.RuleWhitespace, edits("s.py", "# one\ndef f():\n  return 1\n")},
		"a file becomes a folder":      {"", append(edits("old.go/x.go", "package x\n"), model.Edit{Path: "old.go", Delete: true})},
		"no edits":                     {patch.RuleEmpty, nil},
		"up":                           {patch.RulePath, edits("../a.go", "package a\n")},
		"the git folder":               {patch.RulePath, edits(".git/a.go", "package a\n")},
		"a link":                       {patch.RulePath, edits("link", "x")},
		"through a link":               {patch.RulePath, edits("link/a.go", "package a\n")},
		"makes a link":                 {patch.RuleMode, []model.Edit{{Path: "n.go", Mode: model.ModeSymlink, Data: []byte("a.go")}}},
		"makes a submodule":            {patch.RuleMode, []model.Edit{{Path: "n.go", Mode: 0o160000}}},
		"touches the harness":          {patch.RuleHarness, append(edits("a_test.go", "package a // x\n"), fix)},
		"adds to the harness":          {patch.RuleHarness, append(edits("b_test.go", "package a\n"), fix)},
		"deletes from the harness":     {patch.RuleHarness, []model.Edit{{Path: "a_test.go", Delete: true}}},
		"denied":                       {patch.RuleDenied, edits("vendor/v.go", "package w\n")},
		"not allowed":                  {patch.RuleDenied, edits("Makefile", "all:\n")},
		"not allowed, nested":          {patch.RuleDenied, edits("sub/s.py", "x\n")},
		"two edits of a file":          {patch.RuleConflict, []model.Edit{fix, fix}},
		"deletes what is not there":    {patch.RuleConflict, []model.Edit{{Path: "nope.go", Delete: true}}},
		"a file below a file":          {patch.RuleConflict, edits("a.go/b.go", "package b\n")},
		"a file over a folder":         {patch.RuleConflict, append(edits("sub/b.go", "package b\n"), model.Edit{Path: "sub", Data: []byte("x")})},
		"identical":                    {patch.RuleIdentical, edits("a.go", goFile)},
		"too many files":               {patch.RuleLarge, edits("1.go", "package a", "2.go", "package a", "3.go", "package a", "4.go", "package a")},
		"too many bytes":               {patch.RuleLarge, edits("1.go", "package a\n//"+strings.Repeat("x", 2000))},
		"binary":                       {patch.RuleBinary, edits("s.py", "x\x00")},
		"not UTF-8":                    {patch.RuleBinary, edits("s.py", "x = '\xff'")},
		"does not parse":               {patch.RuleParse, []model.Edit{changed("x - y", "x +")}},
		"only comments":                {patch.RuleComments, []model.Edit{changed("// wrong", "// is it?")}},
		"a comment more":               {patch.RuleComments, []model.Edit{changed("// Add adds.", "// Add adds.\n// Well.")}},
		"a comment less":               {patch.RuleComments, []model.Edit{changed(" // wrong", "")}},
		"a block in Python":            {"", edits("s.py", "# one\ndef f():\n    if g:\n        return 1\n")},
		"a docstring in Python":        {patch.RuleComments, edits("s.py", "# one\ndef f():\n    \"\"\"One.\"\"\"\n    return 1\n")},
		"quotes in Python":             {patch.RuleWhitespace, edits("q.py", "x = 'a'\n\ny = (1,  2)\n")},
		"an encoding in Python":        {patch.RuleReach, edits("s.py", "# coding: utf-7\ndef f():\n    return 1\n")},
		"Python that does not parse":   {patch.RuleParse, edits("s.py", "# one\ndef f(:\n    return 1\n")},
		"an expression that is none":   {patch.RuleParse, edits("s.py", "# one\ndef f():\n    return 1 +\n")},
		"a new file that is no Python": {patch.RuleParse, edits("n.py", "def f()\n")},
		"comments in Python":           {patch.RuleComments, edits("s.py", "# two\n\ndef f():\n    return 1\n")},
		"comments in two files":        {patch.RuleComments, append(edits("s.py", "# two\ndef f():\n    return 1\n"), changed("// wrong", "//"))},
		"only formatting":              {patch.RuleWhitespace, []model.Edit{changed("\treturn x - y", "    return x  -  y")}},
		"only a line break":            {patch.RuleWhitespace, []model.Edit{changed("\n\nimport", "\n\n\n\nimport")}},
		"trailing space in YAML":       {patch.RuleWhitespace, edits("conf.yaml", "a: 1  \n\n")},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, gate(gateBase, policy, c.edits...))
		})
	}
}

func TestGateSaysWhere(t *testing.T) {
	r := patch.Gate(gateBase, model.Candidate{Edits: edits("a_test.go", "package b\n")}, patch.Policy{Harness: func(string) bool { return true }})
	require.Equal(t, &patch.Refusal{Rule: patch.RuleHarness, Path: "a_test.go", Why: "it belongs to the benchmark"}, r)
	require.Equal(t, "harness: a_test.go: it belongs to the benchmark", r.String())
}

func TestGateBoilerplate(t *testing.T) {
	for name, c := range map[string]struct {
		path, old, new string
		want           bool
	}{
		"a refusal":                 {"a.py", "x = 1\n", "I'm sorry, but I can't help with that.\n", true},
		"an opening":                {"a.py", "x = 1\n", "Here is the fixed file:\nx = 2\n", true},
		"a fence":                   {"a.py", "x = 1\n", "```python\nx = 2\n```\n", true},
		"emptied":                   {"a.py", "x = 1\n", "\n", true},
		"left out, Python":          {"a.py", "x = 1\ny = 1\n", "x = 2\n# ... rest of the code\n", true},
		"left out, existing":        {"a.js", "x = 1\ny = 1\n", "x = 2\n// ... existing code ...\n", true},
		"left out in Go":            {"a.go", "package a\n\nvar X = 1\n", "package a\n\nvar X = 2\n\n// … remaining functions unchanged\n", true},
		"a string that says sorry":  {"a.py", "x = 1\n", "x = \"I'm sorry, I cannot help\"\n", false},
		"an ellipsis":               {"a.py", "x = 1\n", "def f(): ...\n", false},
		"an ellipsis in a comment":  {"a.py", "x = 1\n", "x = 2 # 1, 2, ... the rest follows\n", false},
		"the same line before":      {"a.py", "x = 1\n# ... rest\n", "x = 2\n# ... rest\n", false},
		"a fence in documentation":  {"a.md", "# a\n", "```\nx\n```\n", false},
		"a new empty file":          {"pkg/__init__.py", "", "", false},
		"documentation that begins": {"a.txt", "x\n", "Here is the updated list\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			from := tree("z", "z")
			if c.old != "" {
				from = from.With(edits(c.path, c.old)...)
			}
			want := ""
			if c.want {
				want = patch.RuleBoilerplate
			}
			require.Equal(t, want, gate(from, patch.Policy{}, edits(c.path, c.new)...))
		})
	}
}

// TestGateHidden: what a reviewer reads must be what runs.
func TestGateHidden(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"a right-to-left override": {"x = 1\n", "x = 2 # \u202e }\n", patch.RuleHidden},
		"an escape of a terminal":  {"x = 1\n", "x = 2 # \x1b[2K\n", patch.RuleHidden},
		"a backspace for \\b":      {"x = 1\n", "x = r'\b'\n", patch.RuleHidden},
		"a form feed for \\f":      {"x = 1\n", "x = r'\foo'\n", patch.RuleHidden},
		"a form feed on its own":   {"x = 1\n", "\f\nx = 2\n", ""},
		"a lone carriage return":   {"x = 1\n", "x = 2 # y\rx = 3\n", patch.RuleHidden},
		"line ends of Windows":     {"x = 1\n", "x = 2\r\ny = 3\r\n", ""},
		"a line separator":         {"x = 1\n", "x = 2 # \u2028 y\n", patch.RuleHidden},
		"a next line":              {"x = 1\n", "x = 2 # \u0085 y\n", patch.RuleHidden},
		"no width":                 {"x = 1\n", "x = '\u200b'\n", patch.RuleHidden},
		"tags":                     {"x = 1\n", "x = '\U000e0041'\n", patch.RuleHidden},
		"one that was there":       {"x = '\x1b'\n", "x = '\x1b' + y\n", ""},
		"an isolate":               {"x = 1\n", "x = '\u2066'\n", patch.RuleHidden},
		"another one":              {"x = '\u202e'\n", "x = '\u202e\u202e'\n", patch.RuleHidden},
		"what was there":           {"x = '\u202e'\n", "y = '\u202e'\n", ""},
		"one is taken away":        {"x = '\u202e'\n", "x = ''\n", ""},
		"right-to-left text":       {"x = 1\n", "x = 'שלום'\n", ""},
		"a joiner between emoji":   {"x = 1\n", "x = '👩\u200d🚀'\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, gate(tree("a.py", c.old), patch.Policy{}, edits("a.py", c.new)...))
		})
	}
}

func TestGateReach(t *testing.T) {
	const plain = "package a\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc F() { fmt.Println(os.Args) }\n"
	body := func(imports, code string) string { return "package a\n\nimport (" + imports + ")\n\n" + code + "\n" }
	for name, c := range map[string]struct {
		old, new string
		want     bool
	}{
		"imports testing":              {plain, body(`"testing"`, "var _ testing.TB"), true},
		"imports testing under a name": {plain, body(`t "testing/iotest"`, "var _ = t.ErrReader"), true},
		"imports unsafe":               {plain, body(`_ "unsafe"`, ""), true},
		"imports C":                    {plain, "package a\n\nimport \"C\"\n", true},
		"imports plugin":               {plain, body(`"plugin"`, "var _ = plugin.Open"), true},
		"imports test dependencies":    {plain, body(`"testing/internal/testdeps"`, "var _ = testdeps.ImportPath"), true},
		"links by name":                {plain, "package a\n\n//go:linkname x os.runtime_beforeExit\nfunc x()\n", true},
		"prints PASS":                  {plain, body(`"fmt"`, `func F() { fmt.Println("--- PASS: TestF (0.00s)") }`), true},
		"prints PASS in pieces":        {plain, body(`"fmt"`, `func F() { fmt.Println("--- " + ("PA" + "SS") + ": TestF") }`), true},
		"prints PASS raw":              {plain, body(`"fmt"`, "func F() { fmt.Println(`=== RUN TestF`) }"), true},
		"prints PASS as JSON":          {plain, body(`"fmt"`, "func F() { fmt.Println(`{\"Action\":\"pass\"}`) }"), true},
		"escaped":                      {plain, body(`"fmt"`, `func F() { fmt.Println("\x2d-- PASS") }`), true},
		"looks for test flags":         {plain, body(`"flag"`, `var _ = flag.Lookup("test.v")`), true},
		"looks for test arguments":     {plain, body(`"os"; "strings"`, `var _ = strings.HasPrefix(os.Args[1], "-test.")`), true},
		"sets a test flag":             {plain, body(`"flag"`, `func init() { flag.Set("test.run", "x") }`), true},
		"replaces os.Stdout":           {plain, body(`"os"`, "func F() { os.Stdout = nil }"), true},
		"replaces it with others":      {plain, body(`"os"`, "func F() (x int) { x, os.Stderr = 1, nil; return }"), true},
		"replaces it under a name":     {plain, body(`o "os"`, "func F() { o.Stdout = nil }"), true},
		"replaces it, dot import":      {plain, body(`. "os"`, "func F() { Stdout = nil }"), true},
		"replaces it by pointer":       {plain, body(`"os"`, "func F() { p := &os.Stdout; *p = nil }"), true},
		"replaces it in a loop":        {plain, body(`"os"`, "func F(a []*os.File) { for _, os.Stdout = range a {} }"), true},
		"replaces an argument":         {plain, body(`"os"`, "func F() { os.Args[1] = \"\" }"), true},
		"replaces the descriptor":      {plain, body(`"syscall"`, "func F() { syscall.Dup2(3, 1) }"), true},
		"exits in init":                {plain, body(`"os"`, "func init() { os.Exit(0) }"), true},
		"exits in init later":          {plain, body(`"os"`, "func init() { go func() { os.Exit(0) }() }"), true},
		"exits in init by a variable":  {plain, body(`"os"`, "func init() { f := os.Exit; f(0) }"), true},
		"exits in init by a function":  {plain, body(`"syscall"`, "func init() { a() }\nfunc a() { b() }\nfunc b() { syscall.Exit(0) }"), true},
		"ends the goroutine in init":   {plain, body(`"runtime"`, "func init() { runtime.Goexit() }"), true},
		"exits in an initialiser":      {plain, body(`"os"`, "var x = func() int { os.Exit(0); return 1 }()"), true},
		"exits in an initialiser call": {plain, body(`"os"`, "var x = f()\nfunc f() int { os.Exit(0); return 1 }"), true},
		"adds a constraint":            {plain, "//go:build never\n\n" + plain, true},
		"adds an old constraint":       {plain, "// +build never\n\n" + plain, true},
		"changes a constraint":         {"//go:build linux\n\n" + plain, "//go:build !linux\n\n" + plain, true},
		"removes a constraint":         {"//go:build linux\n\n" + plain, plain, true},

		"exits outside init":            {plain, body(`"os"`, "func F() { os.Exit(3) }"), false},
		"keeps os.Exit in a variable":   {plain, body(`"os"`, "var exit = os.Exit\nvar quit = func() { os.Exit(1) }"), false},
		"writes to os.Stdout":           {plain, body(`"fmt"; "os"`, "func F() { fmt.Fprintln(os.Stdout, os.Args[1]) }"), false},
		"takes a field of that name":    {plain, body(`"os/exec"`, "func F(c *exec.Cmd) { c.Stdout = nil; c.Args[0] = \"\" }"), false},
		"defines a name like it":        {plain, "package a\n\nfunc F() { Stdout := 1; _ = Stdout }\n", false},
		"a test in prose":               {plain, body(`"errors"`, `var Err = errors.New("the test. run it again")`), false},
		"a name with a dash":            {plain, "package a\n\nconst Host = \"my-test.example.com\"\n", false},
		"dashes":                        {plain, "package a\n\nconst Rule = \"--- --- ---\"\n", false},
		"an init that does its work":    {plain, "package a\n\nvar m map[string]int\n\nfunc init() { m = map[string]int{} }\n", false},
		"PASS was printed before":       {body(`"fmt"`, `func F() { fmt.Println("--- PASS") }`), body(`"fmt"`, `func F() { fmt.Println("--- PASS", 1) }`), false},
		"testing was imported before":   {body(`"testing"`, "var _ testing.TB"), body(`"testing"`, "var X testing.TB"), false},
		"init exited before":            {body(`"os"`, "func init() { os.Exit(0) }"), body(`"os"`, "func init() { os.Exit(1) }"), false},
		"but PASS is printed more":      {body(`"fmt"`, `func F() { fmt.Println("--- PASS") }`), body(`"fmt"`, `func F() { fmt.Println("--- PASS"); fmt.Println("--- PASS") }`), true},
		"an old init calls a new exit":  {body(`"os"`, "var _ = os.Args\nfunc init() { f() }\nfunc f() {}"), body(`"os"`, "func init() { f() }\nfunc f() { os.Exit(0) }"), true},
		"moves a constraint's comments": {"//go:build linux\n\n// One.\n" + plain, "//go:build  linux\n\n// Two.\n" + strings.Replace(plain, "Println", "Print", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			want := ""
			if c.want {
				want = patch.RuleReach
			}
			require.Equal(t, want, gate(tree("a.go", c.old), patch.Policy{}, edits("a.go", c.new)...))
		})
	}
	require.Equal(t, patch.RuleReach, gate(tree("z", ""), patch.Policy{}, edits("new.go", body(`"testing"`, "var _ testing.TB"))...), "in a new file")
}

func TestPolicy(t *testing.T) {
	p := patch.Policy{Allow: []string{"**/*.go", "cmd/**"}, Deny: []string{"**/vendor/**", "internal/secret/*"}}
	require.NoError(t, p.Validate())
	for path, want := range map[string]bool{
		"a.go": true, "x/y/a.go": true, "cmd/x/run.sh": true, "a.py": false, "vendor/a.go": false, "x/vendor/y/a.go": false,
		"internal/secret/a.go": false, "internal/secret/deep/a.go": true, "../a.go": false, ".git/a.go": false,
	} {
		require.Equal(t, want, p.Allowed(path), path)
	}
	require.True(t, patch.Policy{}.Allowed("anything"))
	bad := patch.Policy{Allow: []string{"[a"}, Deny: []string{"{b", ""}, MaxFiles: -1}
	err := bad.Validate()
	for _, says := range []string{`"[a"`, `"{b"`, `""`, "-1"} {
		require.ErrorContains(t, err, says)
	}
	require.False(t, bad.Allowed("a"))
}

func TestBadPath(t *testing.T) {
	for _, path := range []string{"a", "a/b.go", ".github/x", "git", ".gitignore", "git~", "a b/ü", "-x", "日本", "a.git", "..a", "…"} {
		require.Empty(t, patch.BadPath(path), "%q", path)
	}
	for _, path := range []string{
		"", ".", "..", "/a", "a/", "a//b", "a/./b", "a/../b", "../a", ".git", ".git/x", "a/.git", ".GIT", ".Git/x", ".git.", ".git ", ".git. .",
		"git~1", "GIT~1/x", "git~12", ".g\u200cit", ".\ufeffgit/config", `a\b`, `.git\x`, "a:b", ".git::$INDEX_ALLOCATION", "a.", "a ", "a./b", "a\nb", "a\x00", "\xff", "a\x7f",
		strings.Repeat("x", 256),
	} {
		require.NotEmpty(t, patch.BadPath(path), "%q", path)
	}
}

func BenchmarkGate(b *testing.B) {
	var files []string
	for i := range 3000 {
		files = append(files, fmt.Sprintf("d%d/f%d.go", i%50, i), goFile)
	}
	from := tree(files...)
	c := model.Candidate{Edits: edits("d0/f0.go", strings.Replace(goFile, "x - y", "x + y", 1))}
	for b.Loop() {
		require.Nil(b, patch.Gate(from, c, patch.Policy{}))
	}
}
