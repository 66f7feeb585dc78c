package lenient

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/patch"
)

func tree(pairs ...string) model.Tree {
	var t model.Tree
	for i := 0; i < len(pairs); i += 2 {
		t = t.With(model.Edit{Path: pairs[i], Data: []byte(pairs[i+1])})
	}
	return t
}

func kindOf(t testing.TB, err error) *Error {
	t.Helper()
	var e *Error
	require.True(t, errors.As(err, &e), "%v", err)
	return e
}

const cart = "package cart\n\nfunc Total(xs []int) int {\n\tsum := 0\n\tfor _, x := range xs {\n\t\tsum -= x\n\t}\n\treturn sum\n}\n"

func TestErrorNamesTheNearestPlace(t *testing.T) {
	_, err := Replacements(tree("cart.go", cart), []Replacement{{Path: "cart.go", Search: "\tsum := 0\n\tfor _, y := range xs {\n\t\tsum -= x\n", Replace: "x"}})
	e := kindOf(t, err)
	require.Equal(t, KindNotFound, e.Kind)
	require.Equal(t, "cart.go", e.Path)
	require.Equal(t, 1, e.N)
	require.Equal(t, 4, e.Near.Line)
	require.Equal(t, []string{"\tsum := 0", "\tfor _, x := range xs {", "\t\tsum -= x"}, e.Near.Lines)
	require.Contains(t, e.Error(), "old line 2 is not in line 5")
	require.Contains(t, e.Quote(), "    5 | \tfor _, x := range xs {")
	require.Less(t, len(e.Quote()), 5000)
}

func TestErrorListsEveryPlace(t *testing.T) {
	_, err := Replacements(tree("a.py", "x = 1\ny = 2\nx = 1\n"), []Replacement{{Path: "a.py", Search: "x = 1", Replace: "x = 2"}})
	e := kindOf(t, err)
	require.Equal(t, KindNotUnique, e.Kind)
	require.Equal(t, []int{1, 3}, e.Lines)
}

func TestBlocksComposeInAnyOrder(t *testing.T) {
	base := tree("a.py", "a = 1\nb = 2\nc = 3\n")
	edits, err := Replacements(base, []Replacement{
		{Path: "a.py", Search: "c = 3", Replace: "c = 30"}, {Path: "a.py", Search: "a = 1", Replace: "a = 10"},
		{Path: "a.py", Search: "a = 1", Replace: "a = 10"},
	})
	require.NoError(t, err)
	require.Equal(t, "a = 10\nb = 2\nc = 30\n", string(edits[0].Data))

	edits, err = Replacements(base, []Replacement{
		{Path: "a.py", Search: "a = 1", Replace: "a = 1\nz = 9"}, {Path: "a.py", Search: "z = 9\nb = 2", Replace: "z = 9\nb = 8"},
	})
	require.NoError(t, err, "the second block quotes what the first one made")
	require.Equal(t, "a = 1\nz = 9\nb = 8\nc = 3\n", string(edits[0].Data))

	_, err = Replacements(base, []Replacement{{Path: "a.py", Search: "a = 1\nb = 2", Replace: "x"}, {Path: "a.py", Search: "b = 2", Replace: "y"}})
	require.Equal(t, KindOverlap, kindOf(t, err).Kind)
}

func TestHeadingAndOrderTellPlacesApart(t *testing.T) {
	base := tree("a.py", "def f():\n    x = 1\n    return x\n\ndef g():\n    x = 1\n    return x\n")
	edits, err := Text(base, "--- a/a.py\n+++ b/a.py\n@@ def g():\n     x = 1\n-    return x\n+    return -x\n")
	require.NoError(t, err)
	require.Equal(t, "def f():\n    x = 1\n    return x\n\ndef g():\n    x = 1\n    return -x\n", string(edits[0].Data))

	_, err = Text(base, "--- a/a.py\n+++ b/a.py\n@@ -6,2 +6,2 @@\n     x = 1\n-    return x\n+    return -x\n")
	require.Equal(t, KindNotUnique, kindOf(t, err).Kind, "nothing proves the number")

	edits, err = Text(base, "--- a/a.py\n+++ b/a.py\n@@ -5,1 +5,1 @@\n-def g():\n+def h():\n@@ -7,1 +7,1 @@\n-    return x\n+    return -x\n")
	require.NoError(t, err)
	require.Contains(t, string(edits[0].Data), "def h():\n    x = 1\n    return -x\n")
}

