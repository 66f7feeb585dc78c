package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"ratchet/internal/model"
)

// KindExec scores what a command prints for given inputs.
const KindExec = "exec"

// InputPlaceholder in an exec command stands for the path of a file that holds
// the case's input. Without it the input is the command's standard input.
const InputPlaceholder = "{input}"

// defaultTolerance is for numbers, relative and absolute.
const defaultTolerance = 1e-9

// execSuite runs a command for each case, and compares what it prints with what
// is expected. Only inputs and arguments enter a box: what is expected, and the
// rest of the cases' files, stays outside, so that nothing in the box can know
// it, and no canary is needed. It is immutable.
type execSuite struct {
	commandSuite
	cases string // folder or file, from the repository's root
}

func newExecSuite(c Config) (Suite, error) {
	if c.Compare == "" {
		c.Compare = CompareTrimmed
	}
	if c.Tolerance == 0 {
		c.Tolerance = defaultTolerance
	}
	s := &execSuite{cases: path.Join(c.Root, c.Cases)}
	isCase := func(p string) bool { return p == s.cases || strings.HasPrefix(p, s.cases+"/") }
	var err error
	if s.commandSuite, err = newCommandSuite(c, nil, isCase); err != nil {
		return nil, err
	}
	switch {
	case c.Cases == "" || !strings.HasPrefix(s.cases+"/", prefixOf(c.Root)) || s.cases == c.Root:
		return nil, s.refuse("cases %q: name a folder or a .jsonl file below the suite's root", c.Cases)
	case !knownCompare(c.Compare):
		return nil, s.refuse("compare %q: it is exact, trimmed, numeric or json", c.Compare)
	case c.Tolerance < 0 || math.IsNaN(c.Tolerance) || math.IsInf(c.Tolerance, 0):
		return nil, s.refuse("tolerance %g: it is a number that is not negative", c.Tolerance)
	}
	return s, nil
}

// prefixOf is what the path of everything below a folder begins with.
func prefixOf(folder string) string {
	if folder == "." {
		return ""
	}
	return folder + "/"
}

func knownCompare(c Compare) bool {
	return slices.Contains([]Compare{CompareExact, CompareTrimmed, CompareNumeric, CompareJSON}, c)
}

// Discover reads the cases; it needs no box.
func (s *execSuite) Discover(_ context.Context, t Target) ([]model.Problem, error) {
	cases, err := s.read(t.Trusted)
	if err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("suite %q: %w: no case in %q (a folder with name.in and name.out files, or a .jsonl file with a case on each line)",
			s.cfg.Name, ErrNoProblems, s.cases)
	}
	var out []model.Problem
	for _, c := range cases {
		out = append(out, model.Problem{
			ID: s.cfg.Name + "/" + c.id, Suite: s.cfg.Name, Package: path.Dir(c.id), Name: path.Base(c.id), Split: model.SplitSearch,
		})
	}
	slices.SortFunc(out, func(a, b model.Problem) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// read returns the cases of a tree. Errors wrap ErrConfig and name file and line.
func (s *execSuite) read(t model.Tree) ([]execCase, error) {
	read := s.readFolder
	if strings.HasSuffix(s.cases, ".jsonl") {
		read = s.readLines
	}
	cases, err := read(t)
	if err != nil {
		return nil, fmt.Errorf("suite %q: %w: read cases: %w", s.cfg.Name, ErrConfig, err)
	}
	return cases, nil
}

// Hide removes the files, or the lines, of the given cases.
func (s *execSuite) Hide(trusted model.Tree, problems []model.Problem) (model.Tree, error) {
	if len(problems) == 0 {
		return trusted, nil
	}
	cases, err := s.read(trusted)
	if err != nil {
		return model.Tree{}, err
	}
	hidden := map[string]bool{}
	for _, p := range problems {
		hidden[p.ID] = true
	}
	var edits []model.Edit
	lines := map[int]bool{}
	for _, c := range cases {
		if !hidden[s.cfg.Name+"/"+c.id] {
			continue
		}
		for _, p := range c.files {
			edits = append(edits, model.Edit{Path: p, Delete: true})
		}
		lines[c.line] = true
	}
	if f, ok := trusted.Find(s.cases); ok {
		edits = append(edits, model.Edit{Path: f.Path, Data: withoutLines(f.Data, lines)})
	}
	return trusted.With(edits...), nil
}

// withoutLines drops lines, which count from 1.
func withoutLines(data []byte, drop map[int]bool) []byte {
	var out []byte
	n := 0
	for line := range strings.Lines(string(data)) {
		if n++; !drop[n] {
			out = append(out, line...)
		}
	}
	return out
}

// Open lays the code in without the cases, and prepares it.
func (s *execSuite) Open(ctx context.Context, t Target) (Bench, error) {
	b, err := s.newBench(t, t.Code)
	if err != nil {
		return nil, err
	}
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// Screen implements Suite.
func (s *execSuite) Screen(ctx context.Context, t Target, sc Screening, emit func(Screened) error) error {
	cases, err := s.read(t.Trusted)
	if err != nil {
		return err
	}
	return screenEach(ctx, execScreen{s, cases}, t, sc, emit)
}

// execScreen is a suite with the cases that a screen may run.
type execScreen struct {
	*execSuite
	cases []execCase
}

func (s execScreen) benchOn(t Target, code model.Tree) screenBench { return s.bench(t, code, s.cases) }
func (s execScreen) together() bool                                { return false }

// Cover runs each case with the counters of its language, where that is known
// how: Python programs under the image's coverage package, and Go programs that
// a Prepare command builds. Otherwise there are results and no blocks.
func (s *execSuite) Cover(ctx context.Context, t Target, problems []model.Problem) (_ model.Coverage, err error) {
	b, err := s.newBench(t, t.Code)
	if err != nil {
		return model.Coverage{}, err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	c, err := newCommandCover(b.commandBox)
	if err != nil {
		return model.Coverage{}, err
	}
	b.dress, b.after = c.dress, c.gather
	if err := c.open(ctx); err != nil {
		return model.Coverage{}, err
	}
	run, err := b.Run(ctx, problems, false)
	if err != nil {
		return model.Coverage{}, err
	}
	out := indexBlocks(c.hits)
	out.Results, out.Sandbox = run.Results, run.Sandbox
	return out, nil
}
