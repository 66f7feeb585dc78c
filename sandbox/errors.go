package sandbox

import (
	"errors"
	"fmt"
	"strings"
)

// Kinds of sandbox failure, for errors.Is.
var (
	ErrUnavailable = errors.New("the sandbox engine is not reachable") // retry later
	ErrNoImage     = errors.New("no such image")                       // bad input
	ErrLimit       = errors.New("a requested limit cannot be enforced")
	ErrDead        = errors.New("the box has ended")
	ErrNoSpace     = errors.New("no space left")
	ErrPath        = errors.New("the path leaves the work area")
	ErrMissing     = errors.New("no such file or folder") // of Get and List
	ErrDenied      = errors.New("no access as Runner")    // of Get and List: whoever owns it has shut it
)

// Error says what could not be done to what, why, and what to do about it.
type Error struct {
	Op     string // "open", "put", …
	Object string // image, box or path
	Err    error
	Hint   string
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sandbox: %s %s: %v", e.Op, e.Object, e.Err)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }
