package trial

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"ratchet/internal/decision"
	"ratchet/internal/model"
)

// How claims are chosen; the numbers were simulated, see docs/adr/0002-decision-rule.md.
const (
	// A problem that fails always and passes on the candidate is bet on boldly, and
	// the bet follows the first rounds quickly; so is a metric that is better.
	fixBet    = 0.75
	fixWeight = decision.DefaultWeight
	// A few fixes prove a candidate as well as many, in fewer runs.
	maxFixes = 4
	// A problem whose pass rate is certainly at most this counts as one that fails.
	lowShare = 0.45
	// Claims on noisy problems: their number, and how slowly their bets follow
	// the data of one problem, because all are expected to improve alike.
	maxNoisy    = 64
	noisyWeight = 30
	// The budget and the evidence for which bets on noise are sized: the default
	// number of rounds, and the natural logarithm of 1/level in mid-campaign.
	planRounds   = 20
	planEvidence = 8
	// The least evidence that any confirmation needs: log(1/Level(0.05, 1)).
	leastEvidence = 5.4
)

// knowledge is what is known of the parent before a screen.
type knowledge struct {
	rates   map[string]Rate
	kinds   map[string]kind // of what is no metric
	metrics map[string]model.Problem
}

func know(problems []model.Problem, rates map[string]Rate) knowledge {
	k := knowledge{rates: rates, metrics: metricsOf(problems)}
	tests := rates
	if len(k.metrics) > 0 { // a number that is measured says nothing about flaky tests
		tests = maps.Clone(rates)
		maps.DeleteFunc(tests, func(id string, _ Rate) bool { return k.metrics[id].Metric != nil })
	}
	k.kinds = classify(tests)
	return k
}

// screen is what the results of one screen say, against what is known of the parent.
type screen struct {
	fixes  []seen // fail on the parent, pass now
	broken []string
	doubt  []string // broken by one failure alone
	noisy  []seen
	gains  []gain // metrics that are better by more than their minimum effect
}

// seen is one problem in a screen.
type seen struct {
	problem string
	rate    Rate
	now     bool // it passes on the candidate
	target  bool
}

func (k knowledge) look(results []model.Result, targets []string) screen {
	var s screen
	for _, r := range results {
		rate, known := k.rates[r.Problem]
		if !known || rate.Runs == 0 {
			continue
		}
		x := seen{problem: r.Problem, rate: rate, now: passed(r), target: slices.Contains(targets, r.Problem)}
		if p, ok := k.metrics[r.Problem]; ok {
			s.measure(p, x, r)
			continue
		}
		switch kind := k.kinds[r.Problem]; {
		case kind == passes:
			if !x.now {
				s.breaks(x.problem, r.Outcome)
			}
		case kind == fails || rate.high() <= lowShare:
			if x.now {
				s.fixes = append(s.fixes, x)
			}
		default:
			s.noisy = append(s.noisy, x)
		}
	}
	return s
}

// breaks notes a problem that always passed and does not now. Whether code builds
// is no matter of chance; any other failure can be.
func (s *screen) breaks(problem string, o model.Outcome) {
	s.broken = append(s.broken, problem)
	if o != model.BuildFailed {
		s.doubt = append(s.doubt, problem)
	}
}

// Claims chooses what a confirmation has to prove, from the search results of
// a screen and what is known of the parent. Screening data only choose; they are never evidence.
//
// Problems that fail on the parent and pass now are claimed each for itself, at
// most 4 of them, targets first. When there is none, but the noisy problems
// together did better than they are known to, all of them are claimed, also
// those that failed this once: which of them passed in one screen is chance,
// and a gain that is spread over many is only found by measuring all. Their
// common bet is the one that is best for the smallest gain which the budget can
// show (Waudby-Smith and Ramdas, 2024, section 3.2: λ = sqrt(2 log(1/α) / (n σ²))).
//
// Metrics that are better by more than their minimum effect are claimed when they
// are targets, or when nothing else is mended; of each suite only one, because
// numbers from one run of a command are not independent, and claims multiply.
//
// When even their perfection could not be shown, there is no claim, and with no
// claim nothing can be kept.
func Claims(problems []model.Problem, parent map[string]Rate, screened []model.Result, targets []string) []decision.Claim {
	return know(problems, parent).look(screened, targets).claims()
}

func (s screen) claims() []decision.Claim {
	fixes := slices.Clone(s.fixes)
	for _, x := range s.claimedGains() {
		fixes = append(fixes, x.seen)
	}
	if len(fixes) > 0 {
		return fixClaims(fixes)
	}
	if s.noisyGain() <= 0 {
		return nil
	}
	return noisyClaims(s.noisy)
}

func fixClaims(fixes []seen) []decision.Claim {
	slices.SortFunc(fixes, func(a, b seen) int {
		return cmp.Or(-compareBool(a.target, b.target), -cmp.Compare(a.rate.Runs, b.rate.Runs),
			cmp.Compare(a.rate.Passed, b.rate.Passed), cmp.Compare(a.problem, b.problem))
	})
	var claims []decision.Claim
	for _, x := range fixes[:min(len(fixes), maxFixes)] {
		claims = append(claims, decision.Claim{Problem: x.problem, Bet: fixBet, Weight: fixWeight})
	}
	return claims
}

// noisyGain is by how many passes the noisy problems did better than is known of them.
func (s screen) noisyGain() float64 {
	gain := 0.0
	for _, x := range s.noisy {
		if x.now {
			gain++
		}
		gain -= x.rate.smoothed()
	}
	return gain
}

func noisyClaims(group []seen) []decision.Claim {
	group = slices.Clone(group)
	slices.SortFunc(group, func(a, b seen) int { // those with most to gain first
		return cmp.Or(cmp.Compare(a.rate.smoothed(), b.rate.smoothed()), cmp.Compare(a.problem, b.problem))
	})
	group = group[:min(len(group), maxNoisy)]
	room, square := 0.0, 0.0
	for _, x := range group {
		p := x.rate.smoothed()
		room += 1 - p
		square += 2 * p * (1 - p) // mean of d² when nothing changed
	}
	if room*math.Ln2*planRounds < leastEvidence {
		return nil
	}
	bet := min(math.Sqrt(2*planEvidence/(planRounds*square)), fixBet)
	claims := make([]decision.Claim, len(group))
	for i, x := range group {
		claims[i] = decision.Claim{Problem: x.problem, Bet: bet, Weight: noisyWeight}
	}
	return claims
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
