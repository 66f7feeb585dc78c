package workflows

import (
	"fmt"
	"strings"
	"unicode"

	"go.temporal.io/sdk/workflow"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

// tell sets the phase and the Markdown that the Temporal UI shows for the campaign.
func (c *campaign) tell(ctx workflow.Context, phase string) {
	c.phase = phase
	workflow.SetCurrentDetails(ctx, markdown(c.scoreboard()))
}

func (c *campaign) scoreboard() protocol.Scoreboard {
	v := c.view
	b := protocol.Scoreboard{
		Campaign: c.name, Phase: c.phase, Generation: v.Next, Baseline: v.Baseline, Score: v.Score,
		Kept: v.Kept, Reverted: v.Reverted, Rejected: v.Rejected, Paused: c.carry.Paused, Recent: v.Recent,
		Model: v.Model, Budget: c.limits(), Spent: c.spent, Hint: c.carry.Hint,
	}
	if v.Waiting != nil {
		b.Waiting = v.Waiting.ID
	}
	return b
}

// upsert writes the counters into search attributes, so that campaigns can be
// listed and sorted in the UI.
func (c *campaign) upsert(ctx workflow.Context) error {
	return workflow.UpsertTypedSearchAttributes(ctx,
		protocol.AttrCampaign.ValueSet(c.name),
		protocol.AttrRepo.ValueSet(c.view.Repo),
		protocol.AttrPhase.ValueSet(c.phase),
		protocol.AttrGeneration.ValueSet(int64(c.view.Next)),
		protocol.AttrScore.ValueSet(c.view.Score),
		protocol.AttrBaseline.ValueSet(c.view.Baseline),
		protocol.AttrKept.ValueSet(int64(c.view.Kept)),
	)
}

// upsertPhase writes the phase alone; the attribute is a keyword, so it is short.
func (c *campaign) upsertPhase(ctx workflow.Context, phase string) error {
	return workflow.UpsertTypedSearchAttributes(ctx, protocol.AttrPhase.ValueSet(phase))
}

// markdown is the scoreboard as a person reads it.
func markdown(s protocol.Scoreboard) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**: %s", s.Campaign, shown(s.Phase))
	if s.Paused {
		b.WriteString(" (paused)")
	}
	fmt.Fprintf(&b, "\n\nscore **%s** (baseline %s), %d kept, %d reverted, %d rejected\n",
		percent(s.Score), percent(s.Baseline), s.Kept, s.Reverted, s.Rejected)
	if s.Model {
		fmt.Fprintf(&b, "\nmodels: %s\n", against(s.Spent, s.Budget))
	}
	if s.Hint != "" {
		fmt.Fprintf(&b, "\nhint: *%s*\n", shown(s.Hint))
	}
	if s.Waiting != "" {
		fmt.Fprintf(&b, "\nwaiting for a person: `ratchet change approve %s`\n", s.Waiting)
	}
	b.WriteString("\n")
	for i := len(s.Recent) - 1; i >= 0; i-- {
		b.WriteString(row(s.Recent[i]))
	}
	return b.String()
}

// usage is what models have cost. Money is shown where an endpoint has a price.
func usage(tokens int64, money float64) string {
	if money == 0 {
		return fmt.Sprintf("%d tokens", tokens)
	}
	return fmt.Sprintf("%d tokens, cost %.4g", tokens, money)
}

// against is what models have cost, beside the limits on it that there are.
func against(spent, limit model.Budget) string {
	text := usage(spent.Tokens, spent.Money)
	if limit.Tokens > 0 {
		text += fmt.Sprintf(" (at most %d tokens)", limit.Tokens)
	}
	if limit.Money > 0 {
		text += fmt.Sprintf(" (at most %.4g)", limit.Money)
	}
	return text
}

func row(n protocol.GenerationNote) string {
	by := ""
	if n.Proposer != "" {
		by = " by " + line(n.Proposer)
	}
	return fmt.Sprintf("- **%d** %s **%s** %s → %s%s: %s\n  - *%s*\n",
		n.N, mark(n.Outcome), n.Outcome, percent(n.Before), percent(n.After), by, line(n.Hypothesis), line(n.Reason))
}

func mark(o model.GenerationOutcome) string {
	switch o {
	case model.OutcomeKept:
		return "✔"
	case model.OutcomeReverted:
		return "↩"
	}
	return "·"
}

func percent(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }

// shown puts a mark in the place of control characters but line ends and tabs, and
// of those that turn the direction of writing: names of tests and answers of models
// may hold them, and not only browsers show what is told.
func shown(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// line makes text fit into one item of a list: a table's columns are squeezed in
// the UI until nothing can be read.
func line(s string) string {
	const most = 240
	s = strings.NewReplacer("\n", " ", "\r", "").Replace(shown(s))
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return s
}
