package decision

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// law is a distribution of one difference.
type law []struct{ d, p float64 }

// flips is the law of the difference when parent and candidate pass with the
// given probabilities.
func flips(parent, candidate float64) law {
	return law{{1, candidate * (1 - parent)}, {-1, parent * (1 - candidate)}, {0, parent*candidate + (1-parent)*(1-candidate)}}
}

// enumerate walks every sequence of rounds, with its probability, and calls
// leaf with the final state of each. It rebuilds the fold for each sequence,
// so that states are never shared.
func enumerate(t *testing.T, build func() *Confirmation, laws []law, leaf func(p float64, f *Confirmation)) {
	var walk func(path [][]float64, p float64)
	walk = func(path [][]float64, p float64) {
		f := build()
		for _, r := range path {
			_, err := observe(f, r)
			require.NoError(t, err)
		}
		if f.Status().Final() {
			leaf(p, f)
			return
		}
		var round func(i int, ds []float64, q float64)
		round = func(i int, ds []float64, q float64) {
			if i == len(laws) {
				walk(append(path[:len(path):len(path)], append([]float64(nil), ds...)), q)
				return
			}
			for _, x := range laws[i] {
				if x.p > 0 {
					round(i+1, append(ds[:i:i], x.d), q*x.p)
				}
			}
		}
		round(0, nil, p)
	}
	walk(nil, 1)
}

// Under the null the mean of the wealth at the time the test stops is at most
// 1, and 1/level is reached with probability at most level: computed exactly,
// over every sequence, adaptive bets, futility and optional stopping included.
func TestWealthIsASupermartingale(t *testing.T) {
	const level = 0.25
	for _, bet := range []float64{0, 0.3, 0.75, 0.95} {
		for _, p := range []float64{0, 0.1, 0.25, 0.5, 0.75, 0.9, 1} {
			for _, drop := range []float64{0, 0.05} { // the candidate is equal, or worse
				laws := []law{flips(p, max(p-drop, 0))}
				checkNull(t, fmt.Sprintf("bet %g, p %g, drop %g", bet, p, drop), level, bet, 7, laws)
			}
		}
	}
}

func TestWealthOfTwoClaimsIsASupermartingale(t *testing.T) {
	for _, p := range []float64{0.1, 0.5, 0.9} {
		for _, q := range []float64{0.3, 0.5} {
			checkNull(t, fmt.Sprintf("p %g and %g", p, q), 0.2, 0.6, 4, []law{flips(p, p), flips(q, q)})
		}
	}
}

// Differences that are no passes and failures: any law on [-1, 1] with mean 0.
func TestWealthOfScoresIsASupermartingale(t *testing.T) {
	for i, l := range []law{
		{{0.2, 0.5}, {-0.2, 0.5}},
		{{1, 0.1}, {-0.1111111111111111, 0.9}},
		{{-1, 0.2}, {0.25, 0.8}},
		{{0.7, 0.25}, {-0.3, 0.5}, {-0.1, 0.25}},
	} {
		checkNull(t, fmt.Sprint("law ", i), 0.3, 0.5, 7, []law{l})
	}
}

func checkNull(t *testing.T, name string, level, bet float64, rounds int, laws []law) {
	t.Helper()
	names := []string{"a", "b", "c"}[:len(laws)]
	build := func() *Confirmation {
		var claims []Claim
		for _, n := range names {
			claims = append(claims, Claim{Problem: n, Bet: bet})
		}
		f, err := New(Config{Rounds: rounds, MinRounds: 1}, level, claims)
		require.NoError(t, err)
		_, err = f.Guard(nil, nil)
		require.NoError(t, err)
		return f
	}
	total, wealth, kept := 0.0, 0.0, 0.0
	enumerate(t, build, laws, func(p float64, f *Confirmation) {
		total += p
		wealth += p * f.EValue()
		if f.Status() == Keep {
			kept += p
		}
	})
	require.InDelta(t, 1, total, 1e-9, name)
	require.LessOrEqual(t, wealth, 1+1e-9, name)
	require.LessOrEqual(t, kept, level+1e-9, name)
}

