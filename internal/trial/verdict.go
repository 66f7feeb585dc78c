package trial

import (
	"fmt"
	"math"
	"slices"
	"time"

	"ratchet/internal/decision"
	"ratchet/internal/model"
)

// Verdict is the outcome of a confirmation.
type Verdict struct {
	Keep   bool   `json:"keep"`
	Reason string `json:"reason"` // a sentence for people
	Status string `json:"status"` // a decision.Status, final
	// EValue is the evidence for the claims, Level the error probability that
	// was allowed: a kept change has EValue ≥ 1/Level.
	EValue float64 `json:"e_value"`
	Level  float64 `json:"level"`
	Rounds int     `json:"rounds"` // after the full one
	// Claims and Suspects hold the isolated rounds; the e-value of a suspect
	// says that it got worse.
	Claims   []model.ClaimData `json:"claims"`
	Suspects []model.ClaimData `json:"suspects"`
	// ParentScore and Score sum up all runs of this confirmation: for each
	// problem the mean over its runs. They are zero when nothing was run.
	ParentScore model.Score `json:"parent_score"`
	Score       model.Score `json:"score"`
	// Fixed are the claims that did better in most rounds (metrics: in the mean) and, when ConfirmInput
	// has Known, the other problems that never passed on the parent in all that is
	// known and always on the candidate. Broken are the suspects proven worse.
	Fixed    []string      `json:"fixed"`
	Broken   []string      `json:"broken"`
	Tampered string        `json:"tampered"` // why the candidate's runs cannot be believed, or empty
	Sandbox  time.Duration `json:"sandbox"`  // of all rounds, replayed ones too
}

func (c *confirm) verdict() Verdict {
	v := Verdict{
		Status: string(c.fold.Status()), Keep: c.fold.Status() == decision.Keep,
		EValue: c.fold.EValue(), Level: c.in.Level, Rounds: c.fold.Rounds(),
		Claims: []model.ClaimData{}, Suspects: []model.ClaimData{}, Fixed: []string{}, Broken: []string{},
		Tampered: c.tampered, Sandbox: c.sandbox,
	}
	if len(c.parent) > 0 {
		v.ParentScore = Summarise(c.in.Problems, c.parent)
	}
	if len(c.candidate) > 0 {
		v.Score = Summarise(c.in.Problems, c.candidate)
	}
	for _, e := range c.fold.Claims() {
		v.Claims = append(v.Claims, c.data(e))
		if c.won(e) {
			v.Fixed = append(v.Fixed, e.Problem)
		}
	}
	v.Fixed = append(v.Fixed, c.alsoFixed()...)
	worseAt := c.in.Config.WithDefaults().WorseAt
	for _, e := range c.fold.Suspects() {
		v.Suspects = append(v.Suspects, c.data(e))
		if e.EValue >= worseAt {
			v.Broken = append(v.Broken, e.Problem)
		}
	}
	v.Reason = c.reason(v)
	return v
}

// alsoFixed are unclaimed problems that the candidate mends as well: a change
// that fixes many is confirmed on a few of them.
func (c *confirm) alsoFixed() []string {
	claimed := map[string]bool{}
	for _, x := range c.in.Claims {
		claimed[x.Problem] = true
	}
	var fixed []string
	before, after := Rates(c.parent...), Rates(c.candidate...)
	for _, p := range c.in.Problems {
		known, a, b := c.in.Known[p.ID], before[p.ID], after[p.ID]
		never := known.Runs >= minBaseline && known.Passed == 0 && a.Runs > 0 && a.Passed == 0
		if never && !claimed[p.ID] && b.Runs > 0 && b.Passed == b.Runs {
			fixed = append(fixed, p.ID)
		}
	}
	return fixed
}

// data is the evidence on one problem with its scores. A claimed problem that
// is also a suspect may have been run on after its claim was proven: only the
// rounds that count are shown.
func (c *confirm) data(e decision.Evidence) model.ClaimData {
	d := model.ClaimData{Problem: e.Problem, Bet: e.Bet, EValue: e.EValue, Parent: []float64{}, Candidate: []float64{}}
	if x := c.pairs[e.Problem]; x != nil {
		d.Parent = append(d.Parent, x.parent[:e.Rounds]...)
		d.Candidate = append(d.Candidate, x.candidate[:e.Rounds]...)
	}
	return d
}

func (c *confirm) reason(v Verdict) string {
	need := fmt.Sprintf("evidence %s of the %s needed after %s", number(v.EValue), number(1/v.Level), count(v.Rounds, "round"))
	switch decision.Status(v.Status) {
	case decision.Keep:
		return fmt.Sprintf("%s, and nothing is proven worse: %s", c.improved(v), need)
	case decision.Worse:
		return fmt.Sprintf("it makes %s worse", list(v.Broken)) + c.harm(v.Broken)
	case decision.Tampered:
		return "its results cannot be believed: " + v.Tampered
	case decision.Futile:
		if len(v.Claims) == 0 {
			return "there is nothing it was seen to improve"
		}
		return "the gain did not repeat and would not be shown in the rounds left: " + need
	}
	return "the gain was not shown within the budget: " + need
}

func (c *confirm) improved(v Verdict) string {
	var tests, all []string
	for _, x := range v.Claims {
		if !slices.Contains(v.Fixed, x.Problem) {
			continue
		}
		if said := c.moved(x.Problem); said != "" {
			all = append(all, said)
		} else {
			tests = append(tests, x.Problem)
		}
	}
	if n := len(v.Claims); len(tests)+len(all) < n {
		return fmt.Sprintf("%s improved together", count(n, "problem"))
	}
	if len(tests) > 0 {
		all = append([]string{list(tests) + " improved"}, all...)
	}
	return list(all)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// number writes an e-value for people: three digits, no exponent below a million.
func number(x float64) string {
	switch {
	case x >= 1e6:
		return fmt.Sprintf("%.1e", x)
	case x >= 100:
		return fmt.Sprintf("%.0f", math.Floor(x))
	}
	return fmt.Sprintf("%.3g", x)
}
