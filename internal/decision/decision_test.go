package decision

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// observe tells of a round in which gains and harms have one zero.
func observe(c *Confirmation, diffs []float64) (Status, error) { return c.ObserveBoth(diffs, diffs) }

func TestLevelSumsToAlpha(t *testing.T) {
	const n = 1_000_000
	for _, alpha := range []float64{0.001, 0.05, 0.5} {
		sum, last := 0.0, math.Inf(1)
		for j := 1; j <= n; j++ {
			l := Level(alpha, j)
			require.Positive(t, l)
			require.Less(t, l, last, "levels fall")
			sum, last = sum+l, l
		}
		require.LessOrEqual(t, sum, alpha)
		// What is left after n is alpha·10/(n+10).
		require.InDelta(t, alpha*(1-10./(n+10)), sum, 1e-9)
	}
	require.InDelta(t, 0.05/11, Level(0.05, 1), 1e-15)
	require.Zero(t, Level(0.05, 0))
	require.Zero(t, Level(0.05, -3))
}

func TestConfig(t *testing.T) {
	d := Config{}.WithDefaults()
	require.Equal(t, Config{Alpha: 0.05, Rounds: 20, MinRounds: 5, WorseAt: 20, WorseRounds: 8, WorseHold: 3}, d)
	require.NoError(t, d.Validate())
	for rounds := 1; rounds < 12; rounds++ {
		require.NoError(t, Config{Rounds: rounds}.WithDefaults().Validate(), "a small budget alone is valid")
	}
	require.NoError(t, Config{WorseAt: 1.5}.WithDefaults().Validate())
	nan := math.NaN()
	for i, bad := range []Config{
		{Alpha: 1}, {Alpha: -0.1}, {Alpha: nan}, {Rounds: -1}, {Rounds: 1_000_000}, {MinRounds: 21}, {MinRounds: -1},
		{WorseAt: 1}, {WorseAt: nan}, {WorseRounds: 21}, {WorseRounds: -2}, {WorseHold: 0.5}, {WorseHold: 21}, {WorseHold: nan},
	} {
		require.Error(t, bad.WithDefaults().Validate(), i)
		_, err := New(bad, 0.01, nil)
		require.Error(t, err, i)
	}
	err := Config{Alpha: 2, Rounds: -1}.WithDefaults().Validate()
	require.ErrorContains(t, err, "alpha")
	require.ErrorContains(t, err, "rounds", "all errors at once")
}

func TestNewRefuses(t *testing.T) {
	good := Claim{Problem: "a", Bet: 0.5}
	for name, c := range map[string]struct {
		level  float64
		claims []Claim
		want   error
	}{
		"level 0":         {0, []Claim{good}, ErrLevel},
		"level 1":         {1, []Claim{good}, ErrLevel},
		"level NaN":       {math.NaN(), []Claim{good}, ErrLevel},
		"no name":         {0.01, []Claim{{Bet: 0.5}}, ErrClaims},
		"twice":           {0.01, []Claim{good, good}, ErrClaims},
		"bet 1":           {0.01, []Claim{{Problem: "a", Bet: 1}}, ErrClaims},
		"bet negative":    {0.01, []Claim{{Problem: "a", Bet: -0.1}}, ErrClaims},
		"bet NaN":         {0.01, []Claim{{Problem: "a", Bet: math.NaN()}}, ErrClaims},
		"weight negative": {0.01, []Claim{{Problem: "a", Weight: -1}}, ErrClaims},
		"weight infinite": {0.01, []Claim{{Problem: "a", Weight: math.Inf(1)}}, ErrClaims},
	} {
		_, err := New(Config{}, c.level, c.claims)
		require.ErrorIs(t, err, c.want, name)
	}
}

// step is one round in a table: the difference of claim "a", then of suspect "s" if there is one.
type step []float64

func repeat(n int, s ...float64) []step {
	var out []step
	for range n {
		out = append(out, s)
	}
	return out
}

func join(parts ...[]step) []step {
	var out []step
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func TestStops(t *testing.T) {
	first, fiftieth := Level(0.05, 1), Level(0.05, 50)
	for name, c := range map[string]struct {
		level   float64
		guard   float64 // difference of "s" in the full round
		rounds  []step
		want    Status
		atRound int
	}{
		"a clean fix, first confirmation":     {first, 0, repeat(20, 1), Keep, 9},
		"a clean fix, fiftieth":               {fiftieth, 0, repeat(20, 1), Keep, 14},
		"a level that is reached at once":     {0.6, 0, repeat(20, 1), Keep, 5}, // MinRounds
		"nothing ever differs":                {fiftieth, 0, repeat(20, 0), Futile, 3},
		"nothing differs, first confirmation": {first, 0, repeat(20, 0), Futile, 6},
		"the first round is lost":             {fiftieth, 0, repeat(20, -1), Futile, 1},
		"a fix that fails once":               {first, 0, join(repeat(3, 1), repeat(1, -1), repeat(16, 1)), Keep, 15},
		"half of the rounds":                  {first, 0, join(repeat(1, 1), repeat(1, 0), repeat(1, 1), repeat(1, 0), repeat(1, 1), repeat(1, 0), repeat(1, 1), repeat(1, 0), repeat(1, 1), repeat(1, 0), repeat(1, 1), repeat(1, 0), repeat(1, 1), repeat(1, 0), repeat(6, 1)), Keep, 16},
		"a small but steady gain":             {0.3, 0, repeat(20, 0.1), Keep, 14},
		"budget":                              {first, 0, join(repeat(8, 1), repeat(12, 0)), Budget, 20},
		"a suspect that is worse":             {first, -1, repeat(20, 1, -1), Worse, 6},
		"a suspect that was chance":           {0.1, -1, repeat(20, 1, 0), Keep, 8}, // WorseRounds
		"a suspect in doubt is held":          {0.1, -1, join(repeat(3, 1, -1), repeat(17, 1, 0)), Keep, 20},
		"a doubt that goes away":              {0.1, -1, join(repeat(3, 1, -1), repeat(6, 1, 0), repeat(1, 0, 1), repeat(10, 1, 0)), Keep, 10},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := New(Config{}, c.level, []Claim{{Problem: "a", Bet: 0.75}})
			require.NoError(t, err)
			_, err = f.Guard([]string{"a", "s"}, []float64{0, c.guard})
			require.NoError(t, err)
			for _, s := range c.rounds {
				if f.Status().Final() {
					break
				}
				if len(f.Next()) == 1 && f.Next()[0] == "s" {
					s = s[1:] // the claim is proven and not run any more
				}
				_, err = observe(f, s)
				require.NoError(t, err)
			}
			require.Equal(t, c.want, f.Status())
			require.Equal(t, c.atRound, f.Rounds())
			if c.want != Worse {
				require.Equal(t, c.want == Keep, f.EValue() >= 1/c.level)
			}
			require.Empty(t, f.Next())
		})
	}
}

