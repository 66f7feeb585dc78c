package pysearch

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/propose/search/names"
)

// mutants are the valid results of one family on the first region of a file, by text.
func mutants(t testing.TB, name, src string, prepare func(*Module)) []string {
	m, err := NewModule([]byte(src), names.NewLexicon())
	require.NoError(t, err, src)
	if prepare != nil {
		prepare(m)
	}
	i := slices.IndexFunc(families(), func(f family) bool { return f.name == name })
	require.GreaterOrEqual(t, i, 0, name)
	var out []string
	regions := m.Regions()
	require.NotEmpty(t, regions, src)
	for _, r := range regions {
		if r.Name != "f" {
			continue
		}
		r.apply(families()[i], func(mu Mutation) {
			data := edited(t, src, mu)
			if m.Valid([]byte(data)) == nil {
				out = append(out, data)
			}
		})
	}
	return out
}

// edited makes the changes of a mutation, which must not overlap.
func edited(t testing.TB, src string, m Mutation) string {
	changes := slices.Clone(m.Changes)
	slices.SortStableFunc(changes, func(a, b Change) int { return a.Start - b.Start })
	var b strings.Builder
	at := 0
	for _, c := range changes {
		require.LessOrEqual(t, at, c.Start, m.What)
		require.LessOrEqual(t, c.Start, c.End, m.What)
		b.WriteString(src[at:c.Start] + c.Text)
		at = c.End
	}
	return b.String() + src[at:]
}

const list = `def f(xs: List[int], k: int) -> int:
    n = 0
    for i, x in enumerate(xs):
        if x > k and i > 0:
            n += x
    return n
`

