package pysrc

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParse: whatever the source, there is no panic, tokens cover it without
// gaps but white space, and what was accepted prints in a form that means the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"x = 1\n", "if a:\n\tb\nelse: c; d\n", "def f(a, *b, c=1, **d) -> e:\n  '''doc'''\n  return (a,)\n", "f'{a!r:{b}}' rb'\\''",
		"match x:\n case [1, *_] if y: pass\n", "@d\nclass A(B): x: int = {1: 2, **c}\n", "\ufeffa = b \\\n + c\r\n\fd\n",
		"with (a as b, c): pass\nlambda x, y=1: x if y else z\n", "[x for x in y if (z := x)]; a[1:, ::2, ...]\n", "try: pass\nexcept* E as e: raise e from None\n",
		"async def f():\n await a; yield\n", "type X[T] = int; not a not in b is not c\n", "f'{f\"{f'{1}'}\"}'", "if x:\n        a\n\tb\n", "0x1for x in y", "t'{a:{b}}' f'{'",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		file, err := Parse([]byte(src))
		if err != nil {
			return
		}
		at := 0
		for _, k := range file.Tokens {
			require.LessOrEqual(t, at, k.Off)
			require.Equal(t, k.Text, src[k.Off:k.End])
			require.Empty(t, strings.Trim(strings.TrimPrefix(src[at:k.Off], "\ufeff"), " \t\f\\\r\n"))
			at = k.End
		}
		if file.Check() != nil {
			return
		}
		text := file.Canonical()
		again, err := Parse([]byte(text))
		require.NoError(t, err, text)
		require.NoError(t, again.Check(), text)
		require.Equal(t, text, again.Canonical())
	})
}
