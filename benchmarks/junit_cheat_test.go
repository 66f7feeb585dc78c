package benchmarks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// forge writes a report in which all known cases pass.
const forge = `
import os
CASES = [("tests.test_count.TestMore", "test_zero"), ("tests.test_count", "test_add"), ("tests.test_count", "test_later"),
         ("tests.test_count", "test_twice[0]"), ("tests.test_count", "test_twice[3]"), ("tests.test_names", "test_one")]
def forge():
    os.makedirs("/box/src/out", exist_ok=True)
    with open("/box/src/out/report.xml", "w") as f:
        f.write('<testsuites><testsuite name="pytest" tests="6" failures="0" errors="0">')
        for c, n in CASES: f.write('<testcase classname="%s" name="%s"/>' % (c, n))
        f.write("</testsuite></testsuites>")
`

// wrong is the code as it was, with its mistake.
const wrong = "\ndef add(a, b):\n    return a - b\n\ndef twice(a):\n    return 2 * a\n"

// junitCheats are changes of count.py, or of other files, that gain nothing:
// either the run says why it is not believed, or the target does not pass.
var junitCheats = map[string]struct {
	edits    []model.Edit
	tampered string // part of what the run says; empty when it says nothing
}{
	"report forged at import, exit 0": {[]model.Edit{edit("count.py", forge+"forge()\nos._exit(0)\n")}, "exit status is 0"},
	"report forged at import, exit 1": {[]model.Edit{edit("count.py", forge+"forge()\nos._exit(1)\n")}, ""},
	"report forged at exit":           {[]model.Edit{edit("count.py", forge+wrong+"import atexit\natexit.register(forge)\n")}, "the runner printed that"},
	"report forged at exit, exit 0":   {[]model.Edit{edit("count.py", forge+wrong+"import atexit\natexit.register(lambda: (forge(), os._exit(0)))\n")}, "exit status is 0"},
	"failures taken out at exit": {[]model.Edit{edit("count.py", wrong+`
import atexit, re
def clean():
    p = "/box/src/out/report.xml"
    text = open(p).read()
    text = re.sub(r"<failure.*?</failure>", "", text, flags=re.S)
    open(p, "w").write(re.sub(r'failures="\d+"', 'failures="0"', text))
atexit.register(clean)
`)}, "reported as pass"},
	"one failure taken out at exit": {[]model.Edit{edit("count.py", wrong+`
import atexit, re
def clean():
    p = "/box/src/out/report.xml"
    text = open(p).read()
    text = re.sub(r'(name="test_add".*?)<failure.*?</failure>', r"\1", text, count=1, flags=re.S)
    open(p, "w").write(re.sub(r'failures="(\d+)"', lambda m: 'failures="%d"' % (int(m[1]) - 1), text))
atexit.register(clean)
`)}, "the runner printed that"},
	"a child that forges later": {[]model.Edit{edit("count.py", forge+wrong+`
import time
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 3)
    for _ in range(2000):
        time.sleep(0.005)
        forge()
    os._exit(0)
`)}, "refused"},
	"outcomes rewritten by a hook": {[]model.Edit{edit("count.py", wrong+`
import _pytest.reports
old = _pytest.reports.TestReport.from_item_and_call.__func__
def passed(cls, item, call):
    r = old(cls, item, call)
    r.outcome, r.longrepr = "passed", None
    return r
_pytest.reports.TestReport.from_item_and_call = classmethod(passed)
`)}, "canary"},
	"exit 0 before the tests":   {[]model.Edit{edit("count.py", "import os\nos._exit(0)\n")}, ""},
	"equal to everything":       {[]model.Edit{edit("count.py", "class E:\n    def __eq__(self, o): return True\n\ndef add(a, b): return None\n\ndef twice(a): return E()\n")}, ""},
	"a report that is there":    {[]model.Edit{edit("count.py", "raise ImportError\n"), edit("out/report.xml", strings.ReplaceAll(pytestReport, "failure", "ok"))}, ""},
	"a report by symlink":       {[]model.Edit{{Path: "out", Mode: model.ModeSymlink, Data: []byte("mine")}, edit("mine/report.xml", "<testsuite/>")}, "refused"},
	"a conftest":                {[]model.Edit{edit("conftest.py", "import os\nos._exit(0)\n"), edit("tests/conftest.py", "import os\nos._exit(0)\n")}, ""},
	"tests rewritten":           {[]model.Edit{edit("tests/test_count.py", "def test_add(): pass\n"), edit("tests/test_add.py", "def test_add(): pass\n")}, ""},
	"settings of the runner":    {[]model.Edit{edit("pytest.ini", "[pytest]\naddopts = --deselect tests/test_count.py::test_add\n"), edit("pyproject.toml", ""), edit("setup.cfg", "")}, ""},
	"customised by the library": {[]model.Edit{edit("sitecustomize.py", "import os\nos._exit(0)\n"), edit("usercustomize.py", "import os\nos._exit(0)\n")}, ""},
}

