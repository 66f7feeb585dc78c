package benchmarks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// verdictBinary is a package with the tests TestA, TestB, FuzzC and ExampleD.
func verdictBinary() *goBinary {
	return &goBinary{
		dir:    "p",
		expect: map[string]int{"TestA": 1, "TestB": 1, "TestTwice": 2, "FuzzC": 1, "ExampleD": 1},
		ids:    map[string]string{"TestA": "u/p/TestA", "TestB": "u/p/TestB", "TestTwice": "u/p/TestTwice", "FuzzC": "u/p/FuzzC", "ExampleD": "u/p/ExampleD"},
		canaries: canaries{
			pass:  "TestGood",
			fail:  map[testKind]string{kindTest: "TestBad", kindFuzz: "FuzzBad", kindExample: "ExampleBad"},
			clean: "clean words", dirty: "dirty words", diverted: "diverted words",
		},
	}
}

const (
	good  = "^V=== RUN   TestGood\n^V--- PASS: TestGood (0.00s)\n"
	passA = "^V=== RUN   TestA\n^V--- PASS: TestA (0.00s)\n"
	failA = "^V=== RUN   TestA\n    a_test.go:1: no\n^V--- FAIL: TestA (0.00s)\n"
	passB = "^V=== RUN   TestB\n^V--- PASS: TestB (0.00s)\n"
	bad   = "^V=== RUN   TestBad\n    z_test.go:9: clean words\n^V--- FAIL: TestBad (0.00s)\n"
	dirty = "^V=== RUN   TestBad\n    z_test.go:9: dirty words\n^V--- FAIL: TestBad (0.00s)\n"
	end   = "^VFAIL\n"
)

