package benchmarks

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// ErrConfig is wrapped by every error about a suite's configuration.
var ErrConfig = errors.New("bad suite configuration")

// ErrNoProblems says that a tree holds nothing that the suite could score.
var ErrNoProblems = errors.New("no problems found")

// DefaultLimit is the time one problem may take when neither the suite nor the
// target sets it.
const DefaultLimit = 30 * time.Second

// DefaultBuildLimit is the time one build may take.
const DefaultBuildLimit = 5 * time.Minute

// Config describes one suite. Name and Kind are required.
type Config struct {
	Name string // first part of every problem's id: [a-z0-9_-]{1,64}
	Kind string // what runs the problems, one of Kinds
	// Root is the folder of the module, relative to the repository; "." when empty.
	Root string
	// Packages are the patterns of what is run, relative to Root, such as
	// "./..." or "./internal/...". All packages when empty.
	Packages []string
	Timeout  time.Duration // for one problem, DefaultLimit when zero
	Build    time.Duration // for one build, DefaultBuildLimit when zero
}

// Kinds lists the kinds of suite that New knows.
func Kinds() []string { return []string{KindGoTest} }

// New returns the suite that c describes. Errors wrap ErrConfig.
func New(c Config) (Suite, error) {
	c, err := c.normalized()
	if err != nil {
		return nil, err
	}
	switch c.Kind {
	case KindGoTest:
		return newGoSuite(c)
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
