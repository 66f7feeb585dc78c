package decision

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Status is how a confirmation stands.
type Status string

const (
	Continue Status = "continue" // more rounds are wanted
	Keep     Status = "keep"     // the claims are proven and no suspect is
	Futile   Status = "futile"   // the claims will not be proven in the rounds left
	Budget   Status = "budget"   // the rounds are used up, the claims not proven
	Worse    Status = "worse"    // a suspect is proven worse
	Tampered Status = "tampered" // a run of the candidate cannot be believed
)

// Final says that no further round is wanted.
func (s Status) Final() bool { return s != Continue }

// Misuse of a Confirmation, for errors.Is.
var (
	ErrFinal  = errors.New("the confirmation has ended")
	ErrShape  = errors.New("the differences do not match the problems asked for")
	ErrGuard  = errors.New("the full round comes first, and once")
	ErrClaims = errors.New("invalid claims")
	ErrLevel  = errors.New("the level is not between 0 and 1")
)

// Claim is a problem that a candidate is expected to improve, and the bet on
// it. It is fixed by screening data, which are never evidence.
type Claim struct {
	Problem string
	// Bet is the first bet λ in [0, 1): the expected mean of the difference,
	// divided by that of its square.
	Bet float64
	// Weight is how many informative rounds (difference not 0) Bet is worth when
	// it is adapted. The zero value means DefaultWeight.
	Weight float64
}

// DefaultWeight lets a bet follow the data within a few rounds.
const DefaultWeight = 2

// suspectBet is the first bet that a suspect is worse. With the default weight
// it reaches an e-value of 20 in six repeats which all are worse.
const suspectBet = 0.5

// Evidence is what a confirmation knows of one problem.
type Evidence struct {
	Problem string
	Bet     float64 // the first bet
	EValue  float64 // finite
	Rounds  int     // differences observed
	Wins    float64 // sum of the differences in favour of what is tested
	Losses  float64 // sum of those against it, at least 0
}

// slot is one problem of a round: indexes of its claim and suspect, or -1.
type slot struct{ claim, suspect int }

// Confirmation is one run of the test, as a fold over rounds: Guard once, then
// ObserveBoth while Status is Continue. Not safe for concurrent use.
type Confirmation struct {
	cfg    Config
	target float64 // log(1/level)
	names  []string
	claims []bettor
	worse  []string // names of suspects
	doubt  []bettor // one for each of worse
	slots  []slot
	next   []string
	wealth wealth // of all claims together
	rounds int
	guard  bool
	proven bool // the claims have reached the target; they are not run any more
	status Status
}

// New begins a confirmation at the given level, in (0, 1). Fields of cfg that
// are zero get their defaults. Without claims, or with a level which no
// sequence of rounds could reach, the status is Futile at once.
func New(cfg Config, level float64, claims []Claim) (*Confirmation, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if !(level > 0 && level < 1) {
		return nil, fmt.Errorf("decision: level %g: %w", level, ErrLevel)
	}
	c := &Confirmation{cfg: cfg, target: -math.Log(level), status: Continue}
	if err := c.claim(claims); err != nil {
		return nil, err
	}
	c.plan()
	if c.futile() {
		c.end(Futile)
	}
	return c, nil
}

func (c *Confirmation) claim(claims []Claim) error {
	seen := make(map[string]bool, len(claims))
	for _, x := range claims {
		set(&x.Weight, DefaultWeight)
		switch {
		case x.Problem == "" || seen[x.Problem]:
			return fmt.Errorf("decision: claim %q: %w: the problem has no name or is claimed twice", x.Problem, ErrClaims)
		case !(x.Bet >= 0 && x.Bet < 1):
			return fmt.Errorf("decision: claim %q: %w: the bet is %g, want at least 0 and less than 1", x.Problem, ErrClaims, x.Bet)
		case !(x.Weight > 0) || math.IsInf(x.Weight, 0):
			return fmt.Errorf("decision: claim %q: %w: the weight is %g, want more than 0", x.Problem, ErrClaims, x.Weight)
		}
		seen[x.Problem] = true
		c.names = append(c.names, x.Problem)
		c.claims = append(c.claims, bettor{bet: x.Bet, weight: x.Weight})
	}
	return nil
}

// Guard takes the full round: for each problem its difference, candidate -
// parent. Those below 0 become suspects. The full round is no evidence for or against any claim.
func (c *Confirmation) Guard(problems []string, diffs []float64) (Status, error) {
	if c.status.Final() {
		return c.status, fmt.Errorf("decision: guard: %w", ErrFinal)
	}
	if c.guard {
		return c.status, fmt.Errorf("decision: guard: %w", ErrGuard)
	}
	if len(problems) != len(diffs) {
		return c.status, fmt.Errorf("decision: guard: %w: %d problems, %d differences", ErrShape, len(problems), len(diffs))
	}
	c.guard = true
	for i, p := range problems {
		if clamp(diffs[i], -1) < 0 {
			c.worse = append(c.worse, p)
			c.doubt = append(c.doubt, bettor{bet: suspectBet, weight: DefaultWeight})
		}
	}
	if len(c.worse) > 0 {
		c.plan()
	}
	return c.status, nil
}

