package llm

import (
	"path"
	"slices"
	"strings"

	"ratchet/internal/diagnose"
)

// tests takes up the source of the tests that fail: it says what is expected.
// Search problems only are weak problems, and the tree holds no others.
func (s *suspicion) tests(weakest []diagnose.Weakness, editable func(string) bool) {
	seen := map[int]bool{}
	for i, w := range weakest {
		if i == maxTests {
			return
		}
		score := scoreOther
		if !seen[w.Cluster] {
			score, seen[w.Cluster] = scoreTest, true
		}
		if w.Metric == nil {
			s.test(w, score, editable)
		}
	}
}

// test raises the function that a problem is named after, in a file that is none
// of the candidate's.
func (s *suspicion) test(w diagnose.Weakness, score float64, editable func(string) bool) {
	words := testWords(w)
	if len(words) == 0 {
		return
	}
	for _, f := range s.tree.Files {
		if !testFile(f.Path, w, words) || editable(f.Path) {
			continue
		}
		src := s.source(f.Path)
		if src == nil {
			continue
		}
		for _, r := range src.regions {
			if r.name == words[len(words)-1] {
				r.score = max(r.score, score)
			}
		}
	}
}

// testWords are the names in a problem's name, without its parameters: those of
// "tests/test_a.py::TestA::test_b[1]" end in "test_a", "py", "TestA", "test_b".
func testWords(w diagnose.Weakness) []string {
	name, _, _ := strings.Cut(w.Name, "[")
	return strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("/:.", r) })
}

// testFile says whether a file may hold a problem's test: a Go test of its
// package, or a Python file that it names or that is in its package.
func testFile(name string, w diagnose.Weakness, words []string) bool {
	dir, base := path.Dir(name), path.Base(name)
	switch path.Ext(name) {
	case ".go":
		return dir == path.Clean(w.Package)
	case ".py":
		return dir == path.Clean(w.Package) || slices.Contains(words, strings.TrimSuffix(base, ".py"))
	}
	return false
}
