package checkup

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// space is what a file system has left.
type space struct {
	Free   int64  // bytes, for a user without privileges
	Device uint64 // tells file systems apart
	Remote string // kind of a file system on the network; empty for a local one
}

// spaceAt looks at the file system of a path that exists.
func spaceAt(path string) (space, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return space{}, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return space{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return space{Free: int64(fs.Bavail) * fs.Bsize, Device: st.Dev, Remote: remoteKinds[int64(fs.Type)]}, nil
}

// remoteKinds are the file systems on which SQLite's locks cannot be relied on.
var remoteKinds = map[int64]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "CIFS", unix.SMB2_SUPER_MAGIC: "SMB",
	unix.V9FS_MAGIC: "9p", unix.AFS_SUPER_MAGIC: "AFS", unix.CEPH_SUPER_MAGIC: "Ceph",
}

// writable says whether this process may make files in a folder, without making one.
func writable(folder string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, folder, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return &os.PathError{Op: "write to", Path: folder, Err: err}
	}
	return nil
}

// freeMemory is what the kernel can give to new programs without swapping, in bytes.
func freeMemory() (int64, error) {
	const path, key = "/proc/meminfo", "MemAvailable:"
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), key)
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		return kib << 10, err
	}
	return 0, fmt.Errorf("%s has no %s", path, key)
}

// clockKept says whether a time service keeps the kernel's clock; known is false
// when the kernel does not tell.
func clockKept() (kept, known bool) {
	var t unix.Timex // no mode is set, so it only reads
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return false, false
	}
	return state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, true
}
