package pysearch

import (
	"sort"
	"strings"

	"ratchet/internal/propose/search/names"
	"ratchet/internal/pysrc"
)

// rivalFunctions are built-in functions that are confused with each other, of
// which those that stand closer are likelier.
func rivalFunctions() []string {
	return []string{
		"min max sum", "max min sum len", "any all", "all any", "sum len max min", "len sum", "int round float str", "round int float", "float int round",
		"sorted list reversed set", "list sorted tuple set", "set list sorted tuple", "tuple list set", "reversed sorted list", "abs int",
		"str repr int", "repr str", "ord chr int", "chr ord str", "filter map", "map filter", "zip enumerate", "enumerate reversed", "isinstance issubclass",
		"floor ceil round", "ceil floor round", "sqrt abs", "sin cos", "cos sin tan", "defaultdict Counter dict", "range reversed", "bin hex str", "hex bin", "divmod pow",
	}
}

// rivalMethods are methods that are confused with each other.
func rivalMethods() []string {
	return []string{
		"append extend add insert", "extend append", "add append update discard", "remove discard pop", "discard remove", "pop popleft remove", "popleft pop", "appendleft append",
		"startswith endswith", "endswith startswith", "lower upper casefold title capitalize swapcase", "upper lower capitalize title swapcase", "capitalize title upper", "title capitalize",
		"swapcase lower upper", "find index rfind count", "index find rindex count", "rfind find", "rindex index", "count index find", "strip lstrip rstrip", "lstrip strip rstrip", "rstrip strip lstrip",
		"isupper islower isalpha", "islower isupper isalpha", "isdigit isalpha isalnum isnumeric isdecimal", "isalpha isalnum isdigit isupper islower", "isalnum isalpha isdigit", "isspace isalpha isdigit",
		"keys values items", "values keys items", "items keys values", "get pop setdefault", "setdefault get", "union intersection difference symmetric_difference",
		"intersection union difference symmetric_difference", "difference symmetric_difference intersection union", "symmetric_difference difference", "issubset issuperset", "issuperset issubset",
		"split rsplit splitlines", "rsplit split", "splitlines split", "ljust rjust center", "rjust ljust center zfill", "partition rpartition", "rpartition partition", "sort reverse", "reverse sort",
		"update add", "removeprefix removesuffix", "removesuffix removeprefix", "format join", "floor ceil", "ceil floor", "sqrt pow", "sin cos", "cos sin", "read readline", "acquire release", "release acquire",
	}
}

// rivals are what may be meant by a name, the likeliest first.
func rivals(table []string, name string) []string {
	for _, row := range table {
		if f := strings.Fields(row); f[0] == name {
			return f[1:]
		}
	}
	return nil
}

// functions calls another function or method, the most alike first.
func functions(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind == pysrc.AttributeExpr {
		p := r.parent[e]
		if p == nil || p.Kind != pysrc.CallExpr || p.Parts[0] != e {
			return
		}
		name := Span{e.NameOff, e.End}
		for i, o := range r.methods(e) {
			r.swap(site(e), name, o.text, o.weight/(1+0.25*float64(i)), emit)
		}
		return
	}
	if e.Kind != pysrc.NameExpr || r.byName[e.Name] != nil {
		return
	}
	for i, n := range rivals(rivalFunctions(), e.Name) {
		r.becomes(e, n, 1/(1+0.4*float64(i)), emit)
	}
	if p := r.parent[e]; p == nil || p.Kind != pysrc.CallExpr || p.Parts[0] != e {
		return
	}
	for i, o := range r.namesakes(e.Name) {
		if i == perSite {
			return
		}
		r.becomes(e, o.text, o.weight/(1+0.2*float64(i)), emit)
	}
}

// methods are what may be called instead on the same receiver.
func (r *Region) methods(e *pysrc.Expr) []option {
	var out []option
	for i, n := range rivals(rivalMethods(), e.Name) {
		out = append(out, option{n, 1 / (1 + 0.15*float64(i))})
	}
	if e.Parts[0].Kind == pysrc.NameExpr && e.Parts[0].Name == r.self && r.self != "" {
		for _, m := range r.mod.methods[r.class] {
			if m != e.Name && m != r.Name && !strings.HasPrefix(m, "__") {
				out = append(out, option{m, 0.3 + 0.7*r.mod.lex.Kinship(e.Name, m)})
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].weight > out[j].weight })
	return out
}

// namesakes are the functions of the module that take as many parameters.
func (r *Region) namesakes(name string) []option {
	n, own := r.mod.functions[name]
	if !own {
		return nil
	}
	var out []option
	for f, k := range r.mod.functions {
		if f != name && k == n && f != r.Name {
			out = append(out, option{f, 0.3 + 0.7*r.mod.lex.Kinship(name, f)})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].weight != out[j].weight {
			return out[i].weight > out[j].weight
		}
		return out[i].text < out[j].text
	})
	return out
}

