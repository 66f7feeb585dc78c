package benchmarks

import (
	"fmt"
	"path"
	"strings"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// KindGoTest scores Go tests, examples with an output, and the seeds of fuzz tests.
const KindGoTest = "gotest"

// goSuite runs the tests of Go modules. It is immutable.
type goSuite struct {
	cfg      Config
	patterns []pattern
}

func newGoSuite(c Config) (Suite, error) {
	if len(c.Packages) == 0 {
		c.Packages = []string{"./..."}
	}
	s := &goSuite{cfg: c}
	for _, text := range c.Packages {
		p, err := parsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("suite %q: %w: %w", c.Name, ErrConfig, err)
		}
		s.patterns = append(s.patterns, p)
	}
	return s, nil
}

func (s *goSuite) Name() string { return s.cfg.Name }

// Harness covers the tests, what they read (testdata) and what decides which
// code they are linked with (module files, vendored modules).
func (s *goSuite) Harness(p string) bool {
	switch base := path.Base(p); {
	case strings.HasSuffix(base, "_test.go"):
		return true
	case base == "go.mod", base == "go.sum", base == "go.work", base == "go.work.sum":
		return true
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "vendor" || part == "testdata" {
			return true
		}
	}
	return false
}

// merge returns the tree that is run.
func (s *goSuite) merge(code, trusted model.Tree) model.Tree {
	return mergeTrees(code, trusted, s.Harness)
}

// Warm compiles every test, so that the frozen image holds all dependencies
// with and without coverage counters.
func (s *goSuite) Warm() []sandbox.Command {
	dir := path.Join(Source, s.cfg.Root)
	var cmds []sandbox.Command
	for _, extra := range [][]string{nil, coverFlags} {
		argv := append([]string{"go", "test", "-vet=off", "-buildvcs=false", "-run=^$"}, extra...)
		cmds = append(cmds, goCommand(dir, s.cfg.Build, append(argv, "./...")...))
	}
	return cmds
}
