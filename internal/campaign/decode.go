package campaign

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// reader fills a Spec from a syntax tree and collects everything that is wrong.
// Which keys there are follows from the json tags of Spec, as in the schema.
type reader struct {
	errs   *Errors
	places map[string]place // of each key that is in the file
	failed map[string]bool  // keys whose value could not be read: their checks say nothing new
}

// place is a position in the file; both count from 1.
type place struct{ line, col int }

func placeOf(n ast.Node) place {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return placeOf(m.Values[0].Key)
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return place{t.Position.Line, t.Position.Column}
	}
	return place{1, 1}
}

func (r *reader) report(n ast.Node, key, problem, hint string) {
	p := placeOf(n)
	r.errs.add(Error{Line: p.line, Col: p.col, Key: key, Problem: problem, Hint: hint})
}

// spec fills s, which holds the defaults.
func (r *reader) spec(root *ast.MappingNode, s *Spec) {
	r.places[""] = place{1, 1}
	r.mapping(root, "", reflect.ValueOf(s).Elem())
	for i := range s.Suites {
		r.fillSuite(&s.Suites[i], fmt.Sprintf("suites[%d]", i))
	}
	for i := range s.Proposers {
		s.Proposers[i] = s.Proposers[i].filled()
	}
	for i, e := range s.Endpoints {
		r.cachedPrice(fmt.Sprintf("endpoints[%d].price.cached", i), e.Price)
	}
	if !r.given("sandbox.image") && slices.ContainsFunc(s.Suites, Suite.python) {
		s.Sandbox.Image = ImagePython
	}
}

// fillSuite adds the defaults that depend on what else the suite says.
func (r *reader) fillSuite(s *Suite, key string) {
	if !r.given(key+".heldout.share") && (len(s.Heldout.Problems) > 0 || kindRules[s.Kind].noHiding) {
		s.Heldout.Share = 0 // the list takes the place of the default share
	}
	*s = s.filled()
}

// cachedPrice refuses a price of 0 beside that of other input, for which it would be taken.
func (r *reader) cachedPrice(key string, p Price) {
	if !r.given(key) || r.failed[key] || p.Cached != 0 || p.Input == 0 {
		return
	}
	at := r.places[key]
	r.errs.add(Error{Line: at.line, Col: at.col, Key: key, Problem: "0 is out of range beside a price of input",
		Hint: "write what the server asks, however little; remove the key for the price of input"})
}

func (r *reader) given(key string) bool {
	_, ok := r.places[key]
	return ok
}

// read fills v from n, and reports what cannot be.
func (r *reader) read(n ast.Node, key string, v reflect.Value) {
	r.places[key] = placeOf(n)
	if problem, hint := unsupported(n); problem != "" {
		r.fail(n, key, problem, hint)
		return
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		r.unit(n, key, u)
		r.counts(n, key, v)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if m, ok := n.(*ast.MappingNode); ok {
			r.mapping(m, key, v)
		} else {
			r.mismatch(n, key, "keys with values", "write it like {"+strings.Join(keysOf(v.Type())[:1], "")+": …}")
		}
	case reflect.Slice:
		r.list(n, key, v)
	default:
		r.scalar(n, key, v)
		r.counts(n, key, v)
	}
}

func (r *reader) fail(n ast.Node, key, problem, hint string) {
	r.failed[key] = true
	r.report(n, key, problem, hint)
}

func (r *reader) mismatch(n ast.Node, key, want, hint string) {
	if ruleFor(key).secret {
		r.fail(n, key, "expected "+want, "it is "+ruleFor(key).form)
		return
	}
	r.fail(n, key, "expected "+want+", found "+kindOf(n), hint)
}

