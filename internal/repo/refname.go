package repo

import (
	"fmt"
	"strings"
)

// checkRefName applies the rules of git check-ref-format to a full ref name,
// which must begin with refs/.
func checkRefName(name string) error {
	why := badRefName(name)
	if why == "" {
		return nil
	}
	return &Error{Op: "check", Object: fmt.Sprintf("ref name %q", name), Err: fmt.Errorf("%w: %s", ErrInvalid, why)}
}

func badRefName(name string) string {
	if !strings.HasPrefix(name, "refs/") {
		return "it does not begin with refs/"
	}
	if strings.Contains(name, "..") || strings.Contains(name, "@{") {
		return `it contains ".." or "@{"`
	}
	if strings.HasSuffix(name, ".") {
		return "it ends with a dot"
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; c <= ' ' || c == 0x7f || strings.IndexByte(`~^:?*[\`, c) >= 0 {
			return fmt.Sprintf("it contains %q", c)
		}
	}
	for _, part := range strings.Split(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return fmt.Sprintf("the part %q is not allowed", part)
		}
	}
	return ""
}

// isHash reports whether s is a full SHA-1 in lower-case hexadecimal.
func isHash(s string) bool { return len(s) == 40 && isHex(s) }

func isHex(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func checkHash(what, h string) error {
	if isHash(h) {
		return nil
	}
	return &Error{Op: "check", Object: fmt.Sprintf("%s %q", what, h), Err: fmt.Errorf("%w: not a full hash", ErrInvalid)}
}
