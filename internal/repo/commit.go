package repo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"ratchet/internal/model"
)

// Identity is the author and committer of a commit.
type Identity struct{ Name, Email string }

// defaultIdentity signs commits whose spec names nobody.
var defaultIdentity = Identity{Name: "ratchet", Email: "ratchet@localhost"}

// CommitSpec says what a commit holds. Equal specs make equal commits.
type CommitSpec struct {
	Parent   string // full hash; "" makes a root commit
	Edits    []model.Edit
	Subject  string
	Body     string
	Trailers []Trailer
	When     time.Time // to the second, written in UTC
	Author   Identity  // ratchet <ratchet@localhost> when zero
}

// Commit names a commit and its tree.
type Commit struct{ Hash, Tree string }

// Commit writes a commit object with its trees and blobs; no ref is touched.
// When it returns, all of them are on disk. The same spec gives the same hash,
// so it can be repeated.
//
// Edits that do not fit the parent (a deleted file that is not there, a file
// where a folder is) are ErrConflict, invalid paths and modes ErrInvalid, a tree
// that equals the parent's ErrNoChange.
func (r *Repo) Commit(ctx context.Context, spec CommitSpec) (out Commit, err error) {
	if err := ctx.Err(); err != nil {
		return out, fail("commit on", orString(spec.Parent, "nothing"), err)
	}
	err = r.read(ctx, func(s *filesystem.Storage) error {
		out, err = r.commitEdits(s, spec)
		return err
	})
	return out, fail("commit on", orString(spec.Parent, "nothing"), err)
}

func (r *Repo) commitEdits(s *filesystem.Storage, spec CommitSpec) (Commit, error) {
	parent := plumbing.ZeroHash
	if spec.Parent != "" {
		c, err := commitObject(s, spec.Parent)
		if err != nil {
			return Commit{}, err
		}
		parent = c.TreeHash
	}
	w := newObjectWriter(r.layout.objects())
	t, err := newTreeEditor(s, w, parent)
	if err != nil {
		return Commit{}, err
	}
	if err := t.apply(spec.Edits); err != nil {
		return Commit{}, err
	}
	tree, err := t.save()
	if err != nil {
		return Commit{}, err
	}
	if tree == parent || parent.IsZero() && len(t.root.entries) == 0 {
		return Commit{}, ErrNoChange
	}
	return writeCommit(w, tree, spec)
}

// writeCommit writes the commit object for a tree and syncs all objects.
func writeCommit(w *objectWriter, tree plumbing.Hash, spec CommitSpec) (Commit, error) {
	msg, err := message{subject: spec.Subject, body: spec.Body, trailers: spec.Trailers}.format()
	if err != nil {
		return Commit{}, err
	}
	sig, err := signature(spec)
	if err != nil {
		return Commit{}, err
	}
	c := &object.Commit{Author: sig, Committer: sig, Message: msg, TreeHash: tree}
	if spec.Parent != "" {
		c.ParentHashes = []plumbing.Hash{plumbing.NewHash(spec.Parent)}
	}
	h, err := w.encode(c)
	if err != nil {
		return Commit{}, err
	}
	return Commit{Hash: h.String(), Tree: tree.String()}, w.sync()
}

// signature checks what go-git writes unchecked: a line break in a name would
// forge headers.
func signature(spec CommitSpec) (object.Signature, error) {
	who := spec.Author
	if who == (Identity{}) {
		who = defaultIdentity
	}
	for _, s := range []string{who.Name, who.Email} {
		if s == "" || s != oneLine(s) || strings.ContainsAny(s, "<>") {
			return object.Signature{}, fmt.Errorf("%w: author %q <%q>", ErrInvalid, who.Name, who.Email)
		}
	}
	if spec.When.Unix() <= 0 {
		return object.Signature{}, fmt.Errorf("%w: the time of the commit is not set", ErrInvalid)
	}
	return object.Signature{Name: who.Name, Email: who.Email, When: spec.When.UTC().Truncate(time.Second)}, nil
}
