package benchmarks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ratchet/internal/model"
)

// maxCaseID bounds the length of a case's id, in bytes.
const maxCaseID = 200

// execCase is one input with what is expected for it.
type execCase struct {
	id        string
	input     []byte
	args      []string
	expected  []byte // for CompareJSON a JSON value
	exit      int    // the exit status that is expected
	compare   Compare
	tolerance float64

	files []string // of a folder of cases: what belongs to this one
	line  int      // of a file of cases
}

// checkID accepts what can be part of a problem's id.
func checkID(id string) error {
	switch {
	case id == "" || id == "." || !fs.ValidPath(id):
		return fmt.Errorf("id %q: write words separated by single slashes", id)
	case len(id) > maxCaseID:
		return fmt.Errorf("id %.40q…: longer than %d bytes", id, maxCaseID)
	case strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("id %q: has characters that cannot be printed", id)
	}
	return nil
}

// jsonCase is one line of a file of cases. In it, expected is a text, or with
// compare "json" the value itself; a value that is no string implies "json".
type jsonCase struct {
	ID        *string         `json:"id"`
	Input     string          `json:"input"`
	Args      []string        `json:"args"`
	Expected  json.RawMessage `json:"expected"`
	Exit      int             `json:"exit"`
	Compare   Compare         `json:"compare"`
	Tolerance *float64        `json:"tolerance"`
}

// readLines reads a JSON Lines file. Empty lines are passed over.
func (s *execSuite) readLines(t model.Tree) ([]execCase, error) {
	f, ok := t.Find(s.cases)
	if !ok || f.Mode == model.ModeSymlink {
		return nil, fmt.Errorf("%s: no such regular file in the trusted commit", s.cases)
	}
	var out []execCase
	seen := map[string]int{}
	n := 0
	for line := range bytes.Lines(f.Data) {
		if n++; len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		c, err := s.readLine(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", s.cases, n, err)
		}
		if first := seen[c.id]; first > 0 {
			return nil, fmt.Errorf("%s:%d: the id %q is on line %d already", s.cases, n, c.id, first)
		}
		seen[c.id], c.line = n, n
		out = append(out, c)
	}
	return out, nil
}

func (s *execSuite) readLine(line []byte) (execCase, error) {
	var j jsonCase
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&j); err != nil {
		return execCase{}, fmt.Errorf("%w (keys are id, input, args, expected, exit, compare and tolerance)", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return execCase{}, errors.New("more than one value on a line")
	}
	switch {
	case j.ID == nil:
		return execCase{}, errors.New(`"id" is missing`)
	case j.Expected == nil:
		return execCase{}, errors.New(`"expected" is missing`)
	}
	c := execCase{id: *j.ID, input: []byte(j.Input), args: j.Args, exit: j.Exit, compare: s.cfg.Compare, tolerance: s.cfg.Tolerance}
	return c, errors.Join(checkID(c.id), c.specify(j))
}

// specify takes over what is expected, and how it is compared.
func (c *execCase) specify(j jsonCase) error {
	var text string
	isText := json.Unmarshal(j.Expected, &text) == nil && !bytes.Equal(j.Expected, []byte("null"))
	if !isText {
		c.compare = CompareJSON
	}
	if j.Compare != "" {
		if !knownCompare(j.Compare) {
			return fmt.Errorf("compare %q: it is exact, trimmed, numeric or json", j.Compare)
		}
		c.compare = j.Compare
	}
	if j.Tolerance != nil {
		if c.tolerance = *j.Tolerance; c.tolerance < 0 || math.IsInf(c.tolerance, 0) {
			return fmt.Errorf("tolerance %g: it is a number that is not negative", c.tolerance)
		}
	}
	c.expected = j.Expected
	switch {
	case c.compare == CompareJSON:
	case isText:
		c.expected = []byte(text)
	default:
		return fmt.Errorf("compare %q wants an expected text, and this is no string", c.compare)
	}
	return nil
}

