package patch

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"ratchet/internal/model"
)

// gateNames refuses new files that not every system can hold beside those of the
// base, or whose name does not show what it is. Files that are there already keep
// whatever name they have.
func gateNames(base model.Tree, edits []model.Edit, _ Policy) *Refusal {
	var added []string
	for _, e := range edits {
		if _, exists := base.Find(e.Path); !exists && !e.Delete {
			added = append(added, e.Path)
		}
	}
	if len(added) == 0 {
		return nil
	}
	known := map[string]string{}
	for _, f := range base.Files {
		twin(known, f.Path)
	}
	for _, path := range added {
		if why := badName(path); why != "" {
			return &Refusal{RulePath, path, why}
		}
		if other := twin(known, path); other != "" {
			return &Refusal{RulePath, path, "some systems take it for " + other}
		}
	}
	return nil
}

// twin adds a path and its folders to those that are known, and returns one of
// them that is another path, but the same to a file system that folds case or
// composes characters.
func twin(known map[string]string, path string) string {
	for at := path; at != "."; at = parent(at) {
		folded := norm.NFC.String(cases.Fold().String(norm.NFC.String(at)))
		switch other, ok := known[folded]; {
		case !ok:
			known[folded] = at
		case other != at:
			return other
		case at != path:
			return "" // its folders are known too
		}
	}
	return ""
}

// badName says what is wrong with the name of a new file, or nothing.
func badName(path string) string {
	for _, r := range path {
		if unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) {
			return "it contains a character that nobody sees"
		}
	}
	for _, part := range strings.Split(path, "/") {
		if isDevice(part) {
			return "a part of it is the name of a device on Windows"
		}
	}
	return ""
}

// isDevice knows the names that Windows keeps, with whatever extension.
func isDevice(part string) bool {
	name, _, _ := strings.Cut(strings.ToLower(part), ".")
	switch name = strings.TrimRight(name, " "); name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && name[3] >= '1' && name[3] <= '9'
}
