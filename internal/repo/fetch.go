package repo

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
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
func fetch(ctx context.Context, url, tmp string, opt ImportOptions) (refSet, error) {
	s := fetchStore{Storage: openStorage(tmp), ReferenceStorage: memory.ReferenceStorage{}}
	defer s.Close()
	remote := git.NewRemote(s, &config.RemoteConfig{Name: "source", URLs: []string{url}})
	refs, err := remote.ListContext(ctx, &git.ListOptions{Auth: opt.Auth})
	if err != nil {
		return refSet{}, remoteError("import", url, err)
	}
	err = remote.FetchContext(ctx, &git.FetchOptions{
		Auth: opt.Auth, Tags: git.NoTags,
		RefSpecs: []config.RefSpec{"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"},
	})
	if err != nil && !errors.Is(err, git.NoErrAlreadyUpToDate) {
		return refSet{}, remoteError("import", url, err)
	}
	target, hash := remoteHead(refs)
	return checkTargets(tmp, url, newRefSet(hashes(s.ReferenceStorage), target, hash))
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
		return &Error{Op: op, Object: redact(url), Err: fmt.Errorf("%w: %w", ErrNotFound, err), Hint: "check the address"}
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return &Error{Op: op, Object: redact(url), Err: ErrEmpty, Hint: "push something there first"}
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return &Error{Op: op, Object: redact(url), Err: err, Hint: "put a token into the URL, or use ssh with an agent"}
	}
	return fail(op, redact(url), err)
}
