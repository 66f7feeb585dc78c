package search

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"ratchet/internal/propose/search/names"
)

// integers changes integer literals: off by one, to 0, 1 and -1, in sign, by
// ten, and to other integers of the function, file and package.
func integers(r *region, n ast.Node, emit emitter) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.INT || tooSpecial(r, lit) {
		return
	}
	v, err := strconv.ParseInt(lit.Value, 0, 64)
	if err != nil {
		return
	}
	base := 10
	if len(lit.Value) > 1 && lit.Value[0] == '0' {
		base = 16
	}
	options := []option{{number(v+1, base), 1}, {number(v-1, base), 1}, {"0", 0.6}, {"1", 0.6}, {"-1", 0.3}}
	if v != 0 {
		options = append(options, option{number(-v, base), 0.3}, option{number(v*10, base), 0.2}, option{number(v*2, base), 0.25})
	}
	if v >= 10 {
		options = append(options, option{number(v/10, base), 0.2})
	}
	if v >= 4 {
		options = append(options, option{number(v/2, base), 0.25})
	}
	if v == 0 || v == 1 {
		options = append(options, option{"2", 0.3})
	}
	if isFirstValue(r, lit) {
		options = append(options, option{"math.MinInt", 0.4}, option{"math.MaxInt", 0.4})
	}
	options = append(options, r.literals.others(r, lit)...)
	emitLiteral(r, lit, options, emit)
}

func number(v int64, base int) string {
	if base == 16 && v > 9 {
		return "0x" + strconv.FormatInt(v, 16)
	}
	return strconv.FormatInt(v, 10)
}

// tooSpecial leaves out literals whose changed value cannot be meant: of array types and tags.
func tooSpecial(r *region, lit *ast.BasicLit) bool {
	switch r.parents[lit].(type) {
	case *ast.ArrayType, *ast.ImportSpec, *ast.Field:
		return true
	}
	return false
}

// isFirstValue says that the literal is the first value of a variable, as an
// accumulator has, outside of loop headers.
func isFirstValue(r *region, n ast.Expr) bool {
	switch p := r.parents[n].(type) {
	case *ast.AssignStmt:
		return p.Tok == token.DEFINE && r.listed(p)
	case *ast.ValueSpec:
		return true
	}
	return false
}

func emitLiteral(r *region, lit ast.Expr, options []option, emit emitter) {
	seen := map[string]bool{r.text(lit): true}
	for _, o := range options {
		if seen[o.text] {
			continue
		}
		seen[o.text] = true
		var imports []string
		if strings.HasPrefix(o.text, "math.") {
			imports = []string{"math"}
		}
		becomes(r, lit, o.text, o.weight, emit, imports...)
	}
}

// constants changes floats, runes and booleans.
func constants(r *region, n ast.Node, emit emitter) {
	if id, ok := n.(*ast.Ident); ok {
		_, isConst := r.u.info.Uses[id].(*types.Const)
		if isConst && id.Name == "true" {
			becomes(r, id, "false", 1, emit)
		} else if isConst && id.Name == "false" {
			becomes(r, id, "true", 1, emit)
		}
		return
	}
	lit, ok := n.(*ast.BasicLit)
	if !ok || tooSpecial(r, lit) {
		return
	}
	switch lit.Kind {
	case token.FLOAT:
		emitLiteral(r, lit, append(floatOptions(lit.Value), r.literals.others(r, lit)...), emit)
	case token.CHAR:
		emitLiteral(r, lit, append(runeOptions(lit.Value), r.literals.others(r, lit)...), emit)
	}
}

func floatOptions(text string) []option {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	f := func(v float64) string {
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	}
	options := []option{{"0.0", 0.7}, {"1.0", 0.7}, {f(v + 1), 0.4}, {f(v - 1), 0.4}, {f(-v), 0.5}, {f(v * 10), 0.6}, {f(v / 10), 0.6}, {f(v * 2), 0.5}, {f(v / 2), 0.5}, {f(1 - v), 0.5}, {"0.5", 0.4}, {"2.0", 0.4}}
	if v != 0 {
		options = append(options, option{f(1 / v), 0.3})
	}
	return options
}

