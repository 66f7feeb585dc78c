package campaign

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSuiteKinds reads one suite of each kind, with its defaults.
func TestSuiteKinds(t *testing.T) {
	minute, none := Duration(time.Minute), Heldout{}
	share := Heldout{Share: 0.25}
	for _, c := range []struct {
		text  string
		want  Suite
		image string
	}{
		{`{name: unit}`, Suite{Kind: SuiteGoTest, Heldout: share, Packages: []string{"./..."}}, ImageGo},
		{`{name: unit, root: services/api, weight: 2.5}`, Suite{Kind: SuiteGoTest, Heldout: share, Packages: []string{"./..."}, Root: "services/api", Weight: 2.5}, ImageGo},
		{`{name: unit, kind: pytest}`, Suite{Kind: SuitePyTest, Heldout: share}, ImagePython},
		{`{name: unit, kind: pytest, args: [tests, -m, not slow]}`, Suite{Kind: SuitePyTest, Heldout: share, Args: []string{"tests", "-m", "not slow"}}, ImagePython},
		{
			`{name: unit, kind: junit, command: [cargo, test], report: target/report.xml, harness: ["tests/**"]}`,
			Suite{Kind: SuiteJUnit, Heldout: none, Command: []string{"cargo", "test"}, Report: "target/report.xml", Harness: []string{"tests/**"}}, ImageGo,
		},
		{
			`{name: unit, kind: exec, command: [python3, calc.py], cases: cases}`,
			Suite{Kind: SuiteExec, Heldout: share, Command: []string{"python3", "calc.py"}, Cases: "cases", Compare: CompareTrimmed, Tolerance: 1e-9}, ImagePython,
		},
		{
			`{name: unit, kind: exec, prepare: [[go, build, -o, app, .]], command: [./app], cases: c.jsonl, compare: json, tolerance: 0.01}`,
			Suite{Kind: SuiteExec, Heldout: share, Prepare: [][]string{{"go", "build", "-o", "app", "."}}, Command: []string{"./app"}, Cases: "c.jsonl", Compare: CompareJSON, Tolerance: 0.01}, ImageGo,
		},
		{
			`{name: unit, kind: metric, command: [python3, bench.py], better: lower, metrics: [wall]}`,
			Suite{Kind: SuiteMetric, Heldout: none, Command: []string{"python3", "bench.py"}, Better: BetterLower, MinEffect: 0.05, Metrics: []string{"wall"}}, ImagePython,
		},
		{
			`{name: unit, kind: metric, command: [go, test, -bench, .], min_effect: 0.1}`,
			Suite{Kind: SuiteMetric, Heldout: none, Command: []string{"go", "test", "-bench", "."}, MinEffect: 0.1}, ImageGo,
		},
	} {
		s, err := Parse([]byte(minimal+"suites: ["+c.text+"]\n"), ParseOptions{})
		require.NoError(t, err, c.text)
		c.want.Name, c.want.Timeout = "unit", minute
		if c.want.Weight == 0 {
			c.want.Weight = 1
		}
		if c.want.Root == "" {
			c.want.Root = "."
		}
		require.Equal(t, []Suite{c.want}, s.Suites, c.text)
		require.Equal(t, c.image, s.Sandbox.Image, c.text)

		data, err := JSON(s)
		require.NoError(t, err)
		again, err := FromJSON(data)
		require.NoError(t, err, "%s", data)
		require.Equal(t, s, again)
	}
}

func TestImageThatIsGivenStays(t *testing.T) {
	s, err := Parse([]byte(minimal+"suites: [{kind: pytest}]\nsandbox: {image: mine}\n"), ParseOptions{})
	require.NoError(t, err)
	require.Equal(t, "mine", s.Sandbox.Image)
}

func TestSuiteErrors(t *testing.T) {
	for _, c := range []struct{ suite, want string }{
		{"{kind: pytest, packages: [./...]}", "3:35: suites[0].packages: a suite of kind pytest has no such key (remove it, or use another kind; the keys of this one are args)"},
		{"{kind: junit, report: r.xml}", "3:10: suites[0].command: a suite of kind junit needs it (add a line like command: [python3, run.py])"},
		{"{kind: junit, command: [x]}", "3:10: suites[0].report: a suite of kind junit needs it (add a line like report: report.xml)"},
		{"{kind: exec, command: [x]}", "3:10: suites[0].cases: a suite of kind exec needs it (add a line like cases: testdata/cases)"},
		{"{kind: metric}", "3:10: suites[0].command: a suite of kind metric needs it (add a line like command: [python3, run.py])"},
		{"{kind: metric, command: [x], better: faster}", `3:47: suites[0].better: there is no "faster" (it is lower or higher)`},
		{"{kind: metric, command: [x], min_effect: -1}", "3:51: suites[0].min_effect: -1 is out of range (it is more than 0 and at most 10)"},
		{"{kind: metric, command: [x], heldout: {share: 0.5}}", "3:48: suites[0].heldout: problems of kind metric cannot be held out (what belongs to one of them is not known, so it cannot be hidden; put what is to be held out into a suite of kind gotest, pytest or exec)"},
		{"{kind: exec, command: [x], cases: ../up}", `3:44: suites[0].cases: "../up" leaves the repository (write a path below it, such as "up")`},
		{"{kind: exec, command: [x], cases: c, compare: fuzzy}", `3:56: suites[0].compare: there is no "fuzzy" (it is exact or trimmed or numeric or json)`},
		{"{kind: exec, command: [python3 a.py], cases: c}", `3:32: suites[0].command: "python3 a.py" is one word (there is no shell: write [python3, a.py])`},
		{"{kind: exec, command: [\"\"], cases: c}", "3:32: suites[0].command: the command has no program (write it as a list of words, such as [python3, run.py])"},
		{"{kind: exec, command: [], cases: c}", "3:32: suites[0].command: the list is empty (give it at least one element, or remove the key to use the default)\n3:32: suites[0].command: the command has no program (write it as a list of words, such as [python3, run.py])"},
		{"{root: /abs}", `3:17: suites[0].root: "/abs" leaves the repository (write a path below it, such as "abs")`},
		{"{weight: 0}", "3:19: suites[0].weight: 0 is out of range (it is more than 0 and at most 1e+06)"},
		{"{kind: junit, command: [x], report: r.xml, harness: [/x]}", `3:63: suites[0].harness[0]: "/x" leaves the repository (patterns are relative to the repository, such as internal/**)`},
	} {
		_, err := Parse([]byte(minimal+"suites: ["+c.suite+"]\n"), ParseOptions{})
		require.EqualError(t, err, c.want, c.suite)
	}
}

// TestSchemaHasTheKinds checks that the schema offers what the parser takes.
func TestSchemaHasTheKinds(t *testing.T) {
	data, err := Schema()
	require.NoError(t, err)
	var s struct {
		Properties struct {
			Suites struct {
				Items struct {
					Properties map[string]struct {
						Enum        []string
						Description string
					}
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(data, &s))
	keys := s.Properties.Suites.Items.Properties
	require.Equal(t, kinds(), keys["kind"].Enum)
	for kind, rule := range kindRules {
		for _, key := range rule.keys {
			require.Contains(t, keys, key, kind)
			require.NotEmpty(t, keys[key].Description, key)
		}
	}
}
