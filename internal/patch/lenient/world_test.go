package lenient

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// world makes random small files in which lines and blocks repeat, which is what
// makes patches ambiguous.
type world struct {
	*rand.Rand
	dull *bool // of the present tree: hardly any line is like no other
}

func newWorld(seed, stream uint64) world {
	return world{rand.New(rand.NewPCG(seed, stream)), new(bool)}
}

func (w world) pick(list ...string) string { return list[w.IntN(len(list))] }

func (w world) goFile() string {
	var b strings.Builder
	b.WriteString("package a\n\n")
	for i := range 1 + w.IntN(5) {
		fmt.Fprintf(&b, "func %s() int {\n", w.pick("f", "g", fmt.Sprintf("h%d", i)))
		w.block(&b, "\t", 1, "{", "}")
		b.WriteString("\treturn " + w.pick("a", "0", "x") + "\n}\n\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (w world) pyFile() string {
	var b strings.Builder
	b.WriteString("import os\n\n")
	for i := range 1 + w.IntN(5) {
		depth := 0
		if w.IntN(3) == 0 {
			fmt.Fprintf(&b, "class C%d:\n", i)
			depth = 1
		}
		fmt.Fprintf(&b, "%sdef %s():\n", strings.Repeat("    ", depth), w.pick("f", "g", fmt.Sprintf("h%d", i)))
		w.block(&b, "    ", depth+1, ":", "")
		b.WriteString(strings.Repeat("    ", depth+1) + "return a\n\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (w world) block(b *strings.Builder, unit string, depth int, open, close string) {
	for range 1 + w.IntN(4) {
		in := strings.Repeat(unit, depth)
		switch w.IntN(6) {
		case 0:
			if depth < 4 {
				fmt.Fprintf(b, "%sif %s %s\n", in, w.pick("a", "b", "x > 1"), open)
				w.block(b, unit, depth+1, open, close)
				if close != "" {
					b.WriteString(in + close + "\n")
				}
			}
		case 1:
			b.WriteString("\n")
		default:
			b.WriteString(in + w.statement() + "\n")
		}
	}
}

func (w world) statement() string {
	if *w.dull {
		return w.pick("a = 1", "f()")
	}
	return w.pick("a = 1", "b = 2", "f()", "g(a, b)", "x = a + b", fmt.Sprintf("y = %d", w.IntN(40)))
}

// change makes random edits of lines; new lines are indented like a neighbour.
func (w world) change(old string) string {
	lines := strings.SplitAfter(strings.TrimSuffix(old, "\n"), "\n")
	for range 1 + w.IntN(3) {
		i := w.IntN(len(lines))
		in := indentOf(lines[i])
		if w.IntN(3) == 0 && in != "" {
			in += in[:min(len(in), 4)]
		}
		fresh := in + w.statement() + "\n"
		switch w.IntN(4) {
		case 0:
			lines = append(lines[:i], append([]string{fresh}, lines[i:]...)...)
		case 1:
			if len(lines) > 4 {
				lines = append(lines[:i:i], lines[i+1:]...)
			}
		case 2:
			lines = append(lines[:i], append([]string{fresh, in + w.statement() + "\n"}, lines[i:]...)...)
		default:
			lines[i] = fresh
		}
	}
	return strings.TrimSuffix(strings.Join(lines, ""), "\n") + "\n"
}
