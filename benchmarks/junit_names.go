package benchmarks

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"unicode"

	"ratchet/internal/model"
)

// maxNamePart bounds the package and the name of a problem, in bytes.
const maxNamePart = 300

// problem names a case: its class, or else its file or suite, is the package.
// Cases that have equal names are one problem.
func (s *junitSuite) problem(c junitCase) model.Problem {
	pkg, name := packageOf(c, s.dir()), clip(clean(c.name))
	id := s.cfg.Name + "/" + pkg + "/" + name
	if pkg == "." {
		id = s.cfg.Name + "/" + name
	}
	return model.Problem{ID: id, Suite: s.cfg.Name, Package: pkg, Name: name, Split: model.SplitSearch}
}

// packageOf is a clean path made of what a report says of where a case is.
func packageOf(c junitCase, dir string) string {
	text := c.class
	switch {
	case text == "" && c.file != "":
		text = strings.TrimPrefix(strings.TrimPrefix(c.file, dir+"/"), Source+"/")
	case text == "":
		text = c.suite
	case !strings.ContainsAny(text, "/\\ "):
		text = strings.NewReplacer("::", "/", ".", "/").Replace(text)
	}
	var parts []string
	for part := range strings.SplitSeq(strings.ReplaceAll(clean(text), "\\", "/"), "/") {
		if part = strings.TrimSpace(part); part == "" || part == "." {
			continue
		}
		if part == ".." {
			part = "_"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "."
	}
	return clip(path.Join(parts...))
}

// clean puts a space in the place of what cannot be printed.
func clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " ")))
}

// clip cuts what is too long and puts a hash of the whole at its end.
func clip(s string) string {
	if len(s) <= maxNamePart {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return strings.ToValidUTF8(s[:maxNamePart-9], "") + "-" + hex.EncodeToString(sum[:4])
}
