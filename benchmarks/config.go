package benchmarks

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"ratchet/internal/model"
)

// ErrConfig is wrapped by every error about a suite's configuration.
var ErrConfig = errors.New("bad suite configuration")

// ErrNoProblems says that a tree holds nothing that the suite could score.
var ErrNoProblems = errors.New("no problems found")

// ErrNeedsBox says that problems can be listed only by running something.
var ErrNeedsBox = errors.New("a sandbox is needed")

// ErrCannotHide says that a kind of suite cannot hold problems out.
var ErrCannotHide = errors.New("problems of this kind cannot be held out")

// DefaultLimit is the time one problem may take when neither the suite nor the
// target sets it.
const DefaultLimit = 30 * time.Second

// DefaultBuildLimit is the time one build may take.
const DefaultBuildLimit = 5 * time.Minute

// Compare says how the output of an exec suite's command is compared.
type Compare string

const (
	CompareExact   Compare = "exact"   // byte for byte
	CompareTrimmed Compare = "trimmed" // white space at the ends of lines and of the text does not count
	CompareNumeric Compare = "numeric" // equal words, numbers within Tolerance
	CompareJSON    Compare = "json"    // equal values; numbers within Tolerance
)

// Config describes one suite. Name and Kind are required. A key that the kind
// does not have must be empty.
type Config struct {
	Name string // first part of every problem's id: [a-z0-9_-]{1,64}
	Kind string // what runs the problems, one of Kinds
	// Root is the folder in which things are run, relative to the repository: of
	// the Go module, of pytest, of commands. "." when empty.
	Root    string
	Timeout time.Duration // for one problem, DefaultLimit when zero
	Build   time.Duration // for one build, DefaultBuildLimit when zero

	// Packages are the patterns of what gotest runs, relative to Root, such as
	// "./..." or "./internal/...". All packages when empty.
	Packages []string
	// Args are pytest's, such as "tests/unit" or "-m", "not slow". No option that
	// changes what is reported.
	Args []string
	// Command runs the benchmark of kinds junit, exec and metric, without a shell.
	Command []string
	// Prepare are commands, each a list of words like Command, that are run in the
	// tree before Command, as Builder, for instance to compile it; what they make
	// is removed with the box. For junit, exec and metric.
	Prepare [][]string
	// Harness are patterns (** for any folders) of the files that belong to the
	// grader, relative to the repository, besides those that the kind knows itself.
	Harness []string
	// Report is the file, relative to Root, or pattern of files, that a junit command writes.
	Report string
	// Cases is a folder or a .jsonl file of an exec suite, relative to Root.
	Cases     string
	Compare   Compare      // of an exec suite; CompareTrimmed when empty
	Tolerance float64      // relative and absolute, for numbers; 1e-9 when zero
	Better    model.Better // of a metric suite, required there
	MinEffect float64      // of a metric suite: least relative change, 0.05 when zero
	// Metrics are the names of the numbers that count, all when empty.
	Metrics []string
}

// Kinds lists the kinds of suite that New knows.
func Kinds() []string { return []string{KindGoTest, KindPyTest, KindJUnit, KindExec, KindMetric} }

// New returns the suite that c describes. Errors wrap ErrConfig.
func New(c Config) (Suite, error) {
	c, err := c.normalized()
	if err != nil {
		return nil, err
	}
	switch c.Kind {
	case KindGoTest:
		return newGoSuite(c)
	case KindPyTest:
		return newPySuite(c)
	case KindJUnit:
		return newJUnitSuite(c)
	case KindExec:
		return newExecSuite(c)
	case KindMetric:
		return newMetricSuite(c)
	default:
		return nil, fmt.Errorf("suite %q: %w: unknown kind %q (known kinds: %s)",
			c.Name, ErrConfig, c.Kind, strings.Join(Kinds(), ", "))
	}
}

// normalized fills in defaults and refuses what no kind could run.
func (c Config) normalized() (Config, error) {
	if !validName(c.Name) {
		return c, fmt.Errorf("suite %q: %w: a name is 1 to 64 characters of a-z, 0-9, _ and -", c.Name, ErrConfig)
	}
	if c.Timeout < 0 || c.Build < 0 {
		return c, fmt.Errorf("suite %q: %w: a timeout cannot be negative", c.Name, ErrConfig)
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultLimit
	}
	if c.Build == 0 {
		c.Build = DefaultBuildLimit
	}
	c.Root = path.Clean(c.Root)
	if path.IsAbs(c.Root) || c.Root == ".." || strings.HasPrefix(c.Root, "../") {
		return c, fmt.Errorf("suite %q: %w: root %q is not inside the repository", c.Name, ErrConfig, c.Root)
	}
	c.Packages = slices.Clone(c.Packages)
	return c, nil
}

func validName(s string) bool {
	return len(s) >= 1 && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}
