package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// A prompt is made of words of ours and of data. Data comes from outside (source,
// logs, reports, what a model wrote before) and stands between two lines that
// carry a marker that occurs nowhere else in the prompt, so that no text can end
// its own fence.
const (
	fenceBegin = "BEGIN DATA "
	fenceEnd   = "END DATA "
	markerLen  = 16
	// fenceWeight is what a fence costs, with the longest kind.
	fenceWeight = len(fenceBegin) + len(fenceEnd) + 2*markerLen + len(" (past attempts)") + 4
)

// part is a stretch of a prompt: words of ours, or data of a kind.
type part struct {
	text string
	kind string // empty for words of ours
}

// document is a prompt before its marker is known.
type document []part

// say adds words of ours.
func (d *document) say(text string) { *d = append(*d, part{text: text}) }

// quote adds data. kind is a word of ours.
func (d *document) quote(kind, text string) { *d = append(*d, part{text, kind}) }

// weight is at least the weight of the rendered document.
func (d document) weight() int {
	n := 0
	for _, p := range d {
		n += weigh(p.text) + 1
		if p.kind != "" {
			n += fenceWeight
		}
	}
	return n
}

func (d document) render(marker string) string {
	var b strings.Builder
	for _, p := range d {
		if p.kind == "" {
			b.WriteString(p.text)
			continue
		}
		b.WriteString(fenced(p.kind, p.text, marker))
	}
	return b.String()
}

// fenced puts data between fences. A marker in it is taken out: pickMarker leaves
// none, but answers to a prompt have seen it.
func fenced(kind, text, marker string) string {
	for strings.Contains(text, marker) { // what is left of two halves may be one again
		text = strings.ReplaceAll(text, marker, "")
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fenceBegin + marker + " (" + kind + ")\n" + text + fenceEnd + marker + "\n"
}

// pickMarker derives a marker from a name that stays the same from prompt to
// prompt, so that equal prompts begin with equal bytes; it occurs in none of the
// documents.
func pickMarker(name string, docs ...document) string {
	for i := 0; ; i++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "fence\x00%s\x00%d", name, i))
		marker := hex.EncodeToString(sum[:])[:markerLen]
		if !occurs(marker, docs) {
			return marker
		}
	}
}

func occurs(marker string, docs []document) bool {
	for _, d := range docs {
		for _, p := range d {
			if strings.Contains(p.text, marker) {
				return true
			}
		}
	}
	return false
}
