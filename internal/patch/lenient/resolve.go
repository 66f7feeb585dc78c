package lenient

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// resolve says which file of the tree a change means. What a change rests on old
// lines for may be spelled loosely, since these must then be found; a file that
// is made, deleted or replaced must be named as it is.
func (e *engine) resolve(c change) (string, error) {
	if c.path == "" {
		return "", &Error{Kind: KindPath, Detail: "a change does not say which file it is for", Hint: "put the path on the line before"}
	}
	var found []string
	for _, name := range spellings(c) {
		if _, ok := e.base.Find(name); ok && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	anchored := len(c.hunks) > 0 && !c.create && !c.whole && !c.delete
	if len(found) == 0 && anchored {
		found = e.suffixes(c.path)
	}
	switch {
	case len(found) > 1:
		return "", &Error{Kind: KindAmbiguous, Path: c.path, Detail: fmt.Sprintf("it may be %q or %q", found[0], found[1]), Hint: "write the path from the root of the repository"}
	case len(found) == 1:
		if err := e.checkPath(found[0]); err != nil {
			return "", err
		}
		return found[0], nil
	}
	return e.unknown(c)
}

// unknown is the path of a file that is not in the tree.
func (e *engine) unknown(c change) (string, error) {
	name := c.path
	if c.diff {
		name = unprefixed(c)
	}
	if strings.HasPrefix(name, "./") {
		name = strings.TrimLeft(name[2:], "/")
	}
	if err := e.checkPath(name); err != nil {
		return "", err
	}
	if !c.create && !c.whole {
		return "", e.missing(name)
	}
	return name, nil
}

// unprefixed takes a/ and b/ off the names of a diff's header.
func unprefixed(c change) string {
	for _, prefix := range []string{"b/", "a/"} {
		if name, ok := strings.CutPrefix(c.path, prefix); ok {
			return name
		}
	}
	return c.path
}

// spellings lists what a written path may stand for.
func spellings(c change) []string {
	name := strings.TrimPrefix(c.path, "./")
	if !c.diff {
		return []string{name}
	}
	a, isA := strings.CutPrefix(c.other, "a/")
	if b, isB := strings.CutPrefix(name, "b/"); isA && isB && a == b {
		return twice(b)
	}
	return twice(name)
}

// twice lists a name with its prefix a/ or b/, without it, and without two.
func twice(name string) []string {
	out := []string{name}
	for range 2 {
		if !strings.HasPrefix(name, "a/") && !strings.HasPrefix(name, "b/") {
			break
		}
		name = name[2:]
		out = append(out, name)
	}
	return out
}

// suffixes finds the one file that a path with folders in front, or a bare name,
// can stand for.
func (e *engine) suffixes(name string) []string {
	name = strings.ReplaceAll(strings.TrimPrefix(name, "./"), "\\", "/")
	if slices.Contains(strings.Split(name, "/"), "..") || strings.Contains(name, "/.git/") {
		return nil
	}
	if !strings.Contains(name, "/") {
		var out []string
		for _, f := range e.base.Files {
			if strings.HasSuffix(f.Path, "/"+name) {
				out = append(out, f.Path)
			}
		}
		return out
	}
	for rest, more := name, true; more; _, rest, more = strings.Cut(rest, "/") {
		if _, ok := e.base.Find(rest); ok {
			return []string{rest}
		}
	}
	return nil
}

var (
	timestamp  = regexp.MustCompile(`\s+\(?(?:\d{4}-\d\d-\d\d|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b).*$`)
	lineSuffix = regexp.MustCompile(`:\d+(?:[-:]\d+)?(?::.*)?$`)
	labelled   = regexp.MustCompile(`(?i)^(?:\d+[.)]\s*)?(?:(?:in|edit|update|modify|create|new|change|full|complete|the)\s+)*(?:file(?:name|path)?|path|patch)\s*[:=]?\s+|^(?:file(?:name|path)?|path)[:=]`)
	plainPath  = regexp.MustCompile(`^[^\s"'<>|*?` + "`" + `]+$`)
)

// headerPath reads the path of a line that begins with --- or +++.
func headerPath(s string) string {
	s = strings.Trim(s, " \r")
	if name, _, tab := strings.Cut(s, "\t"); tab {
		s = name
	}
	s = timestamp.ReplaceAllString(s, "")
	return strings.Trim(strings.TrimSpace(s), "\"`'")
}

// prosePath finds a path in a line of prose that announces a file, or "".
func prosePath(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 400 {
		return ""
	}
	if _, code, ok := strings.Cut(s, "`"); ok {
		if code, _, ok = strings.Cut(code, "`"); ok && looksLikePath(code) {
			return lineSuffix.ReplaceAllString(code, "")
		}
	}
	s = strings.Trim(s, "#*/ -=>[]()<!")
	s = strings.TrimSpace(labelled.ReplaceAllString(s, ""))
	if name, rest, ok := strings.Cut(s, " "); ok && strings.HasPrefix(rest, "(") {
		s = name
	}
	s = strings.TrimRight(strings.Trim(s, "\"'*` "), ":,")
	s = lineSuffix.ReplaceAllString(strings.Trim(s, "\"'*` "), "")
	if looksLikePath(s) {
		return s
	}
	return ""
}

// looksLikePath is generous: what is taken for a path must then be a file.
func looksLikePath(s string) bool {
	if s == "" || !plainPath.MatchString(lineSuffix.ReplaceAllString(s, "")) {
		return false
	}
	base := s[strings.LastIndexByte(s, '/')+1:]
	return strings.Contains(s, "/") && base != "" && !strings.Contains(s, "://") ||
		strings.Contains(strings.Trim(base, "."), ".") && !strings.HasSuffix(s, ".") || base == "Makefile" || base == "Dockerfile"
}
