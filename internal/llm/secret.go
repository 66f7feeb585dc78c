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

// maxKey is how long a key may be, in bytes, far beyond any in use: what finds a key
// in its many forms takes megabytes for each kilobyte of it.
const maxKey = 4 << 10

// Scrubber returns what removes s from texts, however the bytes of the key are
// written: plain, in upper or lower case, escaped for JSON or for a URL, or mixed.
// Keys of 7 bytes or fewer are placeholders and no secrets; they are left in place,
// because they may be words of the program that is being patched. Of keys that are
// longer than a pool takes, the plain form alone is found.
func (s Secret) Scrubber() Scrubber {
	key := s.Reveal()
	switch {
	case len(key) <= placeholder:
		return Scrubber{}
	case len(key) > maxKey:
		return Scrubber{key: regexp.MustCompile(`(?i)` + regexp.QuoteMeta(key))}
	}
	var b strings.Builder
	b.WriteString(`(?i)`)
	for i := range len(key) {
		b.WriteString(spellings(key[i]))
	}
	return Scrubber{key: regexp.MustCompile(b.String())}
}

// spellings is a pattern of the ways in which a byte of a key may be written.
func spellings(c byte) string {
	code := fmt.Sprintf("%02x", c)
	if lower := c | 0x20; lower >= 'a' && lower <= 'z' {
		code = fmt.Sprintf("[%x%x]%x", lower>>4, lower>>4-2, c&0xf) // of both cases
	}
	return fmt.Sprintf(`(?:\\*%s|\\+u00%s|%%(?:25)*%s)`, regexp.QuoteMeta(string(rune(c))), code, code)
}

// Scrub returns text without the key.
func (s Scrubber) Scrub(text string) string {
	if s.key == nil {
		return text
	}
	return s.key.ReplaceAllString(text, hidden)
}
