package repo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// syncDir makes the names in a folder durable.
func syncDir(dir string) error { return syncPath(dir) }

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncTree makes all folders below dir and the files written there durable.
// Files that are hard links are those of the source repository, which answers
// for their content; there may be tens of thousands of them.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			info, err := d.Info()
			if err != nil {
				return err
			}
			if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
				return nil
			}
		}
		return syncPath(path)
	})
}
