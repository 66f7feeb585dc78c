package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// flood writes args[0] bytes, or without end, to both streams.
func flood(args []string) error {
	left := -1
	if len(args) > 0 {
		left = number(args[0])
	}
	chunk := []byte(strings.Repeat("y\n", 16<<10))
	for left != 0 {
		n := len(chunk)
		if left > 0 {
			n = min(n, left)
			left -= n
		}
		if _, err := os.Stdout.Write(chunk[:n]); err != nil {
			return err
		}
		if _, err := os.Stderr.Write(chunk[:n]); err != nil {
			return err
		}
	}
	return nil
}

// eat uses args[0] MiB of memory. With "child" somebody else does, and this
// process goes on.
func eat(args []string) error {
	if len(args) > 1 {
		cmd, err := spawn("eat", args[0])
		if err != nil {
			return err
		}
		fmt.Print("child: ", cmd.Wait())
		return errors.New("the child failed")
	}
	var kept [][]byte
	for range number(args[0]) {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		kept = append(kept, b)
	}
	fmt.Println("ate", len(kept))
	return nil
}

// fill writes to a file until that fails, and says how far it came.
func fill(args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	f, err := os.Create(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	chunk := make([]byte, 64<<10)
	total := 0
	for total < 8<<30 {
		n, err := f.Write(chunk)
		total += n
		if err != nil {
			why := "other: " + err.Error()
			switch {
			case errors.Is(err, syscall.ENOSPC):
				why = "no space"
			case errors.Is(err, syscall.EFBIG):
				why = "too big"
			}
			return json.NewEncoder(os.Stdout).Encode(map[string]any{"bytes": total, "why": why})
		}
	}
	return errors.New("no end in sight")
}

func limits([]string) error {
	var nofile, core syscall.Rlimit
	if err := errors.Join(syscall.Getrlimit(syscall.RLIMIT_NOFILE, &nofile), syscall.Getrlimit(syscall.RLIMIT_CORE, &core)); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]uint64{"nofile": nofile.Max, "core": core.Max})
}

// network reports what can be reached.
func network(args []string) error {
	out := map[string]any{}
	interfaces, err := net.Interfaces()
	if err != nil {
		return err
	}
	names := []string{}
	for _, i := range interfaces {
		names = append(names, i.Name)
	}
	out["interfaces"] = names
	for _, addr := range args {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		out[addr] = err == nil
		if err == nil {
			c.Close()
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	out["loopback"] = err == nil
	if err == nil {
		l.Close()
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// forbidden tries system calls that a box must refuse, and prints those that it did not.
func forbidden([]string) error {
	path := func(s string) uintptr { return uintptr(unsafe.Pointer(&append([]byte(s), 0)[0])) }
	tries := map[string][]uintptr{
		"mount":       {syscall.SYS_MOUNT, path("none"), path("/box"), path("tmpfs"), 0, 0},
		"unshare":     {syscall.SYS_UNSHARE, syscall.CLONE_NEWUSER, 0, 0, 0, 0},
		"chroot":      {syscall.SYS_CHROOT, path("/box"), 0, 0, 0, 0},
		"setuid":      {syscall.SYS_SETUID, 0, 0, 0, 0, 0},
		"sethostname": {syscall.SYS_SETHOSTNAME, path("x"), 1, 0, 0, 0},
		"keyctl":      {syscall.SYS_KEYCTL, 0, ^uintptr(2), 0, 0, 0},
		"bpf":         {sysBPF, 0, 0, 0, 0, 0},
	}
	var allowed []string
	for name, a := range tries {
		if _, _, errno := syscall.Syscall6(a[0], a[1], a[2], a[3], a[4], a[5], 0); errno != syscall.EPERM {
			allowed = append(allowed, fmt.Sprintf("%s: %v", name, errno))
		}
	}
	return json.NewEncoder(os.Stdout).Encode(allowed)
}

// writable places where things could be left behind.
var writable = []string{"/box", "/tmp", "/dev/shm", "/dev/mqueue"}

// litter leaves as much behind as it can: files, folders closed to everybody,
// a tree deeper than a path may be long, System V memory, and a process.
func litter([]string) error {
	for _, dir := range writable {
		f, err := os.OpenFile(filepath.Join(dir, "litter"), os.O_CREATE|os.O_RDWR, 0o400)
		if err != nil {
			return err
		}
		f.Close()
	}
	if err := errors.Join(os.MkdirAll("/box/closed/inner", 0o755), os.WriteFile("/box/closed/inner/f", nil, 0o000),
		os.Symlink("/etc/passwd", "/box/closed/link"), fifo([]string{"/tmp/pipe"}),
		os.Chmod("/box/closed/inner", 0), os.Chmod("/box/closed", 0)); err != nil {
		return err
	}
	if err := deep("/box/deep", 3000); err != nil {
		return err
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_SHMGET, 4711, 4096, 0o1600); errno != 0 { // IPC_CREAT
		return errno
	}
	_, err := spawn("hang")
	return err
}

func deep(dir string, levels int) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	for range levels {
		if err := os.Mkdir("d", 0o755); err != nil {
			return err
		}
		if err := os.Chdir("d"); err != nil {
			return err
		}
	}
	return os.WriteFile("bottom", nil, 0o644)
}

// owned lists some of what this user owns in the writable places, but for its home.
func owned([]string) error {
	found := []string{}
	for _, dir := range writable {
		_ = filepath.WalkDir(dir, func(p string, _ os.DirEntry, _ error) error {
			var st syscall.Stat_t
			if syscall.Lstat(p, &st) == nil && int(st.Uid) == os.Getuid() && p != os.Getenv("HOME") && len(found) < 20 {
				found = append(found, p)
			}
			return nil
		})
	}
	b, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		return err
	}
	if strings.Count(string(b), "\n") > 1 {
		found = append(found, "System V memory")
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

func fifo(args []string) error { return syscall.Mkfifo(args[0], 0o644) }

func stat(args []string) error {
	var st syscall.Stat_t
	if err := syscall.Lstat(args[0], &st); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]uint32{"uid": st.Uid, "mode": st.Mode & 0o7777})
}
