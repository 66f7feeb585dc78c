package store

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// What a generation asks costs the same after a thousand generations as after
// one only when each statement goes straight to its rows through an index.
func TestQueriesOfAGenerationUseIndexes(t *testing.T) {
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "x.db")})
	var open conditions
	open.add("campaign = ?", "c")
	open.add("state IN (?, ?)", "proposed", "applied")
	for name, q := range map[string]struct {
		sql   string
		args  []any
		steps []string // in order, each a part of the plan's step
	}{
		"TriedKeys": {triedKeys, []any{"c", "t"}, []string{"attempts_tried (campaign=? AND parent_tree=? AND status=?)"}},
		"Queue": {attemptTable.selectSQL(queued), []any{"c", 8}, []string{"attempts_queue (campaign=? AND status=?)",
			"", "attempts_key (campaign=? AND patch_key=? AND status=?)", "", "attempts_key (campaign=? AND patch_key=? AND status=? AND generation>?)", "LAST TERM"}},
		"Attempts":           {attemptTable.selectSQL(inGeneration), []any{"c", 1}, []string{"(campaign=? AND generation=?)", "ORDER BY"}},
		"LastGeneration":     {generationTable.selectSQL(lastGeneration), []any{"c"}, []string{"(campaign=?)"}},
		"LastReceipt":        {receiptTable.selectSQL(lastReceipt), []any{"c"}, []string{"(campaign=?)"}},
		"CountConfirmations": {countReceipts, []any{"c"}, []string{"(campaign=?)"}},
		"Changes":            {changeTable.selectSQL(open.sql()), open.args, []string{"changes_campaign (campaign=? AND state=?)"}},
		"Runs":               {runTable.selectSQL("WHERE " + inScope), []any{"c", "x"}, []string{"(campaign=? AND scope=?)"}},
		"Results":            {runResultTable.selectSQL(ofScope), []any{"c", "x"}, []string{"(run=?)", "LIST SUBQUERY", "(campaign=? AND scope=?)"}},
		"AnsweredCall":       {callTable.selectSQL(answered), []any{"c", 1, "p", "k"}, []string{"calls_answered (campaign=? AND generation=? AND proposer=? AND call_key=? AND status=?)", "ORDER BY"}},
		"ReserveCall":        {sumUse, []any{"c"}, []string{"COVERING INDEX calls_spent (campaign=?)"}},
		"SpentIn":            {sumGeneration, []any{"c", 1}, []string{"COVERING INDEX calls_spent (campaign=? AND generation=?)"}},
		"CampaignEvents":     {campaignEventTable.selectSQL("WHERE campaign = $1 ORDER BY seq"), []any{"c"}, []string{"(campaign=?)"}},
		"Reflections":        {reflectionTable.selectSQL("WHERE campaign = $1 ORDER BY generation DESC LIMIT $2"), []any{"c", 5}, []string{"(campaign=?)"}},
		"Failures":           {failureTable.selectSQL("WHERE seq > $1 AND repo = $2 ORDER BY seq"), []any{1, "r"}, []string{"failures_repo (repo=? AND seq>?)"}},
	} {
		steps := plan(t, s, q.sql, q.args...)
		require.Len(t, steps, len(q.steps), "%s: %q", name, steps)
		for i, step := range q.steps {
			require.Contains(t, steps[i], step, name)
		}
	}
	for _, step := range plan(t, s, receiptTable.selectSQL(byCommit), "abcd", "abcdg") {
		require.NotContains(t, step, "SCAN receipts", "ReceiptByCommit reads the whole table")
	}
}

func plan(t *testing.T, s *Store, query string, args ...any) []string {
	t.Helper()
	rows, err := s.readers.Query("EXPLAIN QUERY PLAN "+query, args...)
	require.NoError(t, err)
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
		steps = append(steps, detail)
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, steps)
	return steps
}

// BenchmarkGenerations reports what generations 901 to 1,000 of a campaign cost
// over what generations 1 to 100 do, for writing and for each thing a generation
// asks: flat cost is a ratio near 1. The two campaigns are in stores of their own
// and take turns, so that whatever else the machine does strikes both.
func BenchmarkGenerations(b *testing.B) {
	const before, n = 900, 100
	for range b.N {
		stores := [2]*Store{benchmarkStore(b, 0), benchmarkStore(b, before)}
		costs := map[string][2][]time.Duration{}
		for i := range n {
			for _, step := range generationSteps {
				c := costs[step.name]
				for k := range 2 {
					k = (k + i) % 2 // each goes first every other time
					c[k] = append(c[k], timed(b, stores[k], k*before+i+1, step.do))
				}
				costs[step.name] = c
			}
		}
		for name, c := range costs {
			b.ReportMetric(float64(median(c[1]))/float64(median(c[0])), name+"-last/first")
			b.ReportMetric(float64(median(c[1]).Microseconds()), name+"-µs")
		}
	}
}

