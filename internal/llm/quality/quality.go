// Package quality looks at the text of an answer before anything is made of it:
// what is empty, a refusal, or stock phrases is no answer.
package quality

import (
	"regexp"
	"strings"
	"unicode"
)

// Gates that an answer can fail.
const (
	Empty       = "empty"
	Short       = "short"
	Refusal     = "refusal"
	Boilerplate = "boilerplate"
	BareFence   = "bare fence"
)

// Reason says why an answer is none.
type Reason struct {
	Gate   string // one of the gates above
	Detail string // what was found, for a person
}

func (r *Reason) Error() string {
	if r.Detail == "" {
		return "the answer is no use: " + r.Gate
	}
	return "the answer is no use: " + r.Gate + ": " + r.Detail
}

// leastLetters is how many letters and digits an answer without code has at least.
const leastLetters = 16

// Check returns why text is no answer, nil when it may be one. What holds an edit,
// in whichever form, always may: its words, and comments in its code, are not judged,
// and neither is its length, since the best fix is often one line. Of other texts
// only what stands outside of code is judged.
func Check(text string) *Reason {
	text = strings.TrimSpace(reasoning.ReplaceAllString(text, ""))
	if text == "" {
		return &Reason{Gate: Empty}
	}
	if v, ok := decode(text); ok {
		return checkJSON(v)
	}
	if hasEdit(text) {
		return nil
	}
	prose, code := split(text)
	return checkProse(prose, code)
}

// reasoning is what models think aloud before they answer, ended or not.
var reasoning = regexp.MustCompile(`(?s)^\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|$)`)

func checkProse(prose, code string) *Reason {
	found := refusal.FindString(prose)
	rest := strings.TrimSpace(stock.ReplaceAllString(prose, " "))
	switch {
	case found != "":
		return &Reason{Refusal, oneLine(found)}
	case letters(prose) == 0 && letters(code) == 0:
		return &Reason{Gate: Empty}
	case letters(rest) == 0 && letters(code) > 0:
		return &Reason{BareFence, "it does not say where the code belongs"}
	case letters(rest) == 0:
		return &Reason{Boilerplate, oneLine(prose)}
	case letters(rest) < leastLetters && code == "":
		return &Reason{Short, oneLine(prose)}
	}
	return nil
}

// refusal is what a model says that will not do what it was asked for. It must speak
// of itself: "the parser cannot handle tabs" is a finding.
var refusal = regexp.MustCompile(`(?i)\b(?:` +
	`(?:I|we)(?:\s+(?:can\s?not|can['’]?t|could\s+not|couldn['’]t|will\s+not|won['’]t|must\s+decline|have\s+to\s+decline|do\s+not|don['’]t)|(?:\s+am|['’]m|['’]re|\s+are)\s+(?:sorry|afraid|unable|not\s+(?:able|allowed|permitted|going)|unwilling))` +
	`[^.!?\n]{0,60}?\b(?:help|assist|provide|comply|fulfil|fulfill|complete|generate|create|produce|write|modify|change|fix|make|do\s+(?:that|this|so)|support|engage|continue|answer|discuss|participate|perform|access|have\s+(?:access|the\s+ability|enough)|request)\b` +
	`|(?:I|we)(?:['’]m|\s+am|['’]re|\s+are)\s+sorry\b` +
	`|(?:I|we)\s+(?:must|have\s+to|need\s+to|will)\s+(?:refuse|decline)\b` +
	`|sorry,?\s+but\s+(?:I|we)\b` +
	`|(?:goes|is)\s+against\s+my\s+(?:guidelines|programming|policy|policies)` +
	`|as\s+an?\s+(?:AI|artificial\s+intelligence)(?:\s+language)?(?:\s+(?:model|assistant))?,?\s+(?:I|my)\b` +
	`)`)

// stock are phrases that say nothing of the task.
var stock = regexp.MustCompile(`(?i)(?:^|\b)(?:` +
	`(?:sure|certainly|of\s+course|absolutely|okay|ok|great(?:\s+question)?|understood|got\s+it|thanks?(?:\s+you)?)\s*(?:thing)?[!.,:]*` +
	`|(?:here(?:['’]s|\s+is|\s+are)|below\s+is|this\s+is)\s+(?:the|a|an|your|my)\s+(?:\w+\s+){0,3}(?:code|version|solution|fix|patch|file|answer|function|implementation|program|change|changes|edit|edits)\b[!.:]*` +
	`|(?:please\s+)?(?:let\s+me\s+know|feel\s+free)\b[^.!?\n]*[.!?]*` +
	`|(?:I\s+)?hope\s+(?:this|that|it)\s+helps?[.!]*` +
	`|(?:I(?:['’]d|\s+would)\s+be\s+)?(?:happy|glad)\s+to\s+help[^.!?\n]*[.!]*` +
	`|how\s+can\s+I\s+(?:help|assist)\b[^.!?\n]*[.!?]*` +
	`|is\s+there\s+anything\s+else\b[^.!?\n]*[.!?]*` +
	`|as\s+an?\s+AI(?:\s+language)?(?:\s+(?:model|assistant))?\b[^.!?\n]*[.!?]*` +
	`)`)

func letters(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// most is how much of an answer a reason repeats, in runes.
const most = 80

func oneLine(s string) string {
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}