// A suspect that did not change is refused with probability at most 1/WorseAt.
func TestSuspectsAreRefusedRarely(t *testing.T) {
	for _, p := range []float64{0.1, 0.5, 0.8} {
		cfg := Config{Rounds: 9, WorseAt: 4, WorseHold: 3}
		build := func() *Confirmation {
			f, err := New(cfg, 0.9, []Claim{{Problem: "s", Bet: 0}})
			require.NoError(t, err)
			_, err = f.Guard([]string{"s"}, []float64{-1})
			require.NoError(t, err)
			return f
		}
		worse, total := 0.0, 0.0
		// The claim bets nothing at first and its level is lax, so that the suspect decides.
		enumerate(t, build, []law{flips(p, p)}, func(q float64, f *Confirmation) {
			total += q
			if f.Status() == Worse {
				worse += q
			}
		})
		require.InDelta(t, 1, total, 1e-9)
		require.LessOrEqual(t, worse, 1/cfg.WorseAt)
	}
}

func FuzzObserve(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3}, 0.75, 2.0, 0.01)
	f.Add([]byte{255, 254, 253, 0, 0, 0, 0, 0, 0}, 0.0, 1e300, 1e-300)
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -1, 1}
	f.Fuzz(func(t *testing.T, data []byte, bet, weight, level float64) {
		c, err := New(Config{}, level, []Claim{{Problem: "a", Bet: bet, Weight: weight}, {Problem: "b", Bet: bet / 2, Weight: weight}})
		if err != nil {
			return
		}
		at := 0
		next := func() float64 {
			if len(data) == 0 {
				return 0
			}
			b := data[at%len(data)]
			at++
			if int(b) < len(special) {
				return special[b]
			}
			return (float64(b) - 128) / 64
		}
		if c.Status() == Continue {
			_, err = c.Guard([]string{"a", "s", "t"}, []float64{next(), next(), next()})
			require.NoError(t, err)
		}
		for !c.Status().Final() {
			diffs := make([]float64, len(c.Next()))
			for i := range diffs {
				diffs[i] = next()
			}
			_, err := observe(c, diffs)
			require.NoError(t, err)
			finite(t, c.EValue())
			for _, e := range append(c.Claims(), c.Suspects()...) {
				finite(t, e.EValue)
				finite(t, e.Wins)
				finite(t, e.Losses)
			}
			for i := range c.claims {
				b := c.claims[i].next()
				require.True(t, b >= 0 && b <= maxBet, "bet %g", b)
			}
			require.LessOrEqual(t, c.Rounds(), 20)
		}
		if c.Status() == Keep {
			require.GreaterOrEqual(t, math.Log(c.EValue())+1e-9, min(-math.Log(level), 700))
		}
	})
}

func finite(t *testing.T, x float64) {
	t.Helper()
	require.False(t, math.IsNaN(x) || math.IsInf(x, 0) || x < 0, "%g", x)
}

// BenchmarkRound reports rounds a second: one claim, and twenty in each round.
func BenchmarkRound(b *testing.B) {
	for _, n := range []int{1, 20} {
		b.Run(fmt.Sprintf("claims=%d", n), func(b *testing.B) {
			claims, diffs := make([]Claim, n), make([]float64, n)
			for i := range claims {
				claims[i] = Claim{Problem: fmt.Sprint(i), Bet: 0.3}
				diffs[i] = float64(i%3 - 1)
			}
			rounds := 0
			for b.Loop() {
				f, err := New(Config{Rounds: 200}, 1e-9, claims)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.Guard(nil, nil); err != nil {
					b.Fatal(err)
				}
				for i := 0; !f.Status().Final(); i++ {
					diffs[0] = float64(1 - 2*(i%2)*((i/2)%2))
					if _, err := observe(f, diffs); err != nil {
						b.Fatal(err)
					}
				}
				rounds += f.Rounds()
			}
			b.ReportMetric(float64(rounds)/b.Elapsed().Seconds(), "rounds/s")
		})
	}
}
