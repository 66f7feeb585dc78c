package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escaper writes text for people and for programs. What a terminal would obey
// rather than show, such as the control sequences in the name of a test or in the
// answer of a model, is written as an escape that reads the same in JSON.
type escaper struct{ to io.Writer }

// Write implements io.Writer; a character must not be split between two calls.
func (e escaper) Write(p []byte) (int, error) {
	if _, err := io.WriteString(e.to, escaped(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// escaped replaces control characters but line ends and tabs, and those that turn
// the direction of writing.
func escaped(s string) string {
	if strings.IndexFunc(s, obeyed) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if obeyed(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

func obeyed(r rune) bool {
	return unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}

// cell is a text that fits into one cell of a table.
func cell(s string) string {
	return escaped(strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(s))
}
