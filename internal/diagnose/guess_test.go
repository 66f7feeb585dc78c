package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func TestFramesOfManyLanguages(t *testing.T) {
	s := newSource(tree("web/file.js", "", "src/file.rs", "", "java/File.java", "", "cs/File.cs", "", "m/file.py", "", "go/file.go", "", "lib/file.rb", "", "test/file_test.go", ""),
		func(p string) bool { return strings.HasPrefix(p, "test/") })
	for message, want := range map[string][]frame{
		"    at f (/app/web/file.js:12:2)\n    at node:internal/file.js:1:2\n    at g (node_modules/x/file.js:3:4)": {{"web/file.js", 12}},
		"thread 'main' panicked at src/file.rs:4:5:\nboom\n  at /rustc/abc/file.rs:9":                               {{"src/file.rs", 4}},
		"\tat org.x.File.run(File.java:12)\n\tat org.x.File.main(File.java:30)":                                     {{"java/File.java", 12}, {"java/File.java", 30}},
		"   at X.Y() in /box/cs/File.cs:line 7":                                                                     {{"cs/File.cs", 7}},
		"lib/file.rb:3:in `call'":                                                                                   {{"lib/file.rb", 3}},
		"m/file.py:3: in f\nm/file.py:9: KeyError\nfile.js:1:1":                                                     {{"web/file.js", 1}, {"m/file.py", 9}, {"m/file.py", 3}},
		"go/file.go:1 go/file.go:1 test/file_test.go:5":                                                             {{"go/file.go", 1}},
		"nothing.js:1 file.js: file.py:x 99999999999999999999":                                                      nil,
		`File "m/file.py", line 99999999999999999999, in f`:                                                         nil,
	} {
		require.Equal(t, want, s.frames(message), message)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(`File "m/file.py", line 3, in f` + "\nat x (file.js:1:2) File.cs:line 4 m/file.py:9: E")
	s := newSource(tree("web/file.js", "", "m/file.py", "def f():\n  pass\n"), func(string) bool { return false })
	f.Fuzz(func(t *testing.T, message string) {
		require.LessOrEqual(t, len(s.frames(message)), maxTraceFrames)
	})
}

// execInput is a suite of commands that reports no coverage.
func execInput(messages ...string) Input {
	in := Input{
		Tree:    tree("app/money.py", pyCode, "app/calc.go", codeFile, "app/cases/add.json", "{}", "other/x.py", "def parse_amount():\n    pass\n", "app/check.py", "def helper():\n    pass\n"),
		Harness: func(p string) bool { return p == "app/check.py" }, Roots: map[string]string{"cmd": "app"},
	}
	for i, m := range messages {
		p := model.Problem{ID: fmt.Sprintf("cmd/parse-%d", i), Suite: "cmd", Package: ".", Name: fmt.Sprintf("parse-%d", i), Split: model.SplitSearch}
		in.Problems, in.Results = append(in.Problems, p), append(in.Results, failed(p, m))
	}
	return in
}

func TestWithoutCoverageEveryFunctionIsSuspectAtLast(t *testing.T) {
	b, err := Diagnose(execInput("want 1, got 2"))
	require.NoError(t, err)
	var got []string
	for _, s := range b.Suspects {
		got = append(got, fmt.Sprintf("%s:%d %.3f", s.File, s.StartLine, s.Score))
		require.Equal(t, []string{"cmd/parse-0"}, s.Problems)
	}
	require.Equal(t, []string{
		"app/money.py:19 0.125", // parse_amount: half of its words
		"app/calc.go:3 0.050", "app/calc.go:7 0.050", "app/calc.go:14 0.050",
		"app/money.py:6 0.050", "app/money.py:11 0.050", "app/money.py:14 0.050", "app/money.py:20 0.050",
	}, got)
	require.Len(t, b.Notes, 1)
	require.Contains(t, b.Notes[0], "suite cmd reports no coverage: its 1 weak problems")
	require.Contains(t, b.Notes[0], "7 of 8 functions are suspect for no other reason than being there")
}

func TestFilesThatAreNamedAlike(t *testing.T) {
	in := execInput("x")
	in.Tree = tree("app/table.py", "def pad():\n    pass\n\n\ndef table():\n    pass\n", "app/wrap.py", "def wrap():\n    pass\n")
	in.Problems[0].ID, in.Problems[0].Name = "cmd/table-people", "table-people"
	in.Results[0].Problem = "cmd/table-people"
	b, err := Diagnose(in)
	require.NoError(t, err)
	require.Equal(t, []string{"app/table.py:5-7", "app/table.py:1-3", "app/wrap.py:1-3"}, []string{b.Suspects[0].Place(), b.Suspects[1].Place(), b.Suspects[2].Place()})
	require.InDelta(t, similarScore, b.Suspects[0].Score, 1e-9)
	require.InDelta(t, similarScore*inNamedFile, b.Suspects[1].Score, 1e-9)
}

func TestBetterEvidenceComesBeforeGuesses(t *testing.T) {
	b, err := Diagnose(execInput("in deposit: ValueError\n  File \"/box/src/app/money.py\", line 12, in worth\n"))
	require.NoError(t, err)
	require.Equal(t, 12, b.Suspects[0].StartLine)
	require.Equal(t, 11, b.Suspects[1].StartLine)
	require.Equal(t, 14, b.Suspects[2].StartLine, "the output names the function")
	require.InDelta(t, similarScore, b.Suspects[2].Score, 1e-9)
	require.Len(t, b.Suspects, 9)
}

func TestGuessesKeepToAllowedFiles(t *testing.T) {
	in := execInput("x")
	in.Allowed = func(p string) bool { return strings.HasSuffix(p, ".go") }
	b, err := Diagnose(in)
	require.NoError(t, err)
	require.Len(t, b.Suspects, 3)
	in.Roots = nil
	b, err = Diagnose(in)
	require.NoError(t, err)
	require.Empty(t, b.Suspects, "a suite of a kind that has coverage is not guessed about")
}

func TestGuessesAreCapped(t *testing.T) {
	in := execInput("x", "y")
	var many strings.Builder
	for i := range maxGuesses + 50 {
		fmt.Fprintf(&many, "def thing%d():\n    return %d\n\n", i, i)
	}
	in.Tree = tree("app/many.py", many.String())
	b, err := Diagnose(in)
	require.NoError(t, err)
	require.Len(t, b.Suspects, maxGuesses)
	require.Equal(t, []string{"cmd/parse-0", "cmd/parse-1"}, b.Suspects[0].Problems)
	require.Contains(t, b.Notes[0], "300 of 350 functions")
	again, err := Diagnose(in)
	require.NoError(t, err)
	require.Equal(t, b, again)
}

func TestNothingIsGuessedWhenAllPasses(t *testing.T) {
	in := execInput("")
	in.Results[0] = model.Result{Problem: in.Problems[0].ID, Outcome: model.Pass, Score: 1}
	b, err := Diagnose(in)
	require.NoError(t, err)
	require.Empty(t, b.Weakest)
	require.Empty(t, b.Suspects)
	require.Empty(t, b.Notes)
}

func metricInput() Input {
	in := execInput("")
	in.Problems[0].Metric = &model.Metric{Unit: "ms", Better: model.BetterLower, MinEffect: 0.05}
	in.Problems[0].Name = "latency_ms"
	in.Results = []model.Result{
		{Problem: in.Problems[0].ID, Outcome: model.Pass, Score: 0.5, Value: 10}, {Problem: in.Problems[0].ID, Outcome: model.Pass, Score: 0.5, Value: 22.5},
	}
	return in
}

func TestMetricsHaveRoomToImprove(t *testing.T) {
	b, err := Diagnose(metricInput())
	require.NoError(t, err)
	require.Len(t, b.Weakest, 1)
	w := b.Weakest[0]
	require.InDelta(t, 1, w.PassRate, 0)
	require.InDelta(t, 15, w.Value, 1e-9, "the geometric mean")
	require.Equal(t, "latency_ms 15 ms, lower is better", w.Message)
	require.Len(t, b.Suspects, 8)
	require.InDelta(t, similarScore*0.5*metricRoom, b.Suspects[0].Score, 1e-9)
	require.InDelta(t, anyScore*metricRoom, b.Suspects[1].Score, 1e-9)
	require.Contains(t, b.Markdown(), "`cmd/parse-0` measures `latency_ms 15 ms, lower is better`")

	in := metricInput()
	in.Rates = map[string]Rate{"cmd/parse-0": {Passed: 4, Runs: 4, Value: 12.3}}
	b, err = Diagnose(in)
	require.NoError(t, err)
	require.Equal(t, "latency_ms 12.3 ms, lower is better", b.Weakest[0].Message)
}

func TestMetricsThatAreNotMeasuredFail(t *testing.T) {
	in := metricInput()
	in.Results = []model.Result{failed(in.Problems[0], "no number was printed")}
	good := in.Problems[0]
	good.ID, good.Name = "cmd/size", "size"
	in.Problems = append(in.Problems, good)
	in.Results = append(in.Results, model.Result{Problem: good.ID, Outcome: model.Pass, Score: 0.5, Value: 3})
	b, err := Diagnose(in)
	require.NoError(t, err)
	require.Equal(t, "cmd/parse-0", b.Weakest[0].Problem)
	require.Zero(t, b.Weakest[0].PassRate)
	require.Equal(t, "no number was printed", b.Weakest[0].Message)
	require.Equal(t, "size 3 ms, lower is better", b.Weakest[1].Message)
}

func TestMetricsWithCoverageSuspectWhatTheyRun(t *testing.T) {
	in := metricInput()
	test := problem("TestAdd")
	in.Problems = append(in.Problems, test)
	in.Results = append(in.Results, result("TestAdd", true, ""))
	in.Coverage = model.Coverage{
		Blocks: []model.Block{block("app/calc.go", 4), block("app/calc.go", 8)},
		Hits:   map[string][]int{in.Problems[0].ID: {0, 1}, test.ID: {1}},
	}
	b, err := Diagnose(in)
	require.NoError(t, err)
	require.Len(t, b.Weakest, 1)
	require.Len(t, b.Suspects, 2)
	require.Equal(t, 4, b.Suspects[0].StartLine)
	require.InDelta(t, 0.7071067, b.Suspects[0].Score, 1e-6) // 0.5/sqrt(0.5*(0.5+0.5))
	require.InDelta(t, 0.5, b.Suspects[1].Score, 1e-6)       // 0.5/sqrt(0.5*(0.5+0.5+1))
	require.Empty(t, b.Notes)
}
