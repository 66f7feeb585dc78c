package diagnose

import (
	"fmt"
	"strings"
)

// How much of each list a person is shown.
const (
	shownWeakest  = 20
	shownSuspects = 15
	shownTried    = 20
)

// Markdown writes the brief for a person. Whatever comes from logs, failures or
// the repository stands in code spans or fenced blocks, as data.
func (b Brief) Markdown() string {
	var w strings.Builder
	fmt.Fprintf(&w, "# Diagnosis of %s, generation %d\n\n", span(b.Campaign), b.Generation)
	fmt.Fprintf(&w, "Repository %s, parent %s.\n", span(b.Repo), span(b.Parent))
	b.writeWeakest(&w)
	b.writeSuspects(&w)
	b.writeFailures(&w)
	b.writeTried(&w)
	if len(b.Notes) > 0 {
		w.WriteString("\n## Notes\n\n")
		for _, n := range b.Notes {
			fmt.Fprintf(&w, "- %s\n", line(n))
		}
	}
	return w.String()
}

func (b Brief) writeWeakest(w *strings.Builder) {
	w.WriteString("\n## Weakest problems\n\n")
	if len(b.Weakest) == 0 {
		w.WriteString("Every search problem passes.\n")
		return
	}
	for i, p := range b.Weakest {
		if i == shownWeakest {
			fmt.Fprintf(w, "- and %d more\n", len(b.Weakest)-i)
			break
		}
		if p.Metric != nil && p.PassRate == 1 {
			fmt.Fprintf(w, "- %s measures %s (group %d)\n", span(p.Problem), span(p.Message), p.Cluster)
			continue
		}
		fmt.Fprintf(w, "- %s passes %.0f%% of its runs (group %d)\n", span(p.Problem), 100*p.PassRate, p.Cluster)
		if p.Message != "" {
			w.WriteString(fence(p.Message, "  "))
		}
	}
}

func (b Brief) writeSuspects(w *strings.Builder) {
	if len(b.Suspects) == 0 {
		return
	}
	w.WriteString("\n## Suspects\n\n| score | place | failing problems that run it | why |\n|---|---|---|---|\n")
	for i, s := range b.Suspects {
		if i == shownSuspects {
			fmt.Fprintf(w, "\nand %d more\n", len(b.Suspects)-i)
			break
		}
		problems := make([]string, len(s.Problems))
		for j, p := range s.Problems {
			problems[j] = cell(p)
		}
		fmt.Fprintf(w, "| %.2f | %s | %s | %s |\n", s.Score, cell(s.Place()), strings.Join(problems, ", "), line(s.Why))
	}
}

func (b Brief) writeFailures(w *strings.Builder) {
	if len(b.Failures) == 0 {
		return
	}
	w.WriteString("\n## Reports from production\n\n")
	for _, f := range b.Failures {
		fmt.Fprintf(w, "- %d, %s, %s, agent %s\n", f.Seq, f.At.UTC().Format("2006-01-02 15:04:05"), span(f.Severity), span(f.Agent))
		text := fmt.Sprintf("task:     %s\nexpected: %s\nactual:   %s", f.Task, f.Expected, f.Actual)
		w.WriteString(fence(text, "  "))
		if len(f.Mentions) > 0 {
			fmt.Fprintf(w, "  It names %s.\n", span(strings.Join(f.Mentions, ", ")))
		}
	}
}

func (b Brief) writeTried(w *strings.Builder) {
	if len(b.Tried) == 0 {
		return
	}
	w.WriteString("\n## Tried before\n\n")
	for i, t := range b.Tried {
		if i == shownTried {
			fmt.Fprintf(w, "- and %d more\n", len(b.Tried)-i)
			break
		}
		fmt.Fprintf(w, "- %s: %s", span(t.Outcome), span(t.Hypothesis))
		if t.Reason != "" {
			fmt.Fprintf(w, ", %s", span(t.Reason))
		}
		w.WriteString("\n")
	}
}

// Place is where the suspect is, as file:line or file:first-last.
func (s Suspect) Place() string {
	if s.EndLine <= s.StartLine {
		return fmt.Sprintf("%s:%d", s.File, s.StartLine)
	}
	return fmt.Sprintf("%s:%d-%d", s.File, s.StartLine, s.EndLine)
}

// line makes one line of a text.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

// span makes a code span that its text cannot leave.
func span(s string) string {
	s = line(s)
	if s == "" {
		return "(none)"
	}
	ticks := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// cell makes a code span for a table, where a bar would end the cell.
func cell(s string) string { return span(strings.ReplaceAll(s, "|", `\|`)) }

// fence makes a fenced block that its text cannot leave.
func fence(text, indent string) string {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r", ""), "\n")
	ticks := strings.Repeat("`", max(3, longestRun(text)+1))
	text = strings.ReplaceAll(text, "\n", "\n"+indent)
	return indent + ticks + "text\n" + indent + text + "\n" + indent + ticks + "\n"
}

// longestRun is the length of the longest run of backquotes in s.
func longestRun(s string) int {
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
