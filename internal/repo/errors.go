package repo

import (
	"errors"
	"fmt"
	"strings"
)

// Kinds of failure, for errors.Is.
var (
	ErrNotFound    = errors.New("no git repository")
	ErrNoRef       = errors.New("no such branch, tag, ref or commit")
	ErrEmpty       = errors.New("the repository has no commit")
	ErrConflict    = errors.New("conflict")        // somebody else got there first, or the edits do not fit
	ErrLocked      = errors.New("locked")          // a lock file of another process stayed for too long
	ErrUnsupported = errors.New("not supported")   // a repository or change that ratchet cannot handle
	ErrCorrupt     = errors.New("damaged")         // the repository contradicts itself
	ErrInvalid     = errors.New("invalid")         // the caller's input can never work
	ErrSignIn      = errors.New("cannot sign in")  // the remote wants another credential, or ssh cannot be set up
	ErrNoChange    = errors.New("nothing changes") // the tree would equal its parent's
)

// Error says what could not be done to what, why, and what to do about it.
type Error struct {
	Op     string // "import", "set ref", …
	Object string // path, ref or commit
	Err    error
	Hint   string // what a person can do; may be empty
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "git: %s %s: %v", e.Op, e.Object, e.Err)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// fail wraps err, unless it is nil or an *Error already: the innermost one
// names the object that is really concerned.
func fail(op, object string, err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &Error{Op: op, Object: object, Err: err}
}

// TornRef is a ref whose file held no hash and was removed.
type TornRef struct {
	Name    string
	Content string // what the file held, at most 64 bytes
	// Now is the value that the ref has since: an older one from packed-refs,
	// or empty when it no longer exists.
	Now string
}

// TornError reports refs that Recover removed because their files were empty or
// torn. The repository is usable; the caller must set these refs again.
type TornError struct{ Refs []TornRef }

func (e *TornError) Error() string {
	names := make([]string, len(e.Refs))
	for i, r := range e.Refs {
		names[i] = r.Name
	}
	return "git: removed torn refs, to be set again: " + strings.Join(names, ", ")
}

func (e *TornError) Unwrap() error { return ErrCorrupt }
