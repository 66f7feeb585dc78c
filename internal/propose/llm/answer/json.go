package answer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of the search for JSON in a text.
const (
	maxStarts = 64 // places where an object may begin
	maxDepth  = 32
)

var errUnfinished = errors.New("it breaks off")

// scan is what a text holds of JSON.
type scan struct {
	values     []any // complete objects and lists, in order
	outer      int   // how many of them stand before anything that could not be read
	unfinished bool  // one that looks like an answer breaks off
	broken     error // why the first that looks like an answer could not be read
}

// objects finds JSON in a text. Strings may hold line breaks, be in single or
// triple quotes, have escapes that JSON does not know, and commas may trail.
func objects(text string) scan {
	var s scan
	whole := true
	for at, tries := 0, 0; tries < maxStarts; tries++ {
		at = nextStart(text, at)
		if at < 0 {
			break
		}
		r := reader{text: text, at: at}
		v, err := r.value(0)
		switch {
		case err == nil:
			s.values = append(s.values, v)
			if whole {
				s.outer++
			}
			at = r.at
			continue
		case errors.Is(err, errUnfinished) && promising(text[at:]):
			s.unfinished = true
			return s
		case s.broken == nil && promising(text[at:]):
			s.broken = err
		}
		whole = false
		at++
	}
	return s
}

// nextStart finds where an object, or a list of objects, may begin.
func nextStart(text string, from int) int {
	for i := from; i < len(text); i++ {
		if text[i] != '{' && text[i] != '[' {
			continue
		}
		rest := strings.TrimLeft(text[i+1:min(len(text), i+200)], " \t\r\n")
		switch {
		case rest == "":
		case text[i] == '{' && strings.ContainsRune(`"'}`, rune(rest[0])), text[i] == '[' && rest[0] == '{':
			return i
		}
	}
	return -1
}

// promising says that a text begins like an answer.
func promising(text string) bool {
	head := strings.ToLower(text[:min(len(text), 4000)])
	for _, key := range []string{"hypothesis", "edits", "search", "diff", "old_str", "changes", "patch", "path"} {
		if strings.Contains(head, `"`+key) || strings.Contains(head, "'"+key) {
			return true
		}
	}
	return false
}

// reader reads one value. Objects become map[string]any, lists []any, numbers
// and words string; null is nil.
type reader struct {
	text string
	at   int
}

func (r *reader) fail(what string) error {
	line := 1 + strings.Count(r.text[:r.at], "\n")
	return fmt.Errorf("%s in line %d", what, line)
}

// space passes over white space and over comments, which JSON does not have.
func (r *reader) space() {
	for r.at < len(r.text) {
		if n := r.comment(); n > 0 {
			r.at += n
		} else if strings.ContainsRune(" \t\r\n", rune(r.text[r.at])) {
			r.at++
		} else {
			return
		}
	}
}

// comment is the length of a comment, 0 for none. What follows a quote at once, or
// has one in it, is more likely the rest of a string in which one was not escaped.
func (r *reader) comment() int {
	rest, n := r.text[r.at:], 0
	switch {
	case rest[0] == '#' || strings.HasPrefix(rest, "//"):
		n = strings.IndexByte(rest, '\n')
	case strings.HasPrefix(rest, "/*"):
		n = strings.Index(rest, "*/") + len("*/")
	}
	quoted := r.at > 0 && strings.ContainsRune("\"'`", rune(r.text[r.at-1]))
	if n < len("*/") || quoted || strings.Contains(rest[:n], `"`) {
		return 0
	}
	return n
}

// peek returns the next byte after white space, 0 at the end.
func (r *reader) peek() byte {
	r.space()
	if r.at == len(r.text) {
		return 0
	}
	return r.text[r.at]
}

func (r *reader) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, r.fail("it is nested too deeply")
	}
	switch c := r.peek(); c {
	case 0:
		return nil, errUnfinished
	case '{':
		return r.object(depth)
	case '[':
		return r.list(depth)
	case '"', '\'', '`':
		return r.str()
	default:
		return r.word()
	}
}

