package benchmarks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

	"ratchet/internal/model"
)

// Bounds of what is read from a command's output.
const (
	maxMetrics     = 10_000
	maxMetricName  = 200      // bytes
	maxMetricDepth = 8        // of nested objects
	maxBadObjects  = 1_000    // texts that begin like an object and are none
	maxBenchLine   = 64 << 10 // bytes; longer lines hold no benchmark
)

// errReadings is wrapped by every error about what a command printed, errForged
// besides by those that an honest command cannot cause on one tree and not on another.
var (
	errReadings = errors.New("the metrics cannot be read")
	errForged   = errors.New("something else printed results too")
)

// reading is one number that a command printed.
type reading struct {
	name, unit string
	value      float64
	better     model.Better // where the format says so
	busy       float64      // seconds that were spent on measuring it, at the least; 0 when that is not known
	lines      int          // of a Go benchmark, from which the value was taken
}

// readMetrics reads the numbers from a command's output, sorted by name. They are
// lines in the format of Go benchmarks, JSON objects of name and number (nested
// ones joined by "/"), or JSON objects with the keys name, value and unit; text
// round them is left out. A name that has two values is an error, but for the
// lines of one Go benchmark, which -count repeats: of those it is the median.
func readMetrics(out []byte) ([]reading, error) {
	all, err := readGoBench(out)
	if err != nil {
		return nil, err
	}
	more, err := readJSON(out)
	if err != nil {
		return nil, err
	}
	all = append(all, more...)
	slices.SortStableFunc(all, func(a, b reading) int { return strings.Compare(a.name, b.name) })
	for i, r := range all {
		if i > 0 && all[i-1].name == r.name {
			return nil, fmt.Errorf("%w: %s is reported twice: %w", errReadings, r.name, errForged)
		}
	}
	if len(all) > maxMetrics {
		return nil, fmt.Errorf("%w: there are more than %d", errReadings, maxMetrics)
	}
	return all, nil
}

// metricName makes a name fit for the id of a problem.
func metricName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("_-./:=%+@#", r):
			return r
		}
		return '_'
	}, s)
	return strings.Trim(s, "/")
}

// goSeries are the lines of one Go benchmark and unit.
type goSeries struct {
	reading
	values []float64
}

// readGoBench reads the format of golang.org/design/14313-benchmark-format. The
// name of a metric is the package's path, if it was printed, the benchmark without the
// number of processors, and the unit: "example.com/codec/Encode/small/ns/op".
func readGoBench(out []byte) ([]reading, error) {
	series, lines := map[string]*goSeries{}, map[string]int{}
	var order []string
	r := benchfmt.NewReader(bytes.NewReader(benchLines(out)), "output")
	for r.Scan() {
		res, ok := r.Result().(*benchfmt.Result)
		if !ok {
			continue // a line that only looks like a result
		}
		bench := metricName(res.GetConfig("pkg") + "/" + goBenchName(res.Name))
		lines[bench]++
		for _, v := range res.Values {
			value, unit := v.Value, v.Unit
			if v.OrigUnit != "" {
				value, unit = v.OrigValue, v.OrigUnit
			}
			name := metricName(bench + "/" + unit)
			s := series[name]
			if s == nil {
				if len(order) >= maxMetrics {
					return nil, fmt.Errorf("%w: there are more than %d", errReadings, maxMetrics)
				}
				s = &goSeries{reading: reading{name: name, unit: unit, better: goBetter(unit)}}
				series[name], order = s, append(order, name)
			}
			s.values = append(s.values, value)
			if unit == "ns/op" {
				s.busy += value * 1e-9 * float64(res.Iters)
			}
		}
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", errReadings, err)
	}
	if err := evenLines(lines); err != nil {
		return nil, err
	}
	all := make([]reading, 0, len(order))
	for _, name := range order {
		s := series[name]
		s.value, s.lines = medianOf(s.values), len(s.values)
		if err := s.check(); err != nil {
			return nil, err
		}
		all = append(all, s.reading)
	}
	return all, nil
}

// benchLines keeps the lines that can belong to benchmarks.
func benchLines(out []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(out) {
		known := bytes.HasPrefix(line, []byte("Benchmark")) || bytes.HasPrefix(line, []byte("pkg:"))
		if known && len(line) < maxBenchLine {
			kept = append(kept, line...)
		}
	}
	return kept
}

// goBenchName is a benchmark's name without the number of processors, which
// differs between hosts. Where one run has several (-cpu) they are told apart no more.
func goBenchName(n benchfmt.Name) string {
	base, parts := n.Parts()
	name := string(base)
	for _, p := range parts {
		if p[0] != '-' {
			name += string(p)
		}
	}
	return name
}

// goBetter says which way the numbers of a Go benchmark improve: rates are to
// rise, costs to fall.
func goBetter(unit string) model.Better {
	if strings.HasSuffix(unit, "/s") {
		return model.BetterHigher
	}
	return model.BetterLower
}

