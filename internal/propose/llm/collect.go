package llm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"ratchet/internal/llm"
	"ratchet/internal/model"
	"ratchet/internal/propose"
)

// permanent are the kinds of error that waiting does not mend, transient those
// that it may. ErrBudget and ErrContext are no errors of a proposal.
var (
	permanent = []error{llm.ErrAuth, llm.ErrNoModel, llm.ErrRequest}
	transient = []error{llm.ErrUnavailable, llm.ErrDeadline, llm.ErrOverloaded, llm.ErrTruncated, llm.ErrMalformed}
)

func isAny(err error, kinds []error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// milder is the error that waiting may mend, else the first. Servers that are
// restarted behind a gateway refuse some calls for good and others for now: one
// HTTP 404 among them must not end a campaign, and when nothing but such comes the
// next time, it will be told then.
func milder(a, b error) error {
	if a == nil || !isAny(a, transient) && isAny(b, transient) {
		return b
	}
	return a
}

// collection is a proposal in the making.
type collection struct {
	candidates []model.Candidate
	repaired   []model.Candidate // that needed another turn
	refused    []propose.Refused
	equal      int // candidates that another sample came up with too
	seen       map[string]bool
}

func (c *collection) add(o outcome) {
	switch {
	case o.candidate != nil && c.seen[o.candidate.Key]:
		c.equal++
	case o.candidate != nil && o.repaired:
		c.seen[o.candidate.Key] = true
		c.repaired = append(c.repaired, *o.candidate)
	case o.candidate != nil:
		c.seen[o.candidate.Key] = true
		c.candidates = append(c.candidates, *o.candidate)
	case o.refused != nil && !c.seen[o.refused.Key]:
		c.seen[o.refused.Key] = true
		c.refused = append(c.refused, *o.refused)
	}
}

// best are the candidates by expected gain, those that needed no repair first.
func (c *collection) best() []model.Candidate {
	all := slices.Concat(c.candidates, c.repaired)
	slices.SortStableFunc(all, func(a, b model.Candidate) int { return cmp.Compare(b.ExpectedGain, a.ExpectedGain) })
	return all
}

// collect makes a proposal of what the samples gave, in their order.
func (q *query) collect(outcomes []outcome) (propose.Proposal, error) {
	var out propose.Proposal
	var met error
	c := collection{seen: map[string]bool{}}
	for _, o := range outcomes {
		if o.err != nil && !isAny(o.err, permanent) && !isAny(o.err, transient) {
			return propose.Proposal{}, q.failed(o.err) // not of a model: what keeps the calls failed
		}
		if o.err != nil {
			met = milder(met, o.err)
		}
		out.Notes = append(out.Notes, o.notes...)
		out.Exhausted = out.Exhausted || o.exhausted
		c.add(o)
	}
	if len(c.seen) == 0 && met != nil && !out.Exhausted {
		return propose.Proposal{}, q.failed(met)
	}
	if c.equal > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d answers were equal to those of other samples", c.equal))
	}
	out.Candidates, out.Refused = c.best(), c.refused
	return out, nil
}

func (q *query) failed(err error) error {
	return fmt.Errorf("proposer %s: ask for candidates of %s: %w", q.cfg.Name, q.request.Brief.Repo, err)
}
