package pysrc

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func mustParse(t testing.TB, src string) *File {
	f, err := Parse([]byte(src))
	require.NoError(t, err, src)
	return f
}

// kinds prints the tree of statements: kind, and the block in parentheses.
func kinds(list []*Stmt) string {
	var out []string
	for _, s := range list {
		text := s.Kind
		if s.Async {
			text = "async " + text
		}
		if len(s.Block) > 0 {
			text += "(" + kinds(s.Block) + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func TestStatements(t *testing.T) {
	cases := []struct{ src, want string }{
		{"", ""},
		{"# nothing\n\n   # at all", ""},
		{"x = 1; y += 2; z: int = 3; f()\n", "assign augassign annassign expr"},
		{"if a: return\nelif b:\n\tpass\nelse:\n  del x\n", "if(return) elif(pass) else(del)"},
		{"for i in x:\n    break\nelse: continue", "for(break) else(continue)"},
		{"while (y := f(lambda: 1)):\n    raise E from e\n", "while(raise)"},
		{"try:\n  import a\nexcept* E as e:\n  from . import b\nelse: global g\nfinally:\n  assert x, 'm'\n", "try(import) except(from) else(global) finally(assert)"},
		{"@deco\n@a.b(1)\nasync def f(x: int = 2, *a, **k) -> T: yield x\n", "decorator decorator async def(expr)"},
		{"class A[T: int](B, metaclass=M):\n  'doc'\n  def m(self): ...\n", "class(expr def(expr))"},
		{"async with a as b, c: pass\nasync for x in y: pass\n", "async with(pass) async for(pass)"},
		{"with (open(a) as b, open(c) as d,):\n  pass\n", "with(pass)"},
		{"match x:\n  case [1, *rest] if rest: pass\n  case {'a': A(b=1) as c} | None:\n    pass\n  case _: pass\n", "match(case(pass) case(pass) case(pass))"},
		{"match = 1\nmatch[0] = 2\nmatch(x)\ncase = match\ntype = 3\ntype(x)\nprint(type)\n", "assign assign expr assign assign expr expr"},
		{"type X[T] = list[T]\n", "type"},
		{"x = lambda a: a\nf = lambda *, k=1, **o: {k: o}\n", "assign assign"},
		{"d = {1: 2,\n# note\n     3: 4}\ns = '''a\nb'''\n", "assign assign"},
		{"if x:\n    a\n  # odd comment\n\n    b\nc\n", "if(expr expr) expr"},
		{"if x:\n\ta\n\f\n\tb\n", "if(expr expr)"},
		{"a = 1 + \\\n  2\nif a and \\\n b:\n  pass\n", "assign if(pass)"},
		{"\ufeffx = 1\r\nif x:\r\n  y\r\n", "assign if(expr)"},
		{"nonlocal a, b\nawait x\nreturn *a, b\nx = yield\nyield from y\n", "nonlocal expr return assign expr"},
		{"print(f'{a[\"k\"]!r:>{w}} {{}} {x:%H:%M} {d['k']}')\n", "expr"},
		{"x = f'''{\n  a # note }\n  }''' rb'\\'' Rb\"\" t'{a}' U''\n", "assign"},
		{"f'\\N{EM DASH} {a}' ; rf'\\{b}' ; f'\\{c}'\n", "expr expr expr"},
		{"x = 0xFF_ff + 0b1 + 0o17 + 1_0.5e-3j + .5 + 1. + 00\ny = 1if x else 2\n", "assign assign"},
		{"été = 'é'\n", "assign"},
	}
	for _, c := range cases {
		f := mustParse(t, c.src)
		require.Equal(t, c.want, kinds(f.Body), c.src)
		require.NoError(t, f.Check(), c.src)
	}
}

func TestPlacesOfStatements(t *testing.T) {
	src := "class A:\n    @deco  # why\n    def f(self):\n        if x: return 1; y\n        z = (1,\n             2)  # end\n\n    # after\nw = 1\n"
	f := mustParse(t, src)
	def := f.Body[0].Block[1]
	require.Equal(t, "def f(self):\n        if x: return 1; y\n        z = (1,\n             2)", src[def.Off:def.End])
	require.Equal(t, "def f(self):", src[def.Off:def.Head])
	require.Equal(t, []int{3, 6}, []int{def.Line, def.EndLine})
	require.Equal(t, "    ", def.Indent)
	require.Same(t, f.Body[0], def.Parent)
	branch := def.Block[0]
	require.Equal(t, "return 1", src[branch.Block[0].Off:branch.Block[0].End])
	require.True(t, branch.Block[0].Inline)
	require.True(t, branch.Block[1].Inline)
	require.False(t, branch.Inline)
	require.Equal(t, []string{"return", "assign"}, []string{f.EnclosingStmt(4).Kind, f.EnclosingStmt(6).Kind})
	require.Nil(t, f.EnclosingStmt(8))
}

func TestErrors(t *testing.T) {
	cases := []struct {
		src, reason string
		line        int
	}{
		{"x = (1,\ny = 2\n", "'(' was never closed", 1},
		{"x = 1\ny = 2)\n", "unmatched ')'", 2},
		{"x = (1]\n", "closing ']' does not match opening '('", 1},
		{"if x:\n    a\n  b\n", "unindent does not match any outer indentation level", 3},
		{"x\n  y\n", "unexpected indent", 2},
		{"if x:\ny\n", "expected an indented block after 'if' on line 1", 2},
		{"def f():\n", "expected an indented block after 'def' on line 1", 2},
		{"if x\n  y\n", "expected ':'", 1},
		{"x = 'abc\ny\n", "unterminated string literal", 1},
		{"x = '''abc\ny\n", "unterminated string literal", 1},
		{"x = f'{a\n", "unterminated string literal", 1},
		{"if x:\n\ta\n        b\n", "inconsistent use of tabs and spaces in indentation", 3},
		{"x = 1 \\ 2\n", "unexpected character after line continuation character", 1},
		{"x = 1 \\\n", "unexpected end of file after line continuation character", 2},
		{"x = $1\n", "invalid character '$'", 1},
		{"x = 017\n", "leading zeros in decimal integer literals are not permitted", 1},
		{"a\n;b\n", "unexpected ';'", 2},
		{"if x: for y in z: pass\n", "a statement with a block cannot follow ':' on its line", 1},
		{"a = 'x'\nb = '\xff'\n", "source is not UTF-8, and declares no other encoding", 2},
		{strings.Repeat("(", 201) + strings.Repeat(")", 201), "too many nested brackets", 1},
	}
	for _, c := range cases {
		_, err := Parse([]byte(c.src))
		var e *Error
		require.True(t, errors.As(err, &e), "%q: %v", c.src, err)
		require.Equal(t, c.reason, e.Reason, c.src)
		require.Equal(t, c.line, e.Line, c.src)
	}
	mustParse(t, "# -*- coding: latin-1 -*-\nb = '\xff'\n")
}

// TestCheck lists what only Check refuses.
func TestCheck(t *testing.T) {
	for _, src := range []string{
		"x = \n", "x = 1 +\n", "f(a b)\n", "print x\n", "x = a not b\n", "1 = x\n", "f() = 1\n", "a + b += 1\n", "for f() in x: pass\n",
		"else: pass\n", "x\nelif y: pass\n", "try: pass\nx\n", "@d\nx = 1\n", "def f(: pass\n", "def (x): pass\n", "import\n", "from x import\n", "from x import (a b)\n",
		"x = [1, 2 3]\n", "x = {1: }\n", "x = {1: 2, 3}\n", "lambda x 1\n", "a if b\n", "a = b if c else\n", "return x y\n", "del 1\n", "with x as 1: pass\n",
		"while : pass\n", "class A(: pass\n", "x.1\n", "x. = 1\n", "a <not b\n", "- not a\n", "x = (yield) = 1\n", "match x:\n  y\n", "assert x,\n", "raise x from\n", "not\n",
	} {
		f, err := Parse([]byte(src))
		if err == nil {
			err = f.Check()
		}
		var e *Error
		require.True(t, errors.As(err, &e), "%q passes", src)
	}
}

func TestFunctionsAndClasses(t *testing.T) {
	f := mustParse(t, "import x\n\n@a\n@b\ndef outer(p, /, q: int = f(1, 2), *args, k=lambda z, w: z, **kw):\n    def inner(): pass\n    return inner\n\n\nclass A:\n    class B:\n        async def m(self): pass\n    if x:\n        def n[T](self, *, only): pass\n\n\ndef last(): pass\n")
	type row struct {
		qualified, class, params string
		line, end                int
	}
	var got []row
	for _, fn := range f.Funcs {
		got = append(got, row{fn.Qualified, fn.Class, strings.Join(fn.Params, " "), fn.Line, fn.End})
	}
	require.Equal(t, []row{
		{"outer", "", "p q args k kw", 3, 7}, {"outer.inner", "", "", 6, 6},
		{"A.B.m", "A.B", "self", 12, 12}, {"A.n", "A", "self only", 14, 14}, {"last", "", "", 17, 17},
	}, got)
	require.Equal(t, []string{"A", "A.B"}, []string{f.Classes[0].Qualified, f.Classes[1].Qualified})
	require.Equal(t, 14, f.Classes[0].End)
	for line, want := range map[int]string{3: "outer", 5: "outer", 6: "outer.inner", 7: "outer", 12: "A.B.m", 17: "last"} {
		fn, ok := f.Enclosing(line)
		require.True(t, ok)
		require.Equal(t, want, fn.Qualified)
	}
	for _, line := range []int{1, 8, 10, 99} {
		_, ok := f.Enclosing(line)
		require.False(t, ok, line)
	}
}

func TestImports(t *testing.T) {
	f := mustParse(t, "import os.path, sys as s\nfrom a.b import (c as d,\n  e,)\nfrom . import f\nfrom ...g import *\ndef h():\n    from .i import j\n")
	var got []Import
	for _, i := range f.Imports() {
		i.Stmt = nil
		got = append(got, i)
	}
	require.Equal(t, []Import{
		{Module: "os.path", As: "os"}, {Module: "sys", As: "s"},
		{Module: "a.b", Name: "c", As: "d"}, {Module: "a.b", Name: "e", As: "e"},
		{Name: "f", As: "f", Level: 1}, {Module: "g", Name: "*", As: "*", Level: 3}, {Module: "i", Name: "j", As: "j", Level: 1},
	}, got)
}

func TestCanonical(t *testing.T) {
	base := "def f(a, b):\n    if a:\n        return [1, 'x']\n    return b\n"
	for _, same := range []string{
		"# top\ndef f(a,b) :\n\n  \"\"\"Doc.\"\"\"\n  if a: return [ 1,\n     # one\n  \"x\" ,]\n  return b # two",
		"'''Module.'''\r\ndef f(a, b,):\r\n\tif a:\r\n\t\t'remark'\r\n\t\tpass\r\n\t\treturn [1, u'x']\r\n\treturn b",
		"def f(a, \\\n   b):\n    if a:\n        return [1, 'x'];\n    return b\n",
	} {
		require.Equal(t, mustParse(t, base).Canonical(), mustParse(t, same).Canonical(), same)
	}
	for _, other := range []string{
		"def f(a, b):\n    if a:\n        return [1, 'x']\n        return b\n",
		"def f(a, b):\n    if a:\n        return [1, 'X']\n    return b\n",
		"def f(a, b):\n    if a:\n        return [1, b'x']\n    return b\n",
		"def f(a, b):\n    if a:\n        return [1, f'x']\n    return b\n",
		"def f(a, b):\n    if a:\n        return [1, 'x'],\n    return b\n",
	} {
		require.NotEqual(t, mustParse(t, base).Canonical(), mustParse(t, other).Canonical(), other)
	}
	pairs := []struct {
		a, b string
		same bool
	}{
		{"x = (1,)\n", "x = (1)\n", false},
		{"x = (1, 2,)\n", "x = (1, 2)\n", true},
		{"x = f(1,)\n", "x = f(1)\n", true},
		{"x = a[1,]\n", "x = a[1]\n", false},
		{"x = a[1,2,]\n", "x = a[1,2]\n", false}, // the same, but not plainly so
		{"x = {1,}\n", "x = {1}\n", true},
		{"x = 1_000\n", "x = 1000\n", true},
		{"def f(): 'doc'\n", "def f(): pass\n", true},
		{"x = r'a\\b'\n", "x = 'a\\b'\n", false},
		{"x = '''a'''\n", "x = 'a'\n", true},
		{"x = 'a\"'\n", "x = \"a'\"\n", false},
	}
	for _, p := range pairs {
		got := mustParse(t, p.a).Canonical() == mustParse(t, p.b).Canonical()
		require.Equal(t, p.same, got, "%s%s", p.a, p.b)
	}
}