// plainArgument says that an argument is neither named nor starred.
func plainArgument(e *pysrc.Expr) bool {
	return e.Kind != pysrc.KeywordExpr && e.Kind != pysrc.StarExpr && e.Kind != pysrc.DoubleStarExpr && e.Kind != pysrc.CompExpr
}

// argumentOrder swaps two arguments, neighbours first, and the receiver with an argument.
func argumentOrder(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind != pysrc.CallExpr || len(e.Parts) > 9 {
		return
	}
	args := e.Parts[1:]
	exchange := func(a, b *pysrc.Expr, w float64) {
		emit(Mutation{
			Site: site(e), Weight: w, Changes: []Change{{a.Off, a.End, r.text(b)}, {b.Off, b.End, r.text(a)}},
			What: names.Quote(r.text(a)) + " and " + names.Quote(r.text(b)) + " in " + names.Quote(r.text(e)) + " should be swapped",
		})
	}
	for i, a := range args {
		for j := i + 1; j < len(args); j++ {
			b := args[j]
			if !plainArgument(a) || !plainArgument(b) || r.text(a) == r.text(b) || !r.kindOf(a).fits(r.kindOf(b)) {
				continue
			}
			w := 1 / float64(j-i)
			if n := r.callee(e); n == "min" || n == "max" {
				w = 0.01
			}
			exchange(a, b, w)
		}
	}
	if f := e.Parts[0]; f.Kind == pysrc.AttributeExpr && len(args) > 0 && plainArgument(args[0]) && r.kindOf(f.Parts[0]).fits(r.kindOf(args[0])) {
		if a := args[0]; a.Precedence() >= inPrimary && r.text(a) != r.text(f.Parts[0]) {
			exchange(f.Parts[0], a, 0.6)
		}
	}
}

// arguments drops arguments, and adds those that change what a built-in function does.
func arguments(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind != pysrc.CallExpr {
		return
	}
	args := e.Parts[1:]
	for i, a := range args {
		if len(args) > 1 || a.Kind == pysrc.KeywordExpr || r.optional(e) {
			emit(Mutation{
				Site: site(e), Weight: 0.7, What: names.Quote(r.text(a)) + " in " + names.Quote(r.text(e)) + " should be removed",
				Changes: []Change{without(args, i)},
			})
		}
	}
	for _, o := range r.extraArguments(e) {
		text := o.text
		if len(args) > 0 {
			if lone := args[0]; lone.Kind == pysrc.CompExpr && lone.Op == "" {
				return
			}
			text = ", " + text
		}
		at := e.End - 1
		if len(args) > 0 {
			at = args[len(args)-1].End
		}
		emit(Mutation{
			Site: site(e), Weight: o.weight, What: names.Quote(o.text) + " is missing in " + names.Quote(r.text(e)),
			Changes: []Change{{at, at, text}},
		})
	}
	r.accumulated(e, emit)
}

// optional says that the only argument of a call may be left out.
func (r *Region) optional(e *pysrc.Expr) bool {
	switch r.callee(e) {
	case "split", "strip", "lstrip", "rstrip", "pop":
		return true
	}
	return false
}

// without drops one of a list of expressions, with its comma.
func without(list []*pysrc.Expr, i int) Change {
	switch {
	case i+1 < len(list):
		return Change{list[i].Off, list[i+1].Off, ""}
	case i > 0:
		return Change{list[i-1].End, list[i].End, ""}
	}
	return Change{list[i].Off, list[i].End, ""}
}

func (r *Region) extraArguments(e *pysrc.Expr) []option {
	named := map[string]bool{}
	for _, a := range e.Parts[1:] {
		if a.Kind == pysrc.KeywordExpr {
			named[a.Name] = true
		}
	}
	var out []option
	add := func(text string, w float64) {
		name, _, _ := strings.Cut(text, "=")
		if !named[name] {
			out = append(out, option{text, w})
		}
	}
	n := len(e.Parts) - 1
	switch r.callee(e) {
	case "sorted", "sort":
		add("reverse=True", 1)
		for i, k := range []string{"key=len", "key=abs", "key=str.lower", "key=str", "key=lambda x: x[1]", "key=lambda x: x[0]", "key=lambda x: -x"} {
			add(k, 0.5/(1+0.3*float64(i)))
		}
	case "min", "max":
		if n == 1 {
			add("default=0", 0.6)
			add("default=None", 0.5)
		}
		add("key=len", 0.5)
		add("key=abs", 0.3)
	case "round":
		if n == 1 {
			add("2", 0.6)
			add("1", 0.4)
		}
	case "pop":
		if n == 0 {
			add("0", 0.9)
		}
		if n == 1 {
			add("None", 0.4)
		}
	case "get":
		if n == 1 {
			for i, d := range []string{"0", "''", "[]", "False", "{}"} {
				add(d, 0.7/(1+0.3*float64(i)))
			}
		}
	case "split":
		if n == 0 {
			add("' '", 0.6)
			add("','", 0.5)
		}
	case "replace", "enumerate":
		if n == 2 || r.callee(e) == "enumerate" && n == 1 {
			add("1", 0.5)
		}
	case "int":
		if n == 1 {
			add("2", 0.3)
			add("16", 0.2)
		}
	}
	return out
}

