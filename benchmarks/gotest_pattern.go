package benchmarks

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// pattern is a package pattern of the go command, by folder.
type pattern struct{ re *regexp.Regexp }

// parsePattern understands relative patterns ("./x", "./x/...", "./..."),
// with "..." standing for any text, as `go help packages` has it.
func parsePattern(text string) (pattern, error) {
	if text != "." && text != "..." && !strings.HasPrefix(text, "./") {
		return pattern{}, fmt.Errorf("package pattern %q does not start with ./", text)
	}
	clean := path.Clean(text)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return pattern{}, fmt.Errorf("package pattern %q leaves the module", text)
	}
	if clean == "..." {
		return pattern{regexp.MustCompile("")}, nil
	}
	expr := strings.ReplaceAll(regexp.QuoteMeta(clean), `\.\.\.`, `.*`)
	// "x/..." matches x as well.
	if head, ok := strings.CutSuffix(expr, `/.*`); ok {
		expr = head + `(/.*)?`
	}
	re, err := regexp.Compile("^" + expr + "$")
	if err != nil {
		return pattern{}, fmt.Errorf("package pattern %q: %w", text, err)
	}
	return pattern{re}, nil
}

// match reports whether the folder, relative to the module, belongs to p.
func (p pattern) match(dir string) bool { return p.re.MatchString(dir) }
