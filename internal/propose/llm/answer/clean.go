package answer

import (
	"regexp"
	"strings"
	"unicode"
)

// MaxHypothesis is the longest hypothesis, in runes.
const MaxHypothesis = 200

var (
	ansi = regexp.MustCompile(`\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)`)
	// trailer is what would mean something in a commit message, to ratchet or to
	// where the commit is pushed.
	trailer = regexp.MustCompile(`(?i)(?:ratchet-[a-z-]+|(?:\b|_)(?:signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|change-id))\s*:[ \t]*(?:\S+)?` +
		`|(?:\b|_)(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)\b:?\s*(?:[\w./-]*#\d+|https?://\S+)`)
	label = regexp.MustCompile(`(?i)^[\W_]*(?:hypothesis|summary|fix)\s*[:\-–—]+[*_\s]*`)
)

// Clean makes one printable line of at most MaxHypothesis runes from what a model
// wrote. Commit messages are built from it, so it can hold no line break, no
// control or invisible character and no trailer.
func Clean(s string) string {
	if len(s) > 16*MaxHypothesis { // nothing beyond can be kept
		s = s[:16*MaxHypothesis]
	}
	s = ansi.ReplaceAllString(strings.ToValidUTF8(s, ""), "")
	s = strings.Map(printable, s)
	for trailer.MatchString(s) { // taking one away may make another
		s = trailer.ReplaceAllString(s, " ")
	}
	s = label.ReplaceAllString(s, "")
	s = strings.Join(strings.Fields(s), " ")
	s = strings.Trim(s, "`*_# \"'")
	r := []rune(s)
	if len(r) > MaxHypothesis {
		s = strings.TrimSpace(string(r[:MaxHypothesis-1])) + "…"
	}
	return s
}

func printable(r rune) rune {
	switch {
	case unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar: // bidi marks, zero width
		return -1
	case unicode.IsSpace(r), !unicode.IsPrint(r):
		return ' '
	}
	return r
}

var (
	channel   = regexp.MustCompile(`<\|channel\|>\s*(\w+)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>`)
	stop      = regexp.MustCompile(`<\|(?:return|end|call|start|im_end|im_start|eot_id|endoftext|end_of_text|eom_id)\|>|</s>\s*$|<｜end▁of▁sentence｜>`)
	thinkOpen = regexp.MustCompile(`^\s*<(think|thinking|reasoning|scratchpad)>`)
	thinkEnd  = regexp.MustCompile(`(?m)^[^\n"{}]*</(?:think|thinking|reasoning|scratchpad)>\s*$`)
)

// final returns what a model says for others to hear: without its reasoning and
// without the tokens of its template.
func final(text string) (string, error) {
	text = strings.ToValidUTF8(text, "\ufffd")
	if all := channel.FindAllStringSubmatchIndex(text, -1); len(all) > 0 {
		last := all[len(all)-1]
		if text[last[2]:last[3]] != "final" {
			return "", &Error{Kind: Truncated, Detail: "it ends before the final answer"}
		}
		text = text[last[1]:]
	}
	for {
		open := thinkOpen.FindStringSubmatchIndex(text)
		if open == nil {
			break
		}
		mark := "</" + text[open[2]:open[3]] + ">"
		_, after, ended := strings.Cut(text[open[1]:], mark)
		if !ended {
			return "", &Error{Kind: Truncated, Detail: "it ends while the model still thinks aloud"}
		}
		text = after
	}
	if at := thinkEnd.FindStringIndex(text); at != nil && !strings.Contains(text[:at[0]], "```") { // some templates keep the opening mark
		text = text[at[1]:]
	}
	text = strings.TrimPrefix(text, "<|im_start|>assistant")
	if at := stop.FindStringIndex(text); at != nil && strings.TrimSpace(text[:at[0]]) != "" && outside(text, at) {
		text = text[:at[0]]
	}
	return text, nil
}

// outside says whether a mark ends the text or at least its line, and so is none
// of the code that the answer quotes.
func outside(text string, at []int) bool {
	rest := strings.TrimSpace(text[at[1]:])
	return rest == "" || strings.HasPrefix(rest, "<|")
}

var (
	said  = regexp.MustCompile(`(?im)^[\s#*_>-]*hypothesis[*_\s]*[:\-–—][*_\s]*(.+)$`)
	stock = regexp.MustCompile(`(?i)^(?:sure|certainly|of course|okay|ok|great|yes|here(?:'|’)?s?\b|here is|here are|below|i(?:'|’)?ve|i have|let me|let's|the following|this (?:diff|patch)|to fix this)`)
)

// sentence finds a hypothesis in the prose round a patch.
func sentence(text string) string {
	if m := said.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	fenced := false
	for l := range strings.Lines(text) {
		t := strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(t, "```"), strings.HasPrefix(t, "~~~"):
			fenced = !fenced
		case strings.HasPrefix(t, "<<<<<"), strings.HasPrefix(t, "diff --git"), strings.HasPrefix(t, "--- "), strings.HasPrefix(t, "*** "), strings.HasPrefix(t, "{"), strings.HasPrefix(t, "["):
			return ""
		case fenced, stock.MatchString(t), strings.HasPrefix(t, "#"), len(strings.Fields(t)) < 4:
		default:
			return firstSentence(t)
		}
	}
	return ""
}

func firstSentence(s string) string {
	for i := 0; i+1 < len(s); i++ {
		if strings.ContainsRune(".!?", rune(s[i])) && s[i+1] == ' ' && i > 15 {
			return s[:i+1]
		}
	}
	return s
}
