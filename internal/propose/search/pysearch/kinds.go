package pysearch

import (
	"strings"

	"ratchet/internal/pysrc"
)

// kind is what a value is guessed to be, and its elements: {"list", "int"}.
type kind struct{ name, elem string }

func (k kind) number() bool { return k.name == "int" || k.name == "float" || k.name == "bool" }

func (k kind) sized() bool {
	switch k.name {
	case "str", "list", "dict", "set", "tuple", "bytes":
		return true
	}
	return false
}

func (k kind) ordered() bool { return k.name == "str" || k.name == "list" || k.name == "tuple" }

// known says that something was guessed.
func (k kind) known() bool { return k.name != "" }

// fits says that a value of one kind could stand for one of the other, as far as known.
func (k kind) fits(o kind) bool {
	return !k.known() || !o.known() || k.name == o.name || k.number() && o.number() ||
		(k.name == "list" || k.name == "tuple") && (o.name == "list" || o.name == "tuple")
}

// guess finds the kinds of variables: from annotations and defaults, then from
// what is assigned, which may depend on others.
func (r *Region) guess() {
	for _, e := range r.exprs {
		if e.Kind == pysrc.ParamExpr && r.byName[e.Name] != nil {
			v := r.byName[e.Name]
			if a := e.Parts[0]; a != nil {
				v.kind = annotated(r.text(a))
			}
			if d := e.Parts[1]; d != nil && !v.kind.known() {
				v.kind = r.kindOf(d)
			}
		}
	}
	for range 2 {
		for _, s := range r.stmts {
			r.guessFrom(s)
		}
		for _, e := range r.exprs {
			if e.Kind == pysrc.ForClause {
				r.guessLoop(e.Parts[0], e.Parts[1])
			}
		}
	}
}

func (r *Region) guessFrom(s *pysrc.Stmt) {
	t, v := r.target(s), r.value(s)
	switch s.Kind {
	case "assign":
		if t != nil && v != nil {
			r.learn(t, v)
		}
	case "for":
		if parts := r.parts[s]; len(parts) == 2 {
			r.guessLoop(parts[0].Expr, parts[1].Expr)
		}
	}
}

// learn takes what is assigned to a name, or to several side by side.
func (r *Region) learn(t, v *pysrc.Expr) {
	if t.Kind == pysrc.TupleExpr && v.Kind == pysrc.TupleExpr && len(t.Parts) == len(v.Parts) {
		for i := range t.Parts {
			r.learn(t.Parts[i], v.Parts[i])
		}
		return
	}
	if t.Kind != pysrc.NameExpr || r.byName[t.Name] == nil {
		return
	}
	x := r.byName[t.Name]
	if x.value == nil {
		x.value = v
	}
	if !x.kind.known() || x.kind.name == "list" && x.kind.elem == "" {
		if k := r.kindOf(v); k.known() {
			x.kind = k
		}
	}
}

func (r *Region) guessLoop(t, iterable *pysrc.Expr) {
	k := r.kindOf(iterable)
	set := func(e *pysrc.Expr, k kind) {
		if e.Kind == pysrc.NameExpr && r.byName[e.Name] != nil && !r.byName[e.Name].kind.known() {
			r.byName[e.Name].kind = k
		}
	}
	if t.Kind == pysrc.TupleExpr && len(t.Parts) == 2 && r.callee(iterable) == "enumerate" && len(iterable.Parts) > 1 {
		set(t.Parts[0], kind{name: "int"})
		set(t.Parts[1], r.element(r.kindOf(iterable.Parts[1])))
		return
	}
	set(t, r.element(k))
}

// element is the kind of what a value of some kind holds.
func (r *Region) element(k kind) kind {
	if k.name == "str" {
		return kind{name: "str"}
	}
	return kind{name: k.elem}
}

// annotated reads an annotation: int, List[int], Optional[str], …
func annotated(text string) kind {
	text = strings.Trim(text, `"' `)
	base, inner, _ := strings.Cut(text, "[")
	inner = strings.TrimSuffix(inner, "]")
	base = strings.ToLower(base[strings.LastIndexByte(base, '.')+1:])
	switch base {
	case "int", "float", "str", "bool", "bytes":
		return kind{name: base}
	case "list", "set", "tuple", "dict", "sequence", "iterable":
		if base == "sequence" || base == "iterable" {
			base = "list"
		}
		return kind{base, annotated(strings.Split(inner, ",")[0]).name}
	case "optional":
		return annotated(inner)
	}
	return kind{}
}

// callee is the name of the function or method that an expression calls, "" for none.
func (r *Region) callee(e *pysrc.Expr) string {
	if e == nil || e.Kind != pysrc.CallExpr {
		return ""
	}
	return e.Parts[0].Name
}

