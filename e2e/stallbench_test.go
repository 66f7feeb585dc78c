package e2e

import (
	"testing"
	"time"

	"ratchet/internal/campaign"
	"ratchet/internal/llm/llmtest"
)

// What an endpoint does in the benchmark: it begins an answer after answerFirst and
// ends it about 100 ms later; a call that stalls is given up stallDeadline after its
// first token, and hedged no sooner than a tenth of that.
const (
	answerFirst   = 200 * time.Millisecond
	answerGap     = time.Millisecond
	stallDeadline = time.Second
)

// BenchmarkStallingEndpoint runs eight campaigns at once, on stubbed sandboxes, on
// two endpoints, of which the first stalls at every eighth of its calls:
//
//	go test ./e2e -run ^$ -bench StallingEndpoint -benchtime 1x -count 3
//
// As replicas the two share the calls; as a fallback, at another price, the second
// has those that the first does not answer. stall-ratio is the wall time against
// that of the same campaigns on the second endpoint alone: the share of the stalling
// endpoint is the whole capacity that it gives, and what it costs must not be much
// more than to do without it. The bar is 1.2. well-ratio is the wall time against
// that on the same two endpoints when neither stalls.
func BenchmarkStallingEndpoint(b *testing.B) {
	src := source(b, parts())
	for name, price := range map[string]float64{"replica": 0, "fallback": 1} {
		b.Run(name, func(b *testing.B) {
			var ill, well, alone time.Duration
			stalled, calls := 0, 0
			for b.Loop() {
				took, n, all := stallRun(b, src, price, true, stallEvery)
				ill, stalled, calls = ill+took, stalled+n, calls+all
				took, _, _ = stallRun(b, src, price, true, 0)
				well += took
				took, _, _ = stallRun(b, src, price, false, 0)
				alone += took
			}
			b.ReportMetric(ill.Seconds()/float64(b.N), "stalling-s")
			b.ReportMetric(well.Seconds()/float64(b.N), "well-s")
			b.ReportMetric(alone.Seconds()/float64(b.N), "alone-s")
			b.ReportMetric(ill.Seconds()/alone.Seconds(), "stall-ratio")
			b.ReportMetric(ill.Seconds()/well.Seconds(), "well-ratio")
			b.ReportMetric(float64(stalled)/float64(b.N), "stalls")
			b.ReportMetric(float64(calls)/float64(b.N), "calls")
		})
	}
}

// stallRun runs the campaigns in a new stack, and says how long that took, how many
// calls stalled, and how many there were. The first endpoint stalls at every nth
// call, never when n is 0, and is left out unless first is set.
func stallRun(b *testing.B, src string, price float64, first bool, n int) (took time.Duration, stalled, calls int) {
	b.Helper()
	slow := llmtest.Func(func(r llmtest.Request) llmtest.Reply { return oracle(r).Slow(answerFirst, answerGap) })
	var script llmtest.Script = slow
	if n > 0 {
		script = llmtest.Every(n, llmtest.Stall("too much", 1).Slow(answerFirst, answerGap), slow)
	}
	one, two := llmtest.Start(b, llmtest.Config{Script: script}), llmtest.Start(b, llmtest.Config{Script: slow})
	specs := crowdSpecs(b, src, one, two)
	for i := range specs {
		ends := specs[i].Endpoints
		ends[0].Deadline.Stall, ends[1].Deadline.Stall = campaign.Duration(stallDeadline), campaign.Duration(stallDeadline)
		ends[1].Price = campaign.Price{Input: price, Output: price}
		if !first {
			specs[i].Endpoints = ends[1:]
		}
	}
	took = crowdRun(b, modelStack(b, b.TempDir()), specs)
	return took, stalls(one), one.Stats().Calls + two.Stats().Calls
}
