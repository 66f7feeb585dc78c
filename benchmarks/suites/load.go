package suites

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

const (
	indexFile     = "suite.yaml"
	problemExt    = ".txtar"
	statementFile = "statement.md"
	// maxProblem bounds one problem file, in bytes.
	maxProblem = 8 << 20
)

//go:embed coding
var builtin embed.FS

// Names lists the built-in suites.
func Names() []string { return []string{"coding"} }

var loadBuiltin = sync.OnceValues(func() (map[string]Suite, error) {
	out := map[string]Suite{}
	for _, name := range Names() {
		sub, err := fs.Sub(builtin, name)
		if err != nil {
			return nil, err
		}
		if out[name], err = Load(sub); err != nil {
			return nil, err
		}
	}
	return out, nil
})

// Builtin returns the built-in suite of that name, or ErrUnknown.
func Builtin(name string) (Suite, error) {
	all, err := loadBuiltin()
	if err != nil {
		return Suite{}, fmt.Errorf("read the built-in suites: %w", err)
	}
	s, ok := all[name]
	if !ok {
		return s, fmt.Errorf("suite %q: %w (the built-in suites: %s)", name, ErrUnknown, strings.Join(Names(), ", "))
	}
	return s, nil
}

// Load reads a suite from a folder: suite.yaml, and a file for each problem.
// Everything that is wrong is reported at once, as Flaws.
func Load(dir fs.FS) (Suite, error) {
	s, flaws, err := readIndex(dir)
	if err != nil {
		return s, err
	}
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return s, fmt.Errorf("read the suite %s: %w", s.Name, err)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q\n", s.Name, s.Title, s.Description)
	for _, e := range entries { // by name
		if e.IsDir() || path.Ext(e.Name()) != problemExt {
			continue
		}
		data, err := readProblem(dir, e)
		if err != nil {
			return s, err
		}
		fmt.Fprintf(sum, "%s %d\n%s", e.Name(), len(data), data)
		p, err := ParseProblem(s.Name, e.Name(), data)
		var more Flaws
		if errors.As(err, &more) {
			flaws = append(flaws, more...)
		}
		s.Problems = append(s.Problems, p)
	}
	if len(s.Problems) == 0 {
		flaws = append(flaws, Flaw{indexFile, 1, "there is no problem beside it (files that end in " + problemExt + ")"})
	}
	slices.SortFunc(s.Problems, func(a, b Problem) int { return strings.Compare(a.Name, b.Name) })
	s.Hash = hex.EncodeToString(sum.Sum(nil))
	return s, flaws.result()
}

func readProblem(dir fs.FS, e fs.DirEntry) ([]byte, error) {
	info, err := e.Info()
	if err != nil {
		return nil, fmt.Errorf("read the problem %s: %w", e.Name(), err)
	}
	if info.Size() > maxProblem {
		return nil, Flaws{{e.Name(), 1, fmt.Sprintf("is larger than %d bytes", maxProblem)}}
	}
	data, err := fs.ReadFile(dir, e.Name())
	if err != nil {
		return nil, fmt.Errorf("read the problem %s: %w", e.Name(), err)
	}
	return data, nil
}

// readIndex reads suite.yaml.
func readIndex(dir fs.FS) (Suite, Flaws, error) {
	data, err := fs.ReadFile(dir, indexFile)
	if err != nil {
		return Suite{}, nil, fmt.Errorf("read the suite: %w: %w (a suite is a folder with the file %s)", ErrInvalid, err, indexFile)
	}
	var x index
	var flaws Flaws
	flaw := func(line int, format string, args ...any) {
		flaws = append(flaws, Flaw{indexFile, line, fmt.Sprintf(format, args...)})
	}
	if line, problem := decode(data, &x); line > 0 {
		flaw(line, "%s", problem)
	} else {
		if x.Format != Format {
			flaw(keyLine(data, "format"), "format is %d: this version reads %d", x.Format, Format)
		}
		if !validName(x.Name) {
			flaw(keyLine(data, "name"), "name is %q, not 1 to 64 characters of a-z, 0-9, _ and -", x.Name)
		}
		if x.Title == "" {
			flaw(keyLine(data, "title"), "title: one line is needed")
		}
	}
	return Suite{Name: x.Name, Title: x.Title, Description: strings.TrimSpace(x.Description)}, flaws, nil
}