func TestTamperEndsAtOnce(t *testing.T) {
	f, err := New(Config{}, 0.01, []Claim{{Problem: "a", Bet: 0.75}})
	require.NoError(t, err)
	f.Tamper()
	require.Equal(t, Tampered, f.Status())
	_, err = f.Guard(nil, nil)
	require.ErrorIs(t, err, ErrFinal)
}

func TestNothingToProveIsFutile(t *testing.T) {
	f, err := New(Config{}, 0.01, nil)
	require.NoError(t, err)
	require.Equal(t, Futile, f.Status())
	f, err = New(Config{Rounds: 5}, Level(0.05, 50), []Claim{{Problem: "a", Bet: 0.9}})
	require.NoError(t, err)
	require.Equal(t, Futile, f.Status(), "five rounds of one claim cannot reach an e-value of 7080")
}

func TestMisuse(t *testing.T) {
	f, err := New(Config{}, 0.01, []Claim{{Problem: "a", Bet: 0.75}})
	require.NoError(t, err)
	_, err = observe(f, []float64{1})
	require.ErrorIs(t, err, ErrGuard)
	_, err = f.Guard([]string{"a"}, nil)
	require.ErrorIs(t, err, ErrShape)
	_, err = f.Guard([]string{"a"}, []float64{1})
	require.NoError(t, err)
	_, err = f.Guard([]string{"a"}, []float64{1})
	require.ErrorIs(t, err, ErrGuard)
	_, err = observe(f, []float64{1, 1})
	require.ErrorIs(t, err, ErrShape)
	require.Zero(t, f.Rounds())
	for !f.Status().Final() {
		_, err = observe(f, []float64{1})
		require.NoError(t, err)
	}
	_, err = observe(f, []float64{1})
	require.ErrorIs(t, err, ErrFinal)
}

func TestNextNamesEachProblemOnce(t *testing.T) {
	f, err := New(Config{}, 0.2, []Claim{{Problem: "a", Bet: 0.75}, {Problem: "b", Bet: 0.75}})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, f.Next())
	_, err = f.Guard([]string{"a", "b", "c", "d"}, []float64{1, -1, -1, 0})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, f.Next(), "b is a claim and a suspect, and is run once")
	for range 5 {
		_, err = observe(f, []float64{1, 1, 0})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"b", "c"}, f.Next(), "proven claims are not run again, suspects are")
	at := f.EValue()
	for range 3 {
		_, err = observe(f, []float64{-1, 0})
		require.NoError(t, err)
	}
	require.Equal(t, Keep, f.Status())
	require.Equal(t, at, f.EValue(), "the evidence is that of the round which proved the claims")
	require.Equal(t, 5, f.Claims()[1].Rounds)
	require.Equal(t, 8, f.Suspects()[0].Rounds)
}

// A larger difference in any round never lowers the evidence of that round.
func TestEvidenceIsMonotonic(t *testing.T) {
	grid := []float64{-1, -0.5, -0.1, 0, 0.1, 0.5, 1}
	for _, bet := range []float64{0, 0.3, 0.75} {
		for past := range 4 {
			last := -1.0
			for _, d := range grid {
				b := bettor{bet: bet, weight: 2}
				for range past {
					b.observe(0.5)
				}
				b.observe(d)
				e := b.wealth.value()
				require.GreaterOrEqual(t, e, last, fmt.Sprint(bet, past, d))
				last = e
			}
		}
	}
}

// The product of many factors is what the sum of their logarithms says, far
// beyond the range of a float64.
func TestWealthNeitherOverflowsNorVanishes(t *testing.T) {
	for _, factor := range []float64{1.95, 0.05, 1} {
		var w wealth
		for range 5000 {
			w.multiply(factor)
		}
		require.InEpsilon(t, 1+5000*math.Log(factor), 1+w.log(), 1e-9)
		require.False(t, math.IsInf(w.value(), 0))
	}
	require.Equal(t, 1., new(wealth).value())
}