// TestFamilies shows, for every family, one text of a function that it turns into another.
func TestFamilies(t *testing.T) {
	cases := []struct{ family, src, from, to string }{
		{"relational operator", list, "x > k", "x >= k"},
		{"relational operator", "def f(a, b):\n    return a in b\n", "a in b", "a not in b"},
		{"relational operator", "def f(a):\n    return a is None\n", "is None", "is not None"},
		{"relational operator", "def f(a):\n    return 0 < a < 9\n", "a < 9", "a <= 9"},
		{"logical operator", list, "and", "or"},
		{"negated condition", "def f(a):\n    if a.ok():\n        return 1\n    return 2\n", "if a.ok()", "if not a.ok()"},
		{"negated condition", "def f(a):\n    return [x for x in a if not x]\n", "not x", "x"},
		{"constant condition", list, "if x > k and i > 0", "if True"},
		{"dropped operand", list, "x > k and i > 0", "i > 0"},
		{"dropped operand", "def f(a, b, c):\n    return a + b + c\n", "a + b + c", "a + c"},
		{"dropped operand", "def f(a):\n    return 0 < a < 9\n", "0 < a < 9", "a < 9"},
		{"added operand", "def f(s, i):\n    if s[i] == ' ':\n        return True\n    return False\n", "if s[i] == ' '", "if i < len(s) and s[i] == ' '"},
		{"added operand", "def f(a: str):\n    if a.isalpha():\n        return 1\n    return 2\n", "a.isalpha()", "a.isalpha() or a.isdigit()"},
		{"conditional expression", "def f(a, b):\n    return a if a > b else b\n", "a if a > b else b", "b if a > b else a"},
		{"arithmetic operator", "def f(a, b):\n    return a / b\n", "a / b", "a // b"},
		{"arithmetic operator", "def f(a, b):\n    return a ^ b\n", "a ^ b", "a ** b"},
		{"assignment operator", list, "n += x", "n -= x"},
		{"assignment operator", list, "n += x", "n = x"},
		{"assignment operator", list, "n = 0", "n += 0"},
		{"operand order", "def f(a, b):\n    return a - b\n", "a - b", "b - a"},
		{"operand order", "def f(a, b):\n    return a[b] > 0 and b < len(a)\n", "a[b] > 0 and b < len(a)", "b < len(a) and a[b] > 0"},
		{"grouping", "def f(a, b, c):\n    return a * b + c\n", "a * b + c", "a * (b + c)"},
		{"grouping", "def f(a, b, c):\n    return (a + b) * c\n", "(a + b) * c", "a + b * c"},
		{"sign", "def f(a, b):\n    return a - b\n", "a - b", "abs(a - b)"},
		{"sign", "def f(a: int):\n    return a\n", "return a", "return -a"},
		{"numeric conversion", "def f(a, b):\n    return int(a / b)\n", "int(a / b)", "int(a) / b"},
		{"numeric conversion", "def f(a, b):\n    return a // b\n", "a // b", "(a + b - 1) // b"},
		{"integer constant", list, "n = 0", "n = 1"},
		{"integer constant", list, "n = 0", "n = float('-inf')"},
		{"other constant", "def f(x):\n    return x * 0.1\n", "0.1", "0.01"},
		{"other constant", "def f(x):\n    return True\n", "True", "False"},
		{"string constant", "def f(x):\n    return x + ' '\n", "' '", "''"},
		{"string constant", "def f(x):\n    return '%.1f' + f'{x:.1f}'\n", "{x:.1f}", "{x:.2f}"},
		{"off by one", "def f(xs):\n    return xs[len(xs)]\n", "xs[len(xs)]", "xs[len(xs) - 1]"},
		{"off by one", "def f(a):\n    return range(a)\n", "range(a)", "range(a + 1)"},
		{"off by one", "def f(xs, i):\n    return xs[i:]\n", "xs[i:]", "xs[i + 1:]"},
		{"slice bound", "def f(xs, n):\n    return xs[:n]\n", "xs[:n]", "xs[n:]"},
		{"slice bound", "def f(xs, n):\n    return xs\n    return xs[0]\n", "xs[0]", "xs[-1]"},
		{"slice bound", "def f(xs):\n    return xs[:]\n", "xs[:]", "xs[::-1]"},
		{"variable", list, "x > k", "x > i"},
		{"variable", "class A:\n    def __init__(self, size):\n        self.size = size\n    def f(self, n):\n        return size + n\n", "return size", "return self.size"},
		{"variable", "def f(arr: List[int]):\n    for i in range(len(arr)):\n        ans = 0\n        if ans != arr[-i]:\n            return 1\n", "ans != arr", "arr[i] != arr"},
		{"variable", "def f(a, b):\n    c = a + b\n    return f'{a} is {c:>{b}}'\n", "{a} is", "{b} is"},
		{"arithmetic operator", "def f(a, b):\n    return f'{a - b:.2f}'\n", "a - b", "a + b"},
		{"field", "class A:\n    def __init__(self):\n        self.width = self.height = 1\n    def f(self):\n        return self.width * self.width\n", "self.width * self.width", "self.width * self.height"},
		{"variable exchange", "def f(a, b):\n    c = a * 2 > b\n    return c\n", "a * 2 > b", "b * 2 > a"},
		{"called function", "def f(a, b):\n    return min(a, b)\n", "min", "max"},
		{"called function", "def f(a, b):\n    return a.startswith(b)\n", "startswith", "endswith"},
		{"called function", "def f(a):\n    return get_min(a)\n\n\ndef get_min(a): return 1\n\n\ndef get_max(a): return 2\n", "return get_min(a)", "return get_max(a)"},
		{"argument order", "def f(a, b):\n    return pow(b, a)\n", "(b, a)", "(a, b)"},
		{"argument order", "def f(a, b):\n    return a.count(b)\n", "a.count(b)", "b.count(a)"},
		{"argument", "def f(a):\n    return sorted(a)\n", "sorted(a)", "sorted(a, reverse=True)"},
		{"argument", "def f(a):\n    return sorted(a, reverse=True)\n", "sorted(a, reverse=True)", "sorted(a)"},
		{"argument", "def f(a):\n    m = a[0]\n    for x in a:\n        m = max(a)\n    return m\n", "max(a)", "max(m, x)"},
		{"argument", "def f(a, k):\n    return a.get(k)\n", "a.get(k)", "a.get(k, 0)"},
		{"call dropped", "def f(a):\n    return a.strip().lower()\n", "a.strip().lower()", "a.strip()"},
		{"call dropped", "def f(a):\n    return len(sorted(a))\n", "sorted(a)", "a"},
		{"call added", "def f(a: str):\n    return a\n", "return a", "return a.lower()"},
		{"call added", "def f(a: list):\n    return a\n", "return a", "return sorted(a)"},
		{"call added", "def f(a: int):\n    return a\n", "return a", "return abs(a)"},
		{"other expression", "def f(a, b):\n    c = len(a)\n    return b\n", "return b", "return len(a)"},
		{"removed statement", list, "            n += x\n", "            pass\n"},
		{"removed statement", "def f(a):\n    a += 1\n    if a:\n        return 1\n    return a\n", "    if a:\n        return 1\n", ""},
		{"removed part", "def f(a):\n    if a:\n        b = 1\n    else:\n        b = 2\n    return b\n", "    else:\n        b = 2\n", ""},
		{"removed part", "def f(a):\n    return [x for x in a if x]\n", " if x]", "]"},
		{"removed part", "def f(a):\n    return [a, 1, 2]\n", "a, 1, 2", "a, 2"},
		{"removed part", "def f(a):\n    if a:\n        b = 1\n    elif a is None:\n        b = 2\n    return b\n", "if a:\n        b = 1\n    elif", "if"},
		{"unwrapped branch", list, "        if x > k and i > 0:\n            n += x\n", "        n += x\n"},
		{"unwrapped branch", "def f(a):\n    if a > 1:\n        a -= 1\n    return a\n", "if a", "while a"},
		{"moved statement", "def f(a):\n    a += 1\n    a *= 2\n    return a\n", "a += 1\n    a *= 2", "a *= 2\n    a += 1"},
		{"moved statement", "def f(xs):\n    n = 0\n    for x in xs:\n        n += x\n        return n\n", "        return n", "    return n"},
		{"moved statement", "def f(xs):\n    n = 0\n    for x in xs:\n        n += x\n    n *= 2\n    return n\n", "    n *= 2", "        n *= 2"},
		{"moved statement", "def f(xs):\n    for x in xs:\n        n = 0\n        n += x\n    return n\n", "    for x in xs:\n        n = 0\n", "    n = 0\n    for x in xs:\n"},
		{"repeated statement", "def f(xs):\n    out = []\n    cur = ''\n    for x in xs:\n        out.append(cur)\n        cur = x\n    return out\n", "    return out", "    if cur:\n        out.append(cur)\n    return out"},
		{"missing reset", "def f(xs):\n    n = 0\n    out = []\n    for row in xs:\n        for x in row:\n            n += x\n        out.append(n)\n    return out\n", "        for x in row", "        n = 0\n        for x in row"},
		{"missing update", "def f(xs):\n    n = 0\n    for x in xs:\n        print(x)\n    return n\n", "print(x)\n", "print(x)\n        n += 1\n"},
		{"missing record", "def f(xs):\n    seen = set()\n    n = 0\n    for x in xs:\n        if x not in seen:\n            n += 1\n    return n\n", "n += 1\n", "n += 1\n            seen.add(x)\n"},
		{"missing return", "def f(a):\n    b = a + 1\n", "b = a + 1\n", "b = a + 1\n    return b\n"},
		{"missing return", "def f(a):\n    sorted(a)\n", "sorted(a)", "return sorted(a)"},
		{"early exit", "def f(xs, k):\n    at = -1\n    for i, x in enumerate(xs):\n        if x == k:\n            at = i\n    return at\n", "at = i\n", "at = i\n            break\n"},
		{"exit kind", "def f(xs):\n    n = 0\n    for x in xs:\n        if x < 0:\n            break\n        n += x\n    return n\n", "break", "continue"},
		{"entry guard", "def f(xs: list):\n    return xs[0]\n", "    return xs[0]", "    if not xs:\n        return None\n    return xs[0]"},
		{"entry guard", "def f(n: int):\n    '''Doc.'''\n    return n + 1\n", "    return n + 1", "    if n < 0:\n        return 0\n    return n + 1"},
		{"loop guard", "def f(s):\n    d = 0\n    for c in s:\n        d -= 1\n    return d == 0\n", "d -= 1\n", "d -= 1\n        if d < 0:\n            return False\n"},
		{"returned value", "def f(a, b):\n    return a, b\n", "a, b\n", "b, a\n"},
		{"returned value", "def f(a):\n    if a:\n        return False\n    return True\n", "False\n    return True", "True\n    return False"},
		{"composite value", "def f(a, b):\n    return [a, b]\n", "[a, b]", "[b, a]"},
		{"composite value", "def f(a):\n    return {k: v for k, v in a}\n", "{k: v", "{v: k"},
		{"range variable", "def f(n):\n    for i in range(n):\n        print(i)\n", "range(n)", "range(1, n + 1)"},
		{"range variable", "def f(d: dict):\n    for k, v in d:\n        print(k)\n", "in d:", "in d.items():"},
		{"range variable", "def f(d):\n    for i, x in enumerate(d):\n        print(i)\n", "enumerate(d)", "enumerate(d, 1)"},
		{"added term", "def f(a: int, b: int):\n    return a\n", "return a", "return a + b"},
		{"added term", "def f(a: str, b: str):\n    return a + b\n", "a + b", "a + ' ' + b"},
		{"missing else", "def f(a):\n    if a > 2:\n        s = 1\n    if a > 1:\n        s = 2\n    return s\n", "    if a > 1", "    elif a > 1"},
		{"missing else", "def f(a):\n    if a > 2:\n        s = 1\n    s = 2\n    return s\n", "    s = 2\n", "    else:\n        s = 2\n"},
		{"exception", "def f(a):\n    try:\n        return a[1]\n    except KeyError:\n        return 0\n", "KeyError", "IndexError"},
		{"default value", "def f(a, b=[]):\n    b.append(a)\n    return b\n", "b=[]):\n", "b=None):\n    if b is None:\n        b = []\n"},
		{"idiom", "def f(d: dict, k):\n    return d[k]\n", "d[k]", "d.get(k, 0)"},
		{"idiom", "def f(a):\n    return a.lower == 'x'\n", "a.lower", "a.lower()"},
		{"idiom", "def f(a):\n    b = a.sort()\n    return b\n", "a.sort()", "sorted(a)"},
		{"idiom", "def f(a):\n    a.strip()\n    return a\n", "    a.strip()", "    a = a.strip()"},
		{"idiom", "def f(out, row: list):\n    out.append(row)\n    return out\n", "append(row)", "append(row.copy())"},
		{"idiom", "async def f(a):\n    return a.get()\n", "a.get()", "await a.get()"},
	}
	covered := map[string]bool{}
	for _, c := range cases {
		covered[c.family] = true
		require.Contains(t, c.src, c.from, c.family)
		want := strings.Replace(c.src, c.from, c.to, 1)
		got := mutants(t, c.family, c.src, nil)
		require.Contains(t, got, want, "%s:\n%s\ngave\n%s", c.family, c.src, strings.Join(got, "----\n"))
	}
	for _, f := range families() {
		require.True(t, covered[f.name], "no example of %s", f.name)
	}
}
