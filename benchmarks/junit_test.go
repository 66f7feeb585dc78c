package benchmarks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func junitSuiteOf(t testing.TB, c Config) *junitSuite {
	t.Helper()
	if c.Name == "" {
		c.Name = "unit"
	}
	if c.Command == nil {
		c.Command = []string{"python3", "-m", "pytest", "-q", "--junitxml=out/report.xml"}
	}
	if c.Report == "" {
		c.Report = "out/report.xml"
	}
	c.Kind = KindJUnit
	s, err := New(c)
	require.NoError(t, err)
	return s.(*junitSuite)
}

func TestJUnitConfig(t *testing.T) {
	for name, c := range map[string]Config{
		"no command": {Report: "r.xml"},
		"no report":  {Command: []string{"x"}},
		"outside":    {Command: []string{"x"}, Root: "a", Report: "../r.xml"},
		"absolute":   {Command: []string{"x"}, Report: "/r.xml"},
		"malformed":  {Command: []string{"x"}, Report: "[r.xml"},
		"everything": {Command: []string{"x"}, Report: "**"},
	} {
		t.Run(name, func(t *testing.T) {
			c.Name, c.Kind = "unit", KindJUnit
			_, err := New(c)
			require.ErrorIs(t, err, ErrConfig)
		})
	}
}

func TestJUnitHarness(t *testing.T) {
	s := junitSuiteOf(t, Config{
		Root: "app", Command: []string{"sh", "tools/run_tests.sh"}, Prepare: [][]string{{"python3", "-m", "gen.all"}},
		Report: "target/reports/*.xml", Harness: []string{"fixtures/**"},
	})
	for p, want := range map[string]bool{
		"app/tools/run_tests.sh": true, "tools/run_tests.sh": false, "app/gen/all.py": true, "app/gen/other.py": false,
		"app/target/reports/TEST-a.xml": true, "app/target/other.xml": false, "fixtures/x/y": true,
		"app/tests/data.json": true, "app/src/test/java/A.java": true, "app/src/main/java/A.java": false, "app/src/CalcTest.java": true,
		"app/a.test.js": true, "app/a.spec.ts": true, "app/a.js": false, "app/__tests__/a.js": true, "app/spec/a_spec.rb": true,
		"app/test_calc.py": true, "app/calc_test.go": true, "app/calc.py": false, "app/testing.py": false, "app/latest/calc.py": false,
		"conftest.py": true, "pyproject.toml": true, "app/package.json": true, "app/pom.xml": true, "Makefile": true, "app/jest.config.cjs": true,
		"app/tests": true,
	} {
		require.Equal(t, want, s.Harness(p), p)
	}
}

func TestJUnitWithoutABox(t *testing.T) {
	s := junitSuiteOf(t, Config{})
	_, err := s.Discover(t.Context(), Target{Trusted: tree("-- a --\n")})
	require.ErrorIs(t, err, ErrNeedsBox)
	_, err = s.Hide(model.Tree{}, []model.Problem{{ID: "unit/a"}})
	require.ErrorIs(t, err, ErrCannotHide)
	in := tree("-- a --\n")
	same, err := s.Hide(in, nil)
	require.NoError(t, err)
	require.Equal(t, in, same)
}

// A report that is checked in, by whomever, is not laid in.
func TestCheckedInReports(t *testing.T) {
	s := junitSuiteOf(t, Config{Report: "out/**/*.xml"})
	in := tree("-- a.py --\n-- out/report.xml --\n<testsuite/>\n")
	require.Equal(t, []string{"a.py"}, paths(s.tree(in.With(edit("out/b/c.xml", "<testsuite/>")), in)))
}

func TestLongNames(t *testing.T) {
	s := junitSuiteOf(t, Config{})
	long := strings.Repeat("ä", 400)
	a, b := s.problem(junitCase{name: long}), s.problem(junitCase{name: long + "b"})
	require.NotEqual(t, a.ID, b.ID)
	require.LessOrEqual(t, len(a.Name), maxNamePart)
	require.Equal(t, "unit/suite/n", s.problem(junitCase{suite: "suite", name: "n"}).ID)
}

// Canaries are put where a language has them, and nowhere else.
func TestPlant(t *testing.T) {
	s := junitSuiteOf(t, Config{})
	in := tree(`
-- test_a.py --
def test_a(): pass
-- tests/test_b.py --
-- tests/data.py --
-- a_test.go --
package a

import "testing"
-- b_test.go --
package a

import tt "testing"
-- a.test.js --
test("x", () => {})
-- a.js --
test("x", () => {})
-- tests/a.rs --
#[test]
fn a() {}
-- src/lib.rs --
#[test]
fn a() {}
`)
	files, canaries := s.plant(in, nil)
	var where []string
	for i, c := range canaries {
		where = append(where, c.path)
		require.Contains(t, string(files[i].Data), c.name)
		require.Contains(t, string(files[i].Data), c.words)
		old, _ := in.Find(c.path)
		require.True(t, strings.HasPrefix(string(files[i].Data), string(old.Data)))
	}
	require.Equal(t, []string{"a.test.js", "a_test.go", "test_a.py", "tests/a.rs", "tests/test_b.py"}, where)
	_, some := s.plant(in, map[string]bool{"test_a.py": true})
	require.Len(t, some, 1)
	require.NotEqual(t, canaries[2].name, some[0].name)
}
