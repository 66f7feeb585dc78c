package wire

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"regexp"
	"strings"

	"ratchet/internal/llm"
)

// hide takes a key out of a server's words, also where it is escaped for HTML, has
// white space in it, or is packed as in an Authorization header. That the words run
// together where a key was in pieces is its price, so it suits no answers.
func hide(key llm.Scrubber, text string) string {
	text = key.Scrub(text)
	for _, undo := range []func(string) string{html.UnescapeString, squeeze} {
		if plain := undo(text); key.Scrub(plain) != plain {
			text = key.Scrub(plain)
		}
	}
	return packed.ReplaceAllStringFunc(text, func(word string) string {
		if unpacks(key, word) {
			return "…"
		}
		return word
	})
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// packed are words that may be base64 or hexadecimal.
var packed = regexp.MustCompile(`[A-Za-z0-9+/_-]{12,}`)

// unpacks says whether a word holds the key in base64 or hexadecimal. What stands
// before it may be of the same letters, so that any of them may be the first.
func unpacks(key llm.Scrubber, word string) bool {
	shows := func(data []byte, err error) bool {
		return err == nil && key.Scrub(string(data)) != string(data)
	}
	if shows(hex.DecodeString(word)) {
		return true
	}
	word = strings.NewReplacer("-", "+", "_", "/").Replace(word)
	for from := range 4 {
		part := word[from:]
		if len(part)%4 == 1 {
			part = part[:len(part)-1]
		}
		if shows(base64.RawStdEncoding.DecodeString(part)) {
			return true
		}
	}
	return false
}
