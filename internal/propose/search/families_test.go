package search

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/propose"
)

// mutants are the results of one family on the function f of a file, by text.
func mutants(t *testing.T, p *Proposer, name, src string) []string {
	q := p.query(propose.Request{Brief: flatBrief(src), Tree: treeOf(src), N: 1})
	u, s := q.find("p.go")
	require.NotNil(t, s, "the example parses")
	require.True(t, s.clean, "the example is formatted")
	i := slices.IndexFunc(families(), func(f family) bool { return f.name == name })
	require.GreaterOrEqual(t, i, 0, name)
	var out []string
	for _, d := range s.syntax.Decls {
		if fd, ok := d.(*ast.FuncDecl); !ok || fd.Name.Name != "f" {
			continue
		}
		r := q.region(u, s, d, q.brief.Suspects)
		for _, m := range q.score(r, name, 1, func(emit emitter) { r.each(families()[i], emit) }) {
			data, ok := s.rewrite(m.changes, m.imports)
			if !ok {
				continue
			}
			if data, ok = u.compiles(s, data); ok {
				out = append(out, string(data))
			}
		}
	}
	return out
}

// TestFamilies shows, for every family, one text of a function that it turns into another.
func TestFamilies(t *testing.T) {
	const list = "func f(xs []int, k int) int {\n\tn := 0\n\tfor i, x := range xs {\n\t\tif x > k && i > 0 {\n\t\t\tn += x\n\t\t}\n\t}\n\treturn n\n}\n"
	cases := []struct{ family, src, from, to string }{
		{"relational operator", list, "x > k", "x >= k"},
		{"relational operator", list, "x > k", "x < k"},
		{"relational operator", "func f(p *int) bool {\n\treturn p == nil\n}\n", "p == nil", "p != nil"},
		{"logical operator", list, "&&", "||"},
		{"negated condition", "func f(m map[string]bool, k string) bool {\n\tif m[k] {\n\t\treturn true\n\t}\n\treturn false\n}\n", "if m[k]", "if !m[k]"},
		{"negated condition", "func f(ok bool) int {\n\tif !ok {\n\t\treturn 1\n\t}\n\treturn 2\n}\n", "!ok", "ok"},
		{"constant condition", "func f(a int) int {\n\tif a > 2 {\n\t\treturn 1\n\t}\n\treturn a\n}\n", "if a > 2", "if true"},
		{"dropped operand", list, "i, x := range xs {\n\t\tif x > k && i > 0", "_, x := range xs {\n\t\tif x > k"},
		{"dropped operand", list, "x > k && i > 0", "i > 0"},
		{"added operand", "func f(s string, i int) bool {\n\tif s[i] == ' ' {\n\t\treturn true\n\t}\n\treturn false\n}\n", "if s[i]", "if i < len(s) && s[i]"},
		{"added operand", "import \"unicode\"\n\nfunc f(c rune) bool {\n\tif unicode.IsLetter(c) {\n\t\treturn true\n\t}\n\treturn false\n}\n", "unicode.IsLetter(c)", "unicode.IsLetter(c) || unicode.IsDigit(c)"},
		{"arithmetic operator", "func f(a, b int) int {\n\treturn a + b\n}\n", "a + b", "a - b"},
		{"arithmetic operator", "func f(a, b int) int {\n\treturn a & b\n}\n", "a & b", "a | b"},
		{"assignment operator", list, "n += x", "n -= x"},
		{"assignment operator", "func f(ok bool) int {\n\tn := 1\n\tif ok {\n\t\tn := 2\n\t\t_ = n\n\t}\n\treturn n\n}\n", "n := 2", "n = 2"},
		{"increment", "func f(n int) int {\n\tn++\n\treturn n\n}\n", "n++", "n--"},
		{"operand order", "func f(a, b int) int {\n\treturn a - b\n}\n", "a - b", "b - a"},
		{"operand order", "func f(xs []int, i int) bool {\n\treturn xs[i] > 0 && i < len(xs)\n}\n", "xs[i] > 0 && i < len(xs)", "i < len(xs) && xs[i] > 0"},
		{"grouping", "func f(a, b, c int) int {\n\treturn a*b + c\n}\n", "a*b + c", "a * (b + c)"},
		{"grouping", "func f(a, b int) int {\n\treturn a / b * 100\n}\n", "a / b * 100", "a * 100 / b"},
		{"sign", "func f(a int) int {\n\treturn a\n}\n", "return a", "return -a"},
		{"sign", "func f(a, b float64) float64 {\n\treturn a - b\n}\n", "func f(a, b float64) float64 {\n\treturn a - b", "import \"math\"\n\nfunc f(a, b float64) float64 {\n\treturn math.Abs(a - b)"},
		{"numeric conversion", "func f(a, b int) float64 {\n\treturn float64(a / b)\n}\n", "float64(a / b)", "float64(a) / float64(b)"},
		{"numeric conversion", "import \"math\"\n\nfunc f(x float64) int {\n\treturn int(x * math.Pi)\n}\n", "int(x * math.Pi)", "int(math.Round(x * math.Pi))"},
		{"integer constant", list, "n := 0", "n := 1"},
		{"integer constant", "func f(xs []int) int {\n\tbest := 0\n\tfor _, x := range xs {\n\t\tbest = max(best, x)\n\t}\n\treturn best\n}\n", "func f(xs []int) int {\n\tbest := 0", "import \"math\"\n\nfunc f(xs []int) int {\n\tbest := math.MinInt"},
		{"other constant", "func f(x float64) float64 {\n\treturn x * 0.1\n}\n", "0.1", "0.01"},
		{"other constant", "func f(c rune) bool {\n\treturn c == '('\n}\n", "'('", "')'"},
		{"string constant", "func f() string {\n\treturn \"a \"\n}\n", "\"a \"", "\"a\""},
		{"string constant", "import \"fmt\"\n\nfunc f(err error) error {\n\treturn fmt.Errorf(\"open: %v\", err)\n}\n", "%v", "%w"},
		{"off by one", "func f(xs []int) int {\n\treturn xs[len(xs)]\n}\n", "xs[len(xs)]", "xs[len(xs)-1]"},
		{"off by one", "func f(a int) int {\n\treturn a - 1\n}\n", "a - 1", "a"},
		{"slice bound", "func f(xs []int, n int) []int {\n\treturn xs[:n]\n}\n", "xs[:n]", "xs[n:]"},
		{"slice bound", "func f(xs []int, n int) []int {\n\treturn xs[n:]\n}\n", "xs[n:]", "xs[len(xs)-n:]"},
		{"variable", list, "x > k", "x > i"},
		{"variable", "type box struct{ w, h int }\n\nfunc f(b box, k int) int {\n\treturn k * k\n}\n", "k * k", "k * b.h"},
		{"field", "type box struct{ w, h int }\n\nfunc f(b box) int {\n\treturn b.w * b.w\n}\n", "b.w * b.w", "b.w * b.h"},
		{"field", "import \"time\"\n\nfunc f(n int) time.Duration {\n\treturn time.Duration(n) * time.Minute\n}\n", "time.Minute", "time.Second"},
		{"variable exchange", "func f(a, b int) bool {\n\treturn a*2 > b\n}\n", "a*2 > b", "b*2 > a"},
		{"called function", "import \"strings\"\n\nfunc f(a, b string) bool {\n\treturn strings.HasPrefix(a, b)\n}\n", "HasPrefix", "HasSuffix"},
		{"called function", "func f(a, b int) int {\n\treturn min(a, b)\n}\n", "min", "max"},
		{"argument order", "import \"strings\"\n\nfunc f(a, b string) bool {\n\treturn strings.Contains(b, a)\n}\n", "(b, a)", "(a, b)"},
		{"argument order", "import \"time\"\n\nfunc f(a, b time.Time) time.Duration {\n\treturn a.Sub(b)\n}\n", "a.Sub(b)", "b.Sub(a)"},
		{"call dropped", "import \"strings\"\n\nfunc f(a string) string {\n\treturn a + strings.ToUpper(a)\n}\n", "import \"strings\"\n\nfunc f(a string) string {\n\treturn a + strings.ToUpper(a)", "func f(a string) string {\n\treturn a + a"},
		{"call added", "func double(x int) int { return 2 * x }\n\nfunc f(a int) int {\n\treturn a\n}\n", "return a", "return double(a)"},
		{"removed statement", list, "\t\t\tn += x\n", ""},
		{"removed part", "func f(a int) int {\n\tb := 1\n\tif a > 2 {\n\t\tb = a\n\t} else {\n\t\tb = 7\n\t}\n\treturn b\n}\n", " else {\n\t\tb = 7\n\t}", ""},
		{"removed part", "func f(c rune) bool {\n\tswitch c {\n\tcase 'a', 'b':\n\t\treturn true\n\t}\n\treturn false\n}\n", "'a', 'b'", "'b'"},
		{"added term", "func f(a, b int) int {\n\treturn a\n}\n", "return a", "return a + b"},
		{"added term", "func f(a, b int) int {\n\treturn a + b\n}\n", "a + b", "(a + b) / 2"},
		{"sign", "func f(a, b int) int {\n\treturn a - b\n}\n", "a - b", "max(a-b, b-a)"},
		{"unwrapped branch", list, "i, x := range xs {\n\t\tif x > k && i > 0 {\n\t\t\tn += x\n\t\t}\n", "_, x := range xs {\n\t\tn += x\n"},
		{"moved statement", "func f(a int) int {\n\ta += 1\n\ta *= 2\n\treturn a\n}\n", "a += 1\n\ta *= 2", "a *= 2\n\ta += 1"},
		{"moved statement", "func f(xs []int) (n int) {\n\tfor range xs {\n\t\tn *= 2\n\t\tn++\n\t}\n\treturn n\n}\n", "\t\tn++\n\t}\n", "\t}\n\tn++\n"},
		{"repeated statement", "func f(xs []string) (out []string) {\n\tcur := \"\"\n\tfor _, x := range xs {\n\t\tout = append(out, cur)\n\t\tcur = x\n\t}\n\treturn out\n}\n", "\treturn out", "\tif cur != \"\" {\n\t\tout = append(out, cur)\n\t}\n\treturn out"},
		{"missing reset", "func f(xs [][]int) (out []int) {\n\tn := 0\n\tfor _, row := range xs {\n\t\tfor range row {\n\t\t\tn++\n\t\t}\n\t\tout = append(out, n)\n\t}\n\treturn out\n}\n", "\t\tfor range row", "\t\tn = 0\n\t\tfor range row"},
		{"missing update", "func f(xs []int) int {\n\tn := 0\n\tfor _, x := range xs {\n\t\t_ = x\n\t}\n\treturn n\n}\n", "_ = x\n", "_ = x\n\t\tn++\n"},
		{"missing record", "func f(xs []int) (n int) {\n\tseen := map[int]bool{}\n\tfor _, x := range xs {\n\t\tif !seen[x] {\n\t\t\tn++\n\t\t}\n\t}\n\treturn n\n}\n", "\t\t\tn++", "\t\t\tseen[x] = true\n\t\t\tn++"},
		{"early exit", "func f(xs []int, k int) int {\n\tat := -1\n\tfor i, x := range xs {\n\t\tif x == k {\n\t\t\tat = i\n\t\t}\n\t}\n\treturn at\n}\n", "at = i\n", "at = i\n\t\t\tbreak\n"},
		{"exit kind", "func f(xs []int) (n int) {\n\tfor _, x := range xs {\n\t\tif x < 0 {\n\t\t\tbreak\n\t\t}\n\t\tn += x\n\t}\n\treturn n\n}\n", "break", "continue"},
		{"entry guard", "func f(xs []int) int {\n\treturn xs[0]\n}\n", "\treturn xs[0]", "\tif len(xs) == 0 {\n\t\treturn 0\n\t}\n\treturn xs[0]"},
		{"loop guard", "func f(s string) bool {\n\tdepth := 0\n\tfor range s {\n\t\tdepth--\n\t}\n\treturn depth == 0\n}\n", "depth--\n", "depth--\n\t\tif depth < 0 {\n\t\t\treturn false\n\t\t}\n"},
		{"unchecked error", "import \"strconv\"\n\nfunc f(s string) (int, error) {\n\tn, _ := strconv.Atoi(s)\n\treturn n, nil\n}\n", "n, _ := strconv.Atoi(s)\n", "n, err := strconv.Atoi(s)\n\tif err != nil {\n\t\treturn 0, err\n\t}\n"},
		{"unchecked error", "import \"os\"\n\nfunc f(p string) error {\n\tos.Remove(p)\n\treturn nil\n}\n", "\tos.Remove(p)\n", "\tif err := os.Remove(p); err != nil {\n\t\treturn err\n\t}\n"},
		{"returned value", "func f(a, b int) (int, int) {\n\treturn b, a\n}\n", "b, a", "a, b"},
		{"returned value", "import \"strconv\"\n\nfunc f(s string) error {\n\t_, err := strconv.Atoi(s)\n\tif err != nil {\n\t\treturn nil\n\t}\n\treturn nil\n}\n", "\t\treturn nil", "\t\treturn err"},
		{"composite value", "type pt struct{ x, y int }\n\nfunc f(x, y int) pt {\n\treturn pt{y, x}\n}\n", "pt{y, x}", "pt{x, y}"},
		{"composite value", "func f(n int) []int {\n\treturn append(make([]int, n), 1)\n}\n", "make([]int, n)", "make([]int, 0, n)"},
		{"range variable", "func f(xs []int) (n int) {\n\tfor i := range xs {\n\t\tn += i\n\t}\n\treturn n\n}\n", "for i := range", "for _, i := range"},
		{"lock", "import \"sync\"\n\ntype c struct {\n\tmu sync.Mutex\n\tn  int\n}\n\nfunc (c *c) f() int {\n\tc.mu.Lock()\n\treturn c.n\n}\n", "Lock()\n", "Lock()\n\tdefer c.mu.Unlock()\n"},
		{"lock", "import \"sync\"\n\ntype c struct {\n\tmu sync.Mutex\n\tn  int\n}\n\nfunc (c *c) f() int {\n\treturn c.n\n}\n", "\treturn c.n", "\tc.mu.Lock()\n\tdefer c.mu.Unlock()\n\treturn c.n"},
		{"missing else", "func f(a int) (s string) {\n\tif a > 2 {\n\t\ts = \"big\"\n\t}\n\tif a > 1 {\n\t\ts = \"mid\"\n\t}\n\treturn s\n}\n", "}\n\tif a > 1", "} else if a > 1"},
		{"idiom", "func f(m map[string]int) []string {\n\tvar ks []string\n\tfor k := range m {\n\t\tks = append(ks, k)\n\t}\n\treturn ks\n}\n", "func f(m map[string]int) []string {\n\tvar ks []string\n\tfor k := range m {\n\t\tks = append(ks, k)\n\t}\n", "import \"slices\"\n\nfunc f(m map[string]int) []string {\n\tvar ks []string\n\tfor k := range m {\n\t\tks = append(ks, k)\n\t}\n\tslices.Sort(ks)\n"},
		{"idiom", "import \"io\"\n\nfunc f(err error) bool {\n\treturn err == io.EOF\n}\n", "import \"io\"\n\nfunc f(err error) bool {\n\treturn err == io.EOF", "import (\n\t\"errors\"\n\t\"io\"\n)\n\nfunc f(err error) bool {\n\treturn errors.Is(err, io.EOF)"},
	}
	p := newProposer(t, Config{})
	covered := map[string]bool{}
	for _, c := range cases {
		covered[c.family] = true
		src := "package p\n\n" + c.src
		require.Contains(t, src, c.from)
		want := strings.Replace(src, c.from, c.to, 1)
		got := mutants(t, p, c.family, src)
		require.Contains(t, got, want, "%s:\n%s\ngave\n%s", c.family, src, strings.Join(got, "----\n"))
	}
	for _, f := range families() {
		require.True(t, covered[f.name], "no example of %s", f.name)
	}
}
