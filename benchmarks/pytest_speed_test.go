package benchmarks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// BenchmarkPyScreen compares the screening of mutants in a shared box, per mutant,
// with a fresh `python3 -m pytest` of the same test in a warm container: "ratio" is
// at most 0.45 on a machine with nothing else to do.
func BenchmarkPyScreen(b *testing.B) {
	l, s, in := pyBoxes(b), pytestSuite(b, Config{}), tree(pyHonest)
	target := l.target(in, in, pyProblems(s, "tests/test_calc.py::test_add"))
	var bare, screen time.Duration
	n := 0
	for b.Loop() {
		var mutants []model.Candidate
		for i := range 10 {
			n++
			mutants = append(mutants, mutant(fmt.Sprint(n), fmt.Sprintf("return a - b + %d", n*10+i)))
		}
		bare += barePytest(b, l, in, mutants)
		screen += pyScreenTime(b, s, target, mutants)
	}
	b.ReportMetric(bare.Seconds()*1000/float64(n), "bare-ms/mutant")
	b.ReportMetric(screen.Seconds()*1000/float64(n), "screen-ms/mutant")
	b.ReportMetric(float64(screen)/float64(bare), "ratio")
}

// pyScreenTime is the time from the first candidate done, which opens the box, to the last.
func pyScreenTime(b *testing.B, s *pySuite, target Target, mutants []model.Candidate) time.Duration {
	b.Helper()
	var first time.Time
	all := append([]model.Candidate{mutant("warm", "return a - b"), mutant("warmer", "return b - a")}, mutants...)
	err := s.Screen(b.Context(), target, Screening{Candidates: all, Judge: passTargets, Shared: true}, func(x Screened) error {
		require.Equal(b, StageTargets, x.Stage, "%+v", x)
		require.Equal(b, model.Fail, x.Results[0].Outcome, "%+v", x)
		if x.Key == "warmer" {
			first = time.Now()
		}
		return nil
	})
	require.NoError(b, err)
	return time.Since(first)
}

// barePytest runs pytest itself on each mutant, in one warm container.
func barePytest(b *testing.B, l lab, in model.Tree, mutants []model.Candidate) time.Duration {
	b.Helper()
	ctx := context.WithoutCancel(b.Context())
	box, err := l.boxes.Open(ctx, l.spec)
	require.NoError(b, err)
	defer box.Close(ctx)
	require.NoError(b, box.Put(ctx, Source, sandbox.Runner, in.Files))
	test := sandbox.Command{
		Argv: []string{"python3", "-m", "pytest", "-q", "tests/test_calc.py::test_add"},
		Dir:  Source, User: sandbox.Runner, Timeout: time.Minute,
	}
	_, err = box.Exec(ctx, test)
	require.NoError(b, err)
	start := time.Now()
	for _, m := range mutants {
		f := model.File{Path: m.Edits[0].Path, Mode: model.ModeFile, Data: m.Edits[0].Data}
		require.NoError(b, box.Put(ctx, Source, sandbox.Runner, []model.File{f}))
		o, err := box.Exec(ctx, test)
		require.NoError(b, err)
		require.Equal(b, 1, o.ExitCode, "the mutant fails: %s%s", o.Stdout, o.Stderr)
	}
	return time.Since(start)
}
