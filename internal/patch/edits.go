// Package patch handles changes to a tree: it keys them, turns them into unified
// diffs and back, and gates candidates before any sandbox time is spent. It works
// on trees in memory, never on a file system.
package patch

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sort"
	"strings"

	"ratchet/internal/model"
)

// Kinds of failure, for errors.Is.
var (
	ErrSyntax   = errors.New("malformed patch")
	ErrConflict = errors.New("the patch does not fit")
	ErrPath     = errors.New("path not allowed in a patch")
)

// Error says what is wrong with which file of a patch, and what to do about it.
type Error struct {
	Op   string // "parse", "apply", "diff"
	Path string // may be empty
	Err  error
	Hint string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("patch: " + e.Op)
	if e.Path != "" {
		fmt.Fprintf(&b, " %q", e.Path)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Key identifies what edits make of a base: edits that give the same files have
// the same key, in whatever order or words they came, and edits without effect
// add nothing. Of two edits of one path the last counts.
func Key(edits []model.Edit, base model.Tree) string {
	h := sha256.New()
	for _, c := range changes(base, edits) {
		field := func(b []byte) {
			_ = binary.Write(h, binary.BigEndian, uint64(len(b))) // a hash never fails
			h.Write(b)
		}
		field([]byte(c.path))
		if c.new == nil {
			field([]byte("delete"))
			continue
		}
		field(fmt.Appendf(nil, "%o", c.new.Mode))
		field(c.new.Data)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// change is one path that edits really change; nil says that the file is not there.
type change struct {
	path     string
	old, new *model.File
}

// changes lists what edits change in base, by path.
func changes(base model.Tree, edits []model.Edit) []change {
	last := map[string]model.Edit{}
	for _, e := range edits {
		last[e.Path] = e
	}
	var out []change
	for path, e := range last {
		c := change{path: path, new: &model.File{Path: path, Mode: model.ModeFile, Data: e.Data}}
		if f, ok := base.Find(path); ok {
			c.old, c.new.Mode = &f, f.Mode
		}
		if e.Mode != 0 {
			c.new.Mode = e.Mode
		}
		if e.Delete {
			c.new = nil
		}
		if !c.same() {
			out = append(out, c)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].path < out[j].path })
	return out
}

func (c change) same() bool {
	if c.old == nil || c.new == nil {
		return c.old == c.new
	}
	return c.old.Mode == c.new.Mode && bytes.Equal(c.old.Data, c.new.Data)
}

func (c change) oldData() []byte {
	if c.old == nil {
		return nil
	}
	return c.old.Data
}

func (c change) newData() []byte {
	if c.new == nil {
		return nil
	}
	return c.new.Data
}