// accumulated completes a call that chooses among values: the best so far and the
// value at hand, of what is assigned and what the loop goes through.
func (r *Region) accumulated(e *pysrc.Expr, emit emitter) {
	if n := r.callee(e); n != "min" && n != "max" || e.Parts[0].Kind != pysrc.NameExpr {
		return
	}
	s := r.owner[e]
	t := r.target(s)
	if t == nil || t.Kind != pysrc.NameExpr || r.parent[e] != nil {
		return
	}
	if r.loop(s) == nil {
		return
	}
	count := 0
	for _, v := range r.visible(e) {
		if v.name != t.Name && v.name != r.self && !v.kind.sized() && count < 4 {
			count++
			r.becomes(e, e.Parts[0].Name+"("+t.Name+", "+v.name+")", 1/float64(count), emit)
		}
	}
}

// droppedCall puts an argument or the receiver of a call in its place.
func droppedCall(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind != pysrc.CallExpr || !r.valued(e) && !r.chained(e) {
		return
	}
	k := r.kindOf(e)
	weigh := func(x *pysrc.Expr) float64 {
		switch o := r.kindOf(x); {
		case k.known() && k == o:
			return 1
		case k.fits(o):
			return 0.6
		}
		return 0.25
	}
	if f := e.Parts[0]; f.Kind == pysrc.AttributeExpr && !r.module(f.Parts[0]) {
		r.becomes(e, r.text(f.Parts[0]), weigh(f.Parts[0]), emit)
		return
	}
	for i, a := range e.Parts[1:] {
		if plainArgument(a) && !constant(a) && i < 3 {
			r.becomes(e, r.outer(e, r.text(a), a.Precedence()), weigh(a)/float64(1+i), emit)
		}
	}
}

// chained says that something is selected from the expression.
func (r *Region) chained(e *pysrc.Expr) bool {
	p := r.parent[e]
	return p != nil && p.Kind == pysrc.AttributeExpr
}

// module says that an expression is an imported module.
func (r *Region) module(e *pysrc.Expr) bool {
	if e.Kind != pysrc.NameExpr || r.byName[e.Name] != nil {
		return false
	}
	return r.mod.imported[e.Name]
}

// addedCall wraps a value in a function that gives a value of the same kind, or
// calls a method on it that does.
func addedCall(r *Region, e *pysrc.Expr, emit emitter) {
	switch e.Kind {
	case pysrc.NameExpr, pysrc.CallExpr, pysrc.AttributeExpr, pysrc.SubscriptExpr, pysrc.CompExpr:
	default:
		return
	}
	if !r.valued(e) || e.Kind == pysrc.CompExpr && e.Op == "" || r.assigned(e) {
		return
	}
	k := r.kindOf(e)
	scale := 1.0
	if !k.known() {
		scale = 0.5
	}
	if k.name == "str" || !k.known() {
		for i, m := range []string{"lower", "strip", "upper", "swapcase", "split", "capitalize", "title"} {
			if r.callee(e) != m {
				r.becomes(e, r.text(e)+"."+m+"()", scale*0.6/(1+0.25*float64(i)), emit)
			}
		}
	}
	for i, f := range wrappers(k) {
		if r.callee(e) != f {
			r.becomes(e, f+"("+r.text(e)+")", scale*0.6/(1+0.25*float64(i)), emit)
		}
	}
	if k.ordered() || !k.known() {
		r.becomes(e, r.text(e)+"[::-1]", scale*0.4, emit)
	}
	count := 0.0
	for _, f := range r.unary() {
		count++
		r.becomes(e, f+"("+r.text(e)+")", 0.6/count, emit)
	}
}

// wrappers are built-in functions that a value of the kind may lack.
func wrappers(k kind) []string {
	switch k.name {
	case "str":
		return []string{"int", "sorted", "list", "len", "set"}
	case "list", "tuple", "range", "set", "dict":
		return []string{"sorted", "set", "list", "len", "sum", "max", "reversed", "tuple"}
	case "int", "float":
		return []string{"abs", "str", "int", "round", "float"}
	case "bool":
		return []string{"int"}
	}
	return []string{"sorted", "list", "str", "int", "abs", "set", "len"}
}

// unary are the module's functions of one parameter, by name.
func (r *Region) unary() []string {
	var out []string
	for f, n := range r.mod.functions {
		if n == 1 && f != r.Name {
			out = append(out, f)
		}
	}
	sort.Strings(out)
	if len(out) > 6 {
		out = out[:6]
	}
	return out
}
