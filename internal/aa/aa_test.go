package aa

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/decision"
)

// confidence of every bound below: a rule that just misses a bar passes its
// check with at most 1% probability.
const confidence = 0.99

// The bars of the decision rule, with exact binomial (Clopper-Pearson) bounds.
func TestBars(t *testing.T) {
	all := suites()
	found, err := study(context.Background(), Config{Trials: 150}, all, nil)
	require.NoError(t, err)
	chosen := 0
	for i, s := range all {
		f, r := found[i], found[i].report(s.name)
		t.Logf("%-34s false accepts %.3f%% of %d, power %.1f%%, rounds %.1f, phantom gain %+.3f points",
			s.name, 100*r.FalseAcceptRate, f.identical, 100*r.Power, r.MeanRounds, r.PhantomGainPoints)
		chosen += f.identical
		if f.identical > 2000 { // quiet suites let hardly any through the screen
			require.Less(t, upper(f.accepted, f.identical), 0.01, s.name)
		}
		// Per identical candidate that was confirmed, whether noise chose it or not.
		require.Less(t, upper(f.accepted, 150*50), 0.01, s.name)
		require.InDelta(t, 0, r.PhantomGainPoints, 0.5, s.name)
		require.LessOrEqual(t, r.MeanRounds, 20., s.name)
		// Better candidates of one campaign share what it knows: count campaigns.
		require.GreaterOrEqual(t, lower(int(r.Power*150), 150), s.leastPower(), s.name)
	}
	require.Greater(t, chosen, 10_000, "candidates that noise carried through a screen")
}

func (s suite) leastPower() float64 {
	if s.power == 0 {
		return 0.8
	}
	return s.power
}

// The first confirmations have the largest levels. Identical candidates that
// noise chose are kept in less than 1% there too.
func TestFirstConfirmation(t *testing.T) {
	all := []suite{coinFlips("coins"), mixed("3 flaky", 20, 3, 0.5), mixed("rare", 20, 3, 0.9), mixed("1 flaky", 20, 1, 0.5),
		metrics("2%", 1.1, 0, noise{sd: 0.02}), metrics("5%", 1.2, 0, noise{sd: 0.05}), metrics("10%", 1.5, 0, noise{sd: 0.1}),
		metrics("tripled", 1.2, 0, noise{sd: 0.02, outlier: 0.05}), metrics("common", 1.2, 0, noise{sd: 0.005, common: 0.05})}
	found, err := study(context.Background(), Config{Trials: 1000, Confirmations: 1}, all, nil)
	require.NoError(t, err)
	for i, s := range all {
		f := found[i]
		t.Logf("%-10s false accepts %d of %d, power %.1f%%", s.name, f.accepted, f.identical, 100*f.report("").Power)
		require.Greater(t, f.identical, 200, s.name)
		require.Less(t, upper(f.accepted, f.identical), 0.02, s.name)
		require.LessOrEqual(t, lower(f.accepted, f.identical), decision.Level(0.05, 1), "Ville's bound does not hold on %s", s.name)
	}
	require.Less(t, upper(found[0].accepted, found[0].identical), 0.01)
}

// A lax alpha accepts noise and a short budget misses gains: this shows that
// the study can see a bad rule.
func TestTheStudySeesABadRule(t *testing.T) {
	coins := []suite{coinFlips("coins")}
	lax, err := study(context.Background(), Config{Trials: 40, Alpha: 0.999}, coins, nil)
	require.NoError(t, err)
	require.Greater(t, lower(lax[0].accepted, lax[0].identical), 0.001, "a lax rule accepts noise")
	require.Greater(t, lax[0].report("").PhantomGainPoints, 0.5, "and believes in gains that are none")
	short, err := study(context.Background(), Config{Trials: 40, Rounds: 8}, coins, nil)
	require.NoError(t, err)
	require.Less(t, short[0].report("").Power, 0.5, "eight rounds are too few")
}

func TestReportIsTheSameForOneSeed(t *testing.T) {
	cfg := Config{Seed: 7, Trials: 3, Confirmations: 5, Parallel: 1}
	one, err := Run(context.Background(), cfg, nil)
	require.NoError(t, err)
	calls, last := 0, 0
	cfg.Parallel = 4
	four, err := Run(context.Background(), cfg, func(done, total int) {
		require.Equal(t, last+1, done)
		require.Equal(t, 3*len(suites()), total)
		calls, last = calls+1, done
	})
	require.NoError(t, err)
	require.Equal(t, one, four)
	require.Equal(t, 3*len(suites()), calls)
	cfg.Seed = 8
	other, err := Run(context.Background(), cfg, nil)
	require.NoError(t, err)
	require.NotEqual(t, one, other)
	data, err := json.Marshal(one.Suites[0])
	require.NoError(t, err)
	for _, key := range []string{"name", "false_accept_rate", "power", "mean_rounds", "phantom_gain_points"} {
		require.Contains(t, string(data), `"`+key+`"`)
	}
}

func TestRunRefusesAndStops(t *testing.T) {
	for _, cfg := range []Config{{Trials: -1}, {Confirmations: -1}, {Parallel: -1}, {Alpha: 2}, {Rounds: -5}} {
		_, err := Run(context.Background(), cfg, nil)
		require.Error(t, err, "%+v", cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Run(ctx, Config{Trials: 1000}, func(int, int) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
}

// upper is the largest probability under which at most k of n is as likely as
// 1-confidence; lower is the smallest under which at least k is (Clopper and Pearson, 1934).
func upper(k, n int) float64 {
	if k >= n {
		return 1
	}
	return bisect(func(p float64) bool { return atMost(k, n, p) > 1-confidence })
}

func lower(k, n int) float64 { return 1 - upper(n-k, n) }

// bisect finds where ok, true at 0, turns false.
func bisect(ok func(p float64) bool) float64 {
	lo, hi := 0., 1.
	for range 60 {
		if mid := (lo + hi) / 2; ok(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// atMost is the probability of at most k successes in n trials.
func atMost(k, n int, p float64) float64 {
	sum := 0.0
	for i := range k + 1 {
		sum += math.Exp(logChoose(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

func TestBounds(t *testing.T) {
	require.InDelta(t, 1-math.Pow(0.01, 1./100), upper(0, 100), 1e-9)
	require.InDelta(t, math.Pow(0.01, 1./100), lower(100, 100), 1e-9)
	require.Equal(t, 1., upper(5, 5))
	require.Less(t, lower(89, 100), 0.89)
	require.Greater(t, upper(89, 100), 0.89)
}
