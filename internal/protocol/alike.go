package protocol

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// twins are letters and digits that look like a Latin letter, in lower case. They
// are those of Cyrillic, Greek and Armenian, and digits: enough to write any
// reserved name so that no reader sees the difference.
var twins = strings.NewReplacer(
	"а", "a", "в", "b", "с", "c", "ԁ", "d", "е", "e", "һ", "h", "і", "i", "ј", "j", "к", "k", "ӏ", "l", "м", "m", "н", "h",
	"о", "o", "р", "p", "ԛ", "q", "г", "r", "ѕ", "s", "т", "t", "ц", "u", "ѵ", "v", "ԝ", "w", "х", "x", "у", "y",
	"α", "a", "β", "b", "ϲ", "c", "ε", "e", "η", "n", "ι", "i", "κ", "k", "μ", "m", "ν", "v", "ο", "o", "ρ", "p", "τ", "t",
	"υ", "u", "χ", "x", "γ", "y", "ω", "w", "ζ", "z",
	"ո", "n", "օ", "o", "ս", "u", "հ", "h", "ց", "g", "ք", "p",
	"ı", "i", "ɑ", "a", "ɡ", "g", "0", "o", "1", "l", "|", "l",
)

// looks is a form that names have in common when they look alike: without accents,
// case, blanks and marks between the letters, and with letters of other scripts as
// the Latin ones that they look like.
func looks(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r == '|' || unicode.In(r, unicode.L, unicode.N) {
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFKD.String(name))
	return twins.Replace(plain)
}

// alike finds the first of some names that a name looks like.
func alike(name string, names []string) (string, bool) {
	form := looks(name)
	for _, n := range names {
		if f := looks(n); f != "" && f == form {
			return n, true
		}
	}
	return "", false
}
