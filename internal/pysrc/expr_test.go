package pysrc

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shape prints an expression with all its grouping.
func shape(e *Expr, src string) string {
	if e == nil {
		return "_"
	}
	var parts []string
	for _, p := range e.Parts {
		parts = append(parts, shape(p, src))
	}
	in := strings.Join(parts, " ")
	switch e.Kind {
	case NameExpr, NumberExpr, ConstantExpr, StringExpr:
		return src[e.Off:e.End]
	case CompareExpr:
		var ops []string
		for _, o := range e.Ops {
			ops = append(ops, o.Text)
		}
		return "(" + strings.Join(ops, ",") + " " + in + ")"
	}
	names := map[ExprKind]string{
		TupleExpr: "tuple", ParenExpr: "paren", ListExpr: "list", SetExpr: "set", DictExpr: "dict", ItemExpr: "item",
		CompExpr: "comp" + e.Op, ForClause: "for", IfClause: "if", CallExpr: "call", KeywordExpr: e.Name + "=",
		SubscriptExpr: "at", SliceExpr: "slice", AttributeExpr: "." + e.Name, LambdaExpr: "lambda", ParamExpr: e.Op + e.Name,
		ConditionalExpr: "cond", StarExpr: "*", DoubleStarExpr: "**", WalrusExpr: ":=", YieldExpr: "yield" + e.Op, AliasExpr: "as",
	}
	if n, ok := names[e.Kind]; ok {
		return "(" + strings.TrimSpace(n+" "+in) + ")"
	}
	return "(" + e.Op + " " + in + ")"
}

func parseExpr(t testing.TB, src string) (*Expr, error) {
	tokens, err := Tokenize([]byte(src))
	require.NoError(t, err)
	return ParseExpr(tokens[:len(tokens)-2])
}

func TestExpressions(t *testing.T) {
	cases := []struct{ src, want string }{
		{"a + b * c - d", "(- (+ a (* b c)) d)"},
		{"a or b and not c == d", "(or a (and b (not (== c d))))"},
		{"a < b <= c not in d is not e", "(<,<=,not in,is not a b c d e)"},
		{"-a ** -b ** c", "(- (** a (- (** b c))))"},
		{"a ** b ** c", "(** a (** b c))"},
		{"~-+a", "(~ (- (+ a)))"},
		{"a | b ^ c & d << e + f", "(| a (^ b (& c (<< d (+ e f)))))"},
		{"a // b % c @ d", "(@ (% (// a b) c) d)"},
		{"await f(x) ** 2", "(** (await (call f x)) 2)"},
		{"a if b else c if d else e", "(cond a b (cond c d e))"},
		{"lambda x, *a, k=1, **o: x or k", "(lambda (x _ _) (*a _ _) (k _ 1) (**o _ _) (or x k))"},
		{"lambda: (yield)", "(lambda (paren (yield)))"},
		{"f(a, *b, k=c, **d)(e)", "(call (call f a (* b) (k= c) (** d)) e)"},
		{"f(x for x in y if x)", "(call f (comp x (for x y) (if x)))"},
		{"a.b[c].d", "(.d (at (.b a) c))"},
		{"a[1:2, ::3, :]", "(at a (tuple (slice 1 2 _) (slice _ _ 3) (slice _ _ _)))"},
		{"a[b:=1]", "(at a (:= b 1))"},
		{"[x, *y]", "(list x (* y))"},
		{"[]", "(list)"},
		{"()", "(paren)"},
		{"(a,)", "(paren (tuple a))"},
		{"a, *b", "(tuple a (* b))"},
		{"{a: b, **c}", "(dict (item a b) (** c))"},
		{"{**c, a: b}", "(dict (** c) (item a b))"},
		{"{a, *b}", "(set a (* b))"},
		{"{}", "(dict)"},
		{"{k: v for k, v in m if k if v}", "(comp{ (item k v) (for (tuple k v) m) (if k) (if v))"},
		{"[x async for x in a for y in (b if c else d)]", "(comp[ x (for x a) (for y (paren (cond b c d))))"},
		{"[x for x in lambda: y, z]", ""},
		{"[x for x in y in z]", "(comp[ x (for x (in y z)))"},
		{"{x for x in y}", "(comp{ x (for x y))"},
		{"'a' \"b\" f'{c}'", "'a' \"b\" f'{c}'"},
		{"(y := f(x), 1)", "(paren (tuple (:= y (call f x)) 1))"},
		{"yield", "(yield)"},
		{"yield a, b", "(yield (tuple a b))"},
		{"yield from a", "(yieldfrom a)"},
		{"x[a, *b]", "(at x (tuple a (* b)))"},
		{"...", "..."},
		{"not a in b", "(not (in a b))"},
		{"1 if True else None", "(cond 1 True None)"},
		{"a +", ""},
		{"a b", ""},
		{"(a", ""},
	}
	for _, c := range cases {
		if c.src == "(a" {
			_, err := Tokenize([]byte(c.src))
			require.Error(t, err)
			continue
		}
		e, err := parseExpr(t, c.src)
		if c.want == "" {
			require.Error(t, err, c.src)
			continue
		}
		require.NoError(t, err, c.src)
		require.Equal(t, c.want, shape(e, c.src), c.src)
		require.Equal(t, c.src, c.src[e.Off:e.End])
	}
	_, err := ParseExpr(nil)
	require.Error(t, err)
}

