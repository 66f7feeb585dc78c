package llm

import (
	"regexp"
	"strings"
	"unicode"
)

// escapes are terminal control sequences: CSI, OSC and the two-byte ones.
var escapes = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?|\x1b[@-_]")

// clean takes away what a reader of a text does not see but a model does, and
// what changes the order in which it is read: control characters but tabs and
// newlines, terminal sequences, direction marks, invisible characters and tags.
// Bytes that are no UTF-8 become U+FFFD. Lines stay what they are.
func clean(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if strings.IndexByte(s, 0x1b) >= 0 {
		s = escapes.ReplaceAllString(s, "")
	}
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// hidden says whether a rune has no business in a text that people check. Format
// characters are among them: direction marks, zero-width characters, the byte
// order mark, tags.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x80:
		return r < ' ' || r == 0x7f
	case r == '\u2028' || r == '\u2029' || r == '\u034f' || r == '\u3164':
		return true
	case r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef: // variation selectors can carry bytes
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}

// line makes one clean line of a text, at most of the weight.
func line(s string, weight int) string {
	return head(strings.Join(strings.Fields(clean(s)), " "), weight)
}

// field is a name and a text, whose further lines are set in, so that no line of
// the text looks like another field.
func field(name, text string) string {
	text = strings.TrimRight(text, "\n")
	return name + ": " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}