// TestWorkIsBounded counts lines that are touched, for inputs that are made to
// cost as much as they can.
func TestWorkIsBounded(t *testing.T) {
	const n = 20_000
	same := strings.Repeat("a\n", n)
	hostile := map[string]func(e *engine) error{
		"every line alike": func(e *engine) error {
			var rs []Replacement
			for i := range MaxHunks {
				rs = append(rs, Replacement{"f", strings.Repeat("a\n", 40) + "b", fmt.Sprint(i)})
			}
			_, err := e.records(rs)
			return err
		},
		"almost a match everywhere": func(e *engine) error {
			_, err := e.records([]Replacement{{"f", strings.Repeat("a\n", n/2) + "c", "x"}})
			return err
		},
		"a thousand matches": func(e *engine) error {
			_, err := e.text("--- a/f\n+++ b/f\n"+strings.Repeat("@@ @@\n a\n-a\n+b\n", MaxHunks-1), false)
			return err
		},
		"many blocks that rest on each other": func(e *engine) error {
			rs := []Replacement{{"g", "x0", "x1"}}
			for i := 1; i < MaxHunks; i++ {
				rs = append(rs, Replacement{"g", fmt.Sprintf("x%d", i), fmt.Sprintf("x%d", i+1)})
			}
			_, err := e.records(rs)
			return err
		},
		"half a header, often": func(e *engine) error {
			_, err := e.text(strings.Repeat("--- a/f\n", MaxLines-1), false)
			return err
		},
		"fences": func(e *engine) error {
			_, err := e.text(strings.Repeat("```f.go\n", MaxLines-1), false)
			return err
		},
		"search lines": func(e *engine) error {
			_, err := e.text(strings.Repeat("<<<<<<< SEARCH\n", MaxLines-1), false)
			return err
		},
	}
	for name, run := range hostile {
		t.Run(name, func(t *testing.T) {
			e := &engine{base: tree("f", same, "g", "x0\n"+strings.Repeat("y\n", n))}
			err := run(e)
			t.Logf("%d lines touched, %v", e.work, err)
			require.Less(t, e.work, 12*n*MaxHunks)
		})
	}
}

func TestLimits(t *testing.T) {
	base := tree("f", "a\n")
	for name, text := range map[string]string{
		"bytes": strings.Repeat("x", MaxInput+1),
		"lines": strings.Repeat("\n", MaxLines+1),
		"hunks": "--- a/f\n+++ b/f\n" + strings.Repeat("@@ @@\n-a\n+b\n", MaxHunks+1),
	} {
		_, err := Text(base, text)
		require.Equal(t, KindLimit, kindOf(t, err).Kind, name)
	}
}

// checkEdits is what must hold of every patch that is accepted.
func checkEdits(t *testing.T, base model.Tree, edits []model.Edit, err error) {
	if err != nil {
		e := kindOf(t, err)
		require.NotEmpty(t, e.Kind)
		require.Less(t, len(e.Error())+len(e.Quote()), 10_000)
		return
	}
	seen := map[string]bool{}
	for _, e := range edits {
		require.Empty(t, patch.Untouchable(base, e.Path))
		require.False(t, seen[e.Path])
		require.Zero(t, e.Mode)
		seen[e.Path] = true
	}
	require.NotEmpty(t, edits)
}

func fuzzBase() model.Tree {
	base := tree("a/cart.go", cart, "b.py", "def f(a):\n    if a:\n        return 1\n    return 2\n", "crlf.txt", "a\r\nb\r\n", "open.txt", "a\nb")
	base.Files = append(base.Files, model.File{Path: "z", Mode: model.ModeSymlink, Data: []byte("b.py")})
	return base
}

func FuzzText(f *testing.F) {
	f.Add("b.py\n<<<<<<< SEARCH\n    return 2\n=======\n    return 3\n>>>>>>> REPLACE\n")
	f.Add("```diff\n--- a/b.py\n+++ b/b.py\n@@ -3 +3 @@\n-    return 2\n+    return 3\n```\n")
	f.Add("*** Begin Patch\n*** Update File: a/cart.go\n@@ func Total\n-\t\tsum -= x\n+\t\tsum += x\n*** Delete File: b.py\n*** Add File: n\n+x\n*** End Patch\n")
	f.Add("diff --git a/open.txt b/open.txt\n--- a/open.txt\n+++ b/open.txt\n@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n")
	f.Add("New file `n.py` (complete file):\n```python\nx = 1\n```\n")
	f.Add("### b.py\n&lt;&lt;&lt;&lt;&lt;&lt;&lt; SEARCH\n")
	f.Add("--- a/z\n+++ b/z\n@@ @@\n-b.py\n+a\n")
	f.Add("b.py\n<<<<<<< SEARCH\n" + strings.Repeat("invented\n", 2*maxQuoted) + "def f(a):\n    if a:\n=======\n>>>>>>> REPLACE\n")
	f.Fuzz(func(t *testing.T, text string) {
		base := fuzzBase()
		edits, err := Text(base, text)
		checkEdits(t, base, edits, err)
	})
}

