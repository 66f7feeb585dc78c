package patch

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"ratchet/internal/pysrc"
)

// constText evaluates what is plainly a constant text: literals, sums of them,
// and "".join of a list of them.
func (w *pyWalker) constText(e *pysrc.Expr) (string, bool) {
	e = unparen(e)
	switch {
	case e.Kind == pysrc.StringExpr:
		return w.literal(e)
	case e.Kind == pysrc.BinaryExpr && e.Op == "+":
		left, ok := w.constText(e.Parts[0])
		if !ok {
			return "", false
		}
		right, ok := w.constText(e.Parts[1])
		return left + right, ok
	case e.Kind == pysrc.CallExpr && len(e.Parts) == 2 && e.Parts[0].Kind == pysrc.AttributeExpr && e.Parts[0].Name == "join":
		return w.joined(e.Parts[0].Parts[0], unparen(e.Parts[1]))
	}
	return "", false
}

func (w *pyWalker) joined(separator, list *pysrc.Expr) (string, bool) {
	sep, ok := w.constText(separator)
	if !ok || list.Kind != pysrc.ListExpr && list.Kind != pysrc.TupleExpr {
		return "", false
	}
	var parts []string
	for _, p := range list.Parts {
		s, ok := w.constText(p)
		if !ok {
			return "", false
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, sep), true
}

// literal decodes one or several string literals side by side.
func (w *pyWalker) literal(e *pysrc.Expr) (string, bool) {
	if e.First < 0 || e.Last > len(w.tokens) {
		return "", false
	}
	var b strings.Builder
	for _, t := range w.tokens[e.First:e.Last] {
		if t.Kind != pysrc.String {
			return "", false
		}
		prefix, _, body := pysrc.SplitString(t.Text)
		if strings.ContainsAny(prefix, "ft") && len(replacementFields(body)) > 0 {
			return "", false
		}
		if strings.Contains(prefix, "r") {
			b.WriteString(body)
		} else {
			b.WriteString(unescape(body))
		}
	}
	return b.String(), true
}

// unescape decodes the escapes of a Python string literal; ones that are unknown
// stay as they are, as in Python. Names of characters (\N{…}) stay too.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			i++
			continue
		}
		text, n := escape(s[i+1:])
		b.WriteString(text)
		i += 1 + n
	}
	return b.String()
}

var plainEscapes = map[byte]string{
	'\n': "", '\\': `\`, '\'': "'", '"': `"`, 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
}

// escape decodes what follows a backslash, and says how many bytes that is.
func escape(s string) (string, int) {
	if text, ok := plainEscapes[s[0]]; ok {
		return text, 1
	}
	if digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]; digits > 0 && len(s) > digits {
		if n, err := strconv.ParseUint(s[1:1+digits], 16, 32); err == nil && n <= utf8.MaxRune {
			return string(rune(n)), 1 + digits
		}
	}
	n, value := 0, 0
	for n < 3 && n < len(s) && s[n] >= '0' && s[n] <= '7' {
		value, n = value*8+int(s[n]-'0'), n+1
	}
	if n > 0 {
		return string(rune(value)), n
	}
	return `\`, 0
}

// replacementFields are the expressions in the body of an f-string, those in
// format specifications too.
func replacementFields(body string) []string {
	var out []string
	for i := 0; i < len(body); i++ {
		switch {
		case strings.HasPrefix(body[i:], "{{") || strings.HasPrefix(body[i:], "}}"):
			i++
		case body[i] == '{':
			n, end, spec := fieldEnds(body[i+1:])
			expr := strings.TrimRight(body[i+1:i+1+n], " =")
			if expr != "" {
				out = append(out, expr)
			}
			out = append(out, replacementFields(spec)...)
			i += 1 + end
		}
	}
	return out
}

// fieldEnds finds where the expression of a field ends, where its } is, and the
// format specification between them.
func fieldEnds(s string) (expr, end int, spec string) {
	depth, expr := 0, -1
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case expr < 0 && (c == '\'' || c == '"'):
			i = quoteEnd(s, i)
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == '}' && depth == 0:
			if expr < 0 {
				expr = i
			}
			return expr, i, s[expr:i]
		case c == ')' || c == ']' || c == '}':
			depth--
		case depth == 0 && expr < 0 && (c == ':' || c == '!' && !strings.HasPrefix(s[i:], "!=")):
			expr = i
		}
	}
	if expr < 0 {
		expr = len(s)
	}
	return expr, len(s), ""
}

// quoteEnd is where the string literal ends that begins at i.
func quoteEnd(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		if s[j] == '\\' {
			j++
		} else if s[j] == s[i] {
			return j
		}
	}
	return len(s)
}

// truth is what is known of an expression as a condition.
type truth int

const (
	unknown truth = iota
	yes
	no
)

// truth evaluates what is plainly always true or always false.
func (w *pyWalker) truth(e *pysrc.Expr) truth {
	e = unparen(e)
	switch e.Kind {
	case pysrc.ConstantExpr:
		return map[string]truth{"True": yes, "False": no, "None": no, "...": yes}[e.Name]
	case pysrc.NumberExpr:
		return truthOf(strings.Trim(e.Name, "0._xXbBoO") != "")
	case pysrc.UnaryExpr:
		if e.Op == "not" {
			return [...]truth{unknown, no, yes}[w.truth(e.Parts[0])]
		}
	case pysrc.BinaryExpr:
		return w.truthOfBoth(e)
	case pysrc.CallExpr:
		return w.truthOfCall(e)
	case pysrc.CompareExpr:
		same := len(e.Parts) == 2 && e.Parts[0].Kind == e.Parts[1].Kind && e.Parts[0].Name == e.Parts[1].Name && len(e.Parts[0].Parts) == 0
		if same && e.Parts[0].Kind != pysrc.StringExpr {
			return map[string]truth{"==": yes, "is": yes, ">=": yes, "<=": yes, "!=": no, "is not": no, "<": no, ">": no}[e.Ops[0].Text]
		}
	}
	return unknown
}

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

func (w *pyWalker) truthOfBoth(e *pysrc.Expr) truth {
	a, b := w.truth(e.Parts[0]), w.truth(e.Parts[1])
	switch {
	case e.Op == "or" && (a == yes || b == yes), e.Op == "and" && a == yes && b == yes:
		return yes
	case e.Op == "and" && (a == no || b == no), e.Op == "or" && a == no && b == no:
		return no
	}
	return unknown
}

// truthOfCall knows bool(x) of a constant and isinstance(x, object).
func (w *pyWalker) truthOfCall(e *pysrc.Expr) truth {
	switch f := w.resolve(e.Parts[0]); {
	case f == "~bool" && len(e.Parts) == 2:
		return w.truth(e.Parts[1])
	case f == "~isinstance" && len(e.Parts) == 3 && w.resolve(e.Parts[2]) == "~object":
		return yes
	}
	return unknown
}
