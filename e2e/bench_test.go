package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"ratchet/activities"
	"ratchet/benchmarks"
	"ratchet/internal/campaign"
	"ratchet/internal/control"
	"ratchet/internal/model"
	"ratchet/internal/propose"
	"ratchet/internal/protocol"
	"ratchet/workers"
)

// keptEvery is how often a generation of a long campaign keeps its change; of
// the others one half reverts a change and one half rejects all candidates.
const keptEvery = 20

// BenchmarkGeneration runs one campaign of b.N generations on a stubbed sandbox:
//
//	go test ./e2e -run ^$ -bench Generation -benchtime 1000x -timeout 1h
//
// It reports how long and how much processor time a generation takes, what it
// takes in the last fifth of the campaign against the first, and the longest
// history that the campaign's workflow had before it continued as new.
func BenchmarkGeneration(b *testing.B) {
	s := longSpec(b, b.N)
	m := &meter{}
	stack, err := workers.Open(b.Context(), workers.StackConfig{Data: b.TempDir(), Adapt: func(cfg *activities.Config) {
		cfg.Boxes, cfg.Trace = noBoxes{}, m.trace
		cfg.Suites = func(campaign.Spec) ([]benchmarks.Suite, error) {
			return []benchmarks.Suite{&suite{at: func(string) {}}}, nil
		}
		cfg.Proposers = func(campaign.Spec, activities.Callers) ([]propose.Proposer, error) {
			return []propose.Proposer{endless{}}, nil
		}
	}})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, stack.Close(context.WithoutCancel(b.Context()))) })
	b.ResetTimer()
	_, err = stack.Control.Start(b.Context(), s, control.Options{})
	require.NoError(b, err)
	first, err := stack.Temporal.DescribeWorkflowExecution(b.Context(), protocol.CampaignID(s.Name), "")
	require.NoError(b, err)
	require.NoError(b, stack.Control.Wait(b.Context(), s.Name))
	b.StopTimer()

	rows, err := stack.Store.Generations(b.Context(), s.Name)
	require.NoError(b, err)
	require.Len(b, rows, b.N)
	m.report(b, rows)
	runs, longest := histories(b, stack, s.Name, runID(first))
	b.ReportMetric(float64(runs), "runs")
	b.ReportMetric(float64(longest), "events-max")
}

// longSpec is a campaign with enough to mend for n generations.
func longSpec(b *testing.B, n int) campaign.Spec {
	parts := map[string]string{guard: good, "beyond": bad}
	for i := range 40 + n/keptEvery {
		parts[fmt.Sprintf("x%04d", i)] = bad
	}
	s := spec(b, source(b, parts), n)
	s.Search.Stop.Stale, s.Gate.Rounds = n+1, 60 // the level of late confirmations asks for more rounds
	s.Budget = campaign.Budget{Wall: campaign.Duration(24 * time.Hour), Sandbox: campaign.Duration(1000 * time.Hour)}
	return s
}

// endless is a proposer that always has another idea.
type endless struct{}

func (endless) Name() string { return "endless" }

func (endless) Propose(_ context.Context, r propose.Request) (propose.Proposal, error) {
	n, problem := r.Brief.Generation, r.Brief.Weakest[0].Problem
	part := func(p, text string) model.Edit {
		return model.Edit{Path: partOf(p), Data: fmt.Appendf(nil, "%s, generation %d\n", text, n)}
	}
	edits := []model.Edit{part(problem, "no better")}
	switch {
	case n%keptEvery == 0:
		edits = []model.Edit{part(problem, "good")}
	case n%2 == 1:
		edits = []model.Edit{part(problem, "good"), part(guard, "bad")}
	}
	return propose.Proposal{Candidates: []model.Candidate{candidate(r.Tree, problem, "try "+problem, edits...)}}, nil
}

// meter reads the clock and the processor time of this process at the end of
// each generation.
type meter struct {
	mu   sync.Mutex
	ends []sample
}

type sample struct{ wall, cpu time.Duration }

func (m *meter) trace(_ context.Context, point string) {
	if point != protocol.RecordGeneration+"/end" {
		return
	}
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ends = append(m.ends, sample{
		wall: time.Duration(time.Now().UnixNano()),
		cpu:  time.Duration(u.Utime.Nano() + u.Stime.Nano()),
	})
}

// report compares the last fifth of the campaign with the first, the very first
// generations left out, by the median of each kind of generation: what else the
// machine does in between counts for little.
func (m *meter) report(b *testing.B, rows []model.Generation) {
	fifth := len(rows) / 5
	if fifth < 2 {
		return
	}
	early, late := m.window(rows, 1, 1+fifth), m.window(rows, len(rows)-fifth, len(rows))
	b.ReportMetric(float64(early.wall.Microseconds())/1000, "early-ms/gen")
	b.ReportMetric(float64(late.wall.Microseconds())/1000, "late-ms/gen")
	b.ReportMetric(float64(late.wall)/float64(early.wall), "late/early-wall")
	b.ReportMetric(float64(early.cpu.Microseconds())/1000, "early-cpu-ms/gen")
	b.ReportMetric(float64(late.cpu)/float64(early.cpu), "late/early-cpu")
}

// window is the typical cost of generations from to to: the medians of those
// that revert and of those that reject, in equal parts.
func (m *meter) window(rows []model.Generation, from, to int) sample {
	by := map[model.GenerationOutcome][2][]time.Duration{}
	for i := from; i < to; i++ {
		x := by[rows[i].Outcome]
		x[0] = append(x[0], m.ends[i].wall-m.ends[i-1].wall)
		x[1] = append(x[1], m.ends[i].cpu-m.ends[i-1].cpu)
		by[rows[i].Outcome] = x
	}
	var out sample
	for _, o := range []model.GenerationOutcome{model.OutcomeReverted, model.OutcomeRejected} {
		out.wall += median(by[o][0]) / 2
		out.cpu += median(by[o][1]) / 2
	}
	return out
}

func median(xs []time.Duration) time.Duration {
	if len(xs) == 0 {
		return 0
	}
	slices.Sort(xs)
	return xs[len(xs)/2]
}

// histories follows a campaign's workflow from run to run, and returns how many
// there were and how long the longest history is, in events.
func histories(b *testing.B, s *workers.Stack, name, run string) (runs int, longest int64) {
	b.Helper()
	id := protocol.CampaignID(name)
	for run != "" {
		d, err := s.Temporal.DescribeWorkflowExecution(b.Context(), id, run)
		require.NoError(b, err)
		runs, longest = runs+1, max(longest, d.GetWorkflowExecutionInfo().GetHistoryLength())
		end, err := s.Temporal.GetWorkflowHistory(b.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT).Next()
		require.NoError(b, err)
		run = end.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	return runs, longest
}
