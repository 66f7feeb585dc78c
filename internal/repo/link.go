package repo

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// objectStores lists an objects folder and, transitively, its alternates.
func objectStores(objects string) ([]string, error) {
	todo, seen := []string{objects}, map[string]bool{}
	var out []string
	for len(todo) > 0 {
		dir := filepath.Clean(todo[0])
		todo = todo[1:]
		if seen[dir] {
			continue
		}
		seen[dir] = true
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, &Error{Op: "import", Object: dir, Err: fmt.Errorf("%w: the objects folder is missing", ErrCorrupt),
				Hint: "it is named in objects/info/alternates of " + filepath.Dir(objects)}
		}
		out = append(out, dir)
		more, err := alternates(dir)
		if err != nil {
			return nil, err
		}
		todo = append(todo, more...)
	}
	return out, nil
}

func alternates(objects string) ([]string, error) {
	f, err := os.Open(filepath.Join(objects, "info", "alternates"))
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fail("import", objects, err)
	}
	defer f.Close()
	var out []string
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		line := strings.TrimRight(sc.Text(), "\r")
		if line == "" || line[0] == '#' {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(objects, line)
		}
		out = append(out, line)
	}
	return out, fail("import", objects, sc.Err())
}

// linkObjects gives dst all objects of src by hard link, or copies them. It
// starts over when the source is repacked meanwhile.
func linkObjects(ctx context.Context, src, dst string, copyAll bool) error {
	err := fs.ErrNotExist
	for tries := 0; tries < 10 && errors.Is(err, fs.ErrNotExist); tries++ {
		// Loose objects before packs: git packs an object before it removes the
		// loose file, so this order cannot miss one.
		if err = linkLoose(ctx, src, dst, copyAll); err == nil {
			err = linkPacks(ctx, src, dst, copyAll)
		}
	}
	return err
}

func linkLoose(ctx context.Context, src, dst string, copyAll bool) error {
	dirs, err := os.ReadDir(src)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		if len(d.Name()) != 2 || !isHex(d.Name()) || !d.IsDir() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		from, to := filepath.Join(src, d.Name()), filepath.Join(dst, d.Name())
		if err := linkLooseDir(from, to, copyAll); err != nil {
			return err
		}
	}
	return nil
}

func linkLooseDir(from, to string, copyAll bool) error {
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	for _, f := range files {
		if len(f.Name()) != 38 || !isHex(f.Name()) {
			continue
		}
		if err := linkFile(filepath.Join(from, f.Name()), filepath.Join(to, f.Name()), copyAll); err != nil {
			return err
		}
	}
	return nil
}

// linkPacks links each pack that has an index under the name that go-git wants:
// pack-<checksum of the pack>. git also writes others, such as loose-….pack.
func linkPacks(ctx context.Context, src, dst string, copyAll bool) error {
	entries, err := os.ReadDir(filepath.Join(src, "pack"))
	if err != nil && !absent(err) {
		return err
	}
	for _, e := range entries {
		base, isPack := strings.CutSuffix(e.Name(), ".pack")
		from := filepath.Join(src, "pack", base)
		if !isPack || !exists(from+".idx") {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		sum, err := packChecksum(from + ".pack")
		if err != nil {
			return err
		}
		to := filepath.Join(dst, "pack", "pack-"+sum)
		for _, ext := range []string{".pack", ".idx"} {
			if err := linkFile(from+ext, to+ext, copyAll); err != nil {
				return err
			}
		}
	}
	return nil
}

// packChecksum reads the SHA-1 that ends every pack.
func packChecksum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := f.Seek(-20, io.SeekEnd); err != nil {
		return "", damaged("import", path, err)
	}
	sum := make([]byte, 20)
	if _, err := io.ReadFull(f, sum); err != nil {
		return "", damaged("import", path, err)
	}
	return hex.EncodeToString(sum), nil
}

// linkFile links, or copies where that is not possible: another device, a file
// of another user, too many links.
func linkFile(from, to string, copyAll bool) error {
	if !copyAll {
		err := os.Link(from, to)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if exists(to) {
		return nil
	}
	return copyFile(from, to)
}

// copyFile copies under a temporary name, since a pass may be repeated and must
// not take half a file for a whole one.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), tmpObject)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(0o444), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		_ = os.Remove(out.Name())
	}
	return err
}
