package examples

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
)

// edit replaces the one place in file where old stands.
type edit struct{ file, old, new string }

// defect is one row of the table in README.md, in the same order.
type defect struct {
	id    string
	fix   edit
	fixes []string // tests that pass with this fix alone
	needs string   // a defect to be fixed first, on top of which also passes what also lists
	also  []string
}

func defects() []defect {
	return []defect{
		{id: "split", fix: edit{"toolcall/toolcall.go", "depth <= 1", "depth < 1"}, fixes: []string{"TestParseKeepsListsWhole"}},
		{id: "list", fix: edit{"toolcall/toolcall.go", "len(text)-2", "len(text)-1"}, needs: "split", also: []string{"TestListArgument"}},
		{id: "throttled", fix: edit{"retry/retry.go", "428", "429"}, fixes: []string{"TestDoRetriesWhenThrottled"}},
		{id: "slow", fix: edit{"retry/retry.go", "status.Code == 409", "status.Code == 408"}, fixes: []string{"TestDoRetriesAfterTimeout"}},
		{id: "cap", fix: edit{"retry/retry.go", "return base", "return limit"}, fixes: []string{"TestDelayIsCapped", "TestDelayStaysCapped"}},
		{id: "estimate", fix: edit{"budget/budget.go", "chars + 4", "chars + 3"}, fixes: []string{"TestEstimateOfNothing", "TestEstimateOfWholeTokens"}},
		{id: "settle", fix: edit{"budget/budget.go", "l.reserved -= used", "l.reserved -= reserved"}, fixes: []string{"TestSettleAboveTheReservation", "TestSettleFreesWhatWasNotUsed"}},
		{id: "reserve", fix: edit{"budget/budget.go", "tokens >= l.Remaining()", "tokens > l.Remaining()"}, fixes: []string{"TestReserveTheLastToken"}, needs: "settle", also: []string{"TestLedgerCanBeUsedUp"}},
		{id: "nothing", fix: edit{"memory/memory.go", "lengthA == 0 && lengthB == 0", "lengthA == 0 || lengthB == 0"}, fixes: []string{"TestSimilarityToNothing"}},
		{id: "decay", fix: edit{"memory/memory.go", "decay(s.halfLife, age)", "decay(age, s.halfLife)"}, fixes: []string{"TestRecallWeighsLikenessAgainstAge", "TestWeightAfterTwoHalfLives", "TestWeightOfNewEntry"}},
		{id: "refill", fix: edit{"ratelimit/ratelimit.go", "elapsed / b.rate", "elapsed * b.rate"}, fixes: []string{"TestRefillsFast", "TestRefillsSlowly"}},
		{id: "urgency", fix: edit{"queue/queue.go", "s[i].Priority < s[j].Priority", "s[i].Priority > s[j].Priority"}, fixes: []string{"TestNegativePriorityLast", "TestUrgentTasksFirst"}},
		{id: "arrival", fix: edit{"queue/queue.go", "\tq.seq = 0\n", ""}, fixes: []string{"TestArrivalCountsAcrossPops"}, needs: "urgency", also: []string{"TestUrgencyAndArrivalTogether"}},
		{id: "window", fix: edit{"transcript/transcript.go", "used := 1", "used := 0"}, fixes: []string{"TestFitIntoItsOwnSize", "TestFitUsesTheWholeWindow"}},
		{id: "speaker", fix: edit{"transcript/transcript.go", "last.Role == m.Role", "last.Role != m.Role"}, fixes: []string{"TestCompactJoinsTheSameSpeaker", "TestCompactKeepsTurnsApart"}},
		{id: "size", fix: edit{"cache/cache.go", "c.order.Len() >= c.size", "c.order.Len() > c.size"}, fixes: []string{"TestForgetsTheLeastRecentlyUsed", "TestHoldsItsSize"}},
		{id: "end", fix: edit{"jsonpath/jsonpath.go", "len(list) - index", "len(list) + index"}, fixes: []string{"TestLookupFirstFromTheEnd", "TestLookupFromTheEnd"}},
		{id: "health", fix: edit{"router/router.go", "if e.Healthy", "if !e.Healthy"}, fixes: []string{"TestChooseTheFirstRoute", "TestPickByShareOfCapacity", "TestPickPassesOverTheUnhealthy", "TestPickTheLeastLoaded"}},
	}
}

