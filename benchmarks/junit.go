package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"ratchet/internal/model"
)

// KindJUnit scores the test cases of a JUnit XML report that a command writes.
const KindJUnit = "junit"

// junitSuite runs a command that writes a report, and grades by the report.
//
// The report is written in the box, by a runner in whose process the code under
// test may well run, and that code can write whatever a report may hold. What is
// checked from outside is said at junitRun.verify. It makes forging harder than
// fixing for code that does not read the tests as they lie in the box; code that
// sets out to find the canaries there, and to write a report that agrees with
// them, with the exit status and with what the runner has printed, is believed.
// The kinds gotest and pytest grade the same tests from further away.
type junitSuite struct {
	commandSuite
	report  string // pattern, from the repository's root
	grading map[string]bool

	mu       sync.Mutex
	measures map[string]*measure // what is known of the runner, by trusted tree and image
}

func newJUnitSuite(c Config) (Suite, error) {
	s := &junitSuite{report: path.Join(c.Root, c.Report), measures: map[string]*measure{}}
	isReport := func(p string) bool { return matches(s.report, p) }
	var err error
	if s.commandSuite, err = newCommandSuite(c, s.grades, isReport); err != nil {
		return nil, err
	}
	switch {
	case c.Report == "" || path.IsAbs(c.Report) || !strings.HasPrefix(s.report, prefixOf(c.Root)) || strings.HasPrefix(s.report, "../"):
		return nil, s.refuse("report %q: name a file below the suite's root, or a pattern of files such as target/reports/*.xml", c.Report)
	case !doublestar.ValidatePattern(s.report):
		return nil, s.refuse("report %q: the pattern is malformed", c.Report)
	case s.report == c.Root || s.report == "**":
		return nil, s.refuse("report %q: it would match the whole tree, which is not laid in where it matches", c.Report)
	}
	s.grading = s.named()
	return s, nil
}

// testFolders and testFiles are what tests are called in many languages, and
// settings what decides which of them are run and how. Candidates touch none.
var (
	testFolders = map[string]bool{"test": true, "tests": true, "spec": true, "specs": true, "__tests__": true, "testdata": true, "__snapshots__": true}
	testFiles   = []string{
		"*_test.*", "test_*.*", "*.test.*", "*.spec.*", "*_spec.*", "*Test.java", "*Tests.java", "*IT.java", "*Test.kt", "*Tests.cs", "conftest.py", "sitecustomize.py", "usercustomize.py",
		"pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "setup.py", "pyproject.toml", "noxfile.py", ".coveragerc", "*.pth",
		"package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "jest.config.*", "jest.setup.*", "vitest.config.*", "vite.config.*",
		".mocharc*", "karma.conf.*", "babel.config.*", ".babelrc*", "tsconfig*.json", ".npmrc",
		"pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties", "gradlew", "mvnw", "build.xml",
		"go.mod", "go.sum", "go.work", "go.work.sum", "Cargo.toml", "Cargo.lock", "build.rs", "nextest.toml",
		"Makefile", "makefile", "GNUmakefile", "CMakeLists.txt", "Rakefile", "Gemfile", "Gemfile.lock", ".rspec",
		"phpunit.xml*", "composer.json", "*.csproj", "*.runsettings", "Taskfile.yml", "justfile",
	}
)

// grades covers tests, what configures their runner, and what the command names.
func (s *junitSuite) grades(p string) bool {
	if s.grading[p] {
		return true
	}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if testFolders[path.Base(dir)] {
			return true
		}
	}
	base := path.Base(p)
	return testFolders[base] || slices.ContainsFunc(testFiles, func(pattern string) bool {
		ok, err := path.Match(pattern, base)
		return err == nil && ok
	})
}

// Hide cannot tell which source belongs to a case.
func (s *junitSuite) Hide(trusted model.Tree, problems []model.Problem) (model.Tree, error) {
	if len(problems) > 0 {
		return model.Tree{}, fmt.Errorf("suite %q: %w: which source belongs to a case of a report is not known", s.cfg.Name, ErrCannotHide)
	}
	return trusted, nil
}

// discoveries is how often the command is run to learn its cases.
const discoveries = 2

// Discover runs the command on the trusted tree, twice. Problems are the cases
// that both reports have; names that change from run to run are left out.
func (s *junitSuite) Discover(ctx context.Context, t Target) (_ []model.Problem, err error) {
	if t.Boxes == nil {
		return nil, fmt.Errorf("suite %q: %w: the command has to be run to learn its test cases", s.cfg.Name, ErrNeedsBox)
	}
	b := s.bench(t, t.Trusted, &measure{})
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	if err := b.commandBox.open(ctx); err != nil {
		return nil, err
	}
	if log, failed := b.failure(); failed {
		return nil, s.refuse("the trusted commit cannot be prepared:\n%s", log)
	}
	found := map[string]int{}
	byID := map[string]model.Problem{}
	for range discoveries {
		r, err := b.once(ctx)
		if err != nil {
			return nil, fmt.Errorf("suite %q: look for test cases: %w", s.cfg.Name, err)
		}
		if r.unread != "" {
			return nil, s.refuse("no test cases could be read from %s: %s\n%s", s.report, r.unread, r.printed())
		}
		for id := range r.byID {
			found[id]++
			byID[id] = s.problem(r.byID[id][0])
		}
	}
	var out []model.Problem
	for id, n := range found {
		if n == discoveries {
			out = append(out, byID[id])
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("suite %q: %w: no test case is in both of two reports", s.cfg.Name, ErrNoProblems)
	}
	slices.SortFunc(out, func(a, b model.Problem) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// Open lays the code in with the trusted harness and canaries, and prepares it.
// Once for each trusted tree and image the command is first run on the trusted
// tree itself, to learn which checks its runner stands up to.
func (s *junitSuite) Open(ctx context.Context, t Target) (Bench, error) {
	m, err := s.measure(ctx, t)
	if err != nil {
		return nil, err
	}
	b := s.bench(t, t.Code, m)
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// Screen implements Suite.
func (s *junitSuite) Screen(ctx context.Context, t Target, sc Screening, emit func(Screened) error) error {
	m, err := s.measure(ctx, t)
	if err != nil {
		return err
	}
	return screenEach(ctx, junitScreen{s, m}, t, sc, emit)
}

// junitScreen is a suite with what is known of its runner.
type junitScreen struct {
	*junitSuite
	m *measure
}

func (s junitScreen) benchOn(t Target, code model.Tree) screenBench { return s.bench(t, code, s.m) }
func (s junitScreen) together() bool                                { return true }

// Cover returns results and no blocks: the cases of a command cannot be run apart.
func (s *junitSuite) Cover(ctx context.Context, t Target, problems []model.Problem) (_ model.Coverage, err error) {
	b, err := s.Open(ctx, t)
	if err != nil {
		return model.Coverage{}, err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	run, err := b.Run(ctx, problems, false)
	return model.Coverage{Hits: map[string][]int{}, Results: run.Results, Sandbox: run.Sandbox}, err
}
