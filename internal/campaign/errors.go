package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Error is one thing that is wrong with a campaign file.
type Error struct {
	Line    int    `json:"line"`   // from 1; 0 when there is no file
	Col     int    `json:"column"` // from 1, in characters; 0 when there is no file
	Key     string `json:"key"`    // such as suites[0].heldout.share; empty for the file as a whole
	Problem string `json:"problem"`
	Hint    string `json:"hint,omitempty"` // what to do about it
}

// Errors is everything that is wrong with a campaign file, in the file's order.
// Parse and Validate return it as *Errors.
type Errors struct {
	File string
	List []Error
}

// Error lists one problem a line, as file:line:column: key: problem (hint).
func (e *Errors) Error() string {
	lines := make([]string, len(e.List))
	for i, x := range e.List {
		lines[i] = e.line(x)
	}
	return strings.Join(lines, "\n")
}

func (e *Errors) line(x Error) string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File + ":")
	}
	if x.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", x.Line, x.Col)
	}
	if b.Len() > 0 {
		b.WriteString(" ")
	}
	if x.Key != "" {
		b.WriteString(x.Key + ": ")
	}
	b.WriteString(x.Problem)
	if x.Hint != "" {
		b.WriteString(" (" + x.Hint + ")")
	}
	return b.String()
}

func (e *Errors) add(x Error) { e.List = append(e.List, x) }

// result returns e sorted by place, or nil when nothing is wrong.
func (e *Errors) result() error {
	if len(e.List) == 0 {
		return nil
	}
	slices.SortStableFunc(e.List, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return e
}

// quote prints text of the file in a message, shortened.
func quote(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}

// nearest returns the word of known that text was probably meant to be, or "".
func nearest(text string, known []string) string {
	best, bound := "", 2
	if len(text) > 4 {
		bound = max(2, len(text)/3) + 1
	}
	for _, k := range known {
		if d := distance(strings.ToLower(text), k); d < bound {
			best, bound = k, d
		}
	}
	return best
}

// distance is the edit distance of a and b with insertions, deletions,
// replacements and swaps of neighbours (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
