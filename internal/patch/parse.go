package patch

import (
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Parse reads a unified diff. go-gitdiff does the work; what it would pass over
// in silence is an error here: a fragment header that counts too few lines or
// none, names without their prefix, a file that comes twice or does not change,
// binary files, and paths and modes that a patch may not have.
func Parse(diff string) ([]*gitdiff.File, error) {
	headers, text, err := scan(diff)
	if err != nil {
		return nil, err
	}
	files, _, err := gitdiff.Parse(strings.NewReader(text))
	if err != nil {
		return nil, syntax("", "%w", err)
	}
	if len(files) == 0 {
		return nil, syntax("", "there is no file header")
	}
	if len(files) != len(headers) {
		return nil, syntax("", "%d file headers, but %d files could be read", len(headers), len(files))
	}
	seen := map[string]bool{}
	for i, f := range files {
		headers[i].complete(f)
		if err := checkFile(f); err != nil {
			return nil, err
		}
		for _, name := range names(f) {
			if seen[name] {
				return nil, syntax(name, "it comes twice; each would apply to the original")
			}
			seen[name] = true
		}
	}
	return files, nil
}

func syntax(path, format string, args ...any) error {
	return &Error{Op: "parse", Path: path, Err: fmt.Errorf("%w: "+format, append([]any{ErrSyntax}, args...)...)}
}

func names(f *gitdiff.File) []string {
	switch {
	case f.OldName == "" || f.OldName == f.NewName:
		return []string{f.NewName}
	case f.NewName == "":
		return []string{f.OldName}
	}
	return []string{f.OldName, f.NewName}
}

func checkFile(f *gitdiff.File) error {
	for _, name := range names(f) {
		if why := BadPath(name); why != "" {
			return &Error{Op: "parse", Path: name, Err: fmt.Errorf("%w: %s", ErrPath, why)}
		}
	}
	name := orNew(f)
	switch {
	case f.IsBinary || f.BinaryFragment != nil:
		return syntax(name, "a binary file")
	case !checkMode(f.OldMode) || !checkMode(f.NewMode):
		return &Error{Op: "parse", Path: name, Err: fmt.Errorf("%w: mode %o to %o", ErrPath, uint32(f.OldMode), uint32(f.NewMode))}
	case len(f.TextFragments) == 0 && !f.IsNew && !f.IsDelete && !f.IsRename && !f.IsCopy && f.OldMode == f.NewMode:
		return syntax(name, "nothing changes in it")
	}
	return checkOrder(f)
}

// checkOrder demands fragments in ascending order that do not overlap.
func checkOrder(f *gitdiff.File) error {
	end := int64(0)
	for i, t := range f.TextFragments {
		if err := t.Validate(); err != nil {
			return syntax(orNew(f), "fragment %d: %w", i+1, err)
		}
		if t.OldPosition < end {
			return syntax(orNew(f), "fragment %d overlaps the one before or is out of order", i+1)
		}
		end = t.OldPosition + t.OldLines
	}
	return nil
}
