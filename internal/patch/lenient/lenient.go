// Package lenient applies the patches that models write: search and replace
// blocks, unified diffs with wrong numbers and lost white space, whole files. It
// tolerates what does not change the meaning and refuses everything else. A
// patch applies whole or not at all, each change at exactly one place, and no
// character but white space is ever guessed.
//
// The order of tolerance at one place: the lines as they are (line ends aside);
// trailing white space; indentation, with the new lines indented as the file is;
// white space within a line. Several places are one only when something better
// than a line number says which: the order of a diff's hunks, the heading of a
// hunk, line numbers that other hunks prove right, or numbers on every line.
//
// The old text of a block that is not whole lines is taken at its word, and
// nothing is tolerated: it stands in the file exactly once, byte for byte, and does
// not begin or end within a word.
//
// All functions are pure and safe for concurrent use. Work is bounded by the
// limits below and grows in proportion to input times hunks at most.
package lenient

import (
	"strings"

	"ratchet/internal/model"
)

// Limits of one patch. What is over one is refused with KindLimit.
const (
	MaxInput     = 1 << 20 // bytes of text, or of all records together
	MaxHunks     = 200     // hunks or blocks, all files together
	MaxLines     = 20_000  // lines of text
	MaxFileLines = 200_000 // lines of a file that is to be changed
)

// Replacement replaces lines of one file, or a part of them. An empty Search makes
// a new file of Replace; an empty Replace deletes what Search quotes.
type Replacement struct {
	Path    string `json:"path"`
	Search  string `json:"search"`
	Replace string `json:"replace"`
}

// Replacements applies records to base and returns the new content of each file
// that they touch. Every error is an *Error.
func Replacements(base model.Tree, records []Replacement) ([]model.Edit, error) {
	return (&engine{base: base}).records(records)
}

// Text finds the patch in what a model wrote, prose and fences included, and
// applies it like Replacements. Errors are *Error; one of KindNone says that
// there is no patch in the text. Text that was cut off by a token limit can end
// between two hunks, where nothing shows: do not pass it.
func Text(base model.Tree, text string) ([]model.Edit, error) {
	return (&engine{base: base}).text(text, false)
}

// Diff is Text for what is known to be complete, such as a string within a JSON
// document: counts that promise more lines are then wrong, not a sign of a cut.
func Diff(base model.Tree, diff string) ([]model.Edit, error) {
	return (&engine{base: base}).text(diff, true)
}

// engine is one call. It counts its work so that tests can hold it to a bound.
type engine struct {
	base model.Tree
	work int // lines compared or read
}

func (e *engine) records(records []Replacement) ([]model.Edit, error) {
	size, n := 0, 0
	for _, r := range records {
		size += len(r.Path) + len(r.Search) + len(r.Replace)
		n += strings.Count(r.Search, "\n") + strings.Count(r.Replace, "\n") + 2
		if why := unprintable(r.Search + r.Replace); why != "" {
			return nil, &Error{Kind: KindSyntax, Path: r.Path, Detail: why}
		}
	}
	if err := checkLimits(size, n, len(records)); err != nil {
		return nil, err
	}
	return e.readings(func(m mangling) ([]change, error) { return recordChanges(records, m) }, recordManglings(records))
}

func (e *engine) text(text string, complete bool) ([]model.Edit, error) {
	if err := checkLimits(len(text), strings.Count(text, "\n"), 0); err != nil {
		return nil, err
	}
	text = strings.TrimPrefix(text, "\ufeff")
	changes, err := parse(text, complete)
	if isKind(err, KindNone) && strings.Contains(text, "&lt;&lt;&lt;&lt;&lt;") {
		text = unescapeHTML(text)
		changes, err = parse(text, complete)
	}
	if err != nil {
		return nil, err
	}
	return e.readings(func(m mangling) ([]change, error) { return mangled(changes, m), nil }, changeManglings(changes))
}

// readings applies the patch as it is written and as it reads when known damage
// is undone. Two readings that fit and differ are one too many.
func (e *engine) readings(read func(mangling) ([]change, error), also []mangling) ([]model.Edit, error) {
	edits, first := e.read(read, asWritten)
	for _, m := range also {
		if first == nil && !m.always {
			continue
		}
		other, err := e.read(read, m)
		switch {
		case err != nil && m.sure:
			return nil, err
		case err != nil:
		case first != nil:
			edits, first = other, nil
		case !sameEdits(edits, other):
			return nil, &Error{Kind: KindAmbiguous, Detail: "it can be read as written and with " + m.name + " undone, and both fit"}
		}
	}
	return edits, first
}

func (e *engine) read(read func(mangling) ([]change, error), m mangling) ([]model.Edit, error) {
	changes, err := read(m)
	if err != nil {
		return nil, err
	}
	hunks := 0
	for _, c := range changes {
		hunks += len(c.hunks)
	}
	if err := checkLimits(0, 0, hunks); err != nil {
		return nil, err
	}
	return e.apply(changes)
}

func sameEdits(a, b []model.Edit) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Path != b[i].Path || a[i].Delete != b[i].Delete || string(a[i].Data) != string(b[i].Data) {
			return false
		}
	}
	return true
}

// unprintable says why text cannot be a patch of source, or "".
func unprintable(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		return "it contains a zero byte"
	}
	return ""
}
