package repo

import (
	"context"
	"fmt"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// RevertSpec says which commit to undo on top of which.
type RevertSpec struct {
	Tip      string // parent of the new commit
	Target   string // the commit to undo: Tip itself, or an ancestor of it
	Subject  string // `Revert "…"` when empty
	Body     string
	Trailers []Trailer
	When     time.Time
	Author   Identity
}

// Revert writes a commit on Tip that undoes Target; no ref is touched. Undoing
// the tip gives exactly the tree of its parent. Undoing an older commit restores
// each path that it changed, and is ErrConflict when one of them was changed
// again since. A merge or root commit is ErrUnsupported, one that is undone
// already ErrNoChange. Like Commit, it can be repeated.
func (r *Repo) Revert(ctx context.Context, spec RevertSpec) (out Commit, err error) {
	if err := ctx.Err(); err != nil {
		return out, fail("revert", spec.Target, err)
	}
	err = r.read(ctx, func(s *filesystem.Storage) error {
		out, err = r.revert(s, spec)
		return err
	})
	return out, fail("revert", spec.Target, err)
}

func (r *Repo) revert(s *filesystem.Storage, spec RevertSpec) (Commit, error) {
	tip, err := commitObject(s, spec.Tip)
	if err != nil {
		return Commit{}, err
	}
	target, err := commitObject(s, spec.Target)
	if err != nil {
		return Commit{}, err
	}
	if n := len(target.ParentHashes); n != 1 {
		return Commit{}, fmt.Errorf("%w: it has %d parents", ErrUnsupported, n)
	}
	before, err := commitObject(s, target.ParentHashes[0].String())
	if err != nil {
		return Commit{}, err
	}
	if err := onBranch(s, tip, target.Hash); err != nil {
		return Commit{}, err
	}
	w := newObjectWriter(r.layout.objects())
	tree := before.TreeHash
	if tip.Hash != target.Hash {
		if tree, err = undoPaths(s, w, tip.TreeHash, before.TreeHash, target.TreeHash); err != nil {
			return Commit{}, err
		}
	}
	if tree == tip.TreeHash {
		return Commit{}, ErrNoChange
	}
	return writeCommit(w, tree, spec.commit(target))
}

func (spec RevertSpec) commit(target *object.Commit) CommitSpec {
	subject, body := spec.Subject, spec.Body
	if subject == "" {
		subject = fmt.Sprintf("Revert %q", parseMessage(target.Message).subject)
	}
	if body == "" {
		body = "This reverts commit " + target.Hash.String() + "."
	}
	return CommitSpec{Parent: spec.Tip, Subject: subject, Body: body, Trailers: spec.Trailers, When: spec.When, Author: spec.Author}
}

// onBranch checks that target is tip or one of its ancestors by first parents.
func onBranch(s *filesystem.Storage, tip *object.Commit, target plumbing.Hash) error {
	for c := tip; c.Hash != target; {
		if len(c.ParentHashes) == 0 {
			return fmt.Errorf("%w: it is not on the branch of %s", ErrConflict, tip.Hash)
		}
		next, err := commitObject(s, c.ParentHashes[0].String())
		if err != nil {
			return err
		}
		c = next
	}
	return nil
}

// undoPaths gives the tree of tip in which all that changed from before to
// after is as it was before.
func undoPaths(s *filesystem.Storage, w *objectWriter, tip, before, after plumbing.Hash) (plumbing.Hash, error) {
	changes, err := diffTrees(s, before, after, "", 0)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	var todo []change
	for _, c := range changes {
		now, err := entryAt(s, tip, c.path)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		switch {
		case same(now, c.old): // undone already
		case same(now, c.new):
			todo = append(todo, c)
		default:
			return plumbing.ZeroHash, misfit(c.path, "it was changed again since")
		}
	}
	return restore(s, w, tip, todo)
}

func same(a, b object.TreeEntry) bool { return a.Hash == b.Hash && a.Mode == b.Mode }

func restore(s *filesystem.Storage, w *objectWriter, tip plumbing.Hash, changes []change) (plumbing.Hash, error) {
	t, err := newTreeEditor(s, w, tip)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	for _, c := range changes {
		if !c.new.Hash.IsZero() {
			if err := t.remove(c.path); err != nil {
				return plumbing.ZeroHash, err
			}
		}
	}
	for _, c := range changes {
		if !c.old.Hash.IsZero() {
			if err := t.put(c.path, c.old.Mode, c.old.Hash); err != nil {
				return plumbing.ZeroHash, err
			}
		}
	}
	return t.save()
}
