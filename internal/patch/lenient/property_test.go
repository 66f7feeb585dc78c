package lenient

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/patch"
)

var (
	hunkLine  = regexp.MustCompile(`(?m)^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@`)
	headLines = regexp.MustCompile(`(?m)^(?:diff --git|index|new file|deleted file).*\n`)
)

// body maps the lines of hunks and leaves headers alone.
func body(diff string, fn func(op byte, text string) string) string {
	var b strings.Builder
	in := false
	for l := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(l, "@@"):
			in = true
		case strings.HasPrefix(l, "diff "), strings.HasPrefix(l, "--- "), strings.HasPrefix(l, "+++ "):
			in = false
		case in && l[0] != '\\':
			b.WriteString(fn(l[0], strings.TrimSuffix(l[1:], "\n")))
			continue
		}
		b.WriteString(l)
	}
	return b.String()
}

func mapBody(fn func(w world, op byte, text string) string) func(world, string) string {
	return func(w world, d string) string {
		return body(d, func(op byte, text string) string { return string(op) + fn(w, op, text) + "\n" })
	}
}

func expand(width int) func(world, string) string {
	return mapBody(func(_ world, _ byte, s string) string {
		in := indentOf(s)
		return strings.ReplaceAll(in, "\t", strings.Repeat(" ", width)) + s[len(in):]
	})
}

