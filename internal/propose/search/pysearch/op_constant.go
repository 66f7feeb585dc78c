package pysearch

import (
	"strconv"
	"strings"

	"ratchet/internal/propose/search/names"
	"ratchet/internal/pysrc"
)

// most bounds the literals taken from elsewhere for one site.
const most = 16

// emitLiteral offers the options for a literal, each once.
func (r *Region) emitLiteral(e *pysrc.Expr, options []option, emit emitter) {
	seen := map[string]bool{r.text(e): true}
	for _, o := range options {
		if !seen[o.text] {
			seen[o.text] = true
			r.becomes(e, o.text, o.weight, emit)
		}
	}
}

// integers changes integer literals: off by one and two, to 0, 1 and -1, in sign,
// by ten, and to other integers of the function, the file and the tests.
func integers(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind != pysrc.NumberExpr {
		return
	}
	v, err := strconv.ParseInt(strings.ReplaceAll(e.Name, "_", ""), 0, 64)
	if err != nil {
		return
	}
	number := func(v int64) string { return strconv.FormatInt(v, 10) }
	options := []option{{number(v + 1), 1}, {number(v - 1), 1}, {"0", 0.6}, {"1", 0.6}, {"-1", 0.3}}
	if v != 0 {
		options = append(options, option{number(-v), 0.3}, option{number(v * 10), 0.2}, option{number(v * 2), 0.25})
	}
	if v >= 10 {
		options = append(options, option{number(v / 10), 0.2})
	}
	if v >= 4 {
		options = append(options, option{number(v / 2), 0.25})
	}
	if v >= 20 && v%10 == 0 { // a round number is mistaken for the next
		options = append(options, option{number(v + 10), 0.4}, option{number(v - 10), 0.4})
	}
	options = append(options, option{number(v + 2), 0.35}, option{number(v - 2), 0.25})
	if v == 0 || v == 1 {
		if r.firstValue(e) {
			options = append(options, option{"float('-inf')", 0.4}, option{"float('inf')", 0.4}, option{"None", 0.15})
		}
	}
	if p := r.parent[e]; p != nil && p.Kind == pysrc.UnaryExpr {
		options = append(options[:2], option{"2", 0.3}, option{"0", 0.4})
	}
	r.emitLiteral(e, append(options, r.otherLiterals(e)...), emit)
}

// firstValue says that the literal is the first value of a variable, as an accumulator has.
func (r *Region) firstValue(e *pysrc.Expr) bool {
	return r.parent[e] == nil && r.role[e] == pysrc.RoleValue && r.owner[e].Kind == "assign"
}

// constants changes floats, booleans and None.
func constants(r *Region, e *pysrc.Expr, emit emitter) {
	switch {
	case e.Kind == pysrc.ConstantExpr && e.Name == "True":
		r.becomes(e, "False", 1, emit)
	case e.Kind == pysrc.ConstantExpr && e.Name == "False":
		r.becomes(e, "True", 1, emit)
	case isNone(e):
		for i, t := range []string{"0", "''", "[]", "False", "True", "{}"} {
			r.becomes(e, t, 0.5/float64(i+1), emit)
		}
	case e.Kind == pysrc.NumberExpr && r.kindOf(e).name == "float":
		if v, err := strconv.ParseFloat(strings.ReplaceAll(e.Name, "_", ""), 64); err == nil {
			r.emitLiteral(e, append(floatOptions(v), r.otherLiterals(e)...), emit)
		}
	case e.Kind == pysrc.ListExpr && len(e.Parts) == 0 && r.firstValue(e):
		r.becomes(e, "{}", 0.3, emit)
		r.becomes(e, "set()", 0.3, emit)
	case e.Kind == pysrc.ListExpr && len(e.Parts) == 0 && r.owner[e].Kind == "return":
		r.becomes(e, "None", 0.5, emit)
	}
}

func floatOptions(v float64) []option {
	f := func(v float64) string {
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	}
	options := []option{{"0.0", 0.7}, {"1.0", 0.7}, {f(v + 1), 0.5}, {f(v - 1), 0.5}, {f(-v), 0.5}, {f(v * 10), 0.6}, {f(v / 10), 0.6}, {f(v * 2), 0.5}, {f(v / 2), 0.5}, {f(1 - v), 0.5}, {"0.5", 0.4}, {"2.0", 0.4}}
	if v != 0 {
		options = append(options, option{f(1 / v), 0.3})
	}
	return options
}

