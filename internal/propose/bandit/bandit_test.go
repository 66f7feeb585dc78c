package bandit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func sum(xs []int) int {
	total := 0
	for _, x := range xs {
		total += x
	}
	return total
}

func TestEverySlotIsGivenAndEachArmHasOne(t *testing.T) {
	arms := []Arm{{Name: "a", Candidates: 500, Cost: 2}, {Name: "b", Candidates: 10, Passed: 9, Kept: 5, Gain: 0.4, Cost: 0.1}, {Name: "c"}}
	for n := range 20 {
		got := Allocate(arms, n, int64(n))
		require.Len(t, got, 3)
		require.Equal(t, n, sum(got))
		for _, k := range got {
			if n >= len(arms) {
				require.GreaterOrEqual(t, k, 1)
			} else {
				require.LessOrEqual(t, k, 1)
			}
		}
	}
}

func TestNothingToShare(t *testing.T) {
	require.Empty(t, Allocate(nil, 5, 1))
	require.Equal(t, []int{0, 0}, Allocate(make([]Arm, 2), 0, 1))
	require.Equal(t, []int{0, 0}, Allocate(make([]Arm, 2), -3, 1))
	require.Equal(t, []int{7}, Allocate(make([]Arm, 1), 7, 1))
}

func TestEqualArgumentsGiveEqualShares(t *testing.T) {
	arms := []Arm{{Candidates: 9, Passed: 2, Gain: 0.1, Cost: 0.1}, {Candidates: 9, Passed: 3, Gain: 0.1, Cost: 0.1}}
	require.Equal(t, Allocate(arms, 50, 7), Allocate(arms, 50, 7))
	differ := false
	for seed := range int64(20) {
		differ = differ || Allocate(arms, 50, seed)[0] != Allocate(arms, 50, 7)[0]
	}
	require.True(t, differ, "the seed must matter")
}

func TestUnknownArmsAreTriedFirst(t *testing.T) {
	arms := []Arm{{Candidates: 10, Passed: 10, Gain: 5, Cost: 0.01}, {}, {Candidates: 10, Passed: 10, Gain: 5, Cost: 0.01}}
	for seed := range int64(50) {
		require.Equal(t, []int{0, 1, 0}, Allocate(arms, 1, seed))
	}
	// Between several of them it is chance.
	counts := make([]int, 3)
	for seed := range int64(600) {
		for i, k := range Allocate(make([]Arm, 3), 1, seed) {
			counts[i] += k
		}
	}
	for _, k := range counts {
		require.InDelta(t, 200, k, 60)
	}
}

func TestCountsThatCannotBeAreMended(t *testing.T) {
	arms := []Arm{
		{Candidates: -4, Passed: 9, Gain: math.NaN(), Cost: math.Inf(1)},
		{Candidates: 3, Passed: 30, Gain: -1, Cost: -1},
		{Candidates: 3, Passed: -3, Gain: math.Inf(1), Cost: math.NaN()},
	}
	require.Equal(t, 30, sum(Allocate(arms, 30, 1)))
}

// world is what an arm truly is.
type world struct{ rate, gain, cost float64 }

// play runs generations of n candidates and returns the shares of the last one.
func play(worlds []world, generations, n int, seed int64) []int {
	rnd := rand.New(rand.NewPCG(uint64(seed), 1))
	arms := make([]Arm, len(worlds))
	var got []int
	for g := range generations {
		got = Allocate(arms, n, seed*1000+int64(g))
		for i, k := range got {
			for range k {
				arms[i].Candidates++
				arms[i].Cost += worlds[i].cost
				if rnd.Float64() < worlds[i].rate {
					arms[i].Passed++
					arms[i].Kept++
					arms[i].Gain += worlds[i].gain
				}
			}
		}
	}
	return got
}

// shares is the mean share of each arm in the generation after ten, over many campaigns.
func shares(worlds []world, n int) []float64 {
	const campaigns = 400
	out := make([]float64, len(worlds))
	for seed := range int64(campaigns) {
		for i, k := range play(worlds, 11, n, seed) {
			out[i] += float64(k) / float64(n*campaigns)
		}
	}
	return out
}

func TestFiveTimesTheGainPerCostGetsMostSlots(t *testing.T) {
	for name, better := range map[string]world{
		"passes more often": {rate: 0.5, gain: 0.02, cost: 0.002},
		"gains more":        {rate: 0.1, gain: 0.10, cost: 0.002},
		"costs less":        {rate: 0.1, gain: 0.02, cost: 0.0004},
	} {
		got := shares([]world{{rate: 0.1, gain: 0.02, cost: 0.002}, better}, 8)
		t.Logf("%s: %.2f", name, got[1])
		require.Greater(t, got[1], 0.7, name)
	}
}

func TestADeadArmKeepsItsExploration(t *testing.T) {
	worlds := []world{{rate: 0, cost: 0.002}, {rate: 0.3, gain: 0.02, cost: 0.002}}
	for seed := range int64(100) {
		require.GreaterOrEqual(t, play(worlds, 30, 6, seed)[0], 1)
	}
	got := shares(worlds, 6)
	t.Logf("dead: %.2f", got[0])
	require.Less(t, got[0], 0.25, "little more than the one slot")
}

func TestEqualArmsShareAlike(t *testing.T) {
	same := world{rate: 0.3, gain: 0.02, cost: 0.002}
	for _, s := range shares([]world{same, same, same}, 9) {
		require.InDelta(t, 1.0/3, s, 0.05)
	}
}

func TestBetaHasItsMeanAndSpread(t *testing.T) {
	b := newBandit([]Arm{{}}, 1)
	const draws = 20000
	for _, p := range [][2]float64{{1, 1}, {3, 1}, {40, 160}} {
		mean, square := 0.0, 0.0
		for range draws {
			x := b.beta(p[0], p[1])
			mean += x / draws
			square += x * x / draws
		}
		total := p[0] + p[1]
		require.InDelta(t, p[0]/total, mean, 0.01)
		require.InDelta(t, p[0]*p[1]/(total*total*(total+1)), square-mean*mean, 0.003)
	}
}
