// Package sandbox is the contract under which untrusted code runs. The package
// docker implements it; sandboxtest is the suite that every implementation passes.
//
// Code in a box has no network, a read-only root, a work area of limited size at
// WorkDir, no capability, no new privileges, the default seccomp filter, a user
// that is not root, limits on processes, memory, CPU and file size, and neither
// the host's environment nor any secret.
package sandbox

import (
	"context"
	"io"
	"time"

	"ratchet/internal/model"
)

// WorkDir is the root of the writable area inside a box.
const WorkDir = "/box"

// User is an identity inside a box. There are two, so that what one has built
// the other can run but not rewrite.
type User string

const (
	// Builder owns what is compiled; nothing that a candidate wrote is executed as it.
	Builder User = "builder"
	// Runner executes the code under test.
	Runner User = "runner"
	// Shared, of Put only, lays files of Builder's in folders in which Runner may make
	// files of its own, but neither change nor remove what is Builder's.
	Shared User = "shared"
)

// Limits bound one box. Zero values are replaced by DefaultLimits.
type Limits struct {
	CPUs     float64       `json:"cpus"`
	Memory   int64         `json:"memory"`    // bytes, swap included
	Pids     int64         `json:"pids"`      // processes and threads
	Disk     int64         `json:"disk"`      // bytes in the work area
	FileSize int64         `json:"file_size"` // bytes in one file
	Lifetime time.Duration `json:"lifetime"`  // the box ends by itself after this, whatever happens to its owner
}

// DefaultLimits are used for every limit that is left zero.
var DefaultLimits = Limits{
	CPUs: 1, Memory: 1 << 30, Pids: 256, Disk: 512 << 20, FileSize: 256 << 20, Lifetime: time.Hour,
}

// Spec describes one box.
type Spec struct {
	Image   string            // as returned by an image preparation, or a local image's name
	Network Network           // NetworkNone unless a trusted set-up runs
	Limits  Limits            //
	Env     map[string]string // the whole environment, besides what the image declares
	Purpose string            // for people: a label on the box, for example "confirm chg-12"
}

// Network says what a box may reach.
type Network string

const (
	NetworkNone Network = "none"
	// NetworkOpen is for set-up commands on the trusted commit only.
	NetworkOpen Network = "open"
)

// Provider opens boxes. It is safe for concurrent use.
type Provider interface {
	// Open creates and starts a box. It fails with *Error; a box that was not
	// started completely has been removed. The caller must Close what it opened.
	Open(ctx context.Context, spec Spec) (Box, error)
}

// Box is one running sandbox. Its methods may be called one at a time, except
// Close, which is safe at any time, more than once, and ends what is running.
type Box interface {
	// ID is the implementation's id, for logs.
	ID() string
	// Put lays files below dir (absolute, inside WorkDir), owned by user, creating
	// folders. Existing files are replaced. Paths and symlinks that leave dir, and
	// symlinks in the way, are refused with ErrPath; ErrNoSpace leaves what was laid so far.
	Put(ctx context.Context, dir string, user User, files []model.File) error
	// Get reads a regular file inside WorkDir, at most limit bytes, as Runner;
	// symlinks are not followed anywhere on the path. A larger file is an error.
	Get(ctx context.Context, path string, limit int64) ([]byte, error)
	// List names everything below the folder dir, inside WorkDir, each folder before
	// what is in it and names in no particular order; symlinks are not followed
	// anywhere. It returns limit entries at most; complete says that there are no
	// more. What Runner itself may not read is EntryOther.
	List(ctx context.Context, dir string, limit int) (entries []Entry, complete bool, err error)
	// Exec runs one command. That the command failed, timed out or ran out of
	// memory is an Outcome; an error means the sandbox itself failed. Processes
	// that the command left behind are killed when it ends. After a time-out, an
	// out-of-memory kill or the end of ctx the box is dead: every later call
	// returns ErrDead. A Stdin whose Read never returns is left to its goroutine.
	Exec(ctx context.Context, cmd Command) (Outcome, error)
	// Batch runs commands in order (Parallel at once when more than 1) with the
	// cost of a single Exec. Each has its own time limit; when a command ends,
	// however it ends, every process that it left behind is killed when Parallel
	// is 1. A command that exceeds its time or memory, or kills what supervises it,
	// costs only itself: the box lives on. emit is called for each as it ends, from
	// one goroutine; its error ends the batch and is returned, and the box lives on.
	// The end of ctx kills the box.
	Batch(ctx context.Context, b Batch, emit func(i int, o Outcome) error) error
	// Reset kills every process of Runner and deletes every file in the work area
	// (and /tmp, /dev/shm) that is owned by Runner.
	Reset(ctx context.Context) error
	// Close kills the box with everything in it and removes it. It uses a context
	// of its own when ctx is already done.
	Close(ctx context.Context) error
}

// EntryKind says what an Entry is.
type EntryKind string

const (
	EntryFile   EntryKind = "file" // regular; Get reads it
	EntryFolder EntryKind = "folder"
	// EntryOther is a symlink, pipe, socket or device, a file that cannot be read, or
	// one whose name is no UTF-8 text.
	EntryOther EntryKind = "other"
)

// Entry is one thing below a folder that was listed.
type Entry struct {
	Path string // slash-separated, from that folder
	Kind EntryKind
	Exec bool  // its owner may execute it
	Size int64 // bytes, of a file
}

// Command is one program to run in a box, without a shell.
type Command struct {
	Argv      []string
	Dir       string            // absolute; WorkDir when empty
	User      User              // Runner when empty
	Env       map[string]string // added to the box's
	Stdin     io.Reader         // Exec only
	Input     []byte            // standard input in a Batch, which then goes on after the command; none when nil
	Timeout   time.Duration     // required
	MaxOutput int64             // bytes kept of each stream, the rest is counted and dropped; 1 MiB when zero
	// Stdout, when set, receives standard output as it arrives, up to MaxOutput,
	// and Outcome.Stdout stays empty. Exec only. The command waits for a Write
	// that takes its time; one that never returns holds up Exec. An error ends
	// the command and is what Exec returns; the box lives on.
	Stdout io.Writer
	// Files are laid in as User before the command runs, below Dir. Batch only.
	Files []model.File
}

// Batch is a list of commands for one Exec-like call, all run as one user.
type Batch struct {
	Commands []Command
	User     User
	Parallel int // commands at once, 1 when zero
}

// Outcome is how a command ended. At most one of TimedOut and OutOfMemory is set.
type Outcome struct {
	ExitCode    int    // -1 when there is none
	Signal      string // name of the signal that ended it, such as "killed"
	TimedOut    bool
	OutOfMemory bool
	Stdout      []byte
	Stderr      []byte
	Truncated   bool          // output exceeded MaxOutput
	Wall        time.Duration // from start to end, by a clock that the command cannot reach
}

// OK says that the command ran to its end and exited 0.
func (o Outcome) OK() bool {
	return o.ExitCode == 0 && o.Signal == "" && !o.TimedOut && !o.OutOfMemory
}
