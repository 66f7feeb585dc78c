package pysearch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/propose/search/names"
	"ratchet/internal/pysrc"
)

func newModule(t testing.TB, src string) *Module {
	m, err := NewModule([]byte(src), names.NewLexicon())
	require.NoError(t, err)
	return m
}

func TestModulesThatCannotBeReadAreRefused(t *testing.T) {
	for _, src := range []string{"def f(:\n", "if x:\n", "x = (\n", "x = 1 2\n"} {
		_, err := NewModule([]byte(src), names.NewLexicon())
		require.Error(t, err, src)
	}
}

func TestValidWantsSourceThatParsesAndDiffers(t *testing.T) {
	m := newModule(t, "def f(a):\n    return a + 1\n")
	require.NoError(t, m.Valid([]byte("def f(a):\n    return a - 1\n")))
	require.Error(t, m.Valid([]byte("def f(a):\n    return a +\n")), "no expression")
	require.Error(t, m.Valid([]byte("def f(a):\n  return (a\n")), "does not parse")
	require.Error(t, m.Valid([]byte("# note\ndef f(a):\n    'doc'\n    return  a+1\n")), "means the same")
}

func TestRegions(t *testing.T) {
	m := newModule(t, "import os\nLIMIT = 3\n\n\ndef f(a):\n    def inner(): pass\n    return a\n\n\nclass A:\n    size = 1\n    @property\n    def m(self): return self.size\n\n\nif LIMIT:\n    other = 2\n")
	var got []string
	for _, r := range m.Regions() {
		got = append(got, r.Name)
	}
	require.Equal(t, []string{"LIMIT", "f", "size", "m", "other"}, got)
	method := m.Regions()[3]
	require.Equal(t, "self", method.self)
	require.True(t, method.Function())
	require.True(t, method.Mentions("size"))
	require.False(t, method.Mentions("LIMIT"))
}

func TestKinds(t *testing.T) {
	r := newModule(t, `def f(a: int, b: List[str], c=0.5, d=None):
    n = len(b)
    for x in b:
        s = x.lower()
    t = [n for n in range(3)]
    m = {}
    q = n / 2
    w = a and a > 2
    u, v = 1, 'x'
    for i, y in enumerate(b):
        z = b[1:]
`).Regions()[0]
	for name, want := range map[string]string{
		"a": "int", "b": "list", "c": "float", "d": "", "n": "int", "x": "str", "s": "str", "t": "list", "m": "dict", "q": "float",
		"w": "", "u": "int", "v": "str", "i": "int", "y": "str", "z": "list",
	} {
		require.Equal(t, want, r.byName[name].kind.name, name)
	}
}

func TestVisibleVariables(t *testing.T) {
	r := newModule(t, "def f(a, b):\n    c = [x for x in a if x]\n    d = c\n    e = 1\n").Regions()[0]
	seen := func(text string) []string {
		for _, e := range r.exprs {
			if r.text(e) == text && !r.assigned(e) {
				var out []string
				for _, v := range r.visible(e) {
					out = append(out, v.name)
				}
				return out
			}
		}
		return nil
	}
	require.Equal(t, []string{"x", "c", "b", "a"}, seen("x"), "c is bound before it in the text")
	require.Equal(t, []string{"d", "c", "b", "a"}, seen("c"))
}

func TestTestsAndMessagesGiveIngredients(t *testing.T) {
	src := "def f(a):\n    if a:\n        return 'x'\n    return a + 'b'\n"
	test, err := pysrc.Parse([]byte("def test_f():\n    with pytest.raises(KeyError):\n        f(0)\n    assert f(1) == 'dog'\n"))
	require.NoError(t, err)
	require.Contains(t, mutants(t, "string constant", src, func(m *Module) { m.AddTest(test.Body[0]) }), "def f(a):\n    if a:\n        return 'dog'\n    return a + 'b'\n")
	require.Contains(t, mutants(t, "entry guard", src, func(m *Module) { m.AddTest(test.Body[0]) }), "def f(a):\n    if not a:\n        raise KeyError\n    if a:\n        return 'x'\n    return a + 'b'\n")
	require.Contains(t, mutants(t, "string constant", src, func(m *Module) { m.AddExpected("['cat']") }), "def f(a):\n    if a:\n        return 'cat'\n    return a + 'b'\n")
	require.Contains(t, mutants(t, "added term", src, func(m *Module) { m.AddDifference("'ab'", "'a::b'") }), "def f(a):\n    if a:\n        return 'x'\n    return a + '::' + 'b'\n")
	require.Contains(t, mutants(t, "string constant", "def f(a):\n    return a + 'b+'\n", func(m *Module) { m.AddDifference("'ab+'", "'ab'") }), "def f(a):\n    return a + 'b'\n")
}

// TestLayoutIsKept: comments, decorators, tabs and line ends stay as they are.
func TestLayoutIsKept(t *testing.T) {
	src := "def f(a):\r\n\tfor x in a:  # each\r\n\t\ta += 1  # step\r\n\t\treturn a\r\n"
	require.Contains(t, mutants(t, "moved statement", src, nil), "def f(a):\r\n\tfor x in a:  # each\r\n\t\ta += 1  # step\r\n\treturn a\r\n")
	require.Contains(t, mutants(t, "missing update", "def f(a):\r\n\tn = 0\r\n\twhile a:\r\n\t\tprint(a)  # each\r\n\treturn n\r\n", nil), "def f(a):\r\n\tn = 0\r\n\twhile a:\r\n\t\tprint(a)  # each\r\n\t\tn += 1\r\n\treturn n\r\n")
	require.Empty(t, mutants(t, "entry guard", "def f(a: list): return a[0]\n", nil), "a function on one line has no place for a guard")
}

func TestUnnamedParametersNeedNoGuard(t *testing.T) {
	require.Empty(t, mutants(t, "entry guard", "def f(_):\n    return 1\n", nil))
}

// FuzzMutations: whatever the source, changes do not overlap and stay in the file,
// and what Valid passes parses and means something else.
func FuzzMutations(f *testing.F) {
	for _, s := range []string{
		list, "def f(a, b=[]):\n    if a: return b; a\n    elif b:\n        pass\n    else: x = lambda q: q\n    return [x for x in a if x], {1: a}\n",
		"class A:\n    @p\n    def f(self):\n        while self.x < 3:\n            self.x -= 1\n            if self.x in seen: continue\n        '''s'''\n",
		"async def f(a):\n\ttry:\n\t\tawait a.b(1, *c, k=2)\n\texcept E as e:\n\t\traise F('m') from e\n\tfinally: a[1:2] = a[-1], a\n",
		"def f(x):\r\n  match x:\r\n    case [1, *y] if y: return y\r\n  with a as b: del b\r\n", "x = 1\ny = x if x else -x\n", "def f(): pass",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		m, err := NewModule([]byte(src), names.NewLexicon())
		if err != nil || len(src) > 3000 {
			return
		}
		for _, r := range m.Regions() {
			checked := 0
			r.Each(func(name string, _ float64, mutate func(func(Mutation))) {
				mutate(func(mu Mutation) {
					if checked++; checked > 2000 {
						return
					}
					require.Greater(t, mu.Weight, 0.0, name)
					data := edited(t, src, mu)
					if checked%20 == 0 && m.Valid([]byte(data)) == nil {
						require.NotEqual(t, src, data)
					}
				})
			})
		}
	})
}
