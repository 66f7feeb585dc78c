package patch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"ratchet/internal/model"
	"ratchet/internal/patch"
)

const pyFile = `"""Sums."""


def add(a, b):
    return a - b
`

var pyBase = tree("app/__init__.py", "", "app/calc.py", pyFile, "app/other.py", "STATE = 1\n", "tests/test_calc.py", "EXPECTED = 1\n", "setup.py", "x = 1\n")

// corpus reads the cases of an archive: name, old file and new file.
func corpus(t testing.TB, file string) [][3]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	var out [][3]string
	seen := map[string]bool{}
	for _, f := range txtar.Parse(data).Files {
		require.False(t, seen[f.Name], "%s is there twice", f.Name)
		seen[f.Name] = true
		old, new, both := strings.Cut(string(f.Data), "=====\n")
		if !both {
			old, new = pyFile, old
		}
		out = append(out, [3]string{f.Name, old, new})
	}
	return out
}

func gatePython(old, new string) *patch.Refusal {
	from := pyBase.With(edits("app/calc.py", old)...)
	return patch.Gate(from, model.Candidate{Edits: edits("app/calc.py", new)}, patch.Policy{})
}

func TestPythonCheatsAreRefused(t *testing.T) {
	cases := corpus(t, "python_cheats.txtar")
	require.GreaterOrEqual(t, len(cases), 115)
	for _, c := range cases {
		t.Run(c[0], func(t *testing.T) {
			r := gatePython(c[1], c[2])
			require.NotNil(t, r)
			require.Equal(t, patch.RuleReach, r.Rule, r)
			t.Log(r.Why)
			fresh := patch.Gate(pyBase, model.Candidate{Edits: edits("app/fresh.py", c[2])}, patch.Policy{})
			require.NotNil(t, fresh, "in a new file")
			require.Equal(t, patch.RuleReach, fresh.Rule, fresh)
		})
	}
}

func TestHonestPythonPasses(t *testing.T) {
	cases := corpus(t, "python_honest.txtar")
	require.GreaterOrEqual(t, len(cases), 55)
	for _, c := range cases {
		t.Run(c[0], func(t *testing.T) { require.Nil(t, gatePython(c[1], c[2])) })
	}
}

func gateGo(old, new string) *patch.Refusal {
	from := tree("go.mod", "module a\n")
	if old != pyFile {
		from = from.With(edits("a.go", old)...)
	}
	return patch.Gate(from, model.Candidate{Edits: edits("a.go", new)}, patch.Policy{})
}

func TestGoCheatsAreRefused(t *testing.T) {
	cases := corpus(t, "go_cheats.txtar")
	require.GreaterOrEqual(t, len(cases), 21)
	for _, c := range cases {
		t.Run(c[0], func(t *testing.T) {
			r := gateGo(c[1], c[2])
			require.NotNil(t, r)
			require.Equal(t, patch.RuleReach, r.Rule, r)
			require.Nil(t, gateGo(c[2], c[2]+"\n\nvar answer = 42\n"), "a file may go on as it is")
		})
	}
}

func TestHonestGoPasses(t *testing.T) {
	for _, c := range corpus(t, "go_honest.txtar") {
		t.Run(c[0], func(t *testing.T) { require.Nil(t, gateGo(c[1], c[2])) })
	}
}

// TestPythonThatStaysPasses says that what a file does already, it may go on
// doing: each cheat passes where it is the old file too.
func TestPythonThatStaysPasses(t *testing.T) {
	for _, c := range corpus(t, "python_cheats.txtar") {
		t.Run(c[0], func(t *testing.T) { require.Nil(t, gatePython(c[2], c[2]+"\n\nANSWER = 42\n")) })
	}
}

func TestNewFilesThatPythonLoadsByItself(t *testing.T) {
	for path, want := range map[string]string{
		"json.py": "json", "src/random.py": "random", "pytest.py": "pytest", "unittest/__init__.py": "unittest", "unittest/case.py": "unittest",
		"src/_pytest/runner.py": "_pytest", "lib/typing/extra/x.py": "typing", "tests/abc.py": "abc",
		"conftest.py": "conftest.py", "app/conftest.py": "conftest.py", "sitecustomize.py": "sitecustomize.py", "usercustomize.py": "usercustomize.py",
		"x.pth": "x.pth", "app/x.so": "x.so", "app/calc.cpython-311-x86_64-linux-gnu.so": ".so", "app/__pycache__/calc.cpython-311.pyc": ".pyc",
		"app/__pycache__/x.py": "__pycache__", "evil-1.0.dist-info/entry_points.txt": "dist-info", "evil.egg-info/entry_points.txt": "egg-info",
		"pytest.ini": "pytest.ini", "tox.ini": "tox.ini", ".coveragerc": ".coveragerc", "pyproject.toml": "pyproject.toml", "setup.cfg": "setup.cfg", "PyTest.ini": "PyTest.ini",
		"evil.egg-link": "egg-link",
	} {
		t.Run(path, func(t *testing.T) {
			r := patch.Gate(pyBase, model.Candidate{Edits: edits(path, "x = 1\n")}, patch.Policy{})
			require.NotNil(t, r)
			require.Equal(t, patch.RuleReach, r.Rule, r)
			require.Contains(t, r.Why, want)
		})
	}
	for _, path := range []string{"app/json.py", "app/types.py", "parsing.py", "src/tools/parse.py", "app/unit/test.txt", "data/json", "json.txt", "app/sub/x.py"} {
		r := patch.Gate(pyBase, model.Candidate{Edits: edits(path, "x = 1\n")}, patch.Policy{})
		require.Nil(t, r, path)
	}
	there := pyBase.With(edits("json.py", "x = 1\n", "typing/a.py", "x = 1\n", "conftest.py", "x = 1\n")...)
	for _, path := range []string{"json.py", "typing/b.py", "conftest.py"} {
		require.Nil(t, patch.Gate(there, model.Candidate{Edits: edits(path, "x = 2\n")}, patch.Policy{}), "%s belongs to the repository", path)
	}
}

// FuzzGatePython looks for panics, and for Python that is refused for what it does
// not add.
func FuzzGatePython(f *testing.F) {
	for _, file := range []string{"python_cheats.txtar", "python_honest.txtar"} {
		for _, c := range corpus(f, file) {
			f.Add(c[2])
		}
	}
	f.Add("x = f\"{a!r:{b}}\" + '\\x4' \"\\777\\u12\\N{DASH}\\\n\"\n")
	f.Fuzz(func(t *testing.T, src string) {
		if r := gatePython(src, src+"\n"); r != nil && r.Rule == patch.RuleReach {
			t.Fatalf("%q adds nothing: %s", src, r)
		}
	})
}

// BenchmarkGatePython gates a change of one file of 3,000, of about 100 lines each.
func BenchmarkGatePython(b *testing.B) {
	body := strings.Repeat("def f(a, b):\n    if a > b:\n        return f\"{a} {b}\"\n    return [x for x in (a, b) if x]\n\n\n", 16)
	var files []string
	for i := range 3000 {
		files = append(files, fmt.Sprintf("d%d/f%d.py", i%50, i), body)
	}
	from := tree(files...)
	c := model.Candidate{Edits: edits("d0/f0.py", strings.Replace(body, "a > b", "a >= b", 1))}
	for b.Loop() {
		require.Nil(b, patch.Gate(from, c, patch.Policy{}))
	}
}
