package llm

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"ratchet/internal/model"
)

// fileName is a path as data shows it: one line, whatever is in it.
func fileName(name string) string {
	if clean(name) != name || strings.ContainsAny(name, "\n\t") {
		return strconv.Quote(name)
	}
	return name
}

// listing names the files of a tree: each, when they fit into the weight, else
// the folders with how many files they hold, else the topmost folders. It
// depends on nothing else, so that it is the same in each prompt on the tree.
func listing(t model.Tree, editable func(string) bool, weight int) string {
	if all, ok := everyFile(t, editable, weight); ok {
		return all
	}
	for _, depth := range []int{64, 3, 2, 1} {
		if text := folders(t, depth); weigh(text) <= weight {
			return text
		}
	}
	return head(folders(t, 1), weight)
}

func everyFile(t model.Tree, editable func(string) bool, weight int) (string, bool) {
	var b strings.Builder
	for _, f := range t.Files {
		name := fileName(f.Path)
		if weight -= weigh(name) + 1; weight < 0 {
			return "", false // before the gate is asked about thousands of files
		}
		b.WriteString(name)
		if !editable(f.Path) {
			weight -= len(readOnly)
			b.WriteString(readOnly)
		}
		b.WriteByte('\n')
	}
	return b.String(), weight >= 0
}

const readOnly = " (read-only)"

// folders counts the files below each folder of at most a depth, by path.
func folders(t model.Tree, depth int) string {
	counts := map[string]int{}
	for _, f := range t.Files {
		parts := strings.Split(path.Dir(f.Path), "/")
		counts[strings.Join(parts[:min(depth, len(parts))], "/")]++
	}
	names := make([]string, 0, len(counts))
	for n := range counts {
		names = append(names, n)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "%s/: %d files\n", fileName(n), counts[n])
	}
	return b.String()
}
