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

// BenchmarkScreen compares the screening of mutants in a shared box, per mutant,
// with a bare `go test` of the same package in a warm container: "ratio" is at
// most 1.2 on a machine with nothing else to do.
func BenchmarkScreen(b *testing.B) {
	l, s, in := boxes(b), suite(b, Config{}), tree(honest)
	target := l.target(in, in, discover(b, s, in))
	var bare, screen time.Duration
	n := 0
	for b.Loop() {
		var mutants []model.Candidate
		for i := range 10 {
			n++
			mutants = append(mutants, candidate(fmt.Sprint(n), fmt.Sprintf("func Add(a, b int) int { return a - b + %d }", n*10+i)))
		}
		bare += bareGoTest(b, l, in, mutants)
		screen += screenTime(b, s, target, mutants)
	}
	per := float64(n)
	b.ReportMetric(bare.Seconds()*1000/per, "bare-ms/mutant")
	b.ReportMetric(screen.Seconds()*1000/per, "screen-ms/mutant")
	b.ReportMetric(float64(screen)/float64(bare), "ratio")
}

// screenTime is the time from the first candidate done, which opens the box, to the last.
func screenTime(b *testing.B, s *goSuite, target Target, mutants []model.Candidate) time.Duration {
	b.Helper()
	var first time.Time
	all := append([]model.Candidate{candidate("warm", "func Add(a, b int) int { return a - b }")}, mutants...)
	err := s.Screen(b.Context(), target, Screening{Candidates: all, Judge: passAll, Shared: true}, func(x Screened) error {
		require.Equal(b, StageTargets, x.Stage, "%+v", x)
		if first.IsZero() {
			first = time.Now()
		}
		return nil
	})
	require.NoError(b, err)
	return time.Since(first)
}

// bareGoTest runs the go command itself on each mutant, in one warm container.
func bareGoTest(b *testing.B, l lab, in model.Tree, mutants []model.Candidate) time.Duration {
	b.Helper()
	ctx := context.WithoutCancel(b.Context())
	box, err := l.boxes.Open(ctx, l.spec)
	require.NoError(b, err)
	defer box.Close(ctx)
	require.NoError(b, box.Put(ctx, Source, sandbox.Builder, in.Files))
	test := goCommand(Source, time.Minute, "go", "test", "-run=^TestAdd$", "./calc")
	_, err = box.Exec(ctx, test)
	require.NoError(b, err)
	start := time.Now()
	for _, m := range mutants {
		f := model.File{Path: m.Edits[0].Path, Mode: model.ModeFile, Data: m.Edits[0].Data}
		require.NoError(b, box.Put(ctx, Source, sandbox.Builder, []model.File{f}))
		o, err := box.Exec(ctx, test)
		require.NoError(b, err)
		require.Equal(b, 1, o.ExitCode, "the mutant fails: %s%s", o.Stdout, o.Stderr)
	}
	return time.Since(start)
}
