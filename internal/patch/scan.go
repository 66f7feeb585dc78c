package patch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

var (
	fragmentHeader = regexp.MustCompile(`^@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@(?: |\r?$)`)
	extendedHeader = regexp.MustCompile(`^(?:index|old mode|new mode|deleted file mode|new file mode|similarity index|dissimilarity index|rename from|rename to|copy from|copy to) `)
)

// fileHeader is what the scan finds out about a file's header.
type fileHeader struct {
	prefixed bool // a plain header, whose names begin with a/ and b/
	created  bool // it says "new file mode"
	deleted  bool // it says "deleted file mode"
	noMode   bool // a mode was put in for go-gitdiff
}

// complete mends what go-gitdiff makes of a header: it keeps the prefixes when
// there is no "diff --git" line.
func (h fileHeader) complete(f *gitdiff.File) {
	if h.prefixed {
		f.OldName = strings.TrimPrefix(f.OldName, "a/")
		f.NewName = strings.TrimPrefix(f.NewName, "b/")
		if f.OldName == "b/"+f.NewName { // a change has one name, the new one
			f.OldName = f.NewName
		}
	}
	if h.noMode {
		f.OldMode, f.NewMode = 0, 0
	}
}

// diffScanner walks a diff line by line and knows at any point whether it is in
// a fragment, by the counts of the fragment's header.
type diffScanner struct {
	files    []fileHeader
	old, new int  // lines that the fragment still has
	inHeader bool // before the first fragment of a file
	out      strings.Builder
}

// scan finds lines that go-gitdiff would skip. It returns what is known of each
// file's header, and the diff without a mail's signature and with the modes that
// go-gitdiff insists on but people and models forget.
func scan(diff string) ([]fileHeader, string, error) {
	s := &diffScanner{}
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	for i, line := range lines {
		if s.old == 0 && s.new == 0 && isSignature(lines[i:]) {
			break
		}
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		if why := s.line(line, next); why != "" {
			return nil, "", syntax("", "line %d: %s", i+1, why)
		}
		s.out.WriteString(line + "\n")
	}
	if s.old > 0 || s.new > 0 {
		return nil, "", syntax("", "the last fragment has fewer lines than its header says")
	}
	return s.files, s.out.String(), nil
}

// isSignature recognises the end of a patch sent by mail: "-- " and a version.
func isSignature(rest []string) bool {
	if rest[0] != "-- " || len(rest) > 4 {
		return false
	}
	after := "\n" + strings.Join(rest[1:], "\n")
	return !strings.Contains(after, "\n@@") && !strings.Contains(after, "\n--- ") && !strings.Contains(after, "\ndiff ") &&
		!strings.Contains(after, "\n+") && !strings.Contains(after, "\n-") && !strings.Contains(after, "\n ")
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
	case len(s.files) == 0: // text before the patch
		return ""
	case s.inHeader && (strings.HasPrefix(line, "+++ ") || extendedHeader.MatchString(line)):
		s.mode(line)
		return ""
	case strings.HasPrefix(line, `\ `), strings.TrimSpace(line) == "":
		return ""
	case strings.HasPrefix(line, "Binary files "), strings.HasPrefix(line, "GIT binary patch"):
		return "a binary file"
	}
	return fmt.Sprintf("%.60q is outside any fragment: does the fragment before it count too few lines?", line)
}

func (s *diffScanner) gitHeader(line string) string {
	rest := strings.TrimPrefix(line, "diff --git ")
	if !strings.HasPrefix(rest, "a/") && !strings.HasPrefix(rest, `"a/`) {
		return noPrefixes
	}
	s.files, s.inHeader = append(s.files, fileHeader{}), true
	return ""
}

const noPrefixes = `the names lack the prefixes "a/" and "b/"`

func (s *diffScanner) mode(line string) {
	f := &s.files[len(s.files)-1]
	f.created = f.created || strings.HasPrefix(line, "new file mode ")
	f.deleted = f.deleted || strings.HasPrefix(line, "deleted file mode ")
}

// nameHeader takes "--- old" and "+++ new": part of a git header, or a plain
// header by itself.
func (s *diffScanner) nameHeader(line, next string) string {
	old, new := namePrefix(strings.TrimPrefix(line, "--- "), "a/"), namePrefix(strings.TrimPrefix(next, "+++ "), "b/")
	if old != none && new != none && old != new {
		return "only one of the names has a prefix"
	}
	prefixed := old == with || new == with
	if !s.inHeader {
		s.files, s.inHeader = append(s.files, fileHeader{prefixed: prefixed}), true
		return ""
	}
	f := &s.files[len(s.files)-1]
	switch {
	case !prefixed:
		return noPrefixes
	case old == none && !f.created:
		f.noMode = true
		s.out.WriteString("new file mode 100644\n")
	case new == none && !f.deleted:
		f.noMode = true
		s.out.WriteString("deleted file mode 100644\n")
	}
	return ""
}

type prefixKind int

const (
	without prefixKind = iota
	with
	none // /dev/null
)

func namePrefix(name, prefix string) prefixKind {
	switch {
	case strings.TrimRight(name, "\r") == "/dev/null", strings.HasPrefix(name, "/dev/null\t"):
		return none
	case strings.HasPrefix(name, prefix), strings.HasPrefix(name, `"`+prefix):
		return with
	}
	return without
}

func (s *diffScanner) fragment(line string) string {
	m := fragmentHeader.FindStringSubmatch(line)
	if m == nil {
		return fmt.Sprintf("%.60q is no fragment header with line numbers", line)
	}
	if len(s.files) == 0 {
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
	case line == "" || line[0] == ' ':
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
