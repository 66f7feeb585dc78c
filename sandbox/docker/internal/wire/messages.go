package wire

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// Inside every image that boxes run from.
const (
	// Helper is the path of the helper program.
	Helper = "/.ratchet/box"
	// WarmCache is a build cache that was filled when the image was made. It is
	// read-only in a box; the builder's helper links its entries into $GOCACHE.
	WarmCache = "/.ratchet/cache"
	// WorkDir is the root of the writable area, sandbox.WorkDir.
	WorkDir = "/box"
)

// Users inside a box. They need no entry in /etc/passwd.
const (
	BuilderID = 65532
	RunnerID  = 65533
)

// Op says what a request asks for.
type Op string

const (
	OpPut   Op = "put"   // lay Files below Dir; their bytes follow
	OpGet   Op = "get"   // send the regular file Path, at most Limit bytes
	OpList  Op = "list"  // send what is below the folder Path, Limit entries at most
	OpBatch Op = "batch" // Count OpRun requests follow, Parallel at once
	OpRun   Op = "run"   // only within a batch; the bytes of Files follow, then standard input
	OpReset Op = "reset" // kill and delete everything of this user
	OpIndex Op = "index" // list WarmCache in itself, before an image is frozen
)

// Request is what the host asks of the helper.
type Request struct {
	Op       Op       `json:"op"`
	Dir      string   `json:"dir,omitempty"`
	Path     string   `json:"path,omitempty"`
	Limit    int64    `json:"limit,omitempty"`
	Count    int      `json:"count,omitempty"`
	Parallel int      `json:"parallel,omitempty"`
	Files    []File   `json:"files,omitempty"`
	Shared   bool     `json:"shared,omitempty"` // everybody may make files in the folders of OpPut
	Run      *Command `json:"run,omitempty"`
}

// File announces one file; its bytes follow in KindData frames unless it is a
// symlink. Symlink is the target.
type File struct {
	Path    string `json:"path"`
	Exec    bool   `json:"exec,omitempty"`
	Symlink string `json:"symlink,omitempty"`
	Size    int64  `json:"size,omitempty"`
}

// Command is one program to run.
type Command struct {
	Index     int           `json:"index"`
	Argv      []string      `json:"argv"`
	Env       []string      `json:"env,omitempty"` // added to the helper's own
	Timeout   time.Duration `json:"timeout"`       // 0: the host watches the time
	MaxOutput int64         `json:"max_output"`
	Stdin     bool          `json:"stdin,omitempty"` // KindData frames up to KindEOF follow
}

// Hello is sent by the helper as soon as it listens.
type Hello struct {
	OOMKills int64 `json:"oom_kills"` // so far, in this box
}

// Ended says how a command ended.
type Ended struct {
	Index     int    `json:"index"`
	Code      int    `json:"code"`             // -1 when there is none
	Signal    string `json:"signal,omitempty"` // that ended it
	TimedOut  bool   `json:"timed_out,omitempty"`
	OOM       bool   `json:"oom,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
	OOMKills  int64  `json:"oom_kills"` // so far, in this box
	// Wall is the time from the start to the end of the command. The kernel's
	// clock is the host's, and the code under test cannot reach the helper.
	Wall time.Duration `json:"wall"`
	// Fault and Detail say why the command could not be tried.
	Fault  Fault  `json:"fault,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Fault names what went wrong with a request; empty for nothing.
type Fault string

const (
	FaultPath     Fault = "path"      // leaves the directory, or crosses a symlink
	FaultSpace    Fault = "space"     // no space left, or a file beyond the size limit
	FaultMissing  Fault = "missing"   // no such file
	FaultDenied   Fault = "denied"    // the user has no access
	FaultTooLarge Fault = "too_large" // more than the limit asked for
	FaultOther    Fault = "other"
)

// Reply ends a request.
type Reply struct {
	Fault  Fault  `json:"fault,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Report is printed by "box hold" as one line of JSON as soon as the box can be
// used: what the kernel really enforces, for the host to compare with what it
// asked for. A limit that cannot be read is -1.
type Report struct {
	Error      string  `json:"error,omitempty"`
	Memory     int64   `json:"memory"`    // bytes
	Swap       int64   `json:"swap"`      // bytes of swap on top of Memory; -1 when there is no accounting
	SwapOff    bool    `json:"swap_off"`  // the machine has no swap at all
	Pids       int64   `json:"pids"`      // processes and threads
	CPUs       float64 `json:"cpus"`      // quota / period
	Disk       int64   `json:"disk"`      // bytes in WorkDir
	FileSize   int64   `json:"file_size"` // bytes, RLIMIT_FSIZE
	CapEff     string  `json:"cap_eff"`   // hexadecimal mask
	CapBnd     string  `json:"cap_bnd"`   // hexadecimal mask
	NoNewPrivs bool    `json:"no_new_privs"`
	Seccomp    int     `json:"seccomp"`   // 2 is a filter
	ReadOnly   bool    `json:"read_only"` // the root file system
	UID        int     `json:"uid"`
}

// ErrPath is returned for a path that a box must not touch.
var ErrPath = errors.New("path leaves the directory")

// CheckPath accepts a clean, relative, slash-separated path that stays below
// its directory.
func CheckPath(p string) error {
	if p == "." || !fs.ValidPath(p) || strings.ContainsRune(p, 0) {
		return fmt.Errorf("%w: %q", ErrPath, p)
	}
	return nil
}

// CheckSymlink accepts a symlink at p (already checked) whose target stays
// below the directory, whatever other links there are, because it is judged
// by its text: relative, and never more steps up than p is deep.
func CheckSymlink(p, target string) error {
	if target == "" || path.IsAbs(target) || strings.ContainsRune(target, 0) {
		return fmt.Errorf("%w: symlink %q to %q", ErrPath, p, target)
	}
	joined := path.Join(path.Dir(p), target)
	if joined == ".." || strings.HasPrefix(joined, "../") {
		return fmt.Errorf("%w: symlink %q to %q", ErrPath, p, target)
	}
	return nil
}

// ReadFile copies the bytes of an announced file, size of them, to w. A w that
// fails leaves the stream in the middle of the file.
func (r *Reader) ReadFile(w io.Writer, size int64) error {
	for size > 0 {
		b, err := r.Expect(KindData)
		if err != nil {
			return err
		}
		if int64(len(b)) > size || len(b) == 0 {
			return fmt.Errorf("%w: data of another length than announced", ErrFrame)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		size -= int64(len(b))
	}
	return nil
}
