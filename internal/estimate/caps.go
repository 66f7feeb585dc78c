package estimate

import (
	"fmt"
	"math"

	"ratchet/internal/model"
)

// caps lists the limits of the file in force, and how many generations each allows.
func (f Facts) caps(p Plan, b model.Budget) []Cap {
	s := f.spent()
	generations := float64(p.Generations)
	out := []Cap{{Name: "search.generations", Limit: float64(f.Spec.Search.Generations), Spent: float64(f.Done), Likely: &generations, Least: &generations}}
	add := func(name string, limit, spent, baseline, likely, most float64) {
		if limit <= 0 {
			return
		}
		room := limit - spent - baseline
		out = append(out, Cap{Name: name, Limit: limit, Spent: spent, Likely: allowed(room, likely), Least: allowed(room, most)})
	}
	add("budget.wall", b.Wall.Seconds(), s.Wall.Seconds(), p.Wall.baseline, p.Wall.Generation, 0)
	add("budget.sandbox", b.Sandbox.Seconds(), s.Sandbox.Seconds(), p.Sandbox.baseline, p.Sandbox.Generation, 0)
	if p.Model != nil {
		t, m := p.Model.GenerationTokens, p.Model.GenerationCost
		add("budget.tokens", float64(b.Tokens), float64(s.Tokens), 0, float64(t.Likely), float64(t.Most))
		add("budget.cost", b.Money, s.Money, 0, m.Likely, m.Most)
	}
	return out
}

// allowed is how many generations of a size fit; nil when the size is not known.
func allowed(room, one float64) *float64 {
	if one <= 0 {
		return nil
	}
	n := math.Round(100*max(0, room)/one) / 100
	return &n
}

// first names the cap that allows the fewest generations, by the guesses.
func first(caps []Cap) string {
	best := caps[0]
	for _, c := range caps[1:] {
		if c.Likely != nil && *c.Likely < *best.Likely {
			best = c
		}
	}
	return best.Name
}

// warn says which caps allow less than the user may expect.
func (p *Plan) warn(b model.Budget) {
	say := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }
	for _, c := range p.Caps {
		switch {
		case c.Name == "search.generations" && *c.Likely == 0:
			say("all generations of the file have been run: raise search.generations")
		case c.Likely != nil && *c.Likely < 1:
			say("%s allows less than one generation: raise it", c.Name)
		case c.Least != nil && *c.Least < 1:
			say("%s may allow less than one generation, if prompts and answers are as long as they can be", c.Name)
		}
	}
	if p.Model == nil {
		return
	}
	if one := p.Model.Prompt.Most + p.Model.Answer.Most; b.Tokens > 0 && b.Tokens < one {
		say("budget.tokens is %d, less than the %d tokens that one call may use: calls that do not fit are not made", b.Tokens, one)
	}
	if p.Model.Priced && b.Money == 0 {
		say("the endpoints have prices and budget.cost sets no limit: the bound above is all that there is")
	}
}
