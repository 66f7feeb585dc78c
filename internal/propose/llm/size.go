package llm

import (
	"math"
	"strings"
	"unicode/utf8"
)

// bytesPerToken is how many bytes of code and English a token is at least likely
// to have. Tokenizers differ; where this is too much hope, the server refuses the
// prompt and a smaller one is asked.
const bytesPerToken = 3.5

// messageWeight is what a message costs besides its text.
const messageWeight = 32

// weigh is the size of a text in bytes, those of runes beyond ASCII counted
// twice, because tokenizers cut them smaller.
func weigh(s string) int {
	n := len(s)
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			n++
		}
	}
	return n
}

// tokens is how many tokens a weight may be.
func tokens(weight int) int { return int(math.Ceil(float64(weight) / bytesPerToken)) }

// weightOf is the weight that surely fits into n tokens.
func weightOf(n int) int { return int(float64(n) * bytesPerToken) }

const cutMark = "…"

// head keeps the beginning of s, at most of the weight, with a mark when it was cut.
func head(s string, weight int) string {
	if weigh(s) <= weight {
		return s
	}
	if weight -= weigh(cutMark); weight < 0 {
		return ""
	}
	at := 0
	for at < len(s) {
		_, n := utf8.DecodeRuneInString(s[at:])
		if weight -= weigh(s[at : at+n]); weight < 0 {
			break
		}
		at += n
	}
	return s[:at] + cutMark
}

// tail keeps the end of s likewise.
func tail(s string, weight int) string {
	if weigh(s) <= weight {
		return s
	}
	if weight -= weigh(cutMark); weight < 0 {
		return ""
	}
	at := len(s)
	for at > 0 {
		_, n := utf8.DecodeLastRuneInString(s[:at])
		if weight -= weigh(s[at-n : at]); weight < 0 {
			break
		}
		at -= n
	}
	return cutMark + s[at:]
}

// middle keeps both ends of s, which say most: at most of the weight.
func middle(s string, weight int) string {
	if weigh(s) <= weight {
		return s
	}
	return strings.TrimSuffix(head(s, weight/2), cutMark) + tail(s, weight-weight/2)
}