func TestJudge(t *testing.T) {
	one, two := []string{"TestA"}, []string{"TestA", "TestB"}
	for name, c := range map[string]struct {
		names    []string
		out, err string
		o        sandbox.Outcome
		testMain bool
		want     string // outcomes by name, or "again"
		tampered string
	}{
		"all well":      {names: two, out: good + passA + passB + bad + end, o: sandbox.Outcome{ExitCode: 1}, want: "TestA=pass TestB=pass"},
		"honest fail":   {names: two, out: good + failA + passB + dirty + end, o: sandbox.Outcome{ExitCode: 1}, want: "TestA=fail TestB=pass"},
		"parallel fail": {names: two, out: good + passB + bad + failA + end, o: sandbox.Outcome{ExitCode: 1}, want: "TestA=fail TestB=pass"},
		"not reported":  {names: two, out: good + passA + bad + end, o: sandbox.Outcome{ExitCode: 1}, want: "TestA=pass TestB=missing"},
		"declared twice, one fails": {names: []string{"TestTwice"}, o: sandbox.Outcome{ExitCode: 1}, want: "TestTwice=fail",
			out: good + strings.ReplaceAll(passA+failA, "TestA", "TestTwice") + dirty + end},
		"declared twice, one missing": {names: []string{"TestTwice"}, o: sandbox.Outcome{ExitCode: 1}, want: "TestTwice=missing",
			out: good + strings.ReplaceAll(passA, "TestA", "TestTwice") + bad + end},

		"panic in company": {names: two, out: good + failA, err: "panic: x\n", o: sandbox.Outcome{ExitCode: 2}, want: "again"},
		"panic alone":      {names: one, out: good + failA, err: "panic: x\n", o: sandbox.Outcome{ExitCode: 2}, want: "TestA=crashed"},
		"passed, then a stray panic": {names: one, out: good + passA, err: "panic: x\n", o: sandbox.Outcome{ExitCode: 2},
			want: "TestA=crashed"},
		"hangs, said by testing": {names: one, out: good + "^V=== RUN   TestA\n", err: "panic: test timed out after 1s\n",
			o: sandbox.Outcome{ExitCode: 2}, want: "TestA=timeout"},
		"hangs, killed":         {names: one, out: good, o: sandbox.Outcome{ExitCode: -1, TimedOut: true, Signal: "killed"}, want: "TestA=timeout"},
		"out of memory":         {names: one, out: good, o: sandbox.Outcome{ExitCode: -1, OutOfMemory: true}, want: "TestA=out_of_memory"},
		"killed":                {names: one, out: good, o: sandbox.Outcome{ExitCode: -1, Signal: "killed"}, want: "TestA=crashed"},
		"exit 0 with no output": {names: one, o: sandbox.Outcome{}, want: "TestA=missing"},
		"os.Exit(3) in a test":  {names: one, out: good + "^V=== RUN   TestA\n", o: sandbox.Outcome{ExitCode: 3}, want: "TestA=missing"},
		"flood":                 {names: one, out: good + "^V=== RUN   TestA\nxxx", o: sandbox.Outcome{ExitCode: 1, Truncated: true}, want: "TestA=missing"},
		"exit status kept by a trusted TestMain": {names: one, out: good + passA + bad + end, testMain: true,
			want: "TestA=pass"},

		"forged pass, exit 0": {names: one, out: good + passA, o: sandbox.Outcome{}, want: "TestA=missing",
			tampered: "TestA was reported as passed, and then a canary was not reported"},
		"forged pass in company": {names: two, out: good + passA + passB, o: sandbox.Outcome{}, want: "again"},
		"all reported as passed": {names: two, out: good + passA + passB + strings.ReplaceAll(bad, "FAIL", "PASS") + "^VPASS\n",
			want: "TestA=missing TestB=missing", tampered: "the canary that must fail was reported as pass"},
		"success claimed": {names: one, out: good + passA + "^VPASS\n", want: "TestA=missing", tampered: "reported success"},
		"reported twice": {names: one, out: good + passA + failA + dirty + end, o: sandbox.Outcome{ExitCode: 1}, want: "TestA=missing",
			tampered: "TestA was reported 2 times and ran 1"},
		"a test nobody knows": {names: one, out: good + passA + strings.ReplaceAll(passB, "TestB", "TestNew") + bad + end,
			o: sandbox.Outcome{ExitCode: 1}, want: "TestA=missing", tampered: "TestNew"},
		"failure hidden": {names: two, out: good + passA + passB + dirty + end, o: sandbox.Outcome{ExitCode: 1},
			want: "TestA=missing TestB=missing", tampered: "counted and not reported"},
		"wrong words": {names: one, out: good + passA + strings.ReplaceAll(bad, "clean words", "ha") + end, o: sandbox.Outcome{ExitCode: 1},
			want: "TestA=missing", tampered: "wrong words"},
		"diverted": {names: one, out: good + passA + strings.ReplaceAll(bad, "clean", "diverted") + end, o: sandbox.Outcome{ExitCode: 1},
			want: "TestA=missing", tampered: "another file"},
		"passing canary fails": {names: one, out: strings.ReplaceAll(good, "PASS", "FAIL") + passA + bad + end, o: sandbox.Outcome{ExitCode: 1},
			want: "TestA=missing", tampered: "the canary that passes was reported as fail"},
		"exit status contradicts": {names: one, out: good + passA + bad + end, o: sandbox.Outcome{}, want: "TestA=missing",
			tampered: "exit status 0"},
		"early canary left out": {names: one, out: passA + bad + end, o: sandbox.Outcome{ExitCode: 1}, want: "TestA=missing",
			tampered: "canary"},
	} {
		t.Run(name, func(t *testing.T) {
			pkg := verdictBinary()
			pkg.testMain = c.testMain
			c.o.Stdout, c.o.Stderr = marked(c.out), []byte(c.err)
			v := judge(goProcess{pkg, c.names}, c.o)
			if c.tampered == "" {
				require.Empty(t, v.tampered)
			} else {
				require.Contains(t, v.tampered, c.tampered)
				require.Contains(t, v.tampered, "package p")
			}
			require.Equal(t, c.want, describe(c.names, v))
		})
	}
}

// describe writes outcomes as "name=outcome", and checks what every result must hold.
func describe(names []string, v goVerdict) string {
	if !v.settled {
		return "again"
	}
	var out []string
	for _, n := range names {
		r := v.results[n]
		if r.Problem != "u/p/"+n || (r.Score == 1) != (r.Outcome == model.Pass) || r.TimedOut != (r.Outcome == model.Timeout) {
			return fmt.Sprintf("%s: inconsistent %+v", n, r)
		}
		out = append(out, n+"="+string(r.Outcome))
	}
	return strings.Join(out, " ")
}

// A failing canary is asked for in each kind that a process runs, and only there.
func TestCanariesAsked(t *testing.T) {
	c := verdictBinary().canaries
	require.Equal(t, []string{"TestGood", "TestBad"}, c.asked([]string{"TestA", "TestB"}))
	require.Equal(t, []string{"TestGood", "FuzzBad", "ExampleBad"}, c.asked([]string{"FuzzC", "ExampleD"}))
}
