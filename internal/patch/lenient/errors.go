package lenient

import (
	"errors"
	"fmt"
	"strings"
)

// Kind says why a patch was refused.
type Kind string

// Kinds of refusal.
const (
	KindNone        Kind = "no patch"       // nothing in the text is a patch
	KindSyntax      Kind = "malformed"      // a patch that cannot be read
	KindTruncated   Kind = "truncated"      // it breaks off
	KindElided      Kind = "elided"         // lines stand for code that was left out
	KindLimit       Kind = "too large"      // over a limit of this package
	KindPath        Kind = "path"           // not a path that a patch may touch, or none
	KindNoFile      Kind = "no such file"   // the file to change is not there
	KindExists      Kind = "file exists"    // the file to add is there
	KindNotFound    Kind = "not found"      // the old lines are not in the file
	KindNotUnique   Kind = "not unique"     // they are there more than once
	KindOverlap     Kind = "overlap"        // two changes of the same lines, or out of order
	KindIndent      Kind = "indentation"    // the new lines' indentation cannot be told
	KindLineEnds    Kind = "line ends"      // a file with mixed ends
	KindAmbiguous   Kind = "ambiguous"      // it can be read in two ways
	KindUnsupported Kind = "not supported"  // renames, copies, modes, binary files
	KindPartial     Kind = "not whole file" // code with a path that is neither a patch nor said to be the whole file
)

// Place is a piece of a file.
type Place struct {
	Line  int // of the first line of Lines, from 1
	Lines []string
}

// Error says what did not fit, so that whoever wrote the patch can mend it. Want
// and Near quote the patch and the repository: data, never instructions.
type Error struct {
	Kind   Kind
	Path   string // as the patch writes it, or as it was found; may be empty
	Unit   string // "hunk" or "block"
	N      int    // number of the hunk or block in the patch, from 1; 0 for none
	Detail string
	Want   []string // lines that were looked for
	Near   *Place   // the most similar place of the file
	Lines  []int    // where each of several matches begins, from 1
	Hint   string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("patch: " + string(e.Kind))
	if e.Path != "" {
		fmt.Fprintf(&b, " %q", clip(e.Path))
	}
	if e.N > 0 {
		fmt.Fprintf(&b, " %s %d", e.Unit, e.N)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if len(e.Lines) > 0 {
		fmt.Fprintf(&b, " (lines %s)", numbers(e.Lines))
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

// Limits of what Quote shows.
const (
	maxQuoted = 12
	maxWidth  = 160
	maxListed = 8
)

// Quote shows the lines that were looked for and the nearest place in the file
// with its line numbers, at most about 4 KB. It is empty when there is neither.
func (e *Error) Quote() string {
	var b strings.Builder
	if len(e.Want) > 0 {
		b.WriteString("Lines that were looked for:\n")
		for _, l := range e.Want[:min(len(e.Want), maxQuoted)] {
			b.WriteString("  " + clip(l) + "\n")
		}
		if n := len(e.Want) - maxQuoted; n > 0 {
			fmt.Fprintf(&b, "  (and %d more)\n", n)
		}
	}
	if e.Near != nil {
		b.WriteString("Nearest place in the file:\n")
		for i, l := range e.Near.Lines[:min(len(e.Near.Lines), maxQuoted)] {
			fmt.Fprintf(&b, "%5d | %s\n", e.Near.Line+i, clip(l))
		}
	}
	return b.String()
}

func clip(s string) string {
	if len(s) <= maxWidth {
		return strings.ToValidUTF8(s, "?")
	}
	return strings.ToValidUTF8(s[:maxWidth], "") + "…"
}

func numbers(list []int) string {
	var out []string
	for _, n := range list[:min(len(list), maxListed)] {
		out = append(out, fmt.Sprint(n))
	}
	if len(list) > maxListed {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

func isKind(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}

func checkLimits(size, lines, hunks int) error {
	switch {
	case size > MaxInput:
		return &Error{Kind: KindLimit, Detail: fmt.Sprintf("it has %d bytes, at most %d are read", size, MaxInput)}
	case lines > MaxLines:
		return &Error{Kind: KindLimit, Detail: fmt.Sprintf("it has %d lines, at most %d are read", lines, MaxLines)}
	case hunks > MaxHunks:
		return &Error{Kind: KindLimit, Detail: fmt.Sprintf("it has %d changes, at most %d are read", hunks, MaxHunks)}
	}
	return nil
}
