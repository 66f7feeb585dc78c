package lenient

import (
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mangling is damage that a whole patch may have taken on its way.
type mangling struct {
	name   string
	always bool // the patch may fit as it is written and still be damaged
	sure   bool // it is damaged: as it is written it cannot be meant
	undo   func(string) string
}

var asWritten = mangling{undo: func(s string) string { return s }}

var entity = regexp.MustCompile(`&(?:lt|gt|amp|quot|apos|#39|#34|#x27);`)

func unescapeHTML(s string) string {
	return entity.ReplaceAllStringFunc(s, html.UnescapeString)
}

// isEscaped says that text can be what escaping for HTML made of it: there is an
// entity, and no character that would have become one.
func isEscaped(text string) bool {
	return entity.MatchString(text) && !strings.ContainsAny(entity.ReplaceAllString(text, ""), "<>&")
}

func changeManglings(changes []change) []mangling {
	var b strings.Builder
	for _, c := range changes {
		for _, h := range c.hunks {
			for _, l := range h.lines {
				b.WriteString(l.text + "\n")
			}
		}
	}
	if isEscaped(b.String()) {
		return []mangling{{name: "HTML entities", always: true, undo: unescapeHTML}}
	}
	return nil
}

func mangled(changes []change, m mangling) []change {
	if m.name == "" {
		return changes
	}
	out := make([]change, len(changes))
	for i, c := range changes {
		hunks := make([]hunk, len(c.hunks))
		for j, h := range c.hunks {
			lines := make([]line, len(h.lines))
			for k, l := range h.lines {
				l.text = m.undo(l.text)
				lines[k] = l
			}
			h.lines, h.search, h.replace = lines, m.undo(h.search), m.undo(h.replace)
			hunks[j] = h
		}
		c.hunks = hunks
		out[i] = c
	}
	return out
}

func recordManglings(records []Replacement) []mangling {
	var out []mangling
	var b strings.Builder
	for _, r := range records {
		b.WriteString(r.Search + "\n" + r.Replace + "\n")
	}
	text := b.String()
	if isEscaped(text) {
		out = append(out, mangling{name: "HTML entities", always: true, undo: unescapeHTML})
	}
	doubled := false
	outside := false
	for _, r := range records {
		for _, s := range []string{r.Search, r.Replace} {
			if isDoubled(s) {
				doubled, outside = true, outside || escapeOutside(s)
			}
		}
	}
	if doubled {
		out = append(out, mangling{name: "escapes written twice", always: outside, sure: outside, undo: undouble})
	}
	return out
}

// isDoubled says that text can be a JSON string that was escaped once too often. A
// single line shows it where it begins with a tab.
func isDoubled(s string) bool {
	return (strings.Contains(s, `\n`) || strings.HasPrefix(s, `\t`)) && !strings.Contains(s, "\n")
}

// escapeOutside says whether \n stands outside of quotes, where no program has it.
func escapeOutside(s string) bool {
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quote == 0:
			if i+1 < len(s) && s[i+1] == 'n' {
				return true
			}
			i++
		case c == '\\' && quote != '`':
			i++
		case quote == 0 && (c == '"' || c == '\'' || c == '`'):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return false
}

// undouble undoes one escaping. Text that is no escaped string stays as it is.
func undouble(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	quoted := s
	if !strings.Contains(s, `\"`) {
		quoted = strings.ReplaceAll(s, `"`, `\"`)
	}
	out, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(quoted, "\n", `\n`), `\/`, `/`) + `"`)
	if err != nil {
		return s
	}
	return out
}

var gutter = regexp.MustCompile(`^\s{0,6}(\d{1,6})(?:\s?[|│]|:)(?: |$|(\t| ))`)

// dropNumbers takes off line numbers that were copied with the old lines: all of
// these must have one, and the numbers must follow one another. It says whether
// there were any.
func (h *hunk) dropNumbers() bool {
	var numbers []int
	for _, l := range h.lines {
		if l.op == '+' {
			continue
		}
		n, _, ok := numbered(l.text)
		if !ok || len(numbers) > 0 && n != numbers[len(numbers)-1]+1 {
			return false
		}
		numbers = append(numbers, n)
	}
	h.numbers = numbers
	h.lines = slices.Clone(h.lines)
	for i, l := range h.lines {
		if _, text, ok := numbered(l.text); ok {
			h.lines[i].text = text
		}
	}
	return len(numbers) > 0
}

func numbered(s string) (n int, text string, ok bool) {
	m := gutter.FindStringSubmatchIndex(s)
	if m == nil {
		return 0, "", false
	}
	n, err := strconv.Atoi(s[m[2]:m[3]])
	end := m[1]
	if m[4] >= 0 { // the white space is of the line itself
		end = m[4]
	}
	return n, s[end:], err == nil
}

// bar is a line number that can hardly be code.
var bar = regexp.MustCompile(`^\s{0,6}\d{1,6}\s?[|│](?:\s|$)`)

// strayNumbers says whether all new lines begin with line numbers, and no old line
// does: they were copied from what the model was shown.
func (h *hunk) strayNumbers() bool {
	new := h.added()
	for _, i := range new {
		if !bar.MatchString(h.lines[i].text) {
			return false
		}
	}
	return len(new) > 0 && !slices.ContainsFunc(h.old(), bar.MatchString)
}
