//go:build !linux

package repo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// syncTree makes everything below dir durable.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}
