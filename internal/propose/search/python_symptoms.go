package search

import (
	"regexp"
	"strings"

	"ratchet/internal/diagnose"
)

// pythonComparison is how pytest shows a failed comparison: what the code gave
// stands left, by convention, and what the test wants right.
var pythonComparison = regexp.MustCompile(`(?m)^(?:E\s+)?(?:AssertionError: )?assert (?P<got>[^\n]{1,120}?) (?:==|is) (?P<want>[^\n]{1,120})$`)

// pythonTruth is a failed assertion of the truth of one value.
var pythonTruth = regexp.MustCompile(`(?m)^(?:E\s+)?(?:AssertionError: )?assert (not )?(True|False|None|\[\]|''|0)$`)

// readPythonSymptoms says which families the output of a failing Python test speaks for.
func readPythonSymptoms(message string) map[string]float64 {
	out := map[string]float64{}
	raise := func(factor float64, families ...string) {
		for _, f := range families {
			out[f] = max(out[f], factor)
		}
	}
	readPythonErrors(message, raise)
	if m := pythonComparison.FindStringSubmatch(message); m != nil {
		got, want := clean(m[1]), clean(m[2])
		comparePython(got, want, raise)
		compareTexts(got, want, raise)
		compare(lowerTruth(got), lowerTruth(want), raise)
	} else if pythonTruth.MatchString(message) {
		raise(1.5, "relational operator", "negated condition", "logical operator", "dropped operand", "added operand", "other constant")
	}
	return out
}

// readPythonErrors reads which exception ended the test.
func readPythonErrors(message string, raise func(float64, ...string)) {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(message, w) {
				return true
			}
		}
		return false
	}
	if has("IndexError", "out of range") {
		raise(2, "off by one", "relational operator", "integer constant", "slice bound", "entry guard", "added operand", "operand order", "range variable")
	}
	if has("KeyError") {
		raise(2.5, "idiom", "string constant", "entry guard", "called function", "added operand")
	}
	if has("'NoneType'", "NoneType object") {
		raise(2.5, "missing return", "idiom", "entry guard", "returned value", "negated condition", "moved statement")
	}
	if has("ZeroDivisionError") {
		raise(2.5, "entry guard", "relational operator", "added operand", "integer constant")
	}
	if has("empty sequence", "iterable argument is empty", "arg is an empty") {
		raise(2.5, "entry guard", "argument", "relational operator")
	}
	if has("UnboundLocalError", "NameError") {
		raise(2.5, "variable", "moved statement", "field", "missing reset")
	}
	if has("AttributeError") {
		raise(2, "called function", "field", "variable", "idiom", "call added", "call dropped")
	}
	if has("TypeError") {
		raise(1.8, "call added", "call dropped", "numeric conversion", "argument order", "argument", "idiom", "variable", "assignment operator")
	}
	if has("ValueError") {
		raise(1.5, "exception", "entry guard", "argument", "string constant")
	}
	if has("DID NOT RAISE") {
		raise(3, "entry guard", "exception", "relational operator", "negated condition")
	}
	if has("RecursionError", "maximum recursion") {
		raise(2.5, "entry guard", "integer constant", "off by one", "relational operator", "arithmetic operator")
	}
	if has("Timeout", "timed out", "timeout") {
		raise(2.5, "missing update", "early exit", "assignment operator", "removed statement", "moved statement", "relational operator")
	}
	if has("was never awaited", "coroutine") {
		raise(4, "idiom")
	}
}

// comparePython reads what only Python prints: None, and lists out of order.
func comparePython(got, want string, raise func(float64, ...string)) {
	switch {
	case got == "None":
		raise(3, "missing return")
		raise(1.6, "returned value", "entry guard", "moved statement", "exit kind")
	case want == "None":
		raise(2, "entry guard", "returned value", "missing return")
	case strings.HasPrefix(got, "[") && got != want && sameLetters(got, want):
		raise(2.5, "argument", "operand order", "slice bound", "idiom", "composite value", "call added", "range variable")
	case want == "[]" || want == "''" || want == "{}" || want == "0":
		raise(1.6, "entry guard", "integer constant")
	}
}

// compareTexts looks at texts of which one has a piece in its middle that the other lacks.
func compareTexts(got, want string, raise func(float64, ...string)) {
	if !strings.HasPrefix(got, "'") || !strings.HasPrefix(want, "'") || len(got) == len(want) {
		return
	}
	short, long := got, want
	if len(short) > len(long) {
		short, long = long, short
	}
	start := 0
	for start < len(short) && short[start] == long[start] {
		start++
	}
	if strings.HasSuffix(long, short[start:]) {
		raise(1.8, "string constant", "added term", "dropped operand", "slice bound", "off by one")
	}
}

// sameLetters says that two texts have the same characters, each as often.
func sameLetters(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	var count [256]int
	for i := range len(a) {
		count[a[i]]++
		count[b[i]]--
	}
	return count == [256]int{}
}

func lowerTruth(s string) string {
	if s == "True" || s == "False" {
		return strings.ToLower(s)
	}
	return s
}

// comparison is the two sides of a comparison that failed.
type comparison struct{ got, want string }

// failedComparisons are those that the messages of failing tests show.
func failedComparisons(weakest []diagnose.Weakness) []comparison {
	const most = 20
	var out []comparison
	for _, w := range weakest {
		for _, m := range pythonComparison.FindAllStringSubmatch(w.Message, most) {
			if len(out) < most {
				out = append(out, comparison{m[1], m[2]})
			}
		}
	}
	return out
}
