package patch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Parse reads a unified diff. go-gitdiff does the work; what it would pass over
// in silence is an error here: a fragment header that counts too few lines or
// none, names without their prefix, a file that comes twice or does not change,
// binary files, and paths and modes that a patch may not have.
func Parse(diff string) ([]*gitdiff.File, error) {
	plain, err := scan(diff)
	if err != nil {
		return nil, err
	}
	files, _, err := gitdiff.Parse(strings.NewReader(diff))
	if err != nil {
		return nil, syntax("", "%w", err)
	}
	if len(files) == 0 {
		return nil, syntax("", "there is no file header")
	}
	if len(files) != len(plain) {
		return nil, syntax("", "%d file headers, but %d files could be read", len(plain), len(files))
	}
	seen := map[string]bool{}
	for i, f := range files {
		if plain[i] {
			stripPrefixes(f)
		}
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

// stripPrefixes removes a/ and b/, which go-gitdiff keeps when there is no
// "diff --git" line.
func stripPrefixes(f *gitdiff.File) {
	f.OldName = withoutPrefix(f.OldName)
	f.NewName = withoutPrefix(f.NewName)
}

func withoutPrefix(name string) string {
	if rest, ok := strings.CutPrefix(name, "a/"); ok {
		return rest
	}
	return strings.TrimPrefix(name, "b/")
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

var (
	fragmentHeader = regexp.MustCompile(`^@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@(?: |\r?$)`)
	extendedHeader = regexp.MustCompile(`^(?:index|old mode|new mode|deleted file mode|new file mode|similarity index|dissimilarity index|rename from|rename to|copy from|copy to) `)
)

// diffScanner walks a diff line by line and knows at any point whether it is in a
// fragment, by the counts of the fragment's header.
type diffScanner struct {
	plain    []bool // for each file: it has no "diff --git" line
	old, new int    // lines that the fragment still has
	inHeader bool   // before the first fragment of a file
}

// scan finds lines that go-gitdiff would skip. It returns, for each file,
// whether it has a plain header.
func scan(diff string) (plain []bool, err error) {
	s := &diffScanner{}
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	for i, line := range lines {
		if isSignature(lines[i:]) && s.old == 0 && s.new == 0 {
			break
		}
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		if why := s.line(line, next); why != "" {
			return nil, syntax("", "line %d: %s", i+1, why)
		}
	}
	if s.old > 0 || s.new > 0 {
		return nil, syntax("", "the last fragment has fewer lines than its header says")
	}
	return s.plain, nil
}

// isSignature recognises the end of a patch sent by mail.
func isSignature(rest []string) bool {
	return rest[0] == "-- " && len(rest) <= 4 && !strings.Contains(strings.Join(rest, "\n"), "\n@@") && !strings.Contains(strings.Join(rest[1:], "\n"), "--- ")
}

// line takes one line and says what is wrong with it, or "".
func (s *diffScanner) line(line, next string) string {
	switch {
	case s.old > 0 || s.new > 0:
		return s.inFragment(line)
	case strings.HasPrefix(line, "diff --git "):
		return s.gitHeader(line)
	case strings.HasPrefix(line, "--- ") && strings.HasPrefix(next, "+++ "):
		return s.nameHeader(line, next)
	case strings.HasPrefix(line, "@@"):
		return s.fragment(line)
	case len(s.plain) == 0: // text before the patch
		return ""
	case strings.HasPrefix(line, "+++ ") && s.inHeader, extendedHeader.MatchString(line) && s.inHeader, strings.HasPrefix(line, `\ `), strings.TrimSpace(line) == "":
		return ""
	case strings.HasPrefix(line, "Binary files ") || strings.HasPrefix(line, "GIT binary patch"):
		return "a binary file"
	}
	return fmt.Sprintf("%.60q is outside any fragment: does the fragment before it count too few lines?", line)
}

func (s *diffScanner) gitHeader(line string) string {
	rest := strings.TrimPrefix(line, "diff --git ")
	if !strings.HasPrefix(rest, "a/") && !strings.HasPrefix(rest, `"a/`) {
		return `the names lack the prefixes "a/" and "b/"`
	}
	s.plain, s.inHeader = append(s.plain, false), true
	return ""
}

// nameHeader takes "--- old" and "+++ new": part of a git header, or a plain
// header by itself.
func (s *diffScanner) nameHeader(line, next string) string {
	old, new := strings.TrimPrefix(line, "--- "), strings.TrimPrefix(next, "+++ ")
	prefixed := hasPrefix(old, "a/") && hasPrefix(new, "b/")
	if s.inHeader {
		if !prefixed {
			return `the names lack the prefixes "a/" and "b/"`
		}
		return ""
	}
	if !prefixed && (hasPrefix(old, "a/") != hasPrefix(new, "b/")) {
		return `only one of the names has a prefix`
	}
	s.plain, s.inHeader = append(s.plain, true), true
	return ""
}

func hasPrefix(name, prefix string) bool {
	return strings.HasPrefix(name, prefix) || strings.HasPrefix(name, `"`+prefix) || strings.HasPrefix(name, "/dev/null")
}

func (s *diffScanner) fragment(line string) string {
	m := fragmentHeader.FindStringSubmatch(line)
	if m == nil {
		return fmt.Sprintf("%.60q is no fragment header with line numbers", line)
	}
	if len(s.plain) == 0 {
		return "a fragment without a file header"
	}
	s.old, s.new, s.inHeader = lineCount(m[1]), lineCount(m[2]), false
	return ""
}

func lineCount(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil { // left out: one line
		return 1
	}
	return n
}

func (s *diffScanner) inFragment(line string) string {
	switch {
	case line == "" || line[0] == ' ' || line == "\r":
		s.old--
		s.new--
	case line[0] == '-':
		s.old--
	case line[0] == '+':
		s.new--
	case strings.HasPrefix(line, `\ `):
	default:
		return fmt.Sprintf("%.60q in a fragment that needs %d more old and %d more new lines", line, s.old, s.new)
	}
	if s.old < 0 || s.new < 0 {
		return "the fragment has other lines than its header counts"
	}
	return ""
}
