package devstack_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/devstack"
)

// BenchmarkStartStop reports how long a stack takes to be ready on an existing
// data folder, and to stop.
func BenchmarkStartStop(b *testing.B) {
	cfg := devstack.Config{Dir: b.TempDir(), UI: true}
	var up, down time.Duration
	for b.Loop() {
		began := time.Now()
		s, err := devstack.Start(b.Context(), cfg)
		require.NoError(b, err)
		ready := time.Now()
		require.NoError(b, s.Stop(b.Context()))
		up += ready.Sub(began)
		down += time.Since(ready)
	}
	b.ReportMetric(float64(up.Milliseconds())/float64(b.N), "start-ms/op")
	b.ReportMetric(float64(down.Milliseconds())/float64(b.N), "stop-ms/op")
}
