package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// Push sets remoteRef in the repository at url (a local path or a URL) to what
// localRef is here, with all objects it needs. expectOld is the lease: the value
// that remoteRef must have, or "" when it must not exist. A remote that is there
// already is success, any other value ErrConflict. History need not be a
// fast-forward.
//
// A branch that is checked out in a work tree of a local repository is
// ErrUnsupported: its files would no longer match it.
func (r *Repo) Push(ctx context.Context, url, localRef, remoteRef, expectOld string) error {
	if err := checkRefName(remoteRef); err != nil {
		return err
	}
	if expectOld != "" {
		if err := checkHash("lease", expectOld); err != nil {
			return err
		}
	}
	if err := CheckAddress(url); err != nil {
		return err
	}
	hash, err := r.Ref(ctx, localRef)
	if err != nil {
		return err
	}
	path, local, err := localPath(url)
	if err != nil {
		return fail("push to", url, err)
	}
	if !local {
		return r.pushRemote(ctx, url, hash, remoteRef, expectOld)
	}
	target, err := Open(ctx, path)
	if err != nil {
		return err
	}
	defer target.Close()
	return fail("push to", path, r.pushLocal(ctx, target, hash, remoteRef, expectOld))
}

func (r *Repo) pushLocal(ctx context.Context, to *Repo, hash, ref, expectOld string) error {
	if err := to.refuseCheckedOut(ref); err != nil {
		return err
	}
	if err := r.copyObjects(ctx, to, hash); err != nil {
		return err
	}
	return to.SetRef(ctx, ref, expectOld, hash)
}

// refuseCheckedOut fails when a work tree of the repository is on the branch.
func (r *Repo) refuseCheckedOut(ref string) error {
	var heads []refStore
	if !r.layout.bare {
		heads = append(heads, refStore{gitDir: r.layout.commonDir, commonDir: r.layout.commonDir})
	}
	linked, err := os.ReadDir(filepath.Join(r.layout.commonDir, "worktrees"))
	if err != nil && !absent(err) {
		return err
	}
	for _, w := range linked {
		heads = append(heads, refStore{gitDir: filepath.Join(r.layout.commonDir, "worktrees", w.Name()), commonDir: r.layout.commonDir})
	}
	for _, h := range heads {
		v, _, err := h.readLoose("HEAD")
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return err
		}
		if v.target == ref {
			return &Error{Op: "push to", Object: ref, Err: fmt.Errorf("%w: the branch is checked out in a work tree there", ErrUnsupported),
				Hint: "check out another branch there, or push to another name"}
		}
	}
	return nil
}

// copyObjects writes what commit needs and the target lacks: oldest commit
// first, and each commit after its files, so that a commit which is there stands
// for all that it needs, even when a copy was cut short.
func (r *Repo) copyObjects(ctx context.Context, to *Repo, commit string) error {
	return r.read(ctx, func(from *filesystem.Storage) error {
		return to.read(ctx, func(there *filesystem.Storage) error {
			c := copier{from: from, to: there, w: newObjectWriter(to.layout.objects())}
			todo, err := c.missingCommits(ctx, plumbing.NewHash(commit))
			if err != nil {
				return err
			}
			for i := len(todo) - 1; i >= 0; i-- {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := c.commit(todo[i]); err != nil {
					return err
				}
			}
			return c.w.sync()
		})
	})
}

type copier struct {
	from, to *filesystem.Storage
	w        *objectWriter
}

// missingCommits lists the commits that the target lacks, every one before its parents.
func (c copier) missingCommits(ctx context.Context, tip plumbing.Hash) ([]*object.Commit, error) {
	type frame struct {
		commit *object.Commit
		next   int
	}
	var post []*object.Commit // parents first
	seen := map[plumbing.Hash]bool{}
	var stack []frame
	visit := func(h plumbing.Hash) error {
		if seen[h] || c.to.HasEncodedObject(h) == nil {
			return nil
		}
		seen[h] = true
		commit, err := commitObject(c.from, h.String())
		stack = append(stack, frame{commit: commit})
		return err
	}
	if err := visit(tip); err != nil {
		return nil, err
	}
	for len(stack) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		top := &stack[len(stack)-1]
		if top.next == len(top.commit.ParentHashes) {
			post = append(post, top.commit)
			stack = stack[:len(stack)-1]
			continue
		}
		top.next++
		if err := visit(top.commit.ParentHashes[top.next-1]); err != nil {
			return nil, err
		}
	}
	for i, j := 0, len(post)-1; i < j; i, j = i+1, j-1 {
		post[i], post[j] = post[j], post[i]
	}
	return post, nil
}

func (c copier) commit(commit *object.Commit) error {
	known := plumbing.ZeroHash
	if len(commit.ParentHashes) > 0 { // the target has its parent by now
		parent, err := commitObject(c.from, commit.ParentHashes[0].String())
		if err != nil {
			return err
		}
		known = parent.TreeHash
	}
	if err := c.tree(commit.TreeHash, known, "", 0); err != nil {
		return err
	}
	return c.object(commit.Hash)
}

// tree copies a folder, below which all that known holds is in the target.
func (c copier) tree(h, known plumbing.Hash, path string, depth int) error {
	if h == known {
		return nil
	}
	if depth > maxDepth {
		return errTooDeep
	}
	entries, err := readTree(c.from, h, path)
	if err != nil {
		return err
	}
	old, err := readTreeOrNone(c.from, known, path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.entry(e, old[e.Name], join(path, e.Name), depth); err != nil {
			return err
		}
	}
	return c.object(h)
}

func (c copier) entry(e, old object.TreeEntry, path string, depth int) error {
	switch {
	case e.Hash == old.Hash, e.Mode == filemode.Submodule: // the commit of a submodule is elsewhere
		return nil
	case e.Mode != filemode.Dir:
		return c.object(e.Hash)
	case old.Mode != filemode.Dir:
		old.Hash = plumbing.ZeroHash
	}
	return c.tree(e.Hash, old.Hash, path, depth+1)
}

func (c copier) object(h plumbing.Hash) error {
	if c.to.HasEncodedObject(h) == nil {
		return nil
	}
	o, err := c.from.EncodedObject(plumbing.AnyObject, h)
	if err != nil {
		return damaged("read object", h.String(), err)
	}
	_, err = c.w.put(o)
	return err
}