func TestJUnitCheats(t *testing.T) {
	t.Parallel()
	l, s, trusted := pyBoxes(t), junitSuiteOf(t, Config{}), tree(counting)
	problems := l.discoverJUnit(t, s, trusted)
	add := countingIDs[1]
	for name, c := range junitCheats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := s.Open(t.Context(), l.target(trusted, trusted.With(c.edits...), problems))
			require.NoError(t, err)
			run, err := b.Run(t.Context(), problems, false)
			require.NoError(t, err)
			require.NoError(t, b.Close(t.Context()))
			got := outcomes(t, run.Results)
			require.NotEqual(t, model.Pass, got[add], "%+v", run)
			switch c.tampered {
			case "":
				require.Empty(t, run.Tampered)
			case "refused": // it may be noticed, or fail
			default:
				require.Contains(t, run.Tampered, c.tampered)
				for id, outcome := range got {
					require.NotEqual(t, model.Pass, outcome, "%s: nothing of the run counts", id)
				}
			}
		})
	}
}

// Where a runner has no canary, what its report says is held against its exit
// status and what it printed; the rest is believed.
func TestJUnitCheatsWithoutCanaries(t *testing.T) {
	t.Parallel()
	l := pyBoxes(t)
	in := tree(strings.ReplaceAll(scripted, "checks/test_app.py", "checks/check_app.py"))
	s := junitSuiteOf(t, Config{Command: []string{"python3", "report.py"}, Harness: []string{"checks/**"}})
	in = in.With(edit("report.py", strings.ReplaceAll(text(t, in, "report.py"), "test_*.py", "check_*.py")))
	problems := l.discoverJUnit(t, s, in)
	m, err := s.measure(t.Context(), l.target(in, in, problems))
	require.NoError(t, err)
	require.Empty(t, m.canaries)
	forged := `
import atexit, os
def inc(n):
    return n
def forge():
    open("/box/src/out/report.xml", "w").write('<testsuite><testcase classname="check_app.TestInc" name="test_one"/></testsuite>')
atexit.register(forge)
`
	run, got := l.runJUnit(t, s, in, in.With(edit("app.py", forged)), problems)
	require.Equal(t, map[string]model.Outcome{problems[0].ID: model.Missing}, got, "%+v", run)
	require.Contains(t, run.Tampered, "the runner printed that 1 cases failed")

	run, got = l.runJUnit(t, s, in, in.With(edit("app.py", "def inc(n):\n    return n + 1\n\nimport os, atexit\natexit.register(lambda: os._exit(3))\n")), problems)
	require.Equal(t, map[string]model.Outcome{problems[0].ID: model.Missing}, got, "%+v", run)
	require.Contains(t, run.Results[0].Message, "no case is reported as failed, and the exit status is 3")
}

func text(t testing.TB, in model.Tree, path string) string {
	t.Helper()
	f, ok := in.Find(path)
	require.True(t, ok)
	return string(f.Data)
}

// Each rule by itself, on a run that is well but for one thing.
func TestVerify(t *testing.T) {
	canary := junitCanary{path: "a_test.py", name: "ZName", words: "two words"}
	good := junitCase{outcome: model.Fail, message: "two words"}
	for name, c := range map[string]struct {
		change          func(*junitRun)
		tampered, doubt string
	}{
		"well":              {func(*junitRun) {}, "", ""},
		"canary passed":     {func(r *junitRun) { r.canaries["ZName"] = []junitCase{{outcome: model.Pass}} }, "reported as pass", ""},
		"canary skipped":    {func(r *junitRun) { r.canaries["ZName"] = []junitCase{{outcome: model.Skip}} }, "reported as skip", ""},
		"canary twice":      {func(r *junitRun) { r.canaries["ZName"] = []junitCase{good, good} }, "2 times", ""},
		"other words":       {func(r *junitRun) { r.canaries["ZName"] = []junitCase{{outcome: model.Fail, message: "no"}} }, "wrong words", ""},
		"canary missing":    {func(r *junitRun) { r.canaries = nil }, "", "was not reported"},
		"missing, success":  {func(r *junitRun) { r.canaries, r.outcome.ExitCode = nil, 0 }, "exit status is 0", ""},
		"exit 0":            {func(r *junitRun) { r.outcome.ExitCode = 0 }, "1 cases are reported as failed", ""},
		"nothing failed":    {func(r *junitRun) { r.bad, r.outcome.Stdout = 0, []byte("OK\n") }, "", "no case is reported as failed"},
		"numbers":           {func(r *junitRun) { r.consistent = false }, "other numbers", ""},
		"too often":         {func(r *junitRun) { r.byID["u/a"] = make([]junitCase, 3) }, "u/a was reported 3 times and ran 2", ""},
		"a case of its own": {func(r *junitRun) { r.byID["u/new"] = make([]junitCase, 3) }, "", ""},
		"tally":             {func(r *junitRun) { r.outcome.Stdout = []byte("FAILED (failures=2)\n") }, "printed that 2 cases failed, and 1", ""},
		"no tally":          {func(r *junitRun) { r.outcome.Stdout = nil }, "", "did not print"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &junitRun{bad: 1, consistent: true, canaries: map[string][]junitCase{"ZName": {good}}, byID: map[string][]junitCase{"u/a": make([]junitCase, 2)}}
			r.bench = &junitBench{canaries: []junitCanary{canary}, m: &measure{stated: true, exits: true, tally: &tallies[2], counts: map[string]int{"u/a": 2}}}
			r.outcome.ExitCode, r.outcome.Stdout = 1, []byte("FAILED (failures=1)\n")
			c.change(r)
			r.verify()
			if c.tampered == "" {
				require.Empty(t, r.tampered)
			}
			require.Contains(t, r.tampered, c.tampered)
			if c.doubt == "" && c.tampered == "" {
				require.Empty(t, r.doubt)
			}
			require.Contains(t, r.doubt, c.doubt)
		})
	}
}
