package patch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"ratchet/internal/model"
)

// Apply turns a unified diff (git's format, or plain with --- and +++) into
// edits of exactly this base. It is strict: every line must match, and whatever
// go-gitdiff would pass over in silence is an error. A rename becomes a
// deletion and an addition. Line ends of the patch are adapted to a file that
// has CRLF throughout, and a missing end of the last line to what the file has.
func Apply(base model.Tree, diff string) ([]model.Edit, error) {
	files, err := Parse(diff)
	if err != nil {
		return nil, err
	}
	var edits []model.Edit
	for _, f := range files {
		e, err := applyFile(base, f)
		if err != nil {
			return nil, err
		}
		edits = append(edits, e...)
	}
	return edits, nil
}

// applyFile makes the edits for one file of a parsed patch.
func applyFile(base model.Tree, f *gitdiff.File) ([]model.Edit, error) {
	old, exists := base.Find(f.OldName)
	switch {
	case f.IsNew:
		if _, taken := base.Find(f.NewName); taken {
			return nil, conflict(f.NewName, "the file to add exists")
		}
		old = model.File{}
	case !exists:
		return nil, conflict(f.OldName, "there is no such file")
	case old.Mode == model.ModeSymlink:
		return nil, &Error{Op: "apply", Path: f.OldName, Err: fmt.Errorf("%w: a symbolic link", ErrPath)}
	}
	if f.IsRename || f.IsCopy {
		if _, taken := base.Find(f.NewName); taken && f.NewName != f.OldName {
			return nil, conflict(f.NewName, "the file to write exists")
		}
	}
	data, err := applyText(old.Data, f)
	if err != nil {
		return nil, err
	}
	return fileEdits(f, old, data)
}

// fileEdits says what a patched file means for the tree.
func fileEdits(f *gitdiff.File, old model.File, data []byte) ([]model.Edit, error) {
	if f.IsDelete {
		if len(data) > 0 {
			return nil, conflict(f.OldName, "the file to delete has more content")
		}
		return []model.Edit{{Path: f.OldName, Delete: true}}, nil
	}
	if f.OldMode != 0 && !f.IsNew && uint32(f.OldMode) != old.Mode {
		return nil, conflict(f.OldName, fmt.Sprintf("its mode is %o, not %o", old.Mode, uint32(f.OldMode)))
	}
	e := model.Edit{Path: f.NewName, Data: data, Mode: uint32(f.NewMode)}
	if f.IsNew && e.Mode == 0 {
		e.Mode = model.ModeFile
	}
	if f.IsRename || f.IsCopy {
		if e.Mode == 0 {
			e.Mode = old.Mode
		}
	}
	if f.IsRename && f.OldName != f.NewName {
		return []model.Edit{{Path: f.OldName, Delete: true}, e}, nil
	}
	return []model.Edit{e}, nil
}

func conflict(path, why string) error {
	return &Error{Op: "apply", Path: path, Err: fmt.Errorf("%w: %s", ErrConflict, why), Hint: "make it again from the current files"}
}

// applyText applies the fragments as they are, then with adapted line ends.
func applyText(old []byte, f *gitdiff.File) ([]byte, error) {
	data, err := gitApply(old, f)
	if err == nil {
		return data, nil
	}
	if !errors.Is(err, &gitdiff.Conflict{}) {
		return nil, &Error{Op: "apply", Path: f.OldName, Err: fmt.Errorf("%w: %w", ErrSyntax, err)}
	}
	for _, adapt := range []func([]byte, *gitdiff.File) (*gitdiff.File, bool){withCRLF, withLastLine, withBoth} {
		if g, ok := adapt(old, f); ok {
			if data, again := gitApply(old, g); again == nil {
				return data, nil
			}
		}
	}
	return nil, conflict(orNew(f), describe(err))
}

func orNew(f *gitdiff.File) string {
	if f.OldName != "" {
		return f.OldName
	}
	return f.NewName
}

