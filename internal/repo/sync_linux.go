package repo

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncTree makes everything on the file system of dir durable: one call, where
// a linked repository may have tens of thousands of files.
func syncTree(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