func (r *reader) object(depth int) (any, error) {
	out := map[string]any{}
	r.at++
	for {
		switch r.peek() {
		case 0:
			return nil, errUnfinished
		case '}':
			r.at++
			return out, nil
		case '"', '\'':
		default:
			return nil, r.fail("a key without quotes")
		}
		key, err := r.str()
		if err != nil {
			return nil, err
		}
		if c := r.peek(); c != ':' {
			return nil, r.want(c, "a colon is missing")
		}
		r.at++
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if _, twice := out[key]; twice {
			return nil, r.fail("the key " + strconv.Quote(key) + " comes twice")
		}
		out[key] = v
		if err := r.comma('}'); err != nil {
			return nil, err
		}
	}
}

func (r *reader) list(depth int) (any, error) {
	out := []any{}
	r.at++
	for {
		switch r.peek() {
		case 0:
			return nil, errUnfinished
		case ']':
			r.at++
			return out, nil
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		if err := r.comma(']'); err != nil {
			return nil, err
		}
	}
}

// comma reads what is between two members; before the end it may be left out or trail.
func (r *reader) comma(end byte) error {
	switch c := r.peek(); c {
	case ',':
		r.at++
	case end:
	default:
		return r.want(c, "a comma is missing, or a quote within a string is not escaped,")
	}
	return nil
}

func (r *reader) want(c byte, what string) error {
	if c == 0 {
		return errUnfinished
	}
	return r.fail(what)
}

// word reads a number, true, false, null, and what Python calls them.
func (r *reader) word() (any, error) {
	from := r.at
	for r.at < len(r.text) && !strings.ContainsRune(",]}: \t\r\n\"'", rune(r.text[r.at])) {
		r.at++
	}
	switch w := r.text[from:r.at]; w {
	case "null", "None":
		return nil, nil
	case "true", "false", "True", "False":
		return strings.ToLower(w), nil
	default:
		if r.at == len(r.text) {
			return nil, errUnfinished
		}
		if _, err := strconv.ParseFloat(strings.TrimSuffix(w, "%"), 64); err != nil {
			return nil, r.fail("an unknown word")
		}
		return w, nil
	}
}

// str reads a string in any quotes.
func (r *reader) str() (string, error) {
	quote := r.text[r.at : r.at+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(r.text[r.at:], triple) {
		quote = triple
	}
	r.at += len(quote)
	var b strings.Builder
	for r.at < len(r.text) {
		switch {
		case strings.HasPrefix(r.text[r.at:], quote):
			r.at += len(quote)
			return b.String(), nil
		case r.text[r.at] == '\\':
			if err := r.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteByte(r.text[r.at])
			r.at++
		}
	}
	return "", errUnfinished
}

var escapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", '"': `"`, '\'': "'", '`': "`", '\\': `\`, '/': "/"}

// escape reads what follows a backslash. One that JSON does not know, as in \d, is
// a backslash that was not escaped.
func (r *reader) escape(b *strings.Builder) error {
	if r.at+1 >= len(r.text) {
		return errUnfinished
	}
	c := r.text[r.at+1]
	if s, ok := escapes[c]; ok {
		b.WriteString(s)
		r.at += 2
		return nil
	}
	if c != 'u' {
		b.WriteByte('\\')
		r.at++
		return nil
	}
	return r.unicode(b)
}

func (r *reader) unicode(b *strings.Builder) error {
	u, ok := r.hex(r.at)
	if !ok {
		if len(r.text)-r.at < 6 {
			return errUnfinished
		}
		b.WriteString(`\u`)
		r.at += 2
		return nil
	}
	r.at += 6
	if utf16.IsSurrogate(u) {
		low, ok := r.hex(r.at)
		if u = utf16.DecodeRune(u, low); ok && u != utf8.RuneError {
			r.at += 6
		} else {
			u = utf8.RuneError
		}
	}
	b.WriteRune(u)
	return nil
}

// hex reads \uXXXX at a place.
func (r *reader) hex(at int) (rune, bool) {
	if len(r.text)-at < 6 || r.text[at] != '\\' || r.text[at+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(r.text[at+2:at+6], 16, 32)
	return rune(n), err == nil
}