func describe(err error) string {
	var at *gitdiff.ApplyError
	if errors.As(err, &at) && at.Line > 0 {
		return fmt.Sprintf("line %d: %v", at.Line, err)
	}
	return err.Error()
}

func gitApply(old []byte, f *gitdiff.File) ([]byte, error) {
	var out bytes.Buffer
	err := gitdiff.Apply(&out, bytes.NewReader(old), f)
	return out.Bytes(), err
}

// withCRLF gives the patch's lines CRLF when all lines of the file have it and
// none of the patch does.
func withCRLF(old []byte, f *gitdiff.File) (*gitdiff.File, bool) {
	text := string(old)
	if n := strings.Count(text, "\n"); n == 0 || n != strings.Count(text, "\r\n") {
		return nil, false
	}
	return mapLines(f, func(l gitdiff.Line) (gitdiff.Line, bool) {
		if strings.HasSuffix(l.Line, "\r\n") {
			return l, false
		}
		l.Line = strings.TrimSuffix(l.Line, "\n") + strings.Repeat("\r\n", strings.Count(l.Line, "\n"))
		return l, true
	})
}

// withLastLine removes the line end from a patch's last old line when the file
// lacks one there: patches written by hand forget "\ No newline at end of file".
// Lines that the patch adds stay as they are written.
func withLastLine(old []byte, f *gitdiff.File) (*gitdiff.File, bool) {
	if len(old) == 0 || old[len(old)-1] == '\n' || len(f.TextFragments) == 0 {
		return nil, false
	}
	g, _ := mapLines(f, func(l gitdiff.Line) (gitdiff.Line, bool) { return l, true })
	last := g.TextFragments[len(g.TextFragments)-1]
	lines, ok := endOpen(last.Lines)
	if !ok {
		return nil, false
	}
	again := fragment(lines, 1, 1)
	again.OldPosition, again.NewPosition = last.OldPosition, last.NewPosition
	g.TextFragments[len(g.TextFragments)-1] = again
	return g, true
}

// endOpen removes the line end of the last old line. A context line that new
// lines follow gains one that way, so it becomes a deletion and an addition.
func endOpen(lines []gitdiff.Line) ([]gitdiff.Line, bool) {
	i := len(lines) - 1
	for i >= 0 && !lines[i].Old() {
		i--
	}
	if i < 0 || lines[i].NoEOL() {
		return nil, false
	}
	whole := lines[i].Line
	open := strings.TrimSuffix(strings.TrimSuffix(whole, "\n"), "\r")
	if lines[i].Op == gitdiff.OpDelete || i == len(lines)-1 {
		lines[i].Line = open
		return lines, true
	}
	out := append([]gitdiff.Line{}, lines[:i]...)
	out = append(out, gitdiff.Line{Op: gitdiff.OpDelete, Line: open}, gitdiff.Line{Op: gitdiff.OpAdd, Line: whole})
	return append(out, lines[i+1:]...), true
}

func withBoth(old []byte, f *gitdiff.File) (*gitdiff.File, bool) {
	g, ok := withCRLF(old, f)
	if !ok {
		return nil, false
	}
	return withLastLine(old, g)
}

// mapLines returns a copy of f with other lines, unless fn refuses one.
func mapLines(f *gitdiff.File, fn func(gitdiff.Line) (gitdiff.Line, bool)) (*gitdiff.File, bool) {
	g := *f
	g.TextFragments = nil
	for _, t := range f.TextFragments {
		u := *t
		u.Lines = make([]gitdiff.Line, len(t.Lines))
		for i, l := range t.Lines {
			mapped, ok := fn(l)
			if !ok {
				return nil, false
			}
			u.Lines[i] = mapped
		}
		g.TextFragments = append(g.TextFragments, &u)
	}
	return &g, true
}

// checkMode allows the two modes of ordinary files; 0 says that none was given.
func checkMode(m os.FileMode) bool {
	return m == 0 || uint32(m) == model.ModeFile || uint32(m) == model.ModeExec
}
