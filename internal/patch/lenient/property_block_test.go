package lenient

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/patch"
)

// blocks turns a true diff into records of search and replace.
func blocks(diff string) []Replacement {
	var out []Replacement
	path := ""
	for l := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(l, "+++ b/"):
			path = strings.TrimSpace(l[6:])
		case strings.HasPrefix(l, "@@"):
			out = append(out, Replacement{Path: path})
		case len(out) == 0, strings.HasPrefix(l, "diff "), strings.HasPrefix(l, "--- a/"), l[0] == '\\':
		default:
			last := &out[len(out)-1]
			if l[0] != '+' {
				last.Search += l[1:]
			}
			if l[0] != '-' {
				last.Replace += l[1:]
			}
		}
	}
	return out
}

// both damages search and replacement alike, line by line.
func both(fn func(s string) string) func(world, Replacement) Replacement {
	return func(_ world, r Replacement) Replacement {
		return Replacement{r.Path, fn(r.Search), fn(r.Replace)}
	}
}

func eachLine(s string, fn func(i int, l string) string) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = fn(i, l)
	}
	return strings.Join(lines, "\n") + "\n"
}

func blockManglers() map[string]func(world, Replacement) Replacement {
	tabs := func(width int) func(world, Replacement) Replacement {
		return both(func(s string) string {
			return eachLine(s, func(_ int, l string) string {
				in := indentOf(l)
				return strings.ReplaceAll(in, "\t", strings.Repeat(" ", width)) + l[len(in):]
			})
		})
	}
	return map[string]func(world, Replacement) Replacement{
		"none":     both(func(s string) string { return s }),
		"open":     both(func(s string) string { return strings.TrimSuffix(s, "\n") }),
		"crlf":     both(func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "\r", ""), "\n", "\r\n") }),
		"stripped": both(strings.TrimSpace),
		"trimmed":  both(func(s string) string { return strings.Trim(s, "\n") }),
		"around":   both(func(s string) string { return "\n" + s + "\n" }),
		"expand 2": tabs(2), "expand 4": tabs(4), "expand 8": tabs(8),
		"unexpand": both(func(s string) string { return strings.ReplaceAll(s, "    ", "\t") }),
		"trailing": both(func(s string) string {
			return eachLine(s, func(_ int, l string) string { return strings.TrimRight(l, " \t\r") })
		}),
		"moved": both(func(s string) string { return eachLine(s, func(_ int, l string) string { return "  " + l }) }),
		"margin": func(_ world, r Replacement) Replacement {
			shared, first := "", true
			for l := range strings.Lines(r.Search + r.Replace) {
				if in := indentOf(l); strings.TrimSpace(l) != "" && (first || len(in) < len(shared)) {
					shared, first = in, false
				}
			}
			cut := func(s string) string {
				return eachLine(s, func(_ int, l string) string { return strings.TrimPrefix(l, shared) })
			}
			return Replacement{r.Path, cut(r.Search), cut(r.Replace)}
		},
		"numbers": both(func(s string) string {
			return eachLine(s, func(i int, l string) string { return fmt.Sprintf("%3d | %s", i+1, l) })
		}),
		"entities": both(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace),
		"doubled": both(func(s string) string {
			out, _ := json.Marshal(strings.ReplaceAll(s, "\r", "")) // a string never fails
			return strings.Trim(string(out), `"`)
		}),
		"half doubled": func(_ world, r Replacement) Replacement {
			out, _ := json.Marshal(strings.ReplaceAll(r.Replace, "\r", ""))
			return Replacement{r.Path, r.Search, strings.Trim(string(out), `"`)}
		},
	}
}

// loses says that a mangling takes away blank lines that the change is about.
func loses(name string, r Replacement) bool {
	if name != "open" && name != "stripped" && name != "trimmed" {
		return false
	}
	for _, s := range []string{r.Search, r.Replace} {
		lines := splitLines(s)
		if len(lines) == 0 || isBlankLine(lines[0]) || isBlankLine(lines[len(lines)-1]) {
			return true
		}
	}
	return false
}

// TestNeverAWrongBlock is the promise of the package for search and replace.
func TestNeverAWrongBlock(t *testing.T) {
	all := blockManglers()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(11, uint64(i))
			fits, tries, kinds := 0, rounds(), map[Kind]int{}
			for range tries {
				base, want := w.tree()
				diff, err := patch.Diff(base, want)
				require.NoError(t, err)
				var records []Replacement
				for _, r := range blocks(diff) {
					if loses(name, r) {
						records = nil
						break
					}
					records = append(records, all[name](w, r))
				}
				if len(records) == 0 {
					continue
				}
				got, err := Replacements(base, records)
				if err != nil {
					var e *Error
					require.True(t, errors.As(err, &e), err)
					kinds[e.Kind]++
					continue
				}
				fits++
				require.Equal(t, contents(base, want), contents(base, got), "diff:\n%s\nrecords: %q", diff, records)
			}
			t.Logf("%s: %d of %d fit; refused: %v", name, fits, tries, kinds)
		})
	}
}

// TestNeverAWrongPatchTwice damages each diff in two ways.
func TestNeverAWrongPatchTwice(t *testing.T) {
	all := manglers()
	names := slices.Sorted(maps.Keys(all))
	w := newWorld(13, 1)
	fits := 0
	for range 10 * rounds() {
		base, want := w.tree()
		diff, err := patch.Diff(base, want)
		require.NoError(t, err)
		if diff == "" {
			continue
		}
		a, b := names[w.IntN(len(names))], names[w.IntN(len(names))]
		if strings.HasPrefix(a, "cut") || b == "cut raw" || reshapes(a) && reshapes(b) || numbersLines(a) && reshapes(b) {
			continue
		}
		text := all[b](w, all[a](w, diff))
		got, err := Text(base, text)
		if err != nil {
			continue
		}
		fits++
		require.Equal(t, contents(base, want), contents(base, got), "%s, %s\ndiff:\n%s\nmangled:\n%s", a, b, diff, text)
	}
	t.Logf("%d of %d fit", fits, 10*rounds())
	require.Greater(t, fits, rounds())
}

// numbersLines says that a mangling hides the white space of old lines alone.
func numbersLines(name string) bool { return name == "gutter" || name == "colons" }

// reshapes says that a mangling moves white space in a way that a second one can
// hide: together they are no damage that leaves a trace.
func reshapes(name string) bool {
	for _, part := range []string{"moved", "expand", "noisy", "unexpand"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