func FuzzReplacements(f *testing.F) {
	f.Add("b.py", "    return 2", "    return 3", "b.py", "def f(a):", "def f(b):")
	f.Add("crlf.txt", "a", "1\n2", "crlf.txt", "1\n2\nb", "3")
	f.Add("b.py", "if a:\\n    return 1", "if b:\\n    return 1", "n", "", "new")
	f.Add("b.py", "3: return 1", "return 4", "a/cart.go", "    sum := 0", "    sum := 1")
	f.Fuzz(func(t *testing.T, p1, s1, r1, p2, s2, r2 string) {
		base := fuzzBase()
		edits, err := Replacements(base, []Replacement{{p1, s1, r1}, {p2, s2, r2}})
		checkEdits(t, base, edits, err)
	})
}

// TestWhiteSpaceTiers shows the order of tolerance, and what ends it.
func TestWhiteSpaceTiers(t *testing.T) {
	for name, c := range map[string]struct {
		file, search, replace, want string
		kind                        Kind
	}{
		"exact before indented":    {"if a:\n    x = 1\n\tx = 1\n", "\tx = 1", "\tx = 2", "if a:\n    x = 1\n\tx = 2\n", ""},
		"trailing white space":     {"a = 1  \nb = 2\n", "a = 1\nb = 2", "a = 1\nb = 3", "a = 1  \nb = 3\n", ""},
		"alike but for the end":    {"a = 1  \na = 1\n", "a = 1", "a = 2", "", KindNotUnique},
		"at the margin and inside": {"x = 1\ndef f():\n    x = 1\n", "x = 1", "x = 2", "", KindNotUnique},
		"within a line":            {"a  =  1\n", "a = 1\n", "a = 2\n", "a = 2\n", ""},
		"no white space at all":    {"ab = 1\n", "a b = 1\n", "x\n", "", KindNotFound},
		"letters never":            {"a = 1\n", "A = 1\n", "x\n", "", KindNotFound},
		"one level of eight":       {"if a:\n\tx()\n", "        x()", "        if b:\n                x()", "", KindIndent},
		"odd indentation":          {"def f():\n    if a:\n        x()\n    y()\n", "  x()", "  x()\n z()", "", KindIndent},
		"spaces into tabs":         {"f() {\n\tx()\n}\n", "f() {", "f() {\n    y()", "", KindIndent},
		"spaces in a raw string":   {"f() {\n\tx()\n}\n", "\tx()", "\tx(`\n  y\n`)", "f() {\n\tx(`\n  y\n`)\n}\n", ""},
		"mixed line ends":          {"a\r\nb\nc\r\n", "a\nb", "a\nx\nb", "", KindLineEnds},
		"no last line end":         {"a\nb", "b\n", "b\nc\n", "a\nb\nc", ""},
		"blank search":             {"a\n\nb\n", "\n", "x", "", KindExists},
	} {
		t.Run(name, func(t *testing.T) {
			edits, err := Replacements(tree("f", c.file), []Replacement{{"f", c.search, c.replace}})
			if c.kind != "" {
				require.Equal(t, c.kind, kindOf(t, err).Kind, "%v", err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, string(edits[0].Data))
		})
	}
}

// The nearest place of old lines may begin before the file, or reach beyond it.
func TestNearestPlaceAtTheEdges(t *testing.T) {
	file := "first line of it\nsecond line of it\nthird line of it\n"
	for invented := range 3 * maxQuoted {
		lines := strings.Repeat("invented\n", invented)
		for _, search := range []string{lines + file, lines + "first line of it\n", file + lines + "x", "third line of it\n" + lines + "x"} {
			_, err := Replacements(tree("f", file), []Replacement{{"f", search + "no such line", "x"}})
			e := kindOf(t, err)
			require.Equal(t, KindNotFound, e.Kind)
			require.NotNil(t, e.Near)
			require.NotEmpty(t, e.Near.Lines, "%q", search)
			require.True(t, strings.HasPrefix(file, strings.Join(e.Near.Lines, "\n")) || e.Near.Line > 1, "%q", e.Near)
		}
	}
}
