package llm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/llm"
	"ratchet/internal/llm/llmtest"
)

// BenchmarkStallsBeforeAFallback has callers make 12 calls each to an endpoint that
// stalls at every eighth, with one behind it at another price. An answer takes
// 300 ms, a stall is given up after 1 s. stall-ratio is the wall time against that
// on the second endpoint alone, fallback-share the calls that it answered:
//
//	go test ./internal/llm -run ^$ -bench StallsBeforeAFallback -benchtime 1x
func BenchmarkStallsBeforeAFallback(b *testing.B) {
	answer := llmtest.Say(strings.Repeat("word ", 50)).Slow(200*time.Millisecond, 2*time.Millisecond)
	stall := llmtest.Stall(answer.Text, 2).Slow(200*time.Millisecond, 2*time.Millisecond)
	for _, callers := range []int{8, 16} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			var ill, alone time.Duration
			fallback := 0
			for b.Loop() {
				took, n := fallbackRun(b, callers, llmtest.Every(8, stall, answer), answer)
				ill, fallback = ill+took, fallback+n
				took, _ = fallbackRun(b, callers, nil, answer)
				alone += took
			}
			b.ReportMetric(ill.Seconds()/alone.Seconds(), "stall-ratio")
			b.ReportMetric(float64(fallback)/float64(12*callers*b.N), "fallback-share")
		})
	}
}

// fallbackRun asks all questions with a new pool; without a first script there is
// no first endpoint. It says how many calls the second had.
func fallbackRun(b *testing.B, callers int, first, second llmtest.Script) (time.Duration, int) {
	b.Helper()
	s1, s2 := llmtest.Start(b, llmtest.Config{Script: first}), llmtest.Start(b, llmtest.Config{Script: second})
	p := faultPool(b, nil, 2*time.Second)
	e1, e2 := serverEndpoint("first", llmtest.OpenAI, s1), serverEndpoint("second", llmtest.OpenAI, s2)
	e1.Stall, e2.Stall, e2.Price.Output = time.Second, generous, 1
	ends := []llm.Endpoint{e1, e2}
	if first == nil {
		ends = ends[1:]
	}
	c := faultClient(b, p, ends...)
	start := time.Now()
	err := askInParallel(callers, 12, func() error { _, err := c.Complete(b.Context(), faultQuestion, nil); return err })
	took := time.Since(start)
	require.NoError(b, err)
	return took, s2.Stats().Calls
}
