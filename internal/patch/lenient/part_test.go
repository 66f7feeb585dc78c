package lenient

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPartsOfLines shows what is taken at its word, and what is not.
func TestPartsOfLines(t *testing.T) {
	const call = "x = f(a,\n      b)\ny = g(a)\n"
	for name, c := range map[string]struct {
		file, search, replace, want string
		kind                        Kind
	}{
		"in a line":                    {"def f(a):\n    return a - b\n", "a - b", "a + b", "def f(a):\n    return a + b\n", ""},
		"from one line into another":   {call, "f(a,\n      b", "h(b", "x = h(b)\ny = g(a)\n", ""},
		"to more lines":                {"x = f(a)\n", "f(a)", "f(\n a)", "x = f(\n a)\n", ""},
		"to the end of the line":       {call, "g(a)\n", "g(b)\n", "x = f(a,\n      b)\ny = g(b)\n", ""},
		"nothing in its place":         {"f(a, b)\n", ", b", "", "f(a)\n", ""},
		"nothing changes":              {"f(a, b)\n", ", b", ", b", "", KindSyntax},
		"no line end at the end":       {"a\nf(b)", "b)", "c)", "a\nf(c)", ""},
		"CRLF around":                  {"a\r\nf(b)\r\nc\r\n", "(b", "(c", "a\r\nf(c)\r\nc\r\n", ""},
		"mixed line ends around":       {"a\nf(b)\r\nc\n", "(b", "(c", "a\nf(c)\r\nc\n", ""},
		"more lines into CRLF":         {"a\r\nf(b)\r\n", "(b", "(\nb", "", KindNotFound},
		"lines of CRLF":                {"a f(\r\nb) c\r\n", "f(\nb)", "g()", "", KindNotFound},
		"letters of all kinds":         {"s = 'größe: 1'\n", "größe: 1", "größe: 2", "s = 'größe: 2'\n", ""},
		"twice":                        {"f(a - b)\ng()\nh(a - b)\n", "a - b", "a + b", "", KindNotUnique},
		"twice in a line":              {"f(a - b, a - b)\n", "a - b", "a + b", "", KindNotUnique},
		"over itself":                  {"f(----)\n", "---", "x", "", KindNotUnique},
		"whole lines come first":       {"  a - b\nf(a - b)\n", "a - b", "a + b", "  a + b\nf(a - b)\n", ""},
		"the end of another name":      {"return xs\n", "return x", "return y", "", KindNotFound},
		"the beginning of another":     {"return xs\n", "s", "t", "", KindNotFound},
		"other white space":            {"return f(a,  b)\n", "f(a, b)", "f(b)", "", KindNotFound},
		"other letters":                {"return f(A)\n", "f(a)", "f(b)", "", KindNotFound},
		"a line end only before":       {call, "g(a)\n", "g(b)", "", KindNotFound},
		"a line end only after":        {call, "g(a", "g(b\n", "", KindNotFound},
		"a line end that is not there": {call, "f(a\n", "f(b\n", "", KindNotFound},
		"a first line end only before": {"a\nx = 1 + 2\n", "\nx = 1 +", "x = 2 +", "", KindNotFound},
		"an entity is not its letter":  {"if (a < b) {\n", "a &lt; b", "a &gt; b", "if (a > b) {\n", ""},
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

func TestPartsThatAreThereOftenAreListed(t *testing.T) {
	_, err := Replacements(tree("f", "f(a - b)\ng()\nh(a - b)\n"), []Replacement{{"f", "a - b", "a + b"}})
	require.Equal(t, []int{1, 3}, kindOf(t, err).Lines)
	require.ErrorContains(t, err, "its old text is in the file 2 times (lines 1, 3)")
	_, err = Replacements(tree("f", strings.Repeat("f(a)\n", maxMatches+5)), []Replacement{{"f", "(a", "(b"}})
	require.ErrorContains(t, err, "1000 times or more")
}

func TestPartsBesideOtherBlocks(t *testing.T) {
	base := tree("f", "x = f(a, b)\ny = g(c)\nz = g(d)\n")
	edits, err := Replacements(base, []Replacement{{"f", "(a,", "(c,"}, {"f", " b)", " d)"}, {"f", "y = g(c)", "y = 1"}})
	require.NoError(t, err, "two parts of one line")
	require.Equal(t, "x = f(c, d)\ny = 1\nz = g(d)\n", string(edits[0].Data))

	edits, err = Replacements(base, []Replacement{{"f", "y = g(c)", "y = h(c)"}, {"f", "h(c", "h(e"}})
	require.NoError(t, err, "the second quotes what the first one made")
	require.Equal(t, "x = f(a, b)\ny = h(e)\nz = g(d)\n", string(edits[0].Data))

	_, err = Replacements(base, []Replacement{{"f", "y = g(c)", "y = 1"}, {"f", " g(", " h("}})
	require.Equal(t, KindNotUnique, kindOf(t, err).Kind, "the file has it twice, whatever becomes of one of them")

	edits, err = Text(tree("f.py", "x = f(a, b)\ny = g(c)\nz = g(d)\n"), "f.py\n<<<<<<< SEARCH\nf(a, b)\n=======\nf(b, a)\n>>>>>>> REPLACE\n")
	require.NoError(t, err)
	require.Equal(t, "x = f(b, a)\ny = g(c)\nz = g(d)\n", string(edits[0].Data))
}

// TestNeverAWrongPart quotes any stretch of a file, sometimes damaged: the very
// stretch is replaced, and nothing else ever.
func TestNeverAWrongPart(t *testing.T) {
	w := newWorld(17, 3)
	fits := 0
	for range 20 * rounds() {
		base, _ := w.tree()
		f, _ := base.Find(w.pick("pkg/a.go", "app/b.py"))
		text := string(f.Data)
		i := w.IntN(len(text))
		n := 1 + w.IntN(min(80, len(text)-i))
		for i > 0 && cutsWord(text, i, 0) {
			i, n = i-1, n+1
		}
		for cutsWord(text, i+n, 0) {
			n++
		}
		search := text[i : i+n]
		if strings.ContainsAny(search, "\r") || strings.Trim(search, " \t\n") != search {
			continue // white space at the ends is not part of what lines must have in common
		}
		replace := w.pick("", search+" + 1", "a == b", "f(\n\tx)")
		damaged := w.pick(search, strings.ReplaceAll(search, " ", "  "), search+"!", strings.ToUpper(search))
		got, err := Replacements(base, []Replacement{{f.Path, damaged, replace}})
		if err != nil {
			continue
		}
		after := string(got[0].Data)
		lines := damaged == strings.Trim(damaged, " \t") && isLines(text, damaged)
		if lines || damaged != search && strings.Count(text, damaged) != 1 {
			continue // whole lines have rules and tests of their own
		}
		fits++
		require.Equal(t, 1, strings.Count(text, damaged), "%q in %q", damaged, text)
		require.Equal(t, strings.Replace(text, damaged, replace, 1), after, "%q → %q", damaged, replace)
	}
	t.Logf("%d of %d fit", fits, 20*rounds())
	require.Greater(t, fits, rounds()/4)
}

// isLines says that text is whole lines of a file, but for white space.
func isLines(file, text string) bool {
	form := func(s string) string {
		var out []string
		for l := range strings.Lines(s) {
			out = append(out, strings.Join(strings.Fields(l), " "))
		}
		return "\n" + strings.Join(out, "\n") + "\n"
	}
	return strings.Contains(form(file), form(text))
}
