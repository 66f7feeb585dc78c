package llm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ratchet/internal/diagnose"
)

// Weights of single texts, so that one of them cannot take a section's room.
const (
	maxID      = 300
	maxOutput  = 1600 // the output of a weak problem
	laterShare = 300  // the output of those after the first few
	firstFew   = 12
	maxReport  = 700
	maxNote    = 500
	maxHint    = 1200
	maxName    = 60
)

// fit joins entries, the first ones first, as long as they fit into the weight,
// and says how many did.
func fit(entries []string, weight int) (kept []string, left int) {
	for i, e := range entries {
		if weight -= weigh(e); weight < 0 {
			return entries[:i], len(entries) - i
		}
	}
	return entries, 0
}

// section adds a heading and data, unless there is none or no room for it. What
// is newest comes first in entries; with latestLast it is shown last, so that a
// prompt with more of them still begins like the one before.
func (d *document) section(heading, kind string, entries []string, weight int, latestLast bool) {
	weight -= weigh(heading) + fenceWeight + len("and 1000000 more\n") + 2
	kept, left := fit(entries, weight)
	if len(kept) == 0 {
		return
	}
	if latestLast {
		kept = slices.Clone(kept)
		slices.Reverse(kept)
	}
	text := strings.Join(kept, "")
	if left > 0 && !latestLast {
		text += fmt.Sprintf("and %d more\n", left)
	}
	d.say("\n" + heading + "\n")
	d.quote(kind, text)
}

// problems describes what does not pass and what is measured, by groups that seem
// to share a cause.
func problems(weakest []diagnose.Weakness) []string {
	out := make([]string, 0, len(weakest))
	for i, w := range weakest {
		share := maxOutput
		if i >= firstFew {
			share = laterShare
		}
		out = append(out, problem(w, share))
	}
	return out
}

func problem(w diagnose.Weakness, share int) string {
	text := field("problem", line(w.Problem, maxID)) + field("  group", strconv.Itoa(w.Cluster)) + field("  state", state(w))
	if m := strings.TrimSpace(clean(w.Message)); m != "" {
		text += field("  output", tail(m, share))
	}
	return text
}

// state says how a problem stands: how often it passes, or what it measures.
func state(w diagnose.Weakness) string {
	if w.Metric == nil {
		if w.PassRate == 0 {
			return "fails"
		}
		return fmt.Sprintf("passes %.0f%% of its runs", 100*w.PassRate)
	}
	s := "a number, "
	if w.Value > 0 {
		s += strings.TrimSpace(strconv.FormatFloat(w.Value, 'g', 6, 64)+" "+line(w.Metric.Unit, maxName)) + " now, "
	} else {
		s += "not known now, "
	}
	s += fmt.Sprintf("%s is better", line(string(w.Metric.Better), maxName))
	if w.Metric.MinEffect > 0 {
		s += fmt.Sprintf(", changes of less than %.3g%% do not count", 100*w.Metric.MinEffect)
	}
	if w.PassRate < 1 {
		s += fmt.Sprintf("; it can be measured in %.0f%% of its runs", 100*w.PassRate)
	}
	return s
}

// reports quotes failures of agents in production, the latest first.
func reports(failures []diagnose.FailureNote) []string {
	var out []string
	for _, f := range failures {
		text := field("report", line(f.Severity, maxName)+", "+line(f.Agent, maxID))
		for _, x := range []struct{ name, text string }{{"  task", f.Task}, {"  expected", f.Expected}, {"  actual", f.Actual}} {
			text += field(x.name, middle(strings.TrimSpace(clean(x.text)), maxReport))
		}
		if len(f.Mentions) > 0 {
			text += field("  names", line(strings.Join(f.Mentions, ", "), maxReport))
		}
		out = append(out, text)
	}
	return out
}

// attempts lists what was tried, the latest first.
func attempts(tried []diagnose.TriedNote) []string {
	var out []string
	for _, t := range tried {
		text := line(t.Outcome, maxName) + ": " + line(t.Hypothesis, maxNote)
		if reason := line(t.Reason, maxNote); reason != "" {
			text += " | why: " + reason
		}
		out = append(out, text+"\n")
	}
	return out
}

// lessons quotes reflections, the latest first.
func lessons(notes []diagnose.ReflectionNote) []string {
	var out []string
	for _, n := range notes {
		text := fmt.Sprintf("generation %d: %s\n", n.Generation, line(n.Outcome, maxName))
		for _, x := range []struct{ name, text string }{
			{"  worked", n.Worked}, {"  failed", n.Failed}, {"  surprised", n.Surprised}, {"  to learn", n.Learn},
		} {
			if said := line(x.text, maxNote); said != "" {
				text += field(x.name, said)
			}
		}
		out = append(out, text)
	}
	return out
}

// advice lists the hints of people, the latest first, one line each: they are
// meant to be followed, and stand outside of all fences.
func advice(hints []diagnose.HintNote) []string {
	var out []string
	for _, h := range hints {
		said := line(h.Text, maxHint)
		if said == "" {
			continue
		}
		if by := line(h.By, maxName); by != "" {
			said = by + ": " + said
		}
		out = append(out, "- "+said+"\n")
	}
	return out
}
