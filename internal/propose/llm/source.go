package llm

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"unicode/utf8"

	"ratchet/internal/model"
	"ratchet/internal/pysrc"
)

const (
	// maxSourceBytes is the largest file that is looked at.
	maxSourceBytes = 1 << 20
	// smallFile is the weight up to which a file is shown whole or not at all.
	smallFile = 3000
	// stretch is how many lines outside of functions belong together.
	stretch = 40
)

// source is a text file of the tree, taken apart.
type source struct {
	path    string
	lines   []string // clean
	weight  int
	regions []*region // all lines, in order
}

// region is a stretch of whole lines that is shown as one: a function, or what
// stands between functions.
type region struct {
	src         *source
	first, last int // lines from 1, both in it
	name        string
	score       float64
	core        []span // suspicious lines
}

// readable says whether a file is text that may be shown.
func readable(f model.File) bool {
	return f.Mode != model.ModeSymlink && len(f.Data) <= maxSourceBytes && len(f.Data) > 0 &&
		bytes.IndexByte(f.Data, 0) < 0 && utf8.Valid(f.Data)
}

func newSource(f model.File) *source {
	text := strings.TrimSuffix(clean(string(f.Data)), "\n")
	s := &source{path: f.Path, lines: strings.Split(text, "\n"), weight: weigh(text)}
	at := 1
	for _, fn := range functions(f) {
		if fn.first < at || fn.last > len(s.lines) {
			continue // inside the one before
		}
		s.between(at, fn.first-1)
		s.regions = append(s.regions, &region{src: s, first: fn.first, last: fn.last, name: fn.name})
		at = fn.last + 1
	}
	s.between(at, len(s.lines))
	return s
}

// between adds the lines that belong to no function.
func (s *source) between(first, last int) {
	for first <= last {
		end := min(first+stretch-1, last)
		s.regions = append(s.regions, &region{src: s, first: first, last: end})
		first = end + 1
	}
}

// at finds the region of a line; nil when there is none.
func (s *source) at(line int) *region {
	for _, r := range s.regions {
		if r.first <= line && line <= r.last {
			return r
		}
	}
	return nil
}

// suspect raises the regions of the lines first to last to a score.
func (s *source) suspect(first, last int, score float64) {
	for _, r := range s.regions {
		if r.last < first || r.first > last {
			continue
		}
		r.score = max(r.score, score)
		r.core = append(r.core, span{first: first, last: last})
	}
}

// weigh is the weight of the lines first to last.
func (s *source) weigh(first, last int) int {
	n := 0
	for i := first; i <= last; i++ {
		n += weigh(s.lines[i-1]) + 1
	}
	return n
}

// title names a region by its code, because a model sees no line numbers.
func (r *region) title() string { return strings.TrimSpace(r.src.lines[r.declaration()-1]) }

// declaration is the line that declares the function, else the region's first
// line that is no comment.
func (r *region) declaration() int {
	for i := r.first; i <= r.last; i++ {
		text := strings.TrimSpace(r.src.lines[i-1])
		comment := strings.HasPrefix(text, "//") || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "@")
		if text != "" && !comment && strings.Contains(text, r.name) {
			return i
		}
	}
	return r.first
}

// span is a stretch of lines: where a function is, with its comment or decorators.
type span struct {
	name        string
	first, last int
}

// functions lists the functions of a Go or Python file in their order, none when
// it does not parse.
func functions(f model.File) []span {
	switch {
	case strings.HasSuffix(f.Path, ".go"):
		return goFunctions(f)
	case strings.HasSuffix(f.Path, ".py"):
		return pythonFunctions(f)
	}
	return nil
}

func goFunctions(f model.File) []span {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, f.Path, f.Data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	line := func(p token.Pos) int { return set.PositionFor(p, false).Line }
	var out []span
	for _, d := range syntax.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		first := line(fn.Pos())
		if fn.Doc != nil {
			first = line(fn.Doc.Pos())
		}
		out = append(out, span{fn.Name.Name, first, line(fn.End())})
	}
	return out
}

func pythonFunctions(f model.File) []span {
	parsed, err := pysrc.Parse(f.Data)
	if err != nil {
		return nil
	}
	out := make([]span, 0, len(parsed.Funcs))
	for _, fn := range parsed.Funcs {
		out = append(out, span{fn.Name, fn.Line, fn.End})
	}
	return out
}