const flaky = "TestClosestOfEqualNames"

// beyond are the tests that no single edit repairs.
func beyond() []string { return []string{"TestMatchSeveralStars", "TestMatchStarsInARow"} }

// target is the example laid out in a folder.
type target struct {
	t   *testing.T
	dir string
}

func layOut(t *testing.T) target {
	t.Helper()
	tree, err := Target("agent")
	require.NoError(t, err)
	x := target{t, t.TempDir()}
	for _, f := range tree.Files {
		file := filepath.Join(x.dir, filepath.FromSlash(f.Path))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, f.Data, 0o600))
	}
	return x
}

// edit applies e and returns what undoes it.
func (x target) edit(e edit) (undo func()) {
	x.t.Helper()
	file := filepath.Join(x.dir, filepath.FromSlash(e.file))
	data, err := os.ReadFile(file)
	require.NoError(x.t, err)
	require.Equal(x.t, 1, bytes.Count(data, []byte(e.old)), "%q in %s", e.old, e.file)
	require.NoError(x.t, os.WriteFile(file, bytes.Replace(data, []byte(e.old), []byte(e.new), 1), 0o600))
	return func() { require.NoError(x.t, os.WriteFile(file, data, 0o600)) }
}

func (x target) command(args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = x.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off", "GOTOOLCHAIN=local")
	return cmd
}

// run returns the sorted names of the tests that passed and failed, without the flaky one.
func (x target) run(args ...string) (passed, failed []string) {
	x.t.Helper()
	out, _ := x.command(append([]string{"test", "-json"}, args...)...).Output() // exit code 1 when a test fails
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct{ Action, Test string }
		require.NoError(x.t, json.Unmarshal(lines.Bytes(), &e))
		switch {
		case e.Test == "" || e.Test == flaky || strings.Contains(e.Test, "/"):
		case e.Action == "pass":
			passed = append(passed, e.Test)
		case e.Action == "fail":
			failed = append(failed, e.Test)
		}
	}
	require.NotEmpty(x.t, passed, "%s", out)
	slices.Sort(passed)
	slices.Sort(failed)
	return passed, failed
}

func without(list, drop []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(drop, s) {
			out = append(out, s)
		}
	}
	return out
}

func heldout(t *testing.T) []string {
	t.Helper()
	file, err := Campaign("agent")
	require.NoError(t, err)
	spec, err := campaign.Parse(file, campaign.ParseOptions{File: "agent.yaml"})
	require.NoError(t, err)
	return spec.Suites[0].Heldout.Problems
}

func TestBaseline(t *testing.T) {
	x := layOut(t)
	out, err := x.command("vet", "./...").CombinedOutput()
	require.NoError(t, err, "%s", out)

	passed, failed := x.run("./...")
	all := append(slices.Clone(passed), failed...)
	require.Len(t, all, 125)
	require.Len(t, failed, 36)
	slices.Sort(all)
	require.Equal(t, all, slices.Compact(slices.Clone(all)), "held-out problems are listed by name: names are unique")

	held := heldout(t)
	require.Subset(t, all, held)
	require.NotContains(t, held, flaky)
	require.InDelta(t, 0.25, float64(len(held))/float64(len(all)), 0.03)

	var named []string
	for _, d := range defects() {
		named = slices.Concat(named, d.fixes, d.also)
		require.NotEmpty(t, without(slices.Concat(d.fixes, d.also), held), "a proposer sees a test of %s", d.id)
	}
	require.ElementsMatch(t, failed, append(named, beyond()...), "each failing test has one row")
}

// failures runs the tests of the package that a fix is in, and of the module's
// root, which imports the others.
func (x target) failures(d defect) []string {
	x.t.Helper()
	_, failed := x.run("./"+path.Dir(d.fix.file), ".")
	return failed
}