// kindOf guesses the kind of an expression.
func (r *Region) kindOf(e *pysrc.Expr) kind {
	switch e.Kind {
	case pysrc.NumberExpr:
		if strings.ContainsAny(e.Name, ".eE") && !strings.HasPrefix(strings.ToLower(e.Name), "0x") {
			return kind{name: "float"}
		}
		return kind{name: "int"}
	case pysrc.StringExpr:
		if prefix, _, _ := pysrc.SplitString(e.Name); strings.Contains(prefix, "b") {
			return kind{name: "bytes", elem: "int"}
		}
		return kind{name: "str"}
	case pysrc.ConstantExpr:
		if e.Name == "True" || e.Name == "False" {
			return kind{name: "bool"}
		}
	case pysrc.NameExpr:
		if v := r.byName[e.Name]; v != nil {
			return v.kind
		}
	case pysrc.ParenExpr:
		if len(e.Parts) == 1 {
			return r.kindOf(e.Parts[0])
		}
		return kind{name: "tuple"}
	case pysrc.TupleExpr:
		return kind{name: "tuple"}
	case pysrc.ListExpr, pysrc.SetExpr:
		return kind{map[pysrc.ExprKind]string{pysrc.ListExpr: "list", pysrc.SetExpr: "set"}[e.Kind], r.first(e.Parts)}
	case pysrc.DictExpr:
		return kind{name: "dict"}
	case pysrc.CompExpr:
		return r.kindOfComp(e)
	case pysrc.CompareExpr:
		return kind{name: "bool"}
	case pysrc.ConditionalExpr:
		return r.kindOf(e.Parts[0])
	case pysrc.UnaryExpr:
		if e.Op == "not" {
			return kind{name: "bool"}
		}
		return r.kindOf(e.Parts[0])
	case pysrc.BinaryExpr:
		return r.kindOfBinary(e)
	case pysrc.CallExpr:
		return r.kindOfCall(e)
	case pysrc.SubscriptExpr:
		base := r.kindOf(e.Parts[0])
		if e.Parts[1].Kind == pysrc.SliceExpr {
			return base
		}
		if base.name != "dict" {
			return r.element(base)
		}
	}
	return kind{}
}

func (r *Region) first(parts []*pysrc.Expr) string {
	if len(parts) == 0 {
		return ""
	}
	return r.kindOf(parts[0]).name
}

func (r *Region) kindOfComp(e *pysrc.Expr) kind {
	name := "list"
	if e.Op == "{" {
		if name = "set"; e.Parts[0].Kind == pysrc.ItemExpr {
			return kind{name: "dict"}
		}
	}
	return kind{name, r.kindOf(e.Parts[0]).name}
}

func (r *Region) kindOfBinary(e *pysrc.Expr) kind {
	a, b := r.kindOf(e.Parts[0]), r.kindOf(e.Parts[1])
	switch e.Op {
	case "and", "or":
		if a == b {
			return a
		}
		return kind{}
	case "/":
		return kind{name: "float"}
	case "%", "+", "*":
		if a.sized() {
			return a
		}
		if b.sized() && e.Op != "%" {
			return b
		}
	}
	switch {
	case a.name == "float" || b.name == "float":
		return kind{name: "float"}
	case a.name == "int" || b.name == "int":
		return kind{name: "int"}
	}
	return kind{}
}

func (r *Region) kindOfCall(e *pysrc.Expr) kind {
	arg := kind{}
	if len(e.Parts) > 1 {
		arg = r.kindOf(e.Parts[1])
	}
	if e.Parts[0].Kind == pysrc.AttributeExpr {
		return r.kindOfMethod(e, arg)
	}
	switch e.Parts[0].Name {
	case "len", "int", "ord", "round", "hash", "id":
		return kind{name: "int"}
	case "float":
		return kind{name: "float"}
	case "str", "chr", "repr", "input", "bin", "hex", "oct", "format":
		return kind{name: "str"}
	case "bool", "isinstance", "any", "all", "callable", "hasattr", "issubclass":
		return kind{name: "bool"}
	case "range":
		return kind{"range", "int"}
	case "list", "sorted", "reversed", "tuple", "set", "frozenset":
		name := map[string]string{"tuple": "tuple", "set": "set", "frozenset": "set"}[e.Parts[0].Name]
		if name == "" {
			name = "list"
		}
		return kind{name, r.element(arg).name}
	case "dict", "Counter", "defaultdict":
		return kind{name: "dict"}
	case "sum", "max", "min":
		if len(e.Parts) == 2 || e.Parts[0].Name == "sum" {
			return r.element(arg)
		}
		return arg
	case "abs":
		return arg
	}
	return kind{}
}

func (r *Region) kindOfMethod(e *pysrc.Expr, arg kind) kind {
	switch e.Parts[0].Name {
	case "lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "swapcase", "replace", "join", "format", "zfill",
		"center", "ljust", "rjust", "removeprefix", "removesuffix", "decode":
		return kind{name: "str"}
	case "split", "splitlines", "rsplit":
		return kind{"list", "str"}
	case "count", "index", "find", "rfind", "rindex", "bit_length":
		return kind{name: "int"}
	case "isdigit", "isalpha", "isupper", "islower", "isspace", "isalnum", "startswith", "endswith", "isnumeric", "isdecimal", "issubset", "issuperset":
		return kind{name: "bool"}
	case "copy", "union", "intersection", "difference":
		return r.kindOf(e.Parts[0].Parts[0])
	}
	return kind{}
}
