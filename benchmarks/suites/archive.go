package suites

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/tools/txtar"

	"ratchet/internal/model"
)

// archive is one problem file: a header, and sections that are files.
type archive struct {
	name     string // of the file, for messages
	header   []byte
	sections []section
	flaws    Flaws
}

// section is one file of an archive.
type section struct {
	path string
	line int // of its marker
	data []byte
}

func (a *archive) flaw(line int, format string, args ...any) {
	a.flaws = append(a.flaws, Flaw{a.name, line, fmt.Sprintf(format, args...)})
}

// split reads a txtar archive; every such text is one.
func split(name string, data []byte) *archive {
	t := txtar.Parse(data)
	a := &archive{name: name, header: t.Comment}
	line := 1 + bytes.Count(t.Comment, []byte("\n"))
	seen := map[string]int{}
	for _, f := range t.Files {
		if at := seen[f.Name]; at != 0 {
			a.flaw(line, "%s is there twice (first in line %d)", f.Name, at)
		} else if problem := badPath(f.Name); problem != "" {
			a.flaw(line, "the path %q %s", f.Name, problem)
		} else {
			a.sections = append(a.sections, section{f.Name, line, f.Data})
		}
		seen[f.Name] = line
		line += 1 + bytes.Count(f.Data, []byte("\n"))
	}
	return a
}

// badPath says what is wrong with the path of a section.
func badPath(p string) string {
	if !fs.ValidPath(p) || p == "." || strings.ContainsAny(p, "\x00\\") {
		return "is not clean, relative and slash-separated"
	}
	for part := range strings.SplitSeq(p, "/") {
		if strings.EqualFold(part, ".git") {
			return "has a part .git"
		}
	}
	return ""
}

// text is the section at a path, as trimmed text.
func (a *archive) text(p string) string {
	for _, s := range a.sections {
		if s.path == p {
			return strings.TrimSpace(string(s.data))
		}
	}
	return ""
}

// below lists the files of a folder of the archive, sorted, with paths from there.
func (a *archive) below(dir string) []model.File {
	var t model.Tree
	for _, s := range a.sections {
		if rest, ok := strings.CutPrefix(s.path, dir+"/"); ok {
			t = t.With(model.Edit{Path: rest, Mode: model.ModeFile, Data: s.data})
		}
	}
	for _, f := range t.Files {
		for d := path.Dir(f.Path); d != "."; d = path.Dir(d) {
			if _, clash := t.Find(d); clash {
				a.flaw(a.lineOf(dir+"/"+f.Path), "%s is below a file", f.Path)
			}
		}
	}
	return t.Files
}

// lineOf is the line of a section's marker, 1 when there is none.
func (a *archive) lineOf(p string) int {
	for _, s := range a.sections {
		if s.path == p {
			return s.line
		}
	}
	return 1
}

// variants lists the names of the folders in a folder of the archive.
func (a *archive) variants(dir string) map[string][]model.File {
	out := map[string][]model.File{}
	for _, s := range a.sections {
		rest, ok := strings.CutPrefix(s.path, dir+"/")
		if name, _, deeper := strings.Cut(rest, "/"); ok && deeper && out[name] == nil {
			out[name] = a.below(dir + "/" + name)
		}
	}
	return out
}