// evenLines checks that each benchmark has as many lines as every other: -count
// repeats them all, and what is printed in their name by something else shows.
func evenLines(lines map[string]int) error {
	least, most := math.MaxInt, 0
	for _, n := range lines {
		least, most = min(least, n), max(most, n)
	}
	if len(lines) > 0 && least != most {
		return fmt.Errorf("%w: some benchmarks have %d lines and others %d: %w", errReadings, least, most, errForged)
	}
	return nil
}

// readJSON reads every JSON object that begins a line.
func readJSON(out []byte) ([]reading, error) {
	var all []reading
	bad := 0
	for len(out) > 0 && bad < maxBadObjects {
		line := bytes.TrimLeft(out, " \t\r\n")
		if len(line) > 0 && line[0] == '{' {
			dec := json.NewDecoder(bytes.NewReader(line))
			var object json.RawMessage
			if err := dec.Decode(&object); err == nil {
				rs, err := flatten(object)
				if err != nil {
					return nil, err
				}
				if all = append(all, rs...); len(all) > maxMetrics {
					return nil, fmt.Errorf("%w: there are more than %d", errReadings, maxMetrics)
				}
				out = line[dec.InputOffset():]
				continue
			}
			bad++
		}
		end := bytes.IndexByte(line, '\n')
		if end < 0 {
			break
		}
		out = line[end+1:]
	}
	return all, nil
}

// flatten lists the numbers of one object. Texts, truth values, lists and null are left out.
func flatten(object json.RawMessage) ([]reading, error) {
	if r, ok := named(object); ok {
		return []reading{r}, r.check()
	}
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.UseNumber()
	if _, err := dec.Token(); err != nil { // the opening brace
		return nil, fmt.Errorf("%w: %w", errReadings, err)
	}
	return walk(dec, "", 1, nil)
}

// named reads an object of the keys name, value and perhaps unit.
func named(object json.RawMessage) (reading, bool) {
	var x struct {
		Name  *string  `json:"name"`
		Value *float64 `json:"value"`
		Unit  string   `json:"unit"`
	}
	if json.Unmarshal(object, &x) != nil || x.Name == nil || x.Value == nil {
		return reading{}, false
	}
	r := reading{name: metricName(*x.Name), unit: x.Unit, value: *x.Value}
	r.busy = r.value * secondsPer(r.name, r.unit)
	return r, true
}

// walk reads the rest of an object whose names begin with prefix.
func walk(dec *json.Decoder, prefix string, depth int, all []reading) ([]reading, error) {
	if depth > maxMetricDepth {
		return nil, fmt.Errorf("%w: objects are nested more than %d deep", errReadings, maxMetricDepth)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errReadings, err)
		}
		name := prefix + fmt.Sprint(key)
		value, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errReadings, err)
		}
		switch v := value.(type) {
		case json.Number:
			r, err := numbered(name, v)
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		case json.Delim:
			if all, err = nest(dec, v, name, depth, all); err != nil {
				return nil, err
			}
		}
	}
	_, err := dec.Token() // the closing brace
	return all, err
}

// nest reads an object within an object, or passes over a list.
func nest(dec *json.Decoder, open json.Delim, name string, depth int, all []reading) ([]reading, error) {
	if open == '{' {
		return walk(dec, name+"/", depth+1, all)
	}
	for level := 1; level > 0; {
		t, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errReadings, err)
		}
		switch t {
		case json.Delim('['), json.Delim('{'):
			level++
		case json.Delim(']'), json.Delim('}'):
			level--
		}
	}
	return all, nil
}

func numbered(name string, n json.Number) (reading, error) {
	v, err := n.Float64()
	if err != nil {
		return reading{}, fmt.Errorf("%w: %s is %s", errReadings, metricName(name), n)
	}
	r := reading{name: metricName(name), value: v}
	r.unit, r.busy = unitOf(r.name), v*secondsPer(r.name, "")
	return r, r.check()
}

// check refuses what no metric can be.
func (r reading) check() error {
	switch {
	case r.name == "" || len(r.name) > maxMetricName:
		return fmt.Errorf("%w: a name of %d characters", errReadings, len(r.name))
	case !(model.Metric{}).Valid(r.value):
		return fmt.Errorf("%w: %s is %g, want a finite number that is not negative", errReadings, r.name, r.value)
	}
	return nil
}

// timeUnits are the units of time that are known, in seconds.
var timeUnits = map[string]float64{
	"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "sec": 1, "min": 60,
	"nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1, "minutes": 60,
}

// secondsPer is how many seconds one of a metric is, by its unit or by the end
// of its name, such as "parse_ms"; 0 when it is no time.
func secondsPer(name, unit string) float64 {
	if unit == "" {
		unit = unitOf(name)
	}
	return timeUnits[unit]
}

// unitOf is the unit of time that a name ends with, or nothing.
func unitOf(name string) string {
	last := name[strings.LastIndexAny(name, "_/.-")+1:]
	if _, ok := timeUnits[last]; ok {
		return last
	}
	return ""
}

// medianOf is the middle value, the mean of the two in the middle.
func medianOf(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	n := len(xs)
	return (xs[(n-1)/2] + xs[n/2]) / 2
}