// stringConstants changes string literals: trimmed, spaced, in case, empty, with
// one character less, and to other strings of the function, the file and the tests.
func stringConstants(r *Region, e *pysrc.Expr, emit emitter) {
	if e.Kind != pysrc.StringExpr || r.owner[e].Kind == "expr" && r.parent[e] == nil {
		return
	}
	prefix, quotes, s := pysrc.SplitString(e.Name)
	if e.Last-e.First != 1 || prefix != "" && prefix != "f" || len(s) > 200 {
		return
	}
	var options []option
	add := func(t string, w float64) {
		if t != s {
			options = append(options, option{e.Name[:len(prefix)] + quotes + t + quotes, w})
		}
	}
	if s == "" {
		for i, t := range []string{" ", ",", "\\n", ", ", "-", "_", ".", "0"} {
			add(t, 0.6/(1+0.5*float64(i)))
		}
	} else {
		r.corrected(s, add)
		add(strings.TrimSpace(s), 0.8)
		if !strings.ContainsAny(s, "\\{") {
			add(strings.ToLower(s), 0.6)
			add(strings.ToUpper(s), 0.4)
		}
		add("", 0.5)
		r.trimmed(s, add)
		for _, v := range formats(s) {
			add(v, 0.5)
		}
	}
	r.emitLiteral(e, append(options, r.otherLiterals(e)...), emit)
}

// corrected offers a string with what failing tests show to be missing or too much.
func (r *Region) corrected(s string, add func(string, float64)) {
	for _, piece := range r.mod.excess {
		if strings.Contains(s, piece) {
			add(strings.Replace(s, piece, "", 1), 1)
			for _, other := range r.mod.missing {
				add(strings.Replace(s, piece, other, 1), 1)
			}
		}
	}
	for _, piece := range r.mod.missing {
		add(s+piece, 0.5)
		add(piece+s, 0.5)
	}
}

// trimmed offers a string with less or more at its ends.
func (r *Region) trimmed(s string, add func(string, float64)) {
	escaped := strings.ContainsAny(s, "\\{}%")
	if runes := []rune(s); len(runes) > 1 && !escaped {
		add(string(runes[:len(runes)-1]), 0.5)
		add(string(runes[1:]), 0.4)
	}
	add(strings.TrimSuffix(s, "\\n"), 0.5)
	add(strings.Trim(s, ".,:;!?"), 0.4)
	add(s+" ", 0.3)
	add(" "+s, 0.3)
	if len(s) > 2 {
		add(s+"\\n", 0.2)
		add(s+".", 0.15)
	}
	if other, ok := counterpart(s); ok {
		add(other, 0.8)
	}
}

// counterpart is the other of two strings that are easily confused.
func counterpart(s string) (string, bool) {
	pairs := strings.Fields("( ) [ ] { } < > a z A Z 0 9 + - * / , ; . , : ; ' \" / \\\\ \\n \\r _ - a A even odd yes no YES NO Yes No true false")
	for i := 0; i+1 < len(pairs); i += 2 {
		if s == pairs[i] {
			return pairs[i+1], true
		}
		if s == pairs[i+1] {
			return pairs[i], true
		}
	}
	return "", false
}

// formats exchanges format specifications that are easily confused.
func formats(s string) []string {
	var out []string
	for _, p := range [][2]string{{"%s", "%r"}, {"%d", "%s"}, {"%r", "%s"}, {"%f", "%.2f"}, {":.1f", ":.2f"}, {":.2f", ":.1f"}, {":.2f", ":.3f"}, {"!r", ""}, {":<", ":>"}, {":>", ":<"}, {":,", ""}} {
		if strings.Contains(s, p[0]) {
			out = append(out, strings.Replace(s, p[0], p[1], 1))
		}
	}
	return out
}

// otherLiterals are literals of the function, the file and the tests, in this order.
func (r *Region) otherLiterals(e *pysrc.Expr) []option {
	var out []option
	seen := map[string]bool{}
	add := func(v string, w float64) {
		if !seen[v] && len(out) < most && len(v) < 80 {
			seen[v] = true
			out = append(out, option{v, w * (1 - float64(len(out))/(most+4))})
		}
	}
	for _, v := range r.literals[e.Kind] {
		add(v, 0.6)
	}
	for _, v := range names.SortedByCloseness(r.mod.near[e.Kind], e.Name) {
		w := 0.3
		if r.mod.test[e.Kind][v] > 0 {
			w = 0.5
		}
		add(v, w)
	}
	for _, v := range names.SortedByCloseness(r.mod.test[e.Kind], e.Name) {
		if e.Kind == pysrc.NumberExpr { // inputs and results of tests are rarely constants of the code
			add(v, 0.1)
		} else {
			add(v, 0.3)
		}
	}
	return out
}
