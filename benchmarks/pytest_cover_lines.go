package benchmarks

import (
	"strings"

	"ratchet/internal/model"
	"ratchet/internal/pysrc"
)

// pyStatements are the statements of one file, by each line that they take.
type pyStatements struct {
	blocks map[int]model.Block
	plain  map[int]bool // lines of what is of no use when it runs at import
	lines  int          // the last line of a statement
}

// pySources takes the files of a tree apart, each when it is first asked for.
type pySources struct {
	tree    model.Tree
	harness func(path string) bool
	files   map[string]*pyStatements
}

func newPySources(t model.Tree, harness func(string) bool) *pySources {
	return &pySources{tree: t, harness: harness, files: map[string]*pyStatements{}}
}

// of returns the statements of a file. One that is not there, cannot be read, or
// belongs to the harness has none.
func (s *pySources) of(file string) *pyStatements {
	if known := s.files[file]; known != nil {
		return known
	}
	out := &pyStatements{blocks: map[int]model.Block{}, plain: map[int]bool{}}
	s.files[file] = out
	f, ok := s.tree.Find(file)
	if !ok || f.Mode == model.ModeSymlink || s.harness(file) {
		return out
	}
	if parsed, err := pysrc.Parse(f.Data); err == nil {
		parsed.Walk(func(st *pysrc.Stmt) { out.add(file, st) })
	}
	return out
}

// add notes a statement. Statements that begin on a line of another count as one.
func (s *pyStatements) add(file string, st *pysrc.Stmt) {
	if len(st.Tokens) == 0 {
		return
	}
	last := st.Tokens[len(st.Tokens)-1]
	end, column := endOf(last)
	b, shared := s.blocks[st.Line]
	if !shared {
		b = model.Block{File: file, StartLine: st.Line, StartCol: 1, EndLine: end, EndCol: column}
	} else if end > b.EndLine || end == b.EndLine && column > b.EndCol {
		b.EndLine, b.EndCol = end, column
	}
	s.lines = max(s.lines, b.EndLine)
	for line := b.StartLine; line <= b.EndLine; line++ {
		s.blocks[line] = b
		s.plain[line] = defines(st) && (!shared || s.plain[line])
	}
}

// endOf is the place just behind a token.
func endOf(t pysrc.Token) (line, column int) {
	if i := strings.LastIndexByte(t.Text, '\n'); i >= 0 {
		return t.Line + strings.Count(t.Text, "\n"), len(t.Text) - i
	}
	return t.Line, t.Col + len(t.Text)
}

// defines says that a statement only brings in names: an import, a class, a
// function without defaults, a docstring.
func defines(st *pysrc.Stmt) bool {
	switch st.Kind {
	case "import", "from", "class", "pass", "global", "nonlocal":
		return true
	case "def":
		for _, t := range st.Tokens {
			if t.Is("=") {
				return false
			}
		}
		return true
	case "expr":
		return len(st.Tokens) == 1 && st.Tokens[0].Kind == pysrc.String
	}
	return false
}

// at lists the blocks of lines that ran. Lines that the file does not have are
// left out; however many ranges there are, each costs the same.
func (s *pyStatements) at(ranges [][2]int, importing bool) []model.Block {
	steps := make([]int, s.lines+2) // what begins, less what has ended
	for _, r := range ranges {
		first, last := max(r[0], 1), min(r[1], s.lines)
		if first <= last {
			steps[first]++
			steps[last+1]--
		}
	}
	var out []model.Block
	depth := 0
	for line := 1; line <= s.lines; line++ {
		depth += steps[line]
		if b, ok := s.blocks[line]; ok && depth > 0 && !(importing && s.plain[line]) {
			out = append(out, b)
		}
	}
	return out
}
