package benchmarks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// compareOutput returns what differs between what a case expects and what was
// printed, in a few words; empty when nothing does.
func (c *execCase) compareOutput(got []byte) string {
	switch c.compare {
	case CompareExact:
		return diffLines(splitLines(c.expected), splitLines(got))
	case CompareNumeric:
		return diffNumbers(c.expected, got, c.tolerance)
	case CompareJSON:
		return diffJSON(c.expected, got, c.tolerance)
	default:
		return diffLines(trimmed(c.expected), trimmed(got))
	}
}

// splitLines splits a text such that it is equal to another exactly when all
// its lines are.
func splitLines(b []byte) []string { return strings.Split(string(b), "\n") }

// trimmed lists the lines without white space at their ends, and without empty
// lines at the beginning and the end of the text.
func trimmed(b []byte) []string {
	lines := splitLines(b)
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r\f\v")
	}
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func diffLines(want, got []string) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("line %d: want %s, and the output ends before it", i+1, short(want[i]))
		case i >= len(want):
			return fmt.Sprintf("line %d: got %s, and no such line is expected", i+1, short(got[i]))
		case want[i] != got[i]:
			return fmt.Sprintf("line %d: want %s, got %s", i+1, short(want[i]), short(got[i]))
		}
	}
	return ""
}

// short quotes a text, cut where it is long.
func short(s string) string {
	const most = 200
	if len(s) > most {
		return strconv.Quote(s[:most]) + "…"
	}
	return strconv.Quote(s)
}

// diffNumbers compares words; those that are numbers on both sides may differ
// by the tolerance.
func diffNumbers(want, got []byte, tolerance float64) string {
	w, g := strings.Fields(string(want)), strings.Fields(string(got))
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] && !closeNumbers(w[i], g[i], tolerance) {
			return fmt.Sprintf("word %d: want %s, got %s", i+1, short(w[i]), short(g[i]))
		}
	}
	if len(w) != len(g) {
		return fmt.Sprintf("want %d words, got %d", len(w), len(g))
	}
	return ""
}

// closeNumbers reports whether both texts are numbers that differ by no more
// than the tolerance, taken absolutely or relative to the larger one. All NaN are
// equal, an infinity equals only itself, and what does not fit into 64 bits is
// no number. Integers of which floating point would lose digits have to be equal.
func closeNumbers(want, got string, tolerance float64) bool {
	a, err1 := strconv.ParseFloat(want, 64)
	b, err2 := strconv.ParseFloat(got, 64)
	if err1 != nil || err2 != nil {
		return bigEqual(want, got)
	}
	if math.Abs(a) > 1<<53 && math.Abs(b) > 1<<53 && isInteger(want) && isInteger(got) {
		return bigEqual(want, got)
	}
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return math.IsNaN(a) && math.IsNaN(b)
	case math.IsInf(a, 0) || math.IsInf(b, 0):
		return a == b
	}
	d := math.Abs(a - b)
	return d <= tolerance || d <= tolerance*max(math.Abs(a), math.Abs(b))
}

func isInteger(s string) bool {
	digits := strings.TrimLeft(s, "+-")
	return digits != "" && len(s)-len(digits) <= 1 && strings.Trim(digits, "0123456789") == ""
}

// bigEqual compares integers of any length by their digits: to convert millions
// of them, which anybody can print, takes hours.
func bigEqual(want, got string) bool {
	return isInteger(want) && isInteger(got) && canonicalInteger(want) == canonicalInteger(got)
}

// canonicalInteger has no plus sign and no zeros in front.
func canonicalInteger(s string) string {
	digits := strings.TrimLeft(strings.TrimLeft(s, "+-"), "0")
	if digits == "" {
		return "0"
	}
	if s[0] == '-' {
		return "-" + digits
	}
	return digits
}

// diffJSON compares two JSON values: objects by keys in any order, arrays
// element by element, numbers within the tolerance.
func diffJSON(want, got []byte, tolerance float64) string {
	w, err := decodeJSON(want)
	if err != nil {
		return "what is expected is no JSON: " + err.Error()
	}
	g, err := decodeJSON(got)
	if err != nil {
		return "the output is no JSON: " + err.Error()
	}
	return diffValues("$", w, g, tolerance)
}

func decodeJSON(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}

// diffValues names the first place, as a path from "$", at which values differ.
func diffValues(at string, want, got any, tolerance float64) string {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			return diffObjects(at, w, g, tolerance)
		}
	case []any:
		if g, ok := got.([]any); ok {
			return diffArrays(at, w, g, tolerance)
		}
	case json.Number:
		if g, ok := got.(json.Number); ok && (w == g || closeNumbers(w.String(), g.String(), tolerance)) {
			return ""
		}
	default: // string, bool, nil
		if want == got {
			return ""
		}
	}
	return fmt.Sprintf("%s: want %s, got %s", at, encoded(want), encoded(got))
}

func diffObjects(at string, want, got map[string]any, tolerance float64) string {
	for _, k := range slices.Sorted(maps.Keys(want)) {
		g, ok := got[k]
		if !ok {
			return fmt.Sprintf("%s: the key %s is missing", at, short(k))
		}
		if d := diffValues(at+"."+k, want[k], g, tolerance); d != "" {
			return d
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok {
			return fmt.Sprintf("%s: the key %s is not expected", at, short(k))
		}
	}
	return ""
}

func diffArrays(at string, want, got []any, tolerance float64) string {
	for i := range min(len(want), len(got)) {
		if d := diffValues(fmt.Sprintf("%s[%d]", at, i), want[i], got[i], tolerance); d != "" {
			return d
		}
	}
	if len(want) != len(got) {
		return fmt.Sprintf("%s: want %d elements, got %d", at, len(want), len(got))
	}
	return ""
}

// encoded writes a value as JSON, cut where it is long. What was decoded can be encoded.
func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(b) > 200 {
		return string(b[:200]) + "…"
	}
	return string(b)
}
