package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"ratchet/sandbox/docker/internal/wire"
)

// reset leaves nothing of this user in the box: no process, file or System V
// object.
func reset() error {
	killOthers()
	var errs []error
	for _, dir := range []string{wire.WorkDir, "/tmp", "/dev/shm", "/dev/mqueue"} {
		if err := clean(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	removeIPC()
	errs = append(errs, makeHome())
	return errors.Join(errs...)
}

func mine(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// clean deletes what this user owns below dir, which it does not own itself.
func clean(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrPermission) {
		return nil // of another user, and closed to this one: nothing of ours can be in it
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		info, err := os.Lstat(p)
		if err != nil {
			continue // gone meanwhile
		}
		switch {
		case mine(info) && e.IsDir():
			err = removeTree(dir, p)
		case mine(info):
			err = os.Remove(p)
		case e.IsDir():
			err = clean(p)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// removeTree deletes a folder of this user. Folders inside it are first moved
// up beside it, one after the other: a path then never gets too long nor the
// descent too deep, however deep the tree was made.
func removeTree(parent, dir string) error {
	queue := []string{dir}
	for n := 0; len(queue) > 0; {
		d := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		_ = os.Chmod(d, 0o700)
		entries, err := os.ReadDir(d)
		if err != nil {
			return err
		}
		for _, e := range entries {
			n++
			up := filepath.Join(parent, ".reset-"+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(n))
			moved, err := removeEntry(filepath.Join(d, e.Name()), up, e.IsDir())
			if err != nil {
				return err
			}
			if moved {
				queue = append(queue, up)
			}
		}
		// It is not empty when another user made a folder in it; that one stays.
		if err := os.Remove(d); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
	}
	return nil
}

// removeEntry deletes a file, or moves a folder of this user up.
func removeEntry(p, up string, dir bool) (moved bool, err error) {
	if !dir {
		return false, os.Remove(p)
	}
	info, err := os.Lstat(p)
	if err != nil {
		return false, err
	}
	if !mine(info) {
		return false, clean(p)
	}
	_ = os.Chmod(p, 0o700) // to move a folder is to write to it
	return true, os.Rename(p, up)
}

// removeIPC deletes the System V objects of this user, which live until the
// box ends.
func removeIPC() {
	calls := map[string]uintptr{"shm": syscall.SYS_SHMCTL, "msg": syscall.SYS_MSGCTL, "sem": syscall.SYS_SEMCTL}
	for kind, call := range calls {
		for _, id := range ipcIDs("/proc/sysvipc/" + kind) {
			// IPC_RMID is 0 and the remaining arguments are not looked at.
			_, _, _ = syscall.Syscall(call, uintptr(id), 0, 0)
		}
	}
}

// ipcIDs reads the ids of this user's objects from a table in /proc/sysvipc.
func ipcIDs(file string) []int {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	head := strings.Fields(lines[0])
	idCol, uidCol := column(head, "shmid", "msqid", "semid"), column(head, "uid")
	var ids []int
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		if idCol < 0 || uidCol < 0 || len(f) != len(head) || f[uidCol] != strconv.Itoa(os.Getuid()) {
			continue
		}
		if id, err := strconv.Atoi(f[idCol]); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func column(head []string, names ...string) int {
	for i, h := range head {
		for _, n := range names {
			if h == n {
				return i
			}
		}
	}
	return -1
}
