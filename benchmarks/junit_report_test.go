package benchmarks

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"ratchet/internal/model"
)

// Reports as their programs write them.
const (
	surefireReport = `<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" name="com.acme.CalcTest" time="1,234.567" tests="4" errors="1" skipped="1" failures="1">
  <properties><property name="java.version" value="21"/></properties>
  <testcase name="adds" classname="com.acme.CalcTest" time="0.004"><system-out><![CDATA[<testcase name="not one"/>]]></system-out></testcase>
  <testcase name="divides" classname="com.acme.CalcTest" time="0,002">
    <failure message="expected: &lt;1&gt;" type="java.lang.AssertionError"><![CDATA[at CalcTest.java:3]]></failure>
    <rerunFailure message="again" type="x"><stackTrace>s</stackTrace></rerunFailure>
  </testcase>
  <testcase name="flaky" classname="com.acme.CalcTest"><flakyFailure message="once"/></testcase>
  <testcase name="breaks" classname="com.acme.CalcTest"><error type="java.lang.NullPointerException"/></testcase>
  <testcase name="waits" classname="com.acme.CalcTest"><skipped/></testcase>
</testsuite>`
	pytestReport = `<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" errors="0" failures="1" skipped="1" tests="3" time="0.020" timestamp="2026-01-01T00:00:00" hostname="x"><testcase classname="tests.test_calc.TestAdd" name="test_one[a/b-1]" time="0.001" /><testcase classname="tests.test_calc" name="test_two" time="0.001"><failure message="assert 1 == 2">def test_two():
&gt;       assert 1 == 2</failure></testcase><testcase classname="tests.test_calc" name="test_three" time="0.000"><skipped type="pytest.skip" message="later">x</skipped></testcase></testsuite></testsuites>`
	gotestsumReport = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="2" failures="1" errors="0" time="0.3">
	<testsuite tests="2" failures="1" time="0.200000" name="example.com/m/calc" timestamp="2026-01-01T00:00:00Z">
		<properties><property name="go.version" value="go1.26"></property></properties>
		<testcase classname="example.com/m/calc" name="TestAdd" time="0.000000"></testcase>
		<testcase classname="example.com/m/calc" name="TestAdd/two" time="0.000000"><failure message="Failed" type="">=== RUN</failure></testcase>
	</testsuite>
</testsuites>`
	jestReport = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="jest tests" tests="2" failures="0" errors="0" time="0.5">
  <testsuite name="calc" errors="0" failures="0" skipped="0" tests="2" file="/box/src/src/calc.test.js">
    <testcase classname="calc adds › numbers" name="calc adds › numbers" time="0.002"></testcase>
    <testcase name="top level" time="0.002"></testcase>
  </testsuite>
</testsuites>`
	nestedReport = `<testsuites><testsuite name="outer" tests="2" failures="1"><testsuite name="inner" tests="1" failures="1"><testcase name="a"><failure/></testcase></testsuite><testcase name="b"/></testsuite></testsuites>`
)

func TestParseJUnit(t *testing.T) {
	s := junitSuiteOf(t, Config{})
	for name, c := range map[string]struct {
		report     string
		want       string // outcomes by problem
		consistent bool
	}{
		"surefire": {surefireReport, "unit/com/acme/CalcTest/adds=pass unit/com/acme/CalcTest/divides=fail unit/com/acme/CalcTest/flaky=pass " +
			"unit/com/acme/CalcTest/breaks=fail unit/com/acme/CalcTest/waits=skip", false}, // states 4 tests
		"pytest":               {pytestReport, "unit/tests/test_calc/TestAdd/test_one[a/b-1]=pass unit/tests/test_calc/test_two=fail unit/tests/test_calc/test_three=skip", true},
		"gotestsum":            {gotestsumReport, "unit/example.com/m/calc/TestAdd=pass unit/example.com/m/calc/TestAdd/two=fail", true},
		"jest":                 {jestReport, "unit/calc adds › numbers/calc adds › numbers=pass unit/src/calc.test.js/top level=pass", true},
		"nested":               {nestedReport, "unit/inner/a=fail unit/outer/b=pass", true},
		"status":               {`<testsuite><testcase name="a" status="notrun"/><testcase name="b" status="run"/><testcase name="c" status="FAILED"/></testsuite>`, "unit/a=skip unit/b=pass unit/c=fail", true},
		"odd names":            {`<testsuite><testcase classname="../../a\b" name="x&#10;y"/><testcase classname="a::b" name="n"/></testsuite>`, "unit/_/_/a/b/x y=pass unit/a/b/n=pass", true},
		"elsewhere":            {`<testsuite><group><testcase name="a"/></group></testsuite>`, "unit/a=pass", true},
		"no cases":             {`<testsuites/>`, "", true},
		"too few":              {`<testsuite tests="2"><testcase name="a"/></testsuite>`, "unit/a=pass", false},
		"failures":             {`<testsuite failures="0"><testcase name="a"><failure/></testcase></testsuite>`, "unit/a=fail", false},
		"skipped, then failed": {`<testsuite><testcase name="a"><skipped/><failure/></testcase></testsuite>`, "unit/a=fail", true},
	} {
		t.Run(name, func(t *testing.T) {
			cases, consistent, err := parseJUnit([]byte(c.report))
			require.NoError(t, err)
			var got []string
			for _, k := range cases {
				got = append(got, s.problem(k).ID+"="+string(k.outcome))
			}
			require.Equal(t, c.want, strings.Join(got, " "))
			require.Equal(t, c.consistent, consistent)
		})
	}
	cases, _, err := parseJUnit([]byte(surefireReport))
	require.NoError(t, err)
	require.Equal(t, []time.Duration{4 * time.Millisecond, 2 * time.Millisecond}, []time.Duration{cases[0].wall, cases[1].wall})
	require.Equal(t, "expected: <1>\nat CalcTest.java:3again\ns", cases[1].message)
}

