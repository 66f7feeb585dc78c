package patch

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"github.com/go-git/go-git/v5/utils/diff"
	"github.com/sergi/go-diff/diffmatchpatch"

	"ratchet/internal/model"
)

// diffTime bounds the search for a short diff of two large, different files;
// what is not found by then is one deletion and one addition.
const diffTime = 5 * time.Second

// contextLines is how many unchanged lines surround a change.
const contextLines = 3

// Diff returns the edits as a unified diff in git's format, sorted by path;
// Apply turns it back into the same change. Edits without effect leave nothing.
// A change to a binary file is an error.
func Diff(base model.Tree, edits []model.Edit) (string, error) {
	var b strings.Builder
	for _, c := range changes(base, edits) {
		f, err := c.file()
		if err != nil {
			return "", &Error{Op: "diff", Path: c.path, Err: err}
		}
		b.WriteString(f.String())
	}
	return b.String(), nil
}

// file describes a change as go-gitdiff does.
func (c change) file() (*gitdiff.File, error) {
	f := &gitdiff.File{OldName: c.path, NewName: c.path}
	switch {
	case c.old == nil:
		f.OldName, f.IsNew, f.NewMode = "", true, os.FileMode(c.new.Mode)
	case c.new == nil:
		f.NewName, f.IsDelete, f.OldMode = "", true, os.FileMode(c.old.Mode)
	case c.old.Mode != c.new.Mode:
		f.OldMode, f.NewMode = os.FileMode(c.old.Mode), os.FileMode(c.new.Mode)
	}
	if isBinary(c.oldData()) || isBinary(c.newData()) {
		return nil, fmt.Errorf("%w: a binary file", ErrSyntax)
	}
	lines := diffLines(string(c.oldData()), string(c.newData()))
	f.TextFragments = fragments(lines)
	return f, nil
}

// diffLines returns all lines of both texts, marked as kept, deleted or added.
func diffLines(old, new string) []gitdiff.Line {
	var out []gitdiff.Line
	for _, d := range diff.DoWithTimeout(old, new, diffTime) {
		op := gitdiff.OpContext
		switch d.Type {
		case diffmatchpatch.DiffDelete:
			op = gitdiff.OpDelete
		case diffmatchpatch.DiffInsert:
			op = gitdiff.OpAdd
		}
		for line := range strings.Lines(d.Text) {
			out = append(out, gitdiff.Line{Op: op, Line: line})
		}
	}
	return out
}

// fragments groups changed lines with their context; changes closer than twice
// the context share a fragment.
func fragments(lines []gitdiff.Line) []*gitdiff.TextFragment {
	var out []*gitdiff.TextFragment
	oldLine, newLine, done := int64(1), int64(1), 0
	for i := 0; i < len(lines); i++ {
		if lines[i].Op == gitdiff.OpContext {
			continue
		}
		from, to := max(done, i-contextLines), fragmentEnd(lines, i)
		o, n := count(lines[done:from])
		oldLine, newLine = oldLine+o, newLine+n
		f := fragment(lines[from:to], oldLine, newLine)
		out = append(out, f)
		oldLine, newLine, done = oldLine+f.OldLines, newLine+f.NewLines, to
		i = to - 1
	}
	return out
}

// fragmentEnd returns where the fragment around the changed line i ends.
func fragmentEnd(lines []gitdiff.Line, i int) int {
	last := i
	for j := i; j < len(lines) && j <= last+2*contextLines; j++ {
		if lines[j].Op != gitdiff.OpContext {
			last = j
		}
	}
	return min(last+1+contextLines, len(lines))
}

func fragment(lines []gitdiff.Line, oldLine, newLine int64) *gitdiff.TextFragment {
	f := &gitdiff.TextFragment{OldPosition: oldLine, NewPosition: newLine, Lines: lines}
	f.OldLines, f.NewLines = count(lines)
	for _, l := range lines {
		switch {
		case l.Op == gitdiff.OpAdd:
			f.LinesAdded++
			f.TrailingContext = 0
		case l.Op == gitdiff.OpDelete:
			f.LinesDeleted++
			f.TrailingContext = 0
		case f.LinesAdded+f.LinesDeleted == 0:
			f.LeadingContext++
		default:
			f.TrailingContext++
		}
	}
	if f.OldLines == 0 { // by convention the position is then the line before
		f.OldPosition--
	}
	if f.NewLines == 0 {
		f.NewPosition--
	}
	return f
}

// count returns how many of the lines are in the old and in the new text.
func count(lines []gitdiff.Line) (old, new int64) {
	for _, l := range lines {
		if l.Old() {
			old++
		}
		if l.New() {
			new++
		}
	}
	return old, new
}

// isBinary takes text to be UTF-8 without zero bytes.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data)
}
