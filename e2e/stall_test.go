package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/control"
	"ratchet/internal/llm/llmtest"
	"ratchet/internal/model"
	"ratchet/workers"
)

const (
	crowd      = 8 // campaigns at once
	crowdTurns = 3 // generations of each
	stallEvery = 8 // of the calls to the endpoint that stalls, each such one does
)

// Eight campaigns in one stack, on an endpoint that stalls now and then and one
// behind it, all end as they do without stalls.
func TestStallingEndpointWedgesNothing(t *testing.T) {
	needDocker(t)
	src := source(t, parts())
	well := llmtest.Start(t, llmtest.Config{Script: llmtest.Func(oracle)})
	calm, ill := t.TempDir(), t.TempDir()
	specs := crowdSpecs(t, src, well)
	crowdRun(t, modelStack(t, calm), specs)

	bad := llmtest.Start(t, llmtest.Config{Script: llmtest.Every(stallEvery, llmtest.Stall("too much", 1), llmtest.Func(oracle))})
	behind := llmtest.Start(t, llmtest.Config{Script: llmtest.Func(oracle)})
	stalling := crowdSpecs(t, src, bad, behind)
	for i := range stalling {
		stalling[i].Endpoints[0].Deadline.Stall = campaign.Duration(300 * time.Millisecond)
	}
	crowdRun(t, modelStack(t, ill), stalling)
	kept := 0
	for _, s := range specs {
		got := costless(read(t, ill, s.Name))
		require.Equal(t, costless(read(t, calm, s.Name)), got)
		require.Equal(t, model.StopGenerations, got.Campaign.Stopped)
		for _, g := range got.Generations {
			if g.Outcome == model.OutcomeKept {
				kept++
			}
		}
	}
	require.GreaterOrEqual(t, kept, crowd/2, "there is something to lose")
	require.Positive(t, stalls(bad))
	ctx, cancel := context.WithTimeout(t.Context(), childLimit)
	defer cancel()
	require.NoError(t, bad.Idle(ctx), "no call goes on for nobody")
	requireAskedOnce(t, behind)
}

// crowdSpecs are campaigns that differ in name and seed, with the servers in the
// order of preference.
func crowdSpecs(t testing.TB, src string, servers ...*llmtest.Server) []campaign.Spec {
	t.Helper()
	out := make([]campaign.Spec, crowd)
	for i := range out {
		out[i] = modelSpec(t, src, crowdTurns, servers...)
		out[i].Name, out[i].Seed = fmt.Sprintf("demo-%d", i), int64(i)
	}
	return out
}

// crowdRun runs campaigns side by side to their ends, and says how long that took.
func crowdRun(t testing.TB, stack *workers.Stack, specs []campaign.Spec) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), childLimit)
	defer cancel()
	start := time.Now()
	errs := make([]error, len(specs))
	var wg sync.WaitGroup
	for i, s := range specs {
		wg.Go(func() {
			if _, errs[i] = stack.Control.Start(ctx, s, control.Options{}); errs[i] == nil {
				errs[i] = stack.Control.Wait(ctx, s.Name)
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	for _, err := range errs {
		require.NoError(t, err)
	}
	return took
}

// stalls is how many calls a server has left hanging.
func stalls(s *llmtest.Server) (n int) {
	for _, r := range s.Requests() {
		if r.Reply == "stall" {
			n++
		}
	}
	return n
}
