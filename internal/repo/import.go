package repo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"ratchet/internal/model"
)

// ImportOptions says how Import works.
type ImportOptions struct {
	// Copy copies the objects of a local repository even where they could be
	// shared by hard links.
	Copy bool
}

// Import makes a bare repository at dst with the history of src: a local path
// (a work tree, a linked one, a bare repository) or a URL (https, ssh, file).
// Branches, tags and remote-tracking refs are copied; the source's own ratchet
// branches become refs/remotes/source/ratchet/…; refs that are torn or name
// missing objects are left out. Uncommitted work is not seen. Files in LFS stay
// the pointers that git holds. An address that holds a secret is ErrInvalid, a
// remote that wants another credential than the environment's ErrSignIn.
//
// It is atomic, and a complete dst is success, so it can be repeated. src is
// never written to. A local source shares its (immutable) object files by hard
// link, or has them copied on another device. Shallow and partial clones and
// SHA-256 repositories are ErrUnsupported, a source without commits ErrEmpty.
func Import(ctx context.Context, src, dst string, opt ImportOptions) error {
	if _, ok, err := layoutAt(dst); ok || err != nil {
		return err
	}
	if err := errors.Join(ctx.Err(), CheckAddress(src)); err != nil {
		return fail("import", model.RedactAddress(src), err)
	}
	path, local, err := localPath(src)
	if err != nil {
		return fail("import", src, err)
	}
	if !local {
		return buildBare(ctx, dst, func(tmp string) (refSet, error) { return fetch(ctx, src, tmp) })
	}
	l, err := findLayout(path)
	if err != nil {
		return err
	}
	return buildBare(ctx, dst, func(tmp string) (refSet, error) { return link(ctx, l, tmp, opt) })
}

// localPath says whether src is a path, which may be given as a file URL.
func localPath(src string) (path string, local bool, err error) {
	if src == "" {
		return "", false, fmt.Errorf("%w: no path or URL", ErrInvalid)
	}
	if _, err := os.Stat(src); err == nil {
		return src, true, nil
	}
	ep, err := transport.NewEndpoint(src)
	if err != nil {
		return "", false, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	switch ep.Protocol {
	case "file":
		if u, err := url.Parse(src); err == nil && u.Scheme == "file" {
			return u.Path, true, nil
		}
		return src, true, nil
	case "http", "https", "ssh", "git":
		return "", false, nil
	}
	return "", false, fmt.Errorf("%w: URLs of kind %s", ErrUnsupported, ep.Protocol)
}

// link fills tmp from a local repository.
func link(ctx context.Context, l layout, tmp string, opt ImportOptions) (refSet, error) {
	if err := refuseIncomplete(l); err != nil {
		return refSet{}, err
	}
	// Refs first: objects that are linked later can only be more.
	set, err := readRefs(l)
	if err != nil {
		return refSet{}, err
	}
	stores, err := objectStores(l.objects())
	if err != nil {
		return refSet{}, err
	}
	for _, from := range stores {
		if err := linkObjects(ctx, from, filepath.Join(tmp, "objects"), opt.Copy); err != nil {
			return refSet{}, fail("import", from, err)
		}
	}
	return checkTargets(tmp, l.commonDir, set)
}

// refuseIncomplete refuses repositories that lack a part of their history.
func refuseIncomplete(l layout) error {
	if data, err := os.ReadFile(filepath.Join(l.commonDir, "shallow")); err == nil && len(strings.TrimSpace(string(data))) > 0 {
		return &Error{Op: "import", Object: l.commonDir, Err: fmt.Errorf("%w: a shallow clone", ErrUnsupported), Hint: "complete it: git fetch --unshallow"}
	}
	packs, err := os.ReadDir(filepath.Join(l.objects(), "pack"))
	if err != nil && !absent(err) {
		return fail("import", l.commonDir, err)
	}
	for _, p := range packs {
		if strings.HasSuffix(p.Name(), ".promisor") {
			return &Error{Op: "import", Object: l.commonDir, Err: fmt.Errorf("%w: a partial clone", ErrUnsupported), Hint: "clone it again without --filter"}
		}
	}
	return nil
}

// readRefs reads what the new repository shall point to.
func readRefs(l layout) (refSet, error) {
	store := refStore{gitDir: l.gitDir, commonDir: l.commonDir}
	all, err := store.list(func(string, error) {})
	if err != nil {
		return refSet{}, err
	}
	head, _, err := store.readLoose("HEAD")
	if err != nil {
		return refSet{}, err
	}
	hash, _, err := store.resolve("HEAD")
	if err != nil && !errors.Is(err, ErrCorrupt) { // a torn branch: others may be whole
		return refSet{}, err
	}
	return newRefSet(all, head.target, hash), nil
}

// newRefSet picks the refs to copy. A HEAD that names no copied branch becomes
// detached, when there is a commit for it.
func newRefSet(all map[string]string, headTarget, headHash string) refSet {
	set := refSet{refs: map[string]string{}}
	for name, h := range all {
		switch {
		case badRefName(name) != "":
		case strings.HasPrefix(name, "refs/heads/ratchet/"):
			set.refs[sourceRefs+strings.TrimPrefix(name, "refs/heads/")] = h
		case strings.HasPrefix(name, "refs/heads/"), strings.HasPrefix(name, "refs/tags/"), strings.HasPrefix(name, "refs/remotes/"):
			set.refs[name] = h
		}
	}
	switch _, copied := set.refs[headTarget]; {
	case copied:
		set.head = "ref: " + headTarget
	case headHash != "":
		set.head = headHash
	default:
		set.head = "ref: refs/heads/main"
	}
	return set
}

// checkTargets drops refs whose objects are not there, and refuses a repository
// in which no commit is left.
func checkTargets(tmp, source string, set refSet) (refSet, error) {
	s := openStorage(tmp)
	defer s.Close()
	for name, h := range set.refs {
		if s.HasEncodedObject(plumbing.NewHash(h)) != nil {
			delete(set.refs, name)
		}
	}
	if isHash(set.head) && !hasCommit(s, set.head) {
		set.head = "ref: refs/heads/main"
	}
	for _, h := range set.refs {
		if _, err := peel(s, h, plumbing.NewHash(h)); err == nil {
			return set, nil
		}
	}
	if isHash(set.head) {
		return set, nil
	}
	return refSet{}, &Error{Op: "import", Object: source, Err: ErrEmpty, Hint: "commit something there first"}
}

func hasCommit(s *filesystem.Storage, hash string) bool {
	_, err := commitObject(s, hash)
	return err == nil
}
