package llm

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
)

// hidden stands where a key was.
const hidden = "…"

// Secret is an API key. However it is printed, logged or encoded, and as a part
// of whatever, it shows as "…": the value is behind a pointer, so that fmt, which
// asks unexported fields for no String, prints an address at most. The zero value
// is no key.
type Secret struct{ value *string }

// NewSecret wraps a key. An empty one is no key.
func NewSecret(key string) Secret {
	if key == "" {
		return Secret{}
	}
	return Secret{value: &key}
}

// Reveal returns the key, for the header of a request and nothing else.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// Empty says whether there is no key.
func (s Secret) Empty() bool { return s.value == nil }

func (s Secret) String() string               { return hidden }
func (s Secret) GoString() string             { return hidden }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(hidden) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// digest tells keys apart without holding one.
func (s Secret) digest() [sha256.Size]byte { return sha256.Sum256([]byte(s.Reveal())) }

// placeholder is the length up to which a key is none: "EMPTY" and "ollama" are
// what people write for servers that want any key, and words of programs too.
const placeholder = 7

// Scrubber takes a key out of texts. The zero value leaves texts as they are.
// It is safe for concurrent use.
type Scrubber struct{ key *regexp.Regexp }

// Scrubber returns what removes s from texts, however the bytes of the key are
// written: plain, escaped for JSON or for a URL, or mixed. Keys of 7 bytes or
// fewer are placeholders and no secrets; they are left in place, because they may
// be words of the program that is being patched.
func (s Secret) Scrubber() Scrubber {
	key := s.Reveal()
	if len(key) <= placeholder {
		return Scrubber{}
	}
	var b strings.Builder
	for i := range len(key) {
		c := key[i]
		fmt.Fprintf(&b, `(?:\\*%s|\\+u00(?i:%02x)|%%(?:25)*(?i:%02x))`, regexp.QuoteMeta(string(rune(c))), c, c)
	}
	re, err := regexp.Compile(b.String())
	if err != nil { // absurdly long: the plain form must do
		re = regexp.MustCompile(regexp.QuoteMeta(key))
	}
	return Scrubber{key: re}
}

// Scrub returns text without the key.
func (s Scrubber) Scrub(text string) string {
	if s.key == nil {
		return text
	}
	return s.key.ReplaceAllString(text, hidden)
}
