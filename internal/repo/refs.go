package repo

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// sourceRefs is where Import puts the source's own ratchet branches, out of the
// way of the ones that this repository's campaign will write.
const sourceRefs = "refs/remotes/source/"

// Ref returns the hash that one ref holds, following symbolic refs; HEAD is
// allowed. ErrNoRef when it does not exist, ErrCorrupt when its file is torn.
func (r *Repo) Ref(ctx context.Context, name string) (string, error) {
	if name != "HEAD" {
		if err := checkRefName(name); err != nil {
			return "", err
		}
	}
	if err := ctx.Err(); err != nil {
		return "", fail("read ref", name, err)
	}
	h, ok, err := r.refs.resolve(name)
	if err == nil && !ok {
		err = &Error{Op: "read ref", Object: name, Err: ErrNoRef}
	}
	return h, err
}

// SetRef moves a ref from old to new, both full hashes; old "" demands that the
// ref does not exist. A ref that is at new already is success, any other value
// than old is ErrConflict. new must be a commit in this repository.
//
// It is atomic and durable, and excludes other processes, the git command
// included. Waiting for a lock file ends with ErrLocked.
func (r *Repo) SetRef(ctx context.Context, name, old, new string) error {
	if err := checkRefName(name); err != nil {
		return err
	}
	if old != "" {
		if err := checkHash("old value", old); err != nil {
			return err
		}
	}
	if _, err := r.commit(ctx, new); err != nil {
		return err
	}
	return r.refs.set(ctx, name, old, new)
}

// DeleteRef removes a ref that is at old. A ref that does not exist is success,
// any other value is ErrConflict.
func (r *Repo) DeleteRef(ctx context.Context, name, old string) error {
	if err := checkRefName(name); err != nil {
		return err
	}
	if err := checkHash("old value", old); err != nil {
		return err
	}
	return r.refs.set(ctx, name, old, "")
}

// Refs returns all refs that begin with prefix, with their hashes. Torn refs
// are left out.
func (r *Repo) Refs(ctx context.Context, prefix string) (map[string]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, fail("list refs", prefix, err)
	}
	all, err := r.refs.list(func(string, error) {})
	for name := range all {
		if len(name) < len(prefix) || name[:len(prefix)] != prefix {
			delete(all, name)
		}
	}
	return all, err
}

// Resolve turns a branch, a tag, a ref or a hash (a unique beginning of at
// least four digits will do) into the full hash of a commit. It is ErrNoRef when there
// is none, ErrEmpty when the repository has no commit at all.
func (r *Repo) Resolve(ctx context.Context, rev string) (hash string, err error) {
	err = r.read(ctx, func(s *filesystem.Storage) error {
		hash, err = r.resolve(s, rev)
		return err
	})
	return hash, fail("resolve", rev, err)
}

func (r *Repo) resolve(s *filesystem.Storage, rev string) (string, error) {
	if isHash(rev) {
		return peel(s, rev, plumbing.NewHash(rev))
	}
	for _, name := range []string{rev, "refs/" + rev, "refs/tags/" + rev, "refs/heads/" + rev, "refs/remotes/" + rev, sourceRefs + rev} {
		if name != "HEAD" && badRefName(name) != "" {
			continue
		}
		h, ok, err := r.refs.resolve(name)
		if err != nil {
			return "", err
		}
		if ok {
			return peel(s, rev, plumbing.NewHash(h))
		}
	}
	if len(rev) >= 4 && len(rev) < 40 && isHex(rev) {
		return expand(s, rev)
	}
	return "", r.noSuchRev(rev)
}

func (r *Repo) noSuchRev(rev string) error {
	refs, err := r.refs.list(func(string, error) {})
	if err != nil {
		return err
	}
	if len(refs) == 0 {
		return &Error{Op: "resolve", Object: rev, Err: ErrEmpty, Hint: "commit something in " + r.layout.commonDir + " first"}
	}
	return &Error{Op: "resolve", Object: rev, Err: ErrNoRef, Hint: "see: git branch -a"}
}

// peel follows annotated tags to the commit they name.
func peel(s *filesystem.Storage, rev string, h plumbing.Hash) (string, error) {
	for range 10 {
		o, err := s.EncodedObject(plumbing.AnyObject, h)
		if err != nil {
			return "", missing("resolve", rev, err)
		}
		switch o.Type() {
		case plumbing.CommitObject:
			return h.String(), nil
		case plumbing.TagObject:
			tag, err := object.DecodeTag(s, o)
			if err != nil {
				return "", damaged("resolve", rev, err)
			}
			h = tag.Target
		default:
			return "", &Error{Op: "resolve", Object: rev, Err: fmt.Errorf("%w: it names a %s, not a commit", ErrInvalid, o.Type())}
		}
	}
	return "", &Error{Op: "resolve", Object: rev, Err: fmt.Errorf("%w: too many nested tags", ErrUnsupported)}
}

// expand finds the one commit whose hash begins with the given digits.
func expand(s *filesystem.Storage, rev string) (string, error) {
	prefix, err := hex.DecodeString(rev[:len(rev)&^1])
	if err != nil {
		return "", err
	}
	candidates, err := s.HashesWithPrefix(prefix)
	if err != nil {
		return "", err
	}
	found := map[string]bool{}
	for _, h := range candidates {
		if h.String()[:len(rev)] != rev {
			continue
		}
		if c, err := object.GetCommit(s, h); err == nil {
			found[c.Hash.String()] = true
		}
	}
	for h := range found {
		if len(found) == 1 {
			return h, nil
		}
	}
	if len(found) > 1 {
		return "", &Error{Op: "resolve", Object: rev, Err: fmt.Errorf("%w: %d commits begin with it", ErrInvalid, len(found)), Hint: "give more digits"}
	}
	return "", &Error{Op: "resolve", Object: rev, Err: fmt.Errorf("%w: %w", ErrNoRef, plumbing.ErrObjectNotFound)}
}
