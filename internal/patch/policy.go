package patch

import (
	"errors"
	"fmt"

	"github.com/bmatcuk/doublestar/v4"
)

// Defaults of a Policy's limits.
const (
	DefaultMaxFiles = 20
	DefaultMaxBytes = 1 << 20
)

// Policy says what a candidate may touch. The zero value allows every path but
// those of git itself.
type Policy struct {
	Allow []string // globs, where ** spans folders; none allows all
	Deny  []string // globs; they win over Allow
	// Harness says which paths belong to the grader; nil is none.
	Harness  func(path string) bool
	MaxFiles int // files that one candidate changes; DefaultMaxFiles when 0
	MaxBytes int // bytes of their new content together; DefaultMaxBytes when 0
}

// Validate reports every glob and limit that cannot be used.
func (p Policy) Validate() error {
	var errs []error
	for what, globs := range map[string][]string{"allow": p.Allow, "deny": p.Deny} {
		for _, g := range globs {
			if g == "" || !doublestar.ValidatePattern(g) {
				errs = append(errs, fmt.Errorf("patch: %s: %q is not a glob", what, g))
			}
		}
	}
	if p.MaxFiles < 0 || p.MaxBytes < 0 {
		errs = append(errs, fmt.Errorf("patch: limits must not be negative: %d files, %d bytes", p.MaxFiles, p.MaxBytes))
	}
	return errors.Join(errs...)
}

// Allowed says whether the globs let a candidate touch a path.
func (p Policy) Allowed(path string) bool {
	return BadPath(path) == "" && (len(p.Allow) == 0 || matches(p.Allow, path)) && !matches(p.Deny, path)
}

// matches reports whether any glob matches; an invalid one, which Validate
// reports, matches nothing.
func matches(globs []string, path string) bool {
	for _, g := range globs {
		if ok, err := doublestar.Match(g, path); ok && err == nil {
			return true
		}
	}
	return false
}

func (p Policy) maxFiles() int {
	if p.MaxFiles == 0 {
		return DefaultMaxFiles
	}
	return p.MaxFiles
}

func (p Policy) maxBytes() int {
	if p.MaxBytes == 0 {
		return DefaultMaxBytes
	}
	return p.MaxBytes
}
