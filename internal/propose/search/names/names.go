// Package names compares identifiers: by the words they are made of, by words
// that name the two sides of one thing, and by their letters. It also says how a
// hypothesis cites source.
package names

import (
	"sort"
	"strings"
	"unicode"
)

// Words splits an identifier at its capitals, digits and underscores, in lower case.
func Words(name string) []string {
	var out []string
	var cur []rune
	flush := func() {
		if len(cur) > 0 {
			out = append(out, strings.ToLower(string(cur)))
			cur = nil
		}
	}
	runes := []rune(name)
	for i, c := range runes {
		if !unicode.IsLetter(c) {
			flush()
			if unicode.IsDigit(c) {
				out = append(out, string(c))
			}
			continue
		}
		lowerNext := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if unicode.IsUpper(c) && i > 0 && (unicode.IsLower(runes[i-1]) || lowerNext) {
			flush()
		}
		cur = append(cur, c)
	}
	flush()
	return out
}

// opposites are words that name the two sides of one thing; they are what is
// most often confused.
func opposites() map[string][]string {
	pairs := strings.Fields(`prefix/suffix left/right min/max floor/ceil floor/round ceil/round upper/lower first/last
		before/after start/end start/stop begin/end lock/rlock unlock/runlock add/sub add/remove push/pop front/back
		open/close src/dst source/target from/to row/col rows/cols row/column width/height w/h x/y low/high lo/hi l/r
		key/value key/val k/v old/new in/out read/write get/set next/prev next/previous head/tail even/odd parent/child
		i/j i/k j/k a/b p/q m/n u/v total/count sum/count sin/cos minute/second hour/minute hours/minutes minutes/seconds
		used/limit size/cap len/cap size/length marshal/unmarshal encode/decode inc/dec enqueue/dequeue letter/digit
		index/last input/output request/response current/previous cur/prev best/worst up/down top/bottom all/any
		trim/prefix space/trim quo/rem int/uint expected/actual length/limit smallest/largest minimum/maximum
		pre/post inner/outer success/failure ok/found buffer/queue small/large short/long name/value`)
	out := map[string][]string{}
	for _, p := range pairs {
		a, b, _ := strings.Cut(p, "/")
		out[a] = append(out[a], b)
		out[b] = append(out[b], a)
	}
	return out
}

// Kinship is how likely one name is to be confused with another, 0..1: by
// opposite words first, then by what the names have in common.
func (l Lexicon) Kinship(a, b string) float64 {
	x, y := Words(a), Words(b)
	if len(x) == len(y) {
		differing, opposed := 0, 0
		for i := range x {
			if x[i] != y[i] {
				differing++
				for _, o := range l.Opposite[x[i]] {
					if o == y[i] {
						opposed++
					}
				}
			}
		}
		if differing == 1 && opposed == 1 {
			return 1
		}
		if differing == 1 && len(x) > 1 {
			return 0.7
		}
	}
	common := 0
	for _, w := range x {
		for _, v := range y {
			if w == v {
				common++
				break
			}
		}
	}
	longest := max(len(x), len(y), 1)
	k := 0.6 * float64(common) / float64(longest)
	if d := Distance(strings.ToLower(a), strings.ToLower(b)); d <= 2 && len(a) > 3 {
		k = max(k, 0.5)
	}
	return max(k, 0.1)
}

// Lexicon is what the search knows about words. It is immutable.
type Lexicon struct{ Opposite map[string][]string }

// NewLexicon makes the lexicon of opposites.
func NewLexicon() Lexicon { return Lexicon{opposites()} }

// Distance is the Levenshtein distance of two strings, in bytes, at most 64.
func Distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next := min(row[j]+1, row[j-1]+1, diagonal+cost)
			diagonal, row[j] = row[j], next
		}
	}
	return row[len(b)]
}

// SortedByCloseness lists texts, the ones most like like first.
func SortedByCloseness(texts map[string]int, like string) []string {
	type scored struct {
		text string
		far  int
	}
	list := make([]scored, 0, len(texts))
	for t := range texts {
		list = append(list, scored{t, Distance(t, like)})
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].far != list[j].far {
			return list[i].far < list[j].far
		}
		return list[i].text < list[j].text
	})
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.text
	}
	return out
}
