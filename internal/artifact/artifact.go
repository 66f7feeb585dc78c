// Package artifact keeps blobs by their content: patches, logs and whatever
// else is too large for a workflow's history or a row.
package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Blobs is a content-addressed store. Implementations are safe for concurrent
// use, by several processes too, and a blob never changes once it is there.
type Blobs interface {
	// Put stores data and returns its reference, "sha256:" and 64 hexadecimal
	// digits. When it returns, the blob survives a crash of the machine. The same
	// data again is the same reference. Fails with ErrNoSpace.
	Put(ctx context.Context, data []byte) (ref string, err error)
	// Get returns the blob, checked against its reference. Fails with ErrNotFound,
	// with ErrCorrupt, or with ErrInvalid for what is no reference.
	Get(ctx context.Context, ref string) ([]byte, error)
}

// Kinds of failure, for errors.Is.
var (
	ErrNotFound = errors.New("not found")
	ErrCorrupt  = errors.New("the content does not match its reference")
	ErrInvalid  = errors.New("not an artifact reference")
	ErrNoSpace  = errors.New("no space left")
)

// Error says what could not be done to what, why, and what to do about it.
type Error struct {
	Op     string // "open", "put" or "get"
	Object string // reference or folder
	Err    error
	Hint   string
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "artifact: %s %s: %v", e.Op, e.Object, e.Err)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

const scheme = "sha256:"

// Ref is the reference that data has in every implementation.
func Ref(data []byte) string {
	sum := sha256.Sum256(data)
	return scheme + hex.EncodeToString(sum[:])
}

// digits returns the 64 digits of a reference, and false for what is none: a
// reference comes from rows and messages, and part of it becomes a file name.
func digits(ref string) (string, bool) {
	hash, ok := strings.CutPrefix(ref, scheme)
	if !ok || len(hash) != 2*sha256.Size || strings.Trim(hash, "0123456789abcdef") != "" {
		return "", false
	}
	return hash, true
}