// mapping fills the struct v from the keys of m.
func (r *reader) mapping(m *ast.MappingNode, key string, v reflect.Value) {
	known := fieldsOf(v)
	seen := map[string]place{}
	for _, entry := range m.Values {
		name, at := textOf(entry.Key), placeOf(entry.Key)
		path := join(key, name)
		field, ok := known[name]
		first, twice := seen[name]
		seen[name] = at
		switch {
		case !ok:
			r.report(entry.Key, path, "there is no such key", keyHint(name, key, v.Type()))
		case twice:
			r.report(entry.Key, path, "the key is given twice", fmt.Sprintf("the first is in line %d; remove one", first.line))
		case entry.Value == nil || entry.Value.Type() == ast.NullType:
			r.fail(entry.Key, path, "the key has no value", "give it one, or remove the key to use the default")
		default:
			r.read(entry.Value, path, field)
		}
	}
}

// list fills the slice v, each element starting from its defaults.
func (r *reader) list(n ast.Node, key string, v reflect.Value) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		r.mismatch(n, key, "a list", "write it like [ … ], or one element a line with - in front")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, e := range seq.Values {
		switch x := out.Index(i).Addr().Interface().(type) {
		case *Suite:
			*x = blankSuite()
		case *Endpoint:
			*x = blankEndpoint()
		}
		r.read(e, fmt.Sprintf("%s[%d]", key, i), out.Index(i))
	}
	v.Set(out)
}

// unit reads a Duration or a Size.
func (r *reader) unit(n ast.Node, key string, u encoding.TextUnmarshaler) {
	var e *unitError
	if err := u.UnmarshalText([]byte(textOf(n))); errors.As(err, &e) {
		found := quote(e.text)
		if _, text := n.(*ast.StringNode); !text {
			found = kindOf(n)
		}
		r.fail(n, key, "expected "+e.what+", found "+found, e.hint)
	}
}

// counts refuses a zero that would not count: where a key may be left out, a Spec
// holds 0 for that, so the default would take the place of what is written.
func (r *reader) counts(n ast.Node, key string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Int, reflect.Int64, reflect.Float64:
	default:
		return
	}
	rule := ruleFor(key)
	if rule.optional && rule.max != 0 && v.IsZero() && !r.failed[key] {
		r.fail(n, key, textOf(n)+" is out of range", "it is "+rule.span(v.Type())+"; "+rule.without())
	}
}

// scalar reads a text or a number.
func (r *reader) scalar(n ast.Node, key string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if !isText(n) {
			r.mismatch(n, key, "a text", "put it in quotes: "+quote(textOf(n)))
			return
		}
		v.SetString(textOf(n))
	case reflect.Int, reflect.Int64:
		r.integer(n, key, v)
	case reflect.Float64:
		r.float(n, key, v)
	}
}

func (r *reader) integer(n ast.Node, key string, v reflect.Value) {
	if i, ok := n.(*ast.IntegerNode); ok {
		if x, ok := i.Value.(int64); ok {
			v.SetInt(x)
			return
		}
		if x, ok := i.Value.(uint64); ok && x <= math.MaxInt64 {
			v.SetInt(int64(x))
			return
		}
	}
	if f, ok := n.(*ast.FloatNode); ok && f.Value == math.Trunc(f.Value) && math.Abs(f.Value) < 1<<53 {
		v.SetInt(int64(f.Value))
		return
	}
	r.mismatch(n, key, "a whole number", numberHint(n))
}

func (r *reader) float(n ast.Node, key string, v reflect.Value) {
	switch x := n.(type) {
	case *ast.FloatNode:
		v.SetFloat(x.Value)
	case *ast.IntegerNode:
		switch i := x.Value.(type) {
		case int64:
			v.SetFloat(float64(i))
		case uint64:
			v.SetFloat(float64(i))
		}
	case *ast.StringNode:
		// The library takes a plain 1e-9, without a point, for a text.
		if f, err := strconv.ParseFloat(x.Value, 64); err == nil && plain(x) && !math.IsInf(f, 0) && !math.IsNaN(f) {
			v.SetFloat(f)
			return
		}
		r.mismatch(n, key, "a number", numberHint(n))
	default:
		r.mismatch(n, key, "a number", numberHint(n))
	}
}

// plain says that a text stands without quotes.
func plain(n *ast.StringNode) bool { return n.Token != nil && n.Token.Type == token.StringType }