func TestJUnitTime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1.5": 1500 * time.Millisecond, "1,234.5": 1234500 * time.Millisecond, "0,25": 250 * time.Millisecond, " 2 ": 2 * time.Second,
		"": 0, "x": 0, "-1": 0, "NaN": 0, "1e300": 24 * time.Hour, "1,2,3": 0,
	} {
		require.Equal(t, want, junitTime(text), text)
	}
}

func TestJUnitEncodings(t *testing.T) {
	const body = `<testsuite name="ä"><testcase name="größe"/></testsuite>`
	latin, err := charmap.ISO8859_1.NewEncoder().String(`<?xml version="1.0" encoding="ISO-8859-1"?>` + body)
	require.NoError(t, err)
	wide, err := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String(`<?xml version="1.0" encoding="UTF-16"?>` + body)
	require.NoError(t, err)
	for _, text := range []string{body, "\ufeff" + `<?xml version="1.0" encoding="UTF-8"?>` + body, latin, wide} {
		cases, _, err := parseJUnit([]byte(text))
		require.NoError(t, err)
		require.Equal(t, "größe", cases[0].name)
	}
}

func TestBadReports(t *testing.T) {
	bomb := `<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;">]>`
	for name, c := range map[string]struct{ report, want string }{
		"empty":           {"", "no testsuites or testsuite"},
		"not XML":         {"ok\n", "no testsuites"},
		"cut":             {`<testsuite><testcase name="a"/>`, "unexpected EOF"},
		"other root":      {`<html><testcase name="a"/></html>`, `"html"`},
		"document type":   {bomb + `<testsuite><testcase name="&lol2;"/></testsuite>`, "document type"},
		"external entity": {`<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>`, "document type"},
		"unknown entity":  {`<testsuite><testcase name="&x;"/></testsuite>`, "entity"},
		"no name":         {`<testsuite>` + "\n" + `<testcase classname="a"/></testsuite>`, "line 2: a test case without a name"},
		"case in a case":  {`<testsuite><testcase name="a"><testcase name="b"/></testcase></testsuite>`, "inside a test case"},
		"suite in a case": {`<testsuite><testcase name="a"><testsuite/></testcase></testsuite>`, "inside a test case"},
		"deep":            {strings.Repeat("<testsuite>", 100), "nested more than"},
		"encoding":        {`<?xml version="1.0" encoding="x-none"?><testsuite/>`, "x-none"},
		"many":            {`<testsuite>` + strings.Repeat(`<testcase name="a"/>`, maxCases+1) + `</testsuite>`, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := parseJUnit([]byte(c.report))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestTallies(t *testing.T) {
	for text, want := range map[string]int{
		"=== 2 failed, 3 passed, 1 error in 0.02s ===": 3, "5 passed in 1.20s": 0, "==== 1 failed, 1 passed in 61.00s (0:01:01) ====": 1,
		"DONE 12 tests, 1 failure in 0.3s": 1, "DONE 3 tests in 1s": 0, "DONE 3 tests, 2 failures, 1 error in 1s": 3,
		"FAILED (failures=1, errors=2)": 3, "OK": 0, "OK (skipped=1)": 0,
		"Tests:       1 failed, 2 passed, 3 total": 1, "      Tests  2 failed | 3 passed (5)": 2,
		"     Summary [   0.1s] 3 tests run: 2 passed, 1 failed, 0 skipped": 1,
		"Tests run: 9, Failures: 1, Errors: 2, Skipped: 0":                  3,
	} {
		found := false
		for _, r := range tallies {
			if n, ok := r.read([]byte("noise\n" + text + "\n")); ok {
				found = true
				require.Equal(t, want, n, text)
			}
		}
		require.True(t, found, text)
	}
	for _, r := range tallies {
		_, ok := r.read([]byte("1 failed to connect\nnot DONE\n"), nil)
		require.False(t, ok)
	}
}

// Whatever a report holds, reading it ends, every case that is read has a name and
// an outcome, and its problem an id that is a clean path.
func FuzzParseJUnit(f *testing.F) {
	for _, seed := range []string{surefireReport, pytestReport, gotestsumReport, jestReport, nestedReport, "\xff\xfe<\x00", "<!DOCTYPE x>"} {
		f.Add([]byte(seed))
	}
	s := &junitSuite{}
	s.cfg = Config{Name: "unit", Root: "."}
	f.Fuzz(func(t *testing.T, data []byte) {
		cases, _, err := parseJUnit(data)
		if err != nil {
			require.Empty(t, cases)
			return
		}
		require.LessOrEqual(t, len(cases), bytes.Count(data, []byte("testcase"))+bytes.Count(data, []byte("t\x00e\x00s\x00t\x00c"))+bytes.Count(data, []byte("t\x00c\x00a\x00s\x00e")))
		for _, c := range cases {
			require.Contains(t, []model.Outcome{model.Pass, model.Fail, model.Skip}, c.outcome)
			p := s.problem(c)
			require.NotContains(t, p.Package, "..")
			require.LessOrEqual(t, len(p.ID), 2*maxNamePart+10)
			require.GreaterOrEqual(t, c.wall, time.Duration(0))
		}
	})
}