// caseFile is what a file of a folder of cases is for.
type caseFile string

const (
	fileInput    caseFile = "input"
	fileExpected caseFile = "expected"
	fileArgs     caseFile = "args"
	fileExit     caseFile = "exit"
)

var caseExtensions = map[string]caseFile{".in": fileInput, ".out": fileExpected, ".args": fileArgs, ".exit": fileExit}

// splitCase tells which case a file, by its path in the folder, belongs to:
// name.in or name/input and so on. ok is false for a file of another kind.
func splitCase(rel string) (id string, kind caseFile, ok bool) {
	dir, base := path.Split(rel)
	switch kind := caseFile(base); kind {
	case fileInput, fileExpected, fileArgs, fileExit:
		return strings.TrimSuffix(dir, "/"), kind, dir != ""
	}
	ext := path.Ext(rel)
	kind, ok = caseExtensions[ext]
	return strings.TrimSuffix(rel, ext), kind, ok
}

// readFolder reads a folder of cases. Hidden files and a README may lie in it.
func (s *execSuite) readFolder(t model.Tree) ([]execCase, error) {
	if f, ok := t.Find(s.cases); ok {
		return nil, fmt.Errorf("%s is a file and no folder; a file of cases has a name that ends in .jsonl", f.Path)
	}
	found := map[string]map[caseFile]model.File{}
	for _, f := range t.Files {
		rel, ok := strings.CutPrefix(f.Path, s.cases+"/")
		if !ok || path.Base(rel)[0] == '.' || strings.HasPrefix(path.Base(rel), "README") {
			continue
		}
		id, kind, ok := splitCase(rel)
		switch {
		case !ok:
			return nil, fmt.Errorf("%s: not a file of a case (they are name.in, name.out, name.args and name.exit, or input, expected, args and exit in a folder)", f.Path)
		case f.Mode == model.ModeSymlink:
			return nil, fmt.Errorf("%s: a symlink; put the file itself there", f.Path)
		}
		if found[id] == nil {
			found[id] = map[caseFile]model.File{}
		}
		if other, twice := found[id][kind]; twice {
			return nil, fmt.Errorf("%s: the %s of case %q is in %s already", f.Path, kind, id, other.Path)
		}
		found[id][kind] = f
	}
	return s.assemble(found)
}

func (s *execSuite) assemble(found map[string]map[caseFile]model.File) ([]execCase, error) {
	var out []execCase
	for id, files := range found {
		c := execCase{id: id, compare: s.cfg.Compare, tolerance: s.cfg.Tolerance}
		if err := c.take(files); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", s.cases, id, err)
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b execCase) int { return strings.Compare(a.id, b.id) })
	return out, nil
}

// take reads the files of one case.
func (c *execCase) take(files map[caseFile]model.File) error {
	expected, ok := files[fileExpected]
	if !ok {
		return errors.New("what is expected is missing: add a file with the ending .out, or named expected")
	}
	input, hasInput := files[fileInput]
	args, hasArgs := files[fileArgs]
	if !hasInput && !hasArgs {
		return errors.New("the input is missing: add a file with the ending .in, or named input (it may be empty)")
	}
	c.expected, c.input, c.args = expected.Data, input.Data, readArgs(args.Data)
	if c.compare == CompareJSON && !json.Valid(c.expected) {
		return fmt.Errorf("%s is no JSON value, and compare is json", expected.Path)
	}
	if exit, ok := files[fileExit]; ok {
		n, err := strconv.Atoi(strings.TrimSpace(string(exit.Data)))
		if err != nil {
			return fmt.Errorf("%s: an exit status is a number", exit.Path)
		}
		c.exit = n
	}
	for _, f := range files {
		c.files = append(c.files, f.Path)
	}
	return checkID(c.id)
}

// readArgs reads one argument a line; a line break at the end begins no further one.
func readArgs(data []byte) []string {
	text := strings.TrimSuffix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	if len(data) == 0 {
		return nil
	}
	return strings.Split(text, "\n")
}
