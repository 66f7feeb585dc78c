package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/config"
)

// layout says where the parts of a repository are. For a linked work tree the
// two folders differ: HEAD is in gitDir, all that is shared is in commonDir.
type layout struct {
	gitDir    string
	commonDir string
	workTree  string // empty when the path was the git folder itself
	bare      bool   // core.bare
}

func (l layout) objects() string { return filepath.Join(l.commonDir, "objects") }

// findLayout finds the repository at path: a work tree, a linked work tree, a
// bare repository or a .git folder. Parent folders are looked at only to say
// which repository the path lies in.
func findLayout(path string) (layout, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return layout{}, err
	}
	info, err := os.Stat(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return layout{}, &Error{Op: "open", Object: abs, Err: ErrNotFound, Hint: "there is no such folder"}
	}
	if err != nil {
		return layout{}, fail("open", abs, err)
	}
	if !info.IsDir() {
		return layout{}, &Error{Op: "open", Object: abs, Err: ErrNotFound, Hint: "it is a file; give the folder of the repository"}
	}
	l, ok, err := layoutAt(abs)
	if err != nil {
		return layout{}, err
	}
	if !ok {
		return layout{}, &Error{Op: "open", Object: abs, Err: ErrNotFound, Hint: hintAbove(abs)}
	}
	return l, nil
}

// layoutAt recognises a repository at exactly this folder.
func layoutAt(dir string) (layout, bool, error) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Stat(dot)
	switch {
	case err == nil && info.IsDir() && isGitDir(dot):
		l, err := layoutOf(dot, dir)
		return l, true, err
	case err == nil && info.Mode().IsRegular():
		gitDir, err := readGitFile(dot)
		if err != nil {
			return layout{}, false, err
		}
		l, err := layoutOf(gitDir, dir)
		return l, true, err
	case isGitDir(dir):
		l, err := layoutOf(dir, "")
		return l, true, err
	}
	return layout{}, false, nil
}

// readGitFile follows a .git file, as linked work trees and submodules have.
func readGitFile(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fail("open", path, err)
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), "gitdir: ")
	if !ok || target == "" {
		return "", &Error{Op: "open", Object: path, Err: ErrNotFound, Hint: "the .git file does not name a git folder"}
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	if !isGitDir(target) {
		return "", &Error{Op: "open", Object: path, Err: ErrNotFound, Hint: "the .git file points to " + target + ", which is no git folder"}
	}
	return target, nil
}

func layoutOf(gitDir, workTree string) (layout, error) {
	l := layout{gitDir: gitDir, commonDir: gitDir, workTree: workTree}
	data, err := os.ReadFile(filepath.Join(gitDir, "commondir"))
	if err == nil {
		common := strings.TrimSpace(string(data))
		if !filepath.IsAbs(common) {
			common = filepath.Join(gitDir, common)
		}
		l.commonDir = common
	} else if !errors.Is(err, fs.ErrNotExist) {
		return l, fail("open", gitDir, err)
	}
	l.bare, err = checkConfig(l.commonDir)
	return l, err
}

// isGitDir applies git's own test: HEAD, objects and refs are there, the last
// two possibly in the common folder of a linked work tree.
func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	if _, err := os.Stat(filepath.Join(dir, "commondir")); err == nil {
		return true
	}
	for _, sub := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, sub)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

func hintAbove(dir string) string {
	for up := filepath.Dir(dir); up != dir; dir, up = up, filepath.Dir(up) {
		if l, ok, err := layoutAt(up); ok && err == nil && l.workTree != "" {
			return "it is a folder inside the repository " + up + "; give that path"
		}
	}
	return "make one with: git init"
}

// checkConfig refuses repositories in formats that cannot be read, rather than
// reading them wrongly, and reports core.bare.
func checkConfig(commonDir string) (bare bool, err error) {
	path := filepath.Join(commonDir, "config")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fail("open", path, err)
	}
	defer f.Close()
	cfg := config.New()
	if err := config.NewDecoder(f).Decode(cfg); err != nil {
		return false, &Error{Op: "read", Object: path, Err: fmt.Errorf("%w: %w", ErrCorrupt, err)}
	}
	if err := checkFormat(cfg); err != nil {
		return false, &Error{Op: "open", Object: commonDir, Err: err,
			Hint: "ratchet reads SHA-1 repositories with files for refs and all objects present"}
	}
	return strings.EqualFold(cfg.Section("core").Option("bare"), "true"), nil
}

func checkFormat(cfg *config.Config) error {
	switch v := cfg.Section("core").Option("repositoryformatversion"); v {
	case "", "0", "1":
	default:
		return fmt.Errorf("%w: repository format version %s", ErrUnsupported, v)
	}
	for _, o := range cfg.Section("extensions").Options {
		if !knownExtension(strings.ToLower(o.Key), strings.ToLower(o.Value)) {
			return fmt.Errorf("%w: repository extension %s = %s", ErrUnsupported, o.Key, o.Value)
		}
	}
	return nil
}

func knownExtension(key, value string) bool {
	switch key {
	case "objectformat":
		return value == "sha1"
	case "refstorage":
		return value == "files"
	case "noop", "noop-v1", "preciousobjects", "worktreeconfig", "relativeworktrees":
		return true
	}
	return false
}