// Next lists the problems that the next round must measure, each once on both
// sides: claims first, then suspects. The slice is shared: do not modify it.
// It is empty when the status is final.
func (c *Confirmation) Next() []string { return c.next }

// ObserveBoth takes the differences of one round, candidate - parent, in the order
// of Next and positive when the candidate is better: claims take theirs from gains,
// suspects theirs from harms. Both are the same but for problems whose gain is
// measured from another zero than their harm, as that of a number with a least
// change that counts. Values outside [-1, 1] are clamped; one that is not a number
// counts against the candidate.
func (c *Confirmation) ObserveBoth(gains, harms []float64) (Status, error) {
	switch {
	case c.status.Final():
		return c.status, fmt.Errorf("decision: observe: %w", ErrFinal)
	case !c.guard:
		return c.status, fmt.Errorf("decision: observe: %w", ErrGuard)
	case len(gains) != len(c.slots) || len(harms) != len(c.slots):
		return c.status, fmt.Errorf("decision: observe: %w: want %d, got %d and %d", ErrShape, len(c.slots), len(gains), len(harms))
	}
	for i, s := range c.slots {
		if s.claim >= 0 {
			c.wealth.multiply(c.claims[s.claim].observe(clamp(gains[i], -1)))
		}
		if s.suspect >= 0 {
			c.doubt[s.suspect].observe(-clamp(harms[i], -1))
		}
	}
	c.rounds++
	c.decide()
	return c.status, nil
}

// Tamper ends the confirmation because a run of the candidate cannot be believed.
func (c *Confirmation) Tamper() { c.end(Tampered) }

func (c *Confirmation) decide() {
	if !c.proven && c.rounds >= c.cfg.MinRounds && c.wealth.log() >= c.target {
		c.proven = true
		c.plan()
	}
	spent := c.rounds >= c.cfg.Rounds
	switch {
	case c.provenWorse():
		c.end(Worse)
	case c.proven && (spent || c.cleared()):
		c.end(Keep)
	case c.proven:
	case spent:
		c.end(Budget)
	case c.futile():
		c.end(Futile)
	}
}

func (c *Confirmation) provenWorse() bool {
	at := math.Log(c.cfg.WorseAt)
	for i := range c.doubt {
		if c.doubt[i].wealth.log() >= at {
			return true
		}
	}
	return false
}

// cleared says that every suspect was repeated often enough and nothing much
// speaks against it. A suspect still in doubt when the budget ends is not
// proven worse, and does not keep a proven change from being kept.
func (c *Confirmation) cleared() bool {
	hold := math.Log(c.cfg.WorseHold)
	for i := range c.doubt {
		if c.doubt[i].rounds < c.cfg.WorseRounds || c.doubt[i].wealth.log() >= hold {
			return false
		}
	}
	return true
}

// plan sets what the next round measures: the claims until they are proven,
// and all suspects.
func (c *Confirmation) plan() {
	n := len(c.names) + len(c.worse)
	c.slots, c.next = make([]slot, 0, n), make([]string, 0, n)
	if !c.proven {
		for i, p := range c.names {
			c.next = append(c.next, p)
			c.slots = append(c.slots, slot{claim: i, suspect: -1})
		}
	}
	for i, p := range c.worse {
		if k := slices.Index(c.next, p); k >= 0 {
			c.slots[k].suspect = i
			continue
		}
		c.next = append(c.next, p)
		c.slots = append(c.slots, slot{claim: -1, suspect: i})
	}
}

func (c *Confirmation) end(s Status) {
	c.status, c.slots, c.next = s, nil, nil
}

// Status is how the confirmation stands.
func (c *Confirmation) Status() Status { return c.status }

// EValue is the evidence for the claims: wealth after the last round that
// measured them. It is finite and at least 0.
func (c *Confirmation) EValue() float64 { return c.wealth.value() }

// Rounds counts the rounds observed, without the full one.
func (c *Confirmation) Rounds() int { return c.rounds }

// Claims is the evidence on each claim, in the order given to New.
func (c *Confirmation) Claims() []Evidence { return evidence(c.names, c.claims) }

// Suspects is the evidence on each suspect, in the order of the full round;
// its e-value says that the problem got worse.
func (c *Confirmation) Suspects() []Evidence { return evidence(c.worse, c.doubt) }

func evidence(names []string, bets []bettor) []Evidence {
	out := make([]Evidence, len(names))
	for i, name := range names {
		b := bets[i]
		out[i] = Evidence{Problem: name, Bet: b.bet, EValue: b.wealth.value(), Rounds: b.rounds, Wins: b.wins, Losses: b.loss}
	}
	return out
}
