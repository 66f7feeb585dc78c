package patch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Defaults of a Policy's limits.
const (
	DefaultMaxFiles = 20
	DefaultMaxBytes = 1 << 20
)

// obeyed are files and folders that programs obey on sight, with the rights of whoever
// opens or pushes the repository: pipelines, hooks, editors' tasks, git's own settings.
// A benchmark says nothing of what a change to them does there.
var obeyed = map[string]bool{
	".github": true, ".gitlab": true, ".gitlab-ci.yml": true, ".gitea": true, ".forgejo": true, ".circleci": true, ".buildkite": true,
	".woodpecker": true, ".woodpecker.yml": true, ".drone.yml": true, ".travis.yml": true, ".cirrus.yml": true, ".appveyor.yml": true,
	"appveyor.yml": true, "azure-pipelines.yml": true, "bitbucket-pipelines.yml": true, "jenkinsfile": true,
	".gitattributes": true, ".gitmodules": true, ".githooks": true, ".husky": true, ".pre-commit-config.yaml": true, "lefthook.yml": true,
	".vscode": true, ".idea": true, ".devcontainer": true, ".envrc": true,
}

// Policy says what a candidate may touch. The zero value allows every path but
// those of git itself and those that programs obey on sight.
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
func (p Policy) Allowed(path string) bool { return BadPath(path) == "" && p.denied(path) == "" }

// denied says why a candidate may not touch a path; empty when it may. What programs
// obey on sight is allowed by globs that name it, not by those that happen to match.
func (p Policy) denied(path string) string {
	if len(p.Allow) > 0 && !matches(p.Allow, path) || matches(p.Deny, path) {
		return "the campaign does not allow changes to it"
	}
	for name := range strings.SplitSeq(path, "/") {
		named := func(glob string) bool {
			return matches([]string{glob}, path) && slices.Contains(strings.Split(glob, "/"), name)
		}
		if obeyed[strings.ToLower(name)] && !slices.ContainsFunc(p.Allow, named) {
			return "programs outside of the sandbox obey " + name + ", so paths.allow must name it"
		}
	}
	return ""
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