func TestOperatorsHavePlaces(t *testing.T) {
	src := "a  not  in b + -c"
	e, err := parseExpr(t, src)
	require.NoError(t, err)
	require.Equal(t, []Operator{{"not in", 3, 10}}, e.Ops)
	sum := e.Parts[1]
	require.Equal(t, "+", src[sum.Ops[0].Off:sum.Ops[0].End])
	require.Equal(t, "-c", src[sum.Parts[1].Off:sum.Parts[1].End])
	f := mustParse(t, "x: int = a\ny += f(b=1)\nd[k] = e = lambda z=1: z\n")
	for i, want := range []string{"=", "+=", "="} {
		op, ok := f.Body[i].Operator()
		require.True(t, ok)
		require.Equal(t, want, op.Text)
		require.Equal(t, want, string(f.Src[op.Off:op.End]))
	}
}

// TestFields: what stands in the fields of an f-string is parsed where it stands.
func TestFields(t *testing.T) {
	cases := []struct{ src, want string }{
		{"f'{a!r:>{w + 1}} {{b}} {c != d}'", "a; (+ w 1); (!= c d)"},
		{"f'{ x = }{y=!s}' 'z' rf'\\{q}' f'\\{q}'", "x; y; q; q"},
		{"f'{d['k']:%H:%M} \\N{DASH}'", "(at d 'k')"},
		{"f\"{f'{a}' + b}\"", "(+ f'{a}' b)"},
		{"f\"\"\"{\n  a # it's }\n  , b}\"\"\"", "(tuple a b)"},
		{"t'{(lambda x: x)(1)}'", "(call (paren (lambda (x _ _) x)) 1)"},
		{"'{a}'", ""},
		{"f'{a b}'", "error"},
		{"f'{}'", "error"},
		{"f'{a!r'", "error"},
		{"f'{a +}'", "error"},
	}
	for _, c := range cases {
		tokens, err := Tokenize([]byte(c.src))
		if err == nil {
			var e *Expr
			if e, err = ParseExpr(tokens[:len(tokens)-2]); err == nil {
				var got []string
				for _, p := range e.Parts {
					got = append(got, shape(p, c.src))
				}
				require.Equal(t, c.want, strings.Join(got, "; "), c.src)
				continue
			}
		}
		require.Equal(t, "error", c.want, "%s: %v", c.src, err)
	}
}

func TestParts(t *testing.T) {
	cases := []struct{ src, want string }{
		{"a = b = c", "target a; target b; value c"},
		{"a, *b = c", "target (tuple a (* b)); value c"},
		{"a[i] += 1", "target (at a i); value 1"},
		{"a: int = 1", "target a; annotation int; value 1"},
		{"for a, b in c, d: pass", "target (tuple a b); iterable (tuple c d)"},
		{"if (a := b): pass", "condition (paren (:= a b))"},
		{"assert a, b", "condition a; message b"},
		{"raise a from b", "exception a; value b"},
		{"return", ""},
		{"return a, b", "value (tuple a b)"},
		{"def f(a: int, /, b=1, *c: *T, d, **e) -> r: pass", "parameter (a int _); parameter (/ _ _); parameter (b _ 1); parameter (*c (* T) _); parameter (d _ _); parameter (**e _ _); annotation r"},
		{"def f[T: (int, str) = int, *U, **P](a, *, b): pass", "annotation (paren (tuple int str)); annotation int; parameter (a _ _); parameter (* _ _); parameter (b _ _)"},
		{"class A(B, k=c): pass", "argument B; argument (k= c)"},
		{"with a as b, c: pass", "context a; target b; context c"},
		{"with (a as b, c as d,): pass", "context a; target b; context c; target d"},
		{"with (yield): pass", "context (paren (yield))"},
		{"with (a, b).c as d: pass", "context (.c (paren (tuple a b))); target d"},
		{"with (x for x in y): pass", "context (comp( x (for x y))"},
		{"try: pass\nexcept (a, b) as c: pass", ""},
		{"match a, b: \n  case [x, {'k': C(v=1) as w}] if x: pass", "subject (tuple a b)"},
		{"@a.b(c)\ndef f(): pass", "decorator (call (.b a) c)"},
		{"type A[T] = B[T]", "annotation (at B T)"},
		{"del a, b[0]", "target (tuple a (at b 0))"},
		{"global a, b", ""},
		{"from .a.b import (c as d, e,)", ""},
	}
	for _, c := range cases {
		f := mustParse(t, c.src)
		parts, err := f.Body[0].Parts()
		require.NoError(t, err, c.src)
		var got []string
		for _, p := range parts {
			got = append(got, string(p.Role)+" "+shape(p.Expr, c.src))
		}
		require.Equal(t, c.want, strings.Join(got, "; "), c.src)
	}
	f := mustParse(t, "match a:\n  case [x, {'k': C(v=1) as w}] if x: pass\n")
	parts, err := f.Body[0].Block[0].Parts()
	require.NoError(t, err)
	require.Equal(t, "(list x (dict (item 'k' (as (call C (v= 1)) w))))", shape(parts[0].Expr, string(f.Src)))
	require.Equal(t, RoleCondition, parts[1].Role)
}

func TestDeepSourceIsRefusedNotFatal(t *testing.T) {
	for _, src := range []string{
		strings.Repeat("a + ", 100_000) + "a", strings.Repeat("not ", 100_000) + "a", strings.Repeat("- ", 100_000) + "a",
		strings.Repeat("lambda: ", 100_000) + "a", strings.Repeat("a if b else ", 100_000) + "c", strings.Repeat("a ** ", 100_000) + "b",
		"a" + strings.Repeat(".b", 100_000), "a" + strings.Repeat("()", 100_000),
	} {
		_, err := parseExpr(t, src)
		require.ErrorContains(t, err, "too deeply nested", src[:20])
	}
	_, err := Parse([]byte("x = " + strings.Repeat("f'{", 100_000)))
	require.Error(t, err)
	wide, err := parseExpr(t, "["+strings.Repeat("a, ", 100_000)+"]")
	require.NoError(t, err)
	require.Len(t, wide.Parts, 100_000)
}
