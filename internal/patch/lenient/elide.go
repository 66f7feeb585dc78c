package lenient

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// stands for code that was left out, by its words
	restOf = regexp.MustCompile(`(?i)^\s*(?://|#|/\*|--|<!--|\*)\s*(?:\.{3}|…)?\s*[\[(]?\s*(?:the\s+|all\s+)?(?:rest|remainder|remaining|existing|previous|other|unchanged|same|omitted|snip|keep|code)\b.{0,60}(?:\.{3}|…|unchanged|remains?|omitted|as before|as is|the same|here|above)\b?.{0,20}$`)
	// dots in a comment
	dotted = regexp.MustCompile(`^\s*(?://|#|/\*|--|<!--)\s*(?:\.{3,}|…)\s*(?:\*/|-->)?\s*(?:$|(?i:rest|existing|remaining|other|previous|same|unchanged|omitted|code|keep|the )\b.*$|\(.*$)`)
	// dots and nothing else
	bare = regexp.MustCompile(`^\s*(?:\.{3,}|…|\[\.\.\.\])\s*$`)
	// a snip mark
	snip = regexp.MustCompile(`(?i)^\s*\W*\s*(?:snip|cut here)\s*\W*$`)
)

// isElision says whether a line stands for others. Dots alone are code in Python.
func isElision(path, text string) bool {
	if len(text) > 300 {
		return false
	}
	if restOf.MatchString(text) || dotted.MatchString(text) || snip.MatchString(text) {
		return true
	}
	return bare.MatchString(text) && !strings.HasSuffix(path, ".py") && !strings.HasSuffix(path, ".pyi")
}

// checkElided refuses a change with lines that stand for others and that the old
// file does not have.
func checkElided(path string, c change, old string) *Error {
	var there map[string]bool
	for _, h := range c.hunks {
		drops := c.drops(h, old)
		for _, l := range h.lines {
			if !isElision(path, l.text) && !(c.whole && bare.MatchString(l.text)) && !(drops && l.op == '+' && omits(l.text)) {
				continue
			}
			if there == nil {
				there = trimmedLines(old)
			}
			if text := strings.TrimSpace(l.text); !there[text] {
				return &Error{
					Kind: KindElided, Path: path, Unit: h.unit, N: h.n,
					Detail: fmt.Sprintf("the line %q stands for code that was left out", clip(text)),
					Hint:   "write every line, or quote a smaller place",
				}
			}
		}
	}
	return nil
}

func trimmedLines(text string) map[string]bool {
	out := map[string]bool{}
	for l := range strings.Lines(text) {
		out[strings.TrimSpace(l)] = true
	}
	return out
}
