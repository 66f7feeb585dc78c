package trial_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/decision"
	"ratchet/internal/trial"
)

// A change that fixes one problem and harms another: how often is it kept?
// The full round sees a steady problem that fails always, and half of those
// that fail half of the time; what it saw is repeated until it is proven.
func TestHarmIsRefused(t *testing.T) {
	const n = 400
	for _, c := range []struct {
		name          string
		before, after float64 // pass rate of the harmed problem
		seen          bool    // in the full round, for sure
		least         float64 // share refused, of those seen in the full round
	}{
		{"1 to 0", 1, 0, true, 1},
		{"1 to 0.5", 1, 0.5, false, 0.88},
		{"0.9 to 0.5", 0.9, 0.5, false, 0.3},
		{"0.9 to 0", 0.9, 0, false, 0.99},
	} {
		seen, refused, harmless, kept := 0, 0, 0, 0
		for seed := range uint64(n) {
			in := trial.ConfirmInput{Problems: problems(1, "a", "b", "c"), Claims: fix("a"), Level: decision.Level(0.05, 10)}
			v, err := trial.Confirm(context.Background(),
				newBench(seed, map[string]float64{"a": 0, "c": c.before}), newBench(seed+n, map[string]float64{"c": c.after}), in, nil)
			require.NoError(t, err)
			if len(v.Suspects) > 0 {
				seen++
				if v.Status == string(decision.Worse) {
					refused++
				}
			}
			// The same suspect without harm.
			v, err = trial.Confirm(context.Background(),
				newBench(seed, map[string]float64{"a": 0, "c": c.before}), newBench(seed+n, map[string]float64{"c": c.before}), in, nil)
			require.NoError(t, err)
			harmless++
			if v.Keep {
				kept++
			}
		}
		t.Logf("%s: seen in the full round %.1f%%, refused of these %.1f%%; without harm kept %.1f%%", c.name,
			100*float64(seen)/n, 100*float64(refused)/float64(seen), 100*float64(kept)/float64(harmless))
		require.GreaterOrEqual(t, float64(refused), c.least*float64(seen), c.name)
		require.GreaterOrEqual(t, float64(kept), 0.98*float64(harmless), c.name)
		if c.seen {
			require.Equal(t, n, seen)
		}
	}
}

// Two fixes need fewer rounds than one, and the number of runs stays about the same.
func TestRoundsForFixes(t *testing.T) {
	for n, want := range map[int][2]int{1: {8, 15}, 2: {4, 9}, 4: {5, 5}} {
		ids := []string{"a", "b", "c", "d"}
		pass := map[string]float64{}
		for _, id := range ids[:n] {
			pass[id] = 0
		}
		v, err := trial.Confirm(context.Background(), newBench(1, pass), newBench(2, nil),
			input(decision.Level(0.05, 50), fix(ids[:n]...), problems(0, ids...)), nil)
		require.NoError(t, err)
		require.True(t, v.Keep)
		require.GreaterOrEqual(t, v.Rounds, want[0], n)
		require.LessOrEqual(t, v.Rounds, want[1], n)
	}
}
