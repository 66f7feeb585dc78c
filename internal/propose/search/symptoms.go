package search

import (
	"regexp"
	"strconv"
	"strings"

	"ratchet/internal/diagnose"
)

// symptoms are what the failing tests' output says about the kind of defect, by
// cluster: factors on families. Output is only read for its shape; it can shift
// the order, nothing else.
type symptoms map[int]map[string]float64

// boost is the factor on a family for mutations of a cluster.
func (s symptoms) boost(cluster int, family string) float64 {
	if b, ok := s[cluster][family]; ok {
		return b
	}
	return 1
}

// Words that test output uses for the value it saw and the one it wanted.
var comparisons = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\bexpected\s*:?\s*(?P<want>[^\n]{1,80}?)\s*\n\s*actual\s*:\s*(?P<got>[^\n]{1,80})`),
	regexp.MustCompile(`(?i)\bgot\b\s*:?=?\s*(?P<got>[^\n]{1,80}?)[,;]?\s+(?:but\s+)?(?:want|wanted|expect|expected)\b\s*:?=?\s*(?P<want>[^\n]{1,80})`),
	regexp.MustCompile(`(?i)\b(?:want|wanted|expect|expected)\b\s*:?=?\s*(?P<want>[^\n]{1,80}?)[,;]?\s+(?:but\s+)?(?:got|have|actual|was)\b\s*:?=?\s*(?P<got>[^\n]{1,80})`),
	regexp.MustCompile(`= (?P<got>[^\n]{1,80}?)[,;]\s+(?:want|expected)\s*:?\s*(?P<want>[^\n]{1,80})`),
}

// newSymptoms reads the messages of failing tests, as one language prints them.
func newSymptoms(weakest []diagnose.Weakness, read func(message string) map[string]float64) symptoms {
	out := symptoms{}
	for _, w := range weakest {
		if out[w.Cluster] == nil {
			out[w.Cluster] = map[string]float64{}
		}
		for family, factor := range read(w.Message) {
			// Several tests of a cluster need not all show the same: the strongest counts.
			out[w.Cluster][family] = max(out[w.Cluster][family], factor)
		}
	}
	return out
}

func readSymptoms(message string) map[string]float64 {
	out := map[string]float64{}
	raise := func(factor float64, families ...string) {
		for _, f := range families {
			out[f] = max(out[f], factor)
		}
	}
	switch {
	case strings.Contains(message, "index out of range"), strings.Contains(message, "slice bounds out of range"):
		raise(2, "off by one", "relational operator", "integer constant", "slice bound", "entry guard", "added operand", "operand order")
	case strings.Contains(message, "nil pointer dereference"), strings.Contains(message, "nil map"):
		raise(2.5, "entry guard", "negated condition", "composite value", "unchecked error", "added operand", "operand order", "idiom")
	case strings.Contains(message, "integer divide by zero"):
		raise(2.5, "entry guard", "relational operator", "added operand")
	case strings.Contains(message, "test timed out"), strings.Contains(message, "all goroutines are asleep"):
		raise(2.5, "lock", "missing update", "increment", "early exit", "removed statement", "assignment operator")
	case strings.Contains(message, "DATA RACE"), strings.Contains(message, "concurrent map"):
		raise(4, "lock")
	case strings.Contains(message, "unlock of unlocked"):
		raise(4, "lock")
	}
	for _, p := range comparisons {
		if m := p.FindStringSubmatch(message); m != nil {
			compare(clean(m[p.SubexpIndex("got")]), clean(m[p.SubexpIndex("want")]), raise)
			break
		}
	}
	return out
}

func clean(s string) string { return strings.Trim(strings.TrimSpace(s), ".,;") }

// compare reads what the difference of two printed values suggests.
func compare(got, want string, raise func(float64, ...string)) {
	if (got == "true" || got == "false") && (want == "true" || want == "false") {
		raise(1.5, "relational operator", "negated condition", "logical operator", "dropped operand", "added operand")
		return
	}
	g, errG := strconv.ParseFloat(got, 64)
	w, errW := strconv.ParseFloat(want, 64)
	if errG == nil && errW == nil {
		compareNumbers(g, w, raise)
		return
	}
	if got == "<nil>" || want == "<nil>" || got == "nil" || want == "nil" {
		raise(1.6, "unchecked error", "entry guard", "returned value", "negated condition")
		return
	}
	if strings.EqualFold(got, want) {
		raise(2.5, "called function", "call added", "call dropped", "string constant")
	}
	compareLengths(strings.Trim(got, `"[]{}`), strings.Trim(want, `"[]{}`), raise)
}

func compareNumbers(got, want float64, raise func(float64, ...string)) {
	switch {
	case got == -want && got != 0:
		raise(2.5, "sign", "operand order", "arithmetic operator", "assignment operator")
	case got-want == 1 || want-got == 1:
		raise(2, "off by one", "integer constant", "increment")
		raise(1.5, "relational operator", "slice bound")
	case got == 0 || got != got: // nothing was added up, or not a number
		raise(1.4, "assignment operator", "integer constant", "returned value", "entry guard")
	case int64(got) == int64(want):
		raise(2.5, "numeric conversion", "grouping")
	}
}

// compareLengths looks at texts and lists of which one holds the other.
func compareLengths(got, want string, raise func(float64, ...string)) {
	switch {
	case got == want:
	case strings.HasPrefix(want, got) || strings.HasSuffix(want, got):
		raise(1.8, "repeated statement", "off by one", "slice bound", "relational operator", "range variable")
	case strings.HasPrefix(got, want) || strings.HasSuffix(got, want):
		raise(1.8, "off by one", "slice bound", "call added", "early exit", "missing reset", "relational operator", "range variable")
	}
}
