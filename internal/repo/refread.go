package repo

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
)

// refStore reads and writes the refs of one repository with git's own lock
// files, so that it and the git command exclude each other. go-git's
// compare-and-swap truncates ref files in place and is not used.
type refStore struct {
	gitDir    string // HEAD
	commonDir string // refs/, packed-refs
}

// value is what a ref holds: a hash, or the name of another ref.
type value struct{ hash, target string }

func (s refStore) path(name string) string {
	dir := s.commonDir
	if !strings.HasPrefix(name, "refs/") {
		dir = s.gitDir // HEAD belongs to the work tree
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

// read returns the value of one ref, without following a symbolic one. The
// loose file is read before packed-refs, because git packs in that order: it
// writes packed-refs first and then removes the loose file.
func (s refStore) read(name string) (value, bool, error) {
	v, ok, err := s.readLoose(name)
	if ok || err != nil {
		return v, ok, err
	}
	packed, err := s.readPacked()
	if err != nil {
		return value{}, false, err
	}
	h, ok := packed[name]
	return value{hash: h}, ok, nil
}

func (s refStore) readLoose(name string) (value, bool, error) {
	data, err := os.ReadFile(s.path(name))
	if absent(err) {
		return value{}, false, nil
	}
	if err != nil {
		return value{}, false, fail("read", name, err)
	}
	v, ok := parseRef(string(data))
	if !ok {
		return value{}, false, &Error{Op: "read", Object: name,
			Err:  fmt.Errorf("%w: its file holds %.64q", ErrCorrupt, data),
			Hint: "a restart clears torn refs and sets them again"}
	}
	return v, true, nil
}

// absent says that err means that there is no such ref file: nothing there, a
// folder of other refs, or a ref where a folder would be.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTDIR)
}

func parseRef(s string) (value, bool) {
	s = strings.TrimRight(s, " \t\r\n")
	if target, ok := strings.CutPrefix(s, "ref:"); ok {
		target = strings.TrimLeft(target, " \t")
		return value{target: target}, target != ""
	}
	return value{hash: s}, isHash(s)
}

// resolve follows symbolic refs to a hash.
func (s refStore) resolve(name string) (string, bool, error) {
	for range 5 {
		v, ok, err := s.read(name)
		if err != nil || !ok || v.hash != "" {
			return v.hash, ok, err
		}
		if v.target != "HEAD" && badRefName(v.target) != "" {
			return "", false, &Error{Op: "read", Object: name, Err: fmt.Errorf("%w: it points to %q", ErrCorrupt, v.target)}
		}
		name = v.target
	}
	return "", false, &Error{Op: "read", Object: name, Err: fmt.Errorf("%w: symbolic refs in a circle", ErrCorrupt)}
}

func (s refStore) packedPath() string { return filepath.Join(s.commonDir, "packed-refs") }

// readPacked reads packed-refs, which is replaced by rename and so never torn.
func (s refStore) readPacked() (map[string]string, error) {
	f, err := os.Open(s.packedPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fail("read", s.packedPath(), err)
	}
	defer f.Close()
	refs := map[string]string{}
	for sc := bufio.NewScanner(f); ; {
		if !sc.Scan() {
			return refs, fail("read", s.packedPath(), sc.Err())
		}
		line := strings.TrimRight(sc.Text(), "\r")
		if line == "" || line[0] == '#' || line[0] == '^' { // header, or what a tag above peels to
			continue
		}
		hash, name, ok := strings.Cut(line, " ")
		if !ok || !isHash(hash) {
			return nil, &Error{Op: "read", Object: s.packedPath(), Err: fmt.Errorf("%w: line %.80q", ErrCorrupt, line)}
		}
		refs[name] = hash
	}
}

// list returns all refs below refs/ with the hashes that they resolve to; torn
// and dangling symbolic ones are passed to skip.
func (s refStore) list(skip func(name string, err error)) (map[string]string, error) {
	names, err := s.looseNames()
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, name := range names {
		h, ok, err := s.resolve(name)
		if err != nil || !ok {
			skip(name, err)
			continue
		}
		all[name] = h
	}
	packed, err := s.readPacked() // after the loose ones: see read
	for name, h := range packed {
		if _, ok := all[name]; !ok {
			all[name] = h
		}
	}
	return all, err
}

// looseNames lists the ref files, sorted, without lock files.
func (s refStore) looseNames() ([]string, error) {
	var names []string
	err := s.walk(func(name string) error {
		if badRefName(name) == "" {
			names = append(names, name)
		}
		return nil
	})
	sort.Strings(names)
	return names, err
}

// walk visits every file below refs/, by its ref name.
func (s refStore) walk(visit func(name string) error) error {
	root := filepath.Join(s.commonDir, "refs")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed while walking
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(s.commonDir, path)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(rel))
	})
	return fail("list refs in", root, err)
}
