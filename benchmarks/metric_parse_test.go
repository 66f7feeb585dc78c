package benchmarks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

const goOutput = `goos: linux
pkg: example.com/m/calc
cpu: some
BenchmarkEncode/small-8   	     100	   2000000 ns/op	  12.50 MB/s	     16 B/op	       0 allocs/op
BenchmarkEncode/small-8   	     100	   4000000 ns/op	  12.50 MB/s	     16 B/op	       0 allocs/op
BenchmarkEncode/small-8   	     100	   3000000 ns/op	  12.50 MB/s	     16 B/op	       0 allocs/op
PASS
ok  	example.com/m/calc	1.234s
`

func TestReadMetrics(t *testing.T) {
	for name, c := range map[string]struct {
		out  string
		want []reading
	}{
		"nothing":              {"hello\n", nil},
		"an object":            {`{"b": 2, "a": 1.5}`, []reading{{name: "a", value: 1.5}, {name: "b", value: 2}}},
		"text round it":        {"starting {\nnot { json }\n  {\"a\": 1} done\n{ broken\nbye", []reading{{name: "a", value: 1}}},
		"nested":               {`{"cache": {"hits": 3, "p50": {"ms": 2}}}`, []reading{{name: "cache/hits", value: 3}, {name: "cache/p50/ms", unit: "ms", value: 2, busy: 0.002}}},
		"over lines":           {"{\n \"a\":\n 1\n}\n", []reading{{name: "a", value: 1}}},
		"several objects":      {"{\"a\": 1}\n{\"b\": 2}", []reading{{name: "a", value: 1}, {name: "b", value: 2}}},
		"not numbers":          {`{"a": "x", "b": [1, {"c": [2]}], "d": null, "e": true, "f": 1}`, []reading{{name: "f", value: 1}}},
		"named":                {`{"name": "parse time", "value": 3, "unit": "ms"}` + "\n" + `{"name": "z", "value": 0}`, []reading{{name: "parse_time", unit: "ms", value: 3, busy: 0.003}, {name: "z", value: 0}}},
		"units in names":       {`{"load_seconds": 2, "seconds": 1, "items": 4, "as": 1}`, []reading{{name: "as", value: 1}, {name: "items", value: 4}, {name: "load_seconds", unit: "seconds", value: 2, busy: 2}, {name: "seconds", unit: "seconds", value: 1, busy: 1}}},
		"an empty object":      {`{}`, nil},
		"text that is no UTF8": {"\xff{\n{\"a\": 1}", []reading{{name: "a", value: 1}}},
		"Go": {goOutput, []reading{
			{name: "example.com/m/calc/Encode/small/B/op", unit: "B/op", value: 16, better: model.BetterLower, lines: 3},
			{name: "example.com/m/calc/Encode/small/MB/s", unit: "MB/s", value: 12.5, better: model.BetterHigher, lines: 3},
			{name: "example.com/m/calc/Encode/small/allocs/op", unit: "allocs/op", value: 0, better: model.BetterLower, lines: 3},
			{name: "example.com/m/calc/Encode/small/ns/op", unit: "ns/op", value: 3e6, better: model.BetterLower, busy: 0.9, lines: 3},
		}},
		"Go, custom units":     {"BenchmarkX 1 5 points\nBenchmarkX\nBenchmarkBroken-4 many", []reading{{name: "X/points", unit: "points", value: 5, better: model.BetterLower, lines: 1}}},
		"Go, several packages": {"pkg: a\nBenchmarkX 1 5 B/op\npkg: b\nBenchmarkX 1 6 B/op", []reading{{name: "a/X/B/op", unit: "B/op", value: 5, better: model.BetterLower, lines: 1}, {name: "b/X/B/op", unit: "B/op", value: 6, better: model.BetterLower, lines: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readMetrics([]byte(c.out))
			require.NoError(t, err)
			require.Len(t, got, len(c.want), "%+v", got)
			for i, w := range c.want {
				require.InDelta(t, w.busy, got[i].busy, 1e-9)
				got[i].busy = w.busy
				require.Equal(t, w, got[i])
			}
		})
	}
}

func TestReadMetricsRefuses(t *testing.T) {
	for name, c := range map[string]struct{ out, want string }{
		"twice in two objects":   {"{\"a\": 1}\n{\"a\": 2}", "a is reported twice"},
		"twice in one object":    {`{"a": 1, "a": 2}`, "a is reported twice"},
		"twice in two forms":     {"{\"a\": 1}\n{\"name\": \"a\", \"value\": 1}", "a is reported twice"},
		"equal but for the name": {`{"a b": 1, "a_b": 2}`, "a_b is reported twice"},
		"negative":               {`{"a": -1}`, "a is -1"},
		"out of range":           {`{"a": 1e999}`, "a is 1e999"},
		"no name":                {`{"": 1}`, "a name of 0"},
		"a long name":            {`{"` + strings.Repeat("x", 300) + `": 1}`, "a name of 300"},
		"deep":                   {strings.Repeat(`{"a":`, 20) + "1" + strings.Repeat("}", 20), "nested more than 8"},
		"uneven lines":           {"BenchmarkA 1 1 ns/op\nBenchmarkA 1 1 ns/op\nBenchmarkB 1 1 ns/op", "some benchmarks have 1 lines and others 2"},
		"a negative Go value":    {"BenchmarkA 1 -1 ns/op", "is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readMetrics([]byte(c.out))
			require.ErrorIs(t, err, errReadings)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func FuzzReadMetrics(f *testing.F) {
	for _, s := range []string{goOutput, `{"a": {"b": 1}}`, `{"name": "x", "value": 1, "unit": "ms"}`, "{\n{\n{", "BenchmarkX-2/y 1 0.5 ns/op\nUnit ns/op better=lower\n", `{"a":[{}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		got, err := readMetrics(out)
		if err != nil {
			require.ErrorIs(t, err, errReadings)
			return
		}
		for i, r := range got {
			require.NoError(t, r.check())
			require.GreaterOrEqual(t, r.busy, 0.)
			require.Equal(t, r.name, metricName(r.name))
			require.True(t, i == 0 || got[i-1].name < r.name)
		}
	})
}