func runeOptions(text string) []option {
	v, _, _, err := strconv.UnquoteChar(strings.Trim(text, "'"), '\'')
	if err != nil {
		return nil
	}
	options := []option{}
	pairs := "(){}[]<>azAZ09'\"+-*/,;:.'`/\\\r\n \t_-"
	for i := 0; i+1 < len(pairs); i += 2 {
		a, b := rune(pairs[i]), rune(pairs[i+1])
		if v == a {
			options = append(options, option{strconv.QuoteRune(b), 0.8})
		}
		if v == b {
			options = append(options, option{strconv.QuoteRune(a), 0.8})
		}
	}
	if s := string(v); strings.ToLower(s) != s {
		options = append(options, option{strconv.QuoteRune([]rune(strings.ToLower(s))[0]), 1})
	} else if strings.ToUpper(s) != s {
		options = append(options, option{strconv.QuoteRune([]rune(strings.ToUpper(s))[0]), 1})
	}
	return append(options, option{strconv.QuoteRune(v + 1), 0.4}, option{strconv.QuoteRune(v - 1), 0.4})
}

// stringConstants changes string literals: trimmed, spaced, in case, empty, and
// to other strings of the function, the file and the failing tests.
func stringConstants(r *region, n ast.Node, emit emitter) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING || tooSpecial(r, lit) {
		return
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		return
	}
	var options []option
	add := func(t string, w float64) { options = append(options, option{strconv.Quote(t), w}) }
	if s != "" {
		add(strings.TrimSpace(s), 0.8)
		add("", 0.5)
		add(strings.ToLower(s), 0.6)
		add(strings.ToUpper(s), 0.4)
		add(strings.TrimSuffix(s, "\n"), 0.5)
		add(s+"\n", 0.3)
		for _, v := range swapVerbs(s) {
			add(v, 0.6)
		}
		add(strings.Trim(s, ".,:;!?"), 0.4)
	} else {
		add(" ", 0.6)
		add(",", 0.3)
		add("\n", 0.3)
	}
	if len(s) > 0 && len(s) < 4 {
		add(s+" ", 0.4)
		add(" "+s, 0.3)
	}
	emitLiteral(r, lit, append(options, r.literals.others(r, lit)...), emit)
}

// swapVerbs exchanges formatting verbs that are easily confused; the last one of
// an error's format becomes the one that wraps.
func swapVerbs(s string) []string {
	var out []string
	for _, p := range [][2]string{{"%v", "%q"}, {"%s", "%q"}, {"%d", "%v"}, {"%q", "%s"}, {"%v", "%s"}} {
		if strings.Contains(s, p[0]) {
			out = append(out, strings.ReplaceAll(s, p[0], p[1]))
		}
	}
	for _, v := range []string{"%v", "%s"} {
		if i := strings.LastIndex(s, v); i >= 0 {
			out = append(out, s[:i]+"%w"+s[i+2:])
		}
	}
	return out
}

// pool is the literals that occur in a package and in the failing tests.
type pool struct {
	near map[token.Token]map[string]int // of the package's files, by how often
	test map[token.Token]map[string]bool
}

func newPool() *pool {
	return &pool{near: map[token.Token]map[string]int{}, test: map[token.Token]map[string]bool{}}
}

func (p *pool) addPackage(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if _, ok := n.(*ast.ImportSpec); ok {
			return false
		}
		if l, ok := n.(*ast.BasicLit); ok {
			if p.near[l.Kind] == nil {
				p.near[l.Kind] = map[string]int{}
			}
			p.near[l.Kind][l.Value]++
		}
		return true
	})
}

func (p *pool) addTest(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok {
			if p.test[l.Kind] == nil {
				p.test[l.Kind] = map[string]bool{}
			}
			p.test[l.Kind][l.Value] = true
		}
		return true
	})
}

// most bounds the literals taken from elsewhere for one site.
const most = 16

// others are replacements of a literal by literals of the function, the package
// and the failing tests, in this order.
func (p *pool) others(r *region, lit *ast.BasicLit) []option {
	var out []option
	seen := map[string]bool{}
	add := func(v string, w float64) {
		if !seen[v] && len(out) < most && len(v) < 80 {
			seen[v] = true
			out = append(out, option{v, w * (1 - float64(len(out))/(most+4))})
		}
	}
	ast.Inspect(r.node, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == lit.Kind {
			add(l.Value, 0.6)
		}
		return true
	})
	if p == nil {
		return out
	}
	for _, v := range names.SortedByCloseness(p.near[lit.Kind], lit.Value) {
		w := 0.3
		if p.test[lit.Kind][v] {
			w = 0.5
		}
		add(v, w)
	}
	tests := map[string]int{}
	for v := range p.test[lit.Kind] {
		tests[v] = 1
	}
	for _, v := range names.SortedByCloseness(tests, lit.Value) {
		if lit.Kind == token.INT { // inputs and results of tests are rarely constants of the code
			add(v, 0.1)
		} else {
			add(v, 0.3)
		}
	}
	return out
}
