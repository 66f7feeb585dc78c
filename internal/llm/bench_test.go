package llm_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/llm/llmtest"
)

const (
	benchCallers = 8
	benchCalls   = 10 // of each caller
	benchStall   = 50 * time.Millisecond
)

// BenchmarkStalls has 8 callers make 10 calls each over two endpoints, of which the
// first stalls at each 10th call, or always, and the same without stalls. It reports
// the wall time of both, their ratio, and how many calls ran into the stall.
func BenchmarkStalls(b *testing.B) {
	answer := llmtest.Say(strings.Repeat("word ", 15)).Slow(5*time.Millisecond, time.Millisecond)
	stall := llmtest.Stall(answer.Text, 2)
	for _, v := range []struct {
		name   string
		script func() llmtest.Script
	}{
		{"every-10th", func() llmtest.Script { return llmtest.Every(10, stall, answer) }},
		{"always", func() llmtest.Script { return stall }},
	} {
		b.Run(v.name, func(b *testing.B) {
			var well, ill time.Duration
			var stalled int
			for b.Loop() {
				took, _ := benchRun(b, answer, answer)
				well += took
				took, n := benchRun(b, v.script(), answer)
				ill += took
				stalled += n
			}
			b.ReportMetric(float64(well.Nanoseconds())/float64(b.N), "healthy-ns/op")
			b.ReportMetric(float64(ill.Nanoseconds())/float64(b.N), "stalling-ns/op")
			b.ReportMetric(float64(ill)/float64(well), "ratio")
			b.ReportMetric(float64(stalled)/float64(b.N), "stalls/op")
		})
	}
}

// benchRun asks all questions with a new pool, and says how long that took and how
// many calls stalled.
func benchRun(b *testing.B, first, second llmtest.Script) (time.Duration, int) {
	b.Helper()
	s1, s2 := llmtest.Start(b, llmtest.Config{Script: first}), llmtest.Start(b, llmtest.Config{Script: second})
	defer s1.Close()
	defer s2.Close()
	p := faultPool(b, nil, generous)
	defer p.Close()
	e1, e2 := serverEndpoint("first", llmtest.OpenAI, s1), serverEndpoint("second", llmtest.OpenAI, s2)
	e1.Stall, e2.Stall = benchStall, generous
	e1.Parallel, e2.Parallel = benchCallers, benchCallers
	c := faultClient(b, p, e1, e2)

	start := time.Now()
	err := askInParallel(benchCallers, benchCalls, func() error { _, err := c.Complete(b.Context(), faultQuestion, nil); return err })
	took := time.Since(start)
	require.NoError(b, err)
	stalls := 0
	for _, r := range s1.Requests() {
		if r.Reply == "stall" {
			stalls++
		}
	}
	return took, stalls
}
