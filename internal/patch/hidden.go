package patch

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"ratchet/internal/model"
)

// directions are the characters that change the direction of text, with which code
// can be shown in another order than it runs in (Boucher and Anderson, Trojan
// Source, 2021).
const directions = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

// gateHidden refuses files that get more than they had of characters with which a
// reader sees other code than runs, in a terminal or in a browser. Joiners stay:
// scripts and emoji need them.
func gateHidden(_ model.Tree, c change) *Refusal {
	had, has := hidden(c.oldData()), hidden(c.newData())
	for _, r := range slices.Sorted(maps.Keys(has)) {
		switch {
		case has[r] <= had[r]:
		case strings.ContainsRune(directions, r):
			return &Refusal{Rule: RuleHidden, Why: fmt.Sprintf("it adds the character %U, which shows text in another order than it has", r)}
		default:
			return &Refusal{Rule: RuleHidden, Why: fmt.Sprintf("it adds the character %U, which nobody sees: write it as an escape of the language", r)}
		}
	}
	return nil
}

// hidden counts the characters of a text that hide what it is.
func hidden(text []byte) map[rune]int {
	out := map[rune]int{}
	last := '\n'
	for i, r := range string(text) {
		if unseen(r) || r == '\f' && last != '\n' || r == '\r' && !bytes.HasPrefix(text[i+1:], []byte("\n")) {
			out[r]++
		}
		last = r
	}
	return out
}

// unseen says whether a character does so wherever it is. A form feed at the start of
// a line is an old way to part sections, and a carriage return belongs to a line end.
func unseen(r rune) bool {
	switch {
	case r == '\n', r == '\t', r == '\f', r == '\r':
		return false
	case r == '\u200b', r == '\u2060', r == '\ufeff', r >= 0xe0000 && r <= 0xe007f: // without width, and tags
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) || strings.ContainsRune(directions, r)
}