// manglers damage a true diff in the ways that models do.
func manglers() map[string]func(w world, d string) string {
	return map[string]func(w world, d string) string{
		"none": func(_ world, d string) string { return d },
		"wrong numbers": func(w world, d string) string {
			return hunkLine.ReplaceAllStringFunc(d, func(h string) string {
				m := hunkLine.FindStringSubmatch(h)
				n, _ := strconv.Atoi(m[1])
				n += 1 + w.IntN(60)
				return fmt.Sprintf("@@ -%d%s +%d%s @@", n, m[2], n, m[4])
			})
		},
		"no numbers": func(w world, d string) string {
			return hunkLine.ReplaceAllString(d, w.pick("@@ @@", "@@ ... @@", "@@"))
		},
		"no counts": func(_ world, d string) string { return hunkLine.ReplaceAllString(d, "@@ -$1 +$3 @@") },
		"wrong counts": func(w world, d string) string {
			return hunkLine.ReplaceAllString(d, fmt.Sprintf("@@ -$1,%d +$3,%d @@", w.IntN(12), w.IntN(12)))
		},
		"no git header": func(_ world, d string) string { return headLines.ReplaceAllString(d, "") },
		"one name": func(w world, d string) string {
			return regexp.MustCompile(w.pick(`(?m)^--- .*\n`, `(?m)^\+\+\+ .*\n`)).ReplaceAllString(headLines.ReplaceAllString(d, ""), "")
		},
		"no prefix": func(_ world, d string) string {
			return strings.NewReplacer("--- a/", "--- ", "+++ b/", "+++ ").Replace(headLines.ReplaceAllString(d, ""))
		},
		"two prefixes": func(_ world, d string) string {
			return strings.NewReplacer("--- a/", "--- a/a/", "+++ b/", "+++ b/b/").Replace(headLines.ReplaceAllString(d, ""))
		},
		"absolute": func(_ world, d string) string {
			return strings.NewReplacer("--- a/", "--- /home/me/repo/", "+++ b/", "+++ /home/me/repo/").Replace(headLines.ReplaceAllString(d, ""))
		},
		"timestamps": func(_ world, d string) string {
			return regexp.MustCompile(`(?m)^((?:---|\+\+\+) .*)$`).ReplaceAllString(headLines.ReplaceAllString(d, ""), "$1\t2024-01-02 03:04:05.000000000 +0000")
		},
		"crlf": func(_ world, d string) string {
			return strings.ReplaceAll(strings.ReplaceAll(d, "\r\n", "\n"), "\n", "\r\n")
		},
		"trailing": mapBody(func(_ world, _ byte, s string) string { return strings.TrimRight(s, " \t") }),
		"noise at ends": mapBody(func(w world, op byte, s string) string {
			if op == '+' {
				return s
			}
			return s + w.pick("", " ", "\t", "  ")
		}),
		"context spaces": mapBody(func(w world, op byte, s string) string {
			if op == ' ' {
				return strings.ReplaceAll(s, " = ", w.pick(" = ", "  = ", "\t= "))
			}
			return s
		}),
		"noisy context": mapBody(func(w world, op byte, s string) string {
			if op == ' ' && w.IntN(4) == 0 && s != "" {
				return w.pick(" ", "  ") + s
			}
			return s
		}),
		"expand 2": expand(2), "expand 4": expand(4), "expand 8": expand(8),
		"unexpand": mapBody(func(_ world, _ byte, s string) string {
			in := indentOf(s)
			return strings.ReplaceAll(in, "    ", "\t") + s[len(in):]
		}),
		"moved right": mapBody(func(_ world, _ byte, s string) string {
			if s == "" {
				return s
			}
			return "   " + s
		}),
		"moved left":      dedent,
		"blank lines":     func(_ world, d string) string { return strings.ReplaceAll(d, "\n \n", "\n\n") },
		"no last newline": func(_ world, d string) string { return strings.TrimSuffix(d, "\n") },
		"less context":    func(w world, d string) string { return lessContext(d, w.IntN(3)) },
		"less context, wrong numbers": func(w world, d string) string {
			return hunkLine.ReplaceAllStringFunc(lessContext(d, 1+w.IntN(2)), func(h string) string {
				n, _ := strconv.Atoi(hunkLine.FindStringSubmatch(h)[1])
				n += 4 + w.IntN(60)
				return fmt.Sprintf("@@ -%d,3 +%d,3 @@", n, n)
			})
		},
		"gutter": gutterDiff(" | "), "colons": gutterDiff(": "),
		"fence": func(w world, d string) string { return "Here is the fix:\n\n```diff\n" + d + "```\nIt works.\n" },
		"fence, counts": func(w world, d string) string {
			return "```diff\n" + hunkLine.ReplaceAllString(d, fmt.Sprintf("@@ -$1,%d +$3,%d @@", w.IntN(12), w.IntN(12))) + "```\n"
		},
		"entities": mapBody(func(_ world, _ byte, s string) string {
			return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
		}),
		"cut lines": func(w world, d string) string {
			lines := strings.SplitAfter(d, "\n")
			return "```diff\n" + strings.Join(lines[:w.IntN(len(lines))], "")
		},
		"cut raw": cutRaw,
	}
}

// cutRaw cuts a diff within its last hunk.
func cutRaw(w world, d string) string {
	last := strings.LastIndex(d, "\n@@") + 1
	lines := strings.SplitAfter(d[last:], "\n")
	if len(lines) < 4 {
		return d
	}
	return d[:last] + strings.Join(lines[:2+w.IntN(len(lines)-3)], "")
}

// dedent moves each hunk to the left margin as a whole.
func dedent(_ world, d string) string {
	parts := hunkLine.FindAllStringIndex(d, -1)
	out, at := "", 0
	for i, p := range parts {
		end := len(d)
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		chunk := d[p[0]:end]
		shared := ""
		first := true
		body(chunk, func(_ byte, s string) string {
			if in := indentOf(s); strings.TrimSpace(s) != "" && (first || len(in) < len(shared)) {
				shared, first = in, false
			}
			return ""
		})
		out += d[at:p[0]] + body(chunk, func(op byte, s string) string { return string(op) + strings.TrimPrefix(s, shared) + "\n" })
		at = end
	}
	return out + d[at:]
}

