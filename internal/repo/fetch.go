package repo

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"
)

// fetchStore keeps fetched objects on disk and their refs in memory: go-git's
// way of writing ref files is not used.
type fetchStore struct {
	*filesystem.Storage
	memory.ReferenceStorage
}

// fetch fills tmp from a remote.
func fetch(ctx context.Context, url, tmp string) (set refSet, err error) {
	s := fetchStore{Storage: openStorage(tmp), ReferenceStorage: memory.ReferenceStorage{}}
	defer s.Close()
	remote := git.NewRemote(s, &config.RemoteConfig{Name: "source", URLs: []string{url}})
	var refs []*plumbing.Reference
	err = signedIn(url, func(auth transport.AuthMethod) error {
		if refs, err = remote.ListContext(ctx, &git.ListOptions{Auth: auth}); err != nil {
			return err
		}
		err := remote.FetchContext(ctx, &git.FetchOptions{
			Auth: auth, Tags: git.NoTags,
			RefSpecs: []config.RefSpec{"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"},
		})
		if errors.Is(err, git.NoErrAlreadyUpToDate) {
			return nil
		}
		return err
	})
	if err != nil {
		return refSet{}, remoteError("import", url, err)
	}
	target, hash := remoteHead(refs)
	if set, err = checkTargets(tmp, url, newRefSet(hashes(s.ReferenceStorage), target, hash)); err != nil {
		return refSet{}, err
	}
	return set, refuseCutHistory(ctx, s.Storage, url, set)
}

// refuseCutHistory refuses what a server gave that lacks a part of its own
// history: go-git does not say so. Local repositories have a file that does.
func refuseCutHistory(ctx context.Context, s *filesystem.Storage, url string, set refSet) error {
	seen := map[plumbing.Hash]bool{}
	var todo []plumbing.Hash
	for name, h := range set.refs {
		tip, err := peel(s, name, plumbing.NewHash(h))
		if err == nil { // a tag of something else than a commit has no history
			todo = append(todo, plumbing.NewHash(tip))
		}
	}
	for len(todo) > 0 {
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[h] {
			continue
		}
		seen[h] = true
		c, err := object.GetCommit(s, h)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			return &Error{Op: "import", Object: url, Err: fmt.Errorf("%w: a shallow clone", ErrUnsupported), Hint: "complete the repository there: git fetch --unshallow"}
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return fail("import", url, err)
		}
		todo = append(todo, c.ParentHashes...)
	}
	return nil
}

func hashes(refs memory.ReferenceStorage) map[string]string {
	out := map[string]string{}
	for name, ref := range refs {
		if ref.Type() == plumbing.HashReference {
			out[name.String()] = ref.Hash().String()
		}
	}
	return out
}

// remoteHead finds the branch that a remote's HEAD names, or its hash.
func remoteHead(refs []*plumbing.Reference) (target, hash string) {
	for _, ref := range refs {
		if ref.Name() != plumbing.HEAD {
			continue
		}
		if ref.Type() == plumbing.SymbolicReference {
			return ref.Target().String(), ""
		}
		hash = ref.Hash().String()
	}
	return "", hash
}

// remoteError names the kind of failure that a remote reported.
func remoteError(op, url string, err error) error {
	switch {
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return &Error{Op: op, Object: url, Err: fmt.Errorf("%w: %w", ErrNotFound, err), Hint: "check the address"}
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return &Error{Op: op, Object: url, Err: ErrEmpty, Hint: "push something there first"}
	case asksToSignIn(err):
		return &Error{Op: op, Object: url, Err: fmt.Errorf("%w: %w", ErrSignIn, err), Hint: signInHint(url)}
	case err != nil && sshHint(err) != "":
		return &Error{Op: op, Object: url, Err: fmt.Errorf("%w: %w", ErrSignIn, err), Hint: sshHint(err)}
	}
	return fail(op, url, err)
}
