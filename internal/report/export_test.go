package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func exported() model.Benchmark {
	res := func(p string, o model.Outcome, score float64, message string) model.Result {
		return model.Result{Problem: p, Outcome: o, Score: score, Wall: 250 * time.Millisecond, Message: message, TimedOut: o == model.Timeout}
	}
	b := model.Benchmark{
		ID: "d8d1k0g8a1", Name: "shop", Suites: []string{"unit", "speed"}, Repo: "/srv/<shop>", Commit: "abc", Tree: "def",
		Started: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC), Wall: 1500 * time.Millisecond, Runs: make([]model.RunSummary, 2),
		Score: model.Score{Score: 0.5, Passed: 1}, BuildLog: "x.go:1: \x1b[31mbad\x1b[0m ]]> & <y>",
		Metrics: map[string]model.Metric{"speed/parse": {Unit: "ms", Better: model.BetterLower}},
	}
	for _, second := range []bool{false, true} {
		flaky := res("unit/calc/TestFlaky", model.Pass, 1, "")
		if second {
			flaky = res("unit/calc/TestFlaky", model.Fail, 0, "\x00 zero \xff and <b>")
		}
		metric := res("speed/parse", model.Pass, 1, "")
		metric.Value, metric.Tokens = 12.5, 40
		b.Results = append(b.Results,
			res("unit/TestGood", model.Pass, 1, ""), flaky, res("unit/TestSkipped", model.Skip, 0, "not today"),
			res("unit/TestSlow", model.Timeout, 0, "took 30s"), res("unit/TestBuild", model.BuildFailed, 0, "syntax error"), metric)
	}
	return b
}

func TestJUnit(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Exported(exported()).JUnit(&out))
	require.True(t, strings.HasPrefix(out.String(), "<?xml"))
	require.NotContains(t, out.String(), "\x1b")
	d := xml.NewDecoder(bytes.NewReader(out.Bytes()))
	d.Strict = true
	var all junitSuites
	require.NoError(t, d.Decode(&all))
	require.Equal(t, []any{"shop", 6, 1, 2, 1, "1.500000"}, []any{all.Name, all.Tests, all.Failures, all.Errors, all.Skipped, all.Time})
	require.Len(t, all.Suites, 2)
	unit, speed := all.Suites[0], all.Suites[1]
	require.Equal(t, []any{"unit", 5, 1, 2, 1, "1.250000", "2024-05-06T07:08:09"},
		[]any{unit.Name, unit.Tests, unit.Failures, unit.Errors, unit.Skipped, unit.Time, unit.Timestamp})
	require.Contains(t, unit.Properties, junitProperty{"repo", "/srv/<shop>"})
	require.Contains(t, unit.SystemErr, "]]> & <y>")
	cases := map[string]junitCase{}
	for _, c := range append(unit.Cases, speed.Cases...) {
		require.NotContains(t, cases, c.Name)
		cases[c.Name] = c
	}
	good := cases["TestGood"]
	require.True(t, good.Failure == nil && good.Error == nil && good.Skipped == nil)
	flaky := cases["TestFlaky"]
	require.Equal(t, []string{"unit.calc", "fail", "fail in 1 of 2 rounds", "\uFFFD zero \uFFFD and <b>"},
		[]string{flaky.Class, flaky.Failure.Type, flaky.Failure.Message, flaky.Failure.Text})
	require.Equal(t, "skip in 2 of 2 rounds", cases["TestSkipped"].Skipped.Message)
	require.Equal(t, "timeout", cases["TestSlow"].Error.Type)
	require.Equal(t, []string{"build_failed", "syntax error"}, []string{cases["TestBuild"].Error.Type, cases["TestBuild"].Error.Text})
	require.Subset(t, cases["parse"].Properties.Properties, []junitProperty{{"value", "12.5"}, {"unit", "ms"}, {"tokens", "80"}, {"rounds", "2"}})
}

func TestSplitName(t *testing.T) {
	for name, want := range map[string][2]string{
		"TestX": {"", "TestX"}, "a/b/TestX": {"a/b", "TestX"}, "tests/test_x.py::test[a/b]": {"tests", "test_x.py::test[a/b]"},
		"f[a/b]": {"", "f[a/b]"}, "": {"", ""}, "x/": {"x", ""},
	} {
		dir, base := splitName(name)
		require.Equal(t, want, [2]string{dir, base})
	}
}

func TestJSONExport(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Exported(exported()).JSON(&out))
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	var e Export
	require.NoError(t, d.Decode(&e))
	require.Equal(t, []any{"ratchet.benchmark/1", "d8d1k0g8a1", 1.5, 6}, []any{e.Schema, e.ID, e.Seconds, len(e.Problems)})
	require.Equal(t, []any{"unit/calc/TestFlaky", "unit", "calc/TestFlaky", 0.5, 2},
		[]any{e.Problems[1].ID, e.Problems[1].Suite, e.Problems[1].Name, e.Problems[1].Score, len(e.Problems[1].Runs)})
	require.Nil(t, e.Problems[0].Runs[0].Value)
	require.Equal(t, 12.5, *e.Problems[5].Runs[0].Value)
	require.Equal(t, "ms", e.Problems[5].Metric.Unit)
	require.NotContains(t, out.String(), "null,\n  \"problems\"")
	var empty bytes.Buffer
	require.NoError(t, Exported(model.Benchmark{}).JSON(&empty))
	require.Contains(t, empty.String(), `"problems": []`)
	require.NoError(t, Exported(model.Benchmark{}).JUnit(&empty))
}

func FuzzJUnit(f *testing.F) {
	for _, s := range []string{"a/b", "\x00", "]]>", "\uFFFF\uFFFE", "\xed\xa0\x80", "a//b\r\n"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, id, message string) {
		b := model.Benchmark{Name: message, Repo: id, BuildLog: message, Results: []model.Result{{Problem: id, Outcome: model.Fail, Message: message}}}
		var out bytes.Buffer
		require.NoError(t, Exported(b).JUnit(&out))
		var all junitSuites
		require.NoError(t, xml.Unmarshal(out.Bytes(), &all))
		require.Equal(t, 1, all.Failures)
	})
}
