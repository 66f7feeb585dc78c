package benchmarks

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// KindPyTest scores the tests that pytest collects.
const KindPyTest = "pytest"

// pySuite runs the tests of one Python project with pytest. It is immutable.
type pySuite struct {
	cfg  Config
	args pyArgs
}

func newPySuite(c Config) (Suite, error) {
	for _, p := range c.Harness {
		if !doublestar.ValidatePattern(p) {
			return nil, fmt.Errorf("suite %q: %w: harness pattern %q cannot be read", c.Name, ErrConfig, p)
		}
	}
	args, err := parsePyArgs(c.Args)
	if err != nil {
		return nil, fmt.Errorf("suite %q: %w: %w", c.Name, ErrConfig, err)
	}
	c.Harness = slices.Clone(c.Harness)
	return &pySuite{cfg: c, args: args}, nil
}

func (s *pySuite) Name() string { return s.cfg.Name }

// pyHarnessFiles are names of files that decide what is collected, how it is
// judged, or which code is imported.
var pyHarnessFiles = map[string]bool{
	"conftest.py": true, "sitecustomize.py": true, "usercustomize.py": true, "setup.py": true, "noxfile.py": true,
	"pytest.ini": true, ".pytest.ini": true, "pytest.toml": true, ".pytest.toml": true, "tox.ini": true,
	"setup.cfg": true, "pyproject.toml": true, ".coveragerc": true, "pyvenv.cfg": true, "PKG-INFO": true,
}

// pyHarnessFolders are names of folders that hold tests, with their helpers and data.
var pyHarnessFolders = map[string]bool{"tests": true, "test": true, "testing": true, "testdata": true, "test_data": true}

// Harness covers the tests, what they read, the settings of pytest, and what
// Python runs or finds before the code under test.
func (s *pySuite) Harness(p string) bool {
	base := path.Base(p)
	switch {
	case pyHarnessFiles[base], strings.HasSuffix(base, ".pth"):
		return true
	case isPyTest(base):
		return true
	}
	for part := range strings.SplitSeq(path.Dir(p), "/") {
		if pyHarnessFolders[part] || strings.HasSuffix(part, ".egg-info") || strings.HasSuffix(part, ".dist-info") {
			return true
		}
	}
	return slices.ContainsFunc(s.cfg.Harness, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, p) })
}

// isPyTest reports whether pytest collects a file of this name by its own rules.
func isPyTest(base string) bool {
	return strings.HasSuffix(base, ".py") && strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py") || base == "tests.py"
}

// isCompiled reports whether Python may run a file instead of its source.
func isCompiled(p string) bool {
	switch path.Ext(p) {
	case ".pyc", ".pyo", ".so", ".pyd":
		return true
	}
	return slices.Contains(strings.Split(path.Dir(p), "/"), "__pycache__")
}

// merge returns the tree that is run: code without its harness files and without
// compiled ones, and those of the trusted tree in their place. A code file that
// stands where the harness needs a folder gives way to it.
func (s *pySuite) merge(code, trusted model.Tree) model.Tree {
	kept := func(p string) bool { return s.Harness(p) || isCompiled(p) }
	folders := map[string]bool{}
	var files []model.File
	for _, f := range trusted.Files {
		if !kept(f.Path) {
			continue
		}
		files = append(files, f)
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	merged := code.Without(func(p string) bool { return kept(p) || folders[p] })
	files = append(files, merged.Files...)
	slices.SortFunc(files, func(a, b model.File) int { return strings.Compare(a.Path, b.Path) })
	return model.Tree{Files: files}
}

// Warm does nothing: the image holds compiled bytecode of what is installed, and
// that of the tree must never be used, since Python may take it for another's.
func (s *pySuite) Warm() []sandbox.Command { return nil }

// problem names a test by its node id, relative to the suite's root.
func (s *pySuite) problem(node, home string) model.Problem {
	return model.Problem{
		ID: s.id(node), Suite: s.cfg.Name, Package: s.folder(node), Name: nodeName(node),
		Split: model.SplitSearch, Group: s.id(home),
	}
}

// id is the problem's id for a node id.
func (s *pySuite) id(node string) string {
	if dir := s.folder(node); dir != "." {
		return s.cfg.Name + "/" + dir + "/" + nodeName(node)
	}
	return s.cfg.Name + "/" + nodeName(node)
}

// folder is where the file of a node lies in the repository.
func (s *pySuite) folder(node string) string { return path.Join(s.cfg.Root, path.Dir(nodeFile(node))) }

// node is the node id of a problem. It is not cleaned: parameters may look like paths.
func (s *pySuite) node(p model.Problem) string {
	if dir := within(s.cfg.Root, p.Package); dir != "." {
		return dir + "/" + p.Name
	}
	return p.Name
}

// nodeFile is the file of a node id.
func nodeFile(node string) string {
	file, _, _ := strings.Cut(node, "::")
	return file
}

// nodeName is a node id without the folder of its file.
func nodeName(node string) string { return node[strings.LastIndex(nodeFile(node), "/")+1:] }

// parentOf is the folder of a node id as Python's os.path.dirname has it.
func parentOf(node string) string {
	file := nodeFile(node)
	return file[:max(strings.LastIndex(file, "/"), 0)]
}