func benchmarkStore(b *testing.B, generations int) *Store {
	b.Helper()
	s := open(b, Config{Path: filepath.Join(b.TempDir(), "x.db")})
	campaign(b, s, "c")
	_, err := s.writer.Exec("PRAGMA synchronous = OFF") // to get there sooner
	require.NoError(b, err)
	for i := range generations {
		storeGeneration(b, s, i+1)
	}
	_, err = s.writer.Exec("PRAGMA synchronous = FULL")
	require.NoError(b, err)
	return s
}

func timed(b *testing.B, s *Store, n int, step func(*testing.B, *Store, int)) time.Duration {
	start := time.Now()
	step(b, s, n)
	return time.Since(start)
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// generationSteps are the writes of one generation and what is asked after it.
var generationSteps = []struct {
	name string
	do   func(b *testing.B, s *Store, n int)
}{
	{"write", storeGeneration},
	{"TriedKeys", func(b *testing.B, s *Store, n int) {
		_, err := s.TriedKeys(context.Background(), "c", fmt.Sprint("tree", n/3))
		require.NoError(b, err)
	}},
	{"Queue", func(b *testing.B, s *Store, _ int) {
		_, err := s.Queue(context.Background(), "c", 8)
		require.NoError(b, err)
	}},
	{"LastGeneration", func(b *testing.B, s *Store, n int) {
		g, err := s.LastGeneration(context.Background(), "c")
		require.NoError(b, err)
		require.Equal(b, n, g.N)
	}},
	{"CountConfirmations", func(b *testing.B, s *Store, _ int) {
		_, err := s.CountConfirmations(context.Background(), "c")
		require.NoError(b, err)
	}},
	{"Changes", func(b *testing.B, s *Store, _ int) {
		_, err := s.Changes(context.Background(), ChangeFilter{Campaign: "c", States: []model.ChangeState{model.ChangeApplied, model.ChangeAwaiting}})
		require.NoError(b, err)
	}},
	{"Runs", func(b *testing.B, s *Store, n int) {
		_, err := s.Runs(context.Background(), "c", fmt.Sprint("change", n))
		require.NoError(b, err)
	}},
}

// storeGeneration writes what a generation with six candidates and four rounds
// of 60 problems writes; every third one keeps its change and so moves the tree.
func storeGeneration(b *testing.B, s *Store, n int) {
	b.Helper()
	ctx, f := context.Background(), Fence{"c", "r", 1}
	tree := fmt.Sprint("tree", n/3)
	var attempts []model.Attempt
	for i := range 6 {
		attempts = append(attempts, model.Attempt{Key: fmt.Sprintf("%d-%d", n, i), Order: i, ParentTree: tree, Status: model.AttemptProposed})
	}
	attempts, err := storeAttempts(ctx, s, f, "c", n, attempts)
	require.NoError(b, err)
	for i, a := range attempts {
		a.Status = []model.AttemptStatus{model.AttemptFailed, model.AttemptPassed, model.AttemptLanded}[max(0, i-3)]
		a.Score = float64(i) / 6
		require.NoError(b, s.UpdateAttempt(ctx, f, a))
	}
	id := fmt.Sprint("change", n)
	require.NoError(b, s.CreateChange(ctx, f, model.Change{ID: id, Campaign: "c", Generation: n}, "ratchet", ""))
	for round := range 4 {
		for _, side := range []string{"parent", "candidate"} {
			_, err := s.SaveRun(ctx, f, RunKey{"c", id, side, round}, tree, someRun(60))
			require.NoError(b, err)
		}
	}
	for _, to := range []model.ChangeState{model.ChangeApproved, model.ChangeApplied, model.ChangeProbation, model.ChangeKept} {
		_, err := s.MoveChange(ctx, f, id, nil, to, "ratchet", "", at, nil)
		require.NoError(b, err)
	}
	require.NoError(b, s.SaveReceipt(ctx, f, model.Receipt{Change: id, Campaign: "c", Generation: n, Commit: fmt.Sprintf("%040x", n)}))
	require.NoError(b, s.SaveGeneration(ctx, f, model.Generation{Campaign: "c", N: n, Outcome: model.OutcomeKept}))
}
