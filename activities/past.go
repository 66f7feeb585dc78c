package activities

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ratchet/internal/model"
	"ratchet/internal/store"
)

// pastGenerations is how many generations a brief looks back on.
const pastGenerations = 3

// What a brief calls the attempts that landed, once they are decided.
const (
	fateKept     model.AttemptStatus = "kept"
	fateReverted model.AttemptStatus = "reverted"
)

// past reads the attempts of the last generations, as a proposer may know them:
// those that landed with what was decided on them, and nothing of held-out problems.
func (a *Activities) past(ctx context.Context, t *target, generation int) ([]model.Attempt, error) {
	var past []model.Attempt
	for g := max(1, generation-pastGenerations); g < generation; g++ {
		more, err := a.store.Attempts(ctx, t.row.Name, g)
		if err != nil {
			return nil, err
		}
		past = append(past, more...)
	}
	v := t.veil()
	for i := range past {
		if past[i].Status == model.AttemptLanded {
			if err := a.decide(ctx, &past[i]); err != nil {
				return nil, err
			}
		}
		past[i].Reason, past[i].Broken, past[i].Fixed = v.over(past[i].Reason), v.list(past[i].Broken), v.list(past[i].Fixed)
	}
	return past, nil
}

// decide says of an attempt that landed what became of it. It reads the one change
// that the attempt became: a campaign has thousands.
func (a *Activities) decide(ctx context.Context, at *model.Attempt) error {
	r, err := a.store.Receipt(ctx, changeID(at.Campaign, at.Generation, at.Key))
	if errors.Is(err, store.ErrNotFound) {
		return nil // it was given up before it was decided
	}
	if err != nil {
		return err
	}
	at.Status, at.Reason, at.Fixed, at.Broken = fateReverted, r.Reason, r.Fixed, r.Broken
	if r.Decision == model.DecisionKeep {
		at.Status = fateKept
	}
	return nil
}

// veil hides held-out problems from what a proposer reads: their names say what
// they check, and a patch written for a name is no evidence.
type veil struct {
	words *regexp.Regexp // nil: nothing is held out
}

// unseen stands in the place of a held-out problem.
const unseen = "a held-out problem"

func (t *target) veil() veil {
	var words []string
	seen := map[string]bool{}
	for _, p := range t.split(model.SplitSearch) {
		seen[p.Name] = true
	}
	for _, p := range t.split(model.SplitHeldout) {
		words = append(words, regexp.QuoteMeta(p.ID))
		if !seen[p.Name] { // one that a visible problem has as well says nothing
			words = append(words, regexp.QuoteMeta(p.Name))
		}
	}
	if len(words) == 0 {
		return veil{}
	}
	// The longest first: an id holds a name.
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
	return veil{regexp.MustCompile(whole(words))}
}

// whole matches any of some quoted words where it is no beginning of a longer one;
// what ends it, if it needs an end, is the first group. One that ends in a bracket ends there; \b would
// want a letter behind it, and knows ASCII only.
func whole(words []string) string {
	var open, shut []string
	for _, w := range words {
		if last, _ := utf8.DecodeLastRuneInString(w); last == '_' || unicode.In(last, unicode.L, unicode.M, unicode.N) {
			open = append(open, w)
		} else {
			shut = append(shut, w)
		}
	}
	var ways []string
	if len(shut) > 0 {
		ways = append(ways, strings.Join(shut, "|"))
	}
	if len(open) > 0 {
		ways = append(ways, `(?:`+strings.Join(open, "|")+`)([^\pL\pM\pN_]|$)`)
	}
	return strings.Join(ways, "|")
}

// over hides them in a text.
func (v veil) over(text string) string {
	if v.words == nil {
		return text
	}
	return v.words.ReplaceAllString(text, unseen+"${1}")
}

// list leaves out those of a list and counts them in their place.
func (v veil) list(ids []string) []string {
	var out []string
	hidden := false
	for _, id := range ids {
		if shown := v.over(id); shown == id {
			out = append(out, id)
		} else if !hidden {
			out, hidden = append(out, unseen), true
		}
	}
	return out
}