// lessContext keeps at most n lines of context at both ends of each hunk.
func lessContext(d string, n int) string {
	lines := strings.SplitAfter(d, "\n")
	var out, hunk []string
	flush := func() {
		from, to := 0, len(hunk)
		for from < to && hunk[from][0] == ' ' {
			from++
		}
		for to > from && hunk[to-1][0] == ' ' {
			to--
		}
		out = append(out, hunk[max(0, from-n):min(len(hunk), to+n)]...)
		hunk = nil
	}
	in := false
	for _, l := range lines {
		switch {
		case l == "":
		case strings.HasPrefix(l, "@@"):
			flush()
			in, out = true, append(out, l)
		case strings.HasPrefix(l, "diff "), strings.HasPrefix(l, "--- a"), strings.HasPrefix(l, "+++ b"), !in:
			flush()
			in, out = false, append(out, l)
		default:
			hunk = append(hunk, l)
		}
	}
	flush()
	return hunkLine.ReplaceAllString(strings.Join(out, ""), "@@ -$1 +$3 @@")
}

func gutterDiff(mark string) func(world, string) string {
	return func(w world, d string) string {
		n := 0
		var b strings.Builder
		for l := range strings.Lines(d) {
			if m := hunkLine.FindStringSubmatch(l); m != nil {
				fmt.Sscan(m[1], &n)
			} else if l[0] == ' ' || l[0] == '-' && !strings.HasPrefix(l, "--- ") {
				l = fmt.Sprintf("%c%d%s%s", l[0], n, mark, l[1:])
				n++
			}
			b.WriteString(l)
		}
		return b.String()
	}
}

// rounds is how many random files each kind of damage is tried on.
// LENIENT_ROUNDS searches harder.
func rounds() int {
	if n, err := strconv.Atoi(os.Getenv("LENIENT_ROUNDS")); err == nil {
		return n
	}
	return 200
}

// TestNeverAWrongPatch is the promise of the package: what was damaged in a way
// that is tolerated gives the very files that the true patch gives, or nothing.
func TestNeverAWrongPatch(t *testing.T) {
	all := manglers()
	for name, mangle := range all {
		t.Run(name, func(t *testing.T) {
			w := newWorld(7, uint64(len(name)))
			fits, kinds := 0, map[Kind]int{}
			for range rounds() {
				base, want := w.tree()
				diff, err := patch.Diff(base, want)
				require.NoError(t, err)
				if diff == "" {
					continue
				}
				text := mangle(w, diff)
				got, err := Text(base, text)
				if err != nil {
					var e *Error
					require.True(t, errors.As(err, &e), err)
					kinds[e.Kind]++
					continue
				}
				fits++
				require.Equal(t, contents(base, want), contents(base, got), "diff:\n%s\nmangled:\n%s", diff, text)
			}
			t.Logf("%s: %d of %d fit; refused: %v", name, fits, rounds(), kinds)
			if !strings.HasPrefix(name, "cut") {
				require.Greater(t, fits, rounds()/10)
			}
		})
	}
}

// tree makes a base and a change of it.
func (w world) tree() (model.Tree, []model.Edit) {
	*w.dull = w.IntN(3) == 0
	files := map[string]string{"pkg/a.go": w.goFile(), "app/b.py": w.pyFile(), "a.txt": "a\nb\n"}
	var base model.Tree
	for path, text := range files {
		if w.IntN(8) == 0 {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		base = base.With(model.Edit{Path: path, Data: []byte(text)})
	}
	var want []model.Edit
	for _, path := range []string{"app/b.py", "pkg/a.go"} {
		if w.IntN(3) == 0 && len(want) > 0 {
			continue
		}
		old, _ := base.Find(path)
		text := w.change(strings.ReplaceAll(string(old.Data), "\r\n", "\n"))
		if strings.Contains(string(old.Data), "\r\n") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		want = append(want, model.Edit{Path: path, Data: []byte(text)})
	}
	return base, want
}

func contents(base model.Tree, edits []model.Edit) map[string]string {
	out := map[string]string{}
	for _, f := range base.With(edits...).Files {
		out[f.Path] = string(f.Data)
	}
	return out
}