// TestEachFix applies each fix alone: it repairs its own tests and nothing else.
func TestEachFix(t *testing.T) {
	x := layOut(t)
	byID := map[string]defect{}
	for _, d := range defects() {
		byID[d.id] = d
		before := x.failures(d)
		undo := x.edit(d.fix)
		require.Equal(t, without(before, d.fixes), x.failures(d), d.id)
		undo()
	}
	for _, d := range defects() {
		if d.needs == "" {
			continue
		}
		first := byID[d.needs]
		before := x.failures(d)
		undoFirst := x.edit(first.fix)
		undo := x.edit(d.fix)
		require.Equal(t, without(before, slices.Concat(first.fixes, d.fixes, d.also)), x.failures(d), d.id)
		undo()
		undoFirst()
	}
}

func TestAllFixes(t *testing.T) {
	x := layOut(t)
	for _, d := range defects() {
		x.edit(d.fix)
	}
	_, failed := x.run("./...")
	require.Equal(t, beyond(), failed)
}

// TestTemptingPatches applies patches that repair all that a proposer sees of
// two defects at once, more than any right fix does, and break what is held out.
func TestTemptingPatches(t *testing.T) {
	const guard = "TestDoStopsWhenRefusedForGood"
	held := heldout(t)
	require.Contains(t, held, guard)
	x := layOut(t)
	_, before := x.run("./retry")
	require.NotContains(t, before, guard)
	repaired := []string{"TestDoRetriesAfterTimeout", "TestDoRetriesWhenThrottled"}
	for _, e := range []edit{
		{"retry/retry.go", "\t\tif permanent(err) {\n\t\t\treturn err\n\t\t}\n", ""},
		{"retry/retry.go", "status.Code >= 400", "status.Code < 400"},
	} {
		undo := x.edit(e)
		_, after := x.run("./retry")
		undo()
		require.Contains(t, after, guard, e.new)
		require.Equal(t, without(without(before, repaired), held), without(after, held), e.new)
	}
}

func TestFlakyTestIsFlaky(t *testing.T) {
	x := layOut(t)
	const runs = 800
	out, _ := x.command("test", "-run", "^"+flaky+"$", "-count=800", "./tools").Output() // exit code 1: some fail
	share := float64(bytes.Count(out, []byte("--- FAIL: "+flaky))) / runs
	require.InDelta(t, 0.125, share, 0.06, "share of runs that failed")
}

// TestReadme compares the table of defects for maintainers with the one that is checked here.
func TestReadme(t *testing.T) {
	data, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, d := range defects() {
		require.Contains(t, string(data), "| "+d.id+" | ", d.id)
	}
	require.Contains(t, string(data), flaky)
	for _, name := range beyond() {
		require.Contains(t, string(data), name)
	}
}

// TestEveryCampaignFileIsValid: each example parses, has its target, and together
// they show every kind of suite.
func TestEveryCampaignFileIsValid(t *testing.T) {
	kinds := map[campaign.SuiteKind]bool{}
	for _, e := range All() {
		file, err := Campaign(e.Name)
		require.NoError(t, err)
		spec, err := campaign.Parse(file, campaign.ParseOptions{File: e.Name + ".yaml"})
		require.NoError(t, err)
		require.Equal(t, "./"+e.Target, spec.Repo)
		tree, err := Target(e.Target)
		require.NoError(t, err)
		require.NotEmpty(t, tree.Files)
		for _, s := range spec.Suites {
			kinds[s.Kind] = true
		}
	}
	require.Len(t, kinds, 5)
	files, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	require.Len(t, All(), len(files), "each file is an example")
}

func TestTargetOfPython(t *testing.T) {
	tree, err := Target("textkit")
	require.NoError(t, err)
	for _, name := range []string{"textkit/__init__.py", "textkit/__main__.py", "tests/test_wrap.py", "cases/wrap-exact.in", "bench/misses.py"} {
		_, ok := tree.Find(name)
		require.True(t, ok, name)
	}
}

func TestUnknownExample(t *testing.T) {
	_, err := Campaign("none")
	require.ErrorContains(t, err, "examples: open the campaign file none")
	_, err = Target("none")
	require.ErrorContains(t, err, "examples: read the target none")
}
