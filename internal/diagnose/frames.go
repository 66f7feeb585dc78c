package diagnose

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// frame is a place that a failing test's output names.
type frame struct {
	file string
	line int
}

// How languages print a place: "calc.go:12", "at f (file.js:1:2)", "file.rs:1:2",
// "(File.java:12)", "x.py:12: AssertionError", and "File.cs:line 12".
var framePattern = regexp.MustCompile(`((?:node:)?[\w./\\@~+-]+\.(?:` + sourceExtensions + `)):(?:line )?(\d+)`)

// How Python's tracebacks do.
var pythonFrame = regexp.MustCompile(`File "([^"\n]+\.py)", line (\d+)`)

// sourceExtensions are those of files that a stack trace may name.
const sourceExtensions = `go|pyx?|jsx?|mjs|cjs|tsx?|mts|cts|rs|java|kt|scala|clj|rb|c|h|cc|hh|cpp|hpp|cxx|cs|fs|vb|php|swift|m|mm|lua|ex|exs|erl|hs|ml|jl|dart|zig|nim|pl|pm|sh|sql|r|R`

var isSourceFile = regexp.MustCompile(`\.(?:` + sourceExtensions + `)$`).MatchString

// frames reads the places of non-harness files in a message, topmost first,
// each once.
func (s *source) frames(message string) []frame {
	f := framer{s: s, seen: map[frame]bool{}}
	for _, m := range framePattern.FindAllStringSubmatch(message, -1) {
		f.add(m[1], m[2])
	}
	for _, m := range pythonFrame.FindAllStringSubmatch(message, -1) {
		f.add(m[1], m[2])
	}
	slices.Reverse(f.python) // "most recent call last"
	return firstFrames(append(f.others, f.python...))
}

func firstFrames(all []frame) []frame { return all[:min(len(all), maxTraceFrames)] }

type framer struct {
	s              *source
	seen           map[frame]bool
	others, python []frame
}

func (f *framer) add(file, line string) {
	n, err := strconv.Atoi(line)
	if err != nil || foreign(file) {
		return
	}
	name, ok := f.s.resolve(file)
	if !ok || f.seen[frame{name, n}] {
		return
	}
	f.seen[frame{name, n}] = true
	if isPython(name) {
		f.python = append(f.python, frame{name, n})
	} else {
		f.others = append(f.others, frame{name, n})
	}
}

// foreign says that a path is in a standard library or among installed packages.
func foreign(p string) bool {
	for _, part := range []string{
		"/go/src/", "/pkg/mod/", "/libexec/src/", "/site-packages/", "/dist-packages/", "/lib/python",
		"/node_modules/", "/rustc/", "/.cargo/", "node:internal/",
	} {
		if strings.Contains(p, part) {
			return true
		}
	}
	return strings.HasPrefix(p, "node_modules/")
}
