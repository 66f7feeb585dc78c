package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ratchet/sandbox/docker/internal/wire"
)

// Exit codes for a program that could not be started, as shells use them.
const (
	codeNotRunnable = 126
	codeNotFound    = 127
)

// drainTime is how long output is still read after a command has ended, when
// a process that it left behind holds the other end. Only commands that run
// side by side can leave one.
const drainTime = time.Second

// job is one command of a batch.
type job struct {
	*server
	cmd    wire.Command
	dir    string
	alone  bool  // no other command runs: everything else of this user may be killed
	failed error // its files could not be laid in

	expired   atomic.Bool
	truncated atomic.Bool
	pumped    sync.WaitGroup // standard input
	pumping   bool
}

// run runs the command to its end and reports it.
func (j *job) run() {
	before := oomKills()
	e := j.attempt()
	if j.alone {
		killOthers()
	}
	e.Index, e.OOMKills, e.Truncated = j.cmd.Index, oomKills(), j.truncated.Load()
	// Beside others it cannot be told whose process was killed, but that a
	// command was killed while somebody's was says enough.
	e.OOM = e.OOMKills > before && (j.alone || e.Signal == syscall.SIGKILL.String() && !e.TimedOut)
	if e.OOM {
		e.TimedOut = false
	}
	_ = j.out.WriteJSON(wire.KindEnded, e) // a host that is gone is noticed by the reader
}

func (j *job) attempt() wire.Ended {
	if j.failed != nil {
		r := faultOf(j.failed)
		return wire.Ended{Code: -1, Fault: r.Fault, Detail: r.Detail}
	}
	outR, outW, err1 := os.Pipe()
	errR, errW, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		return wire.Ended{Code: -1, Fault: wire.FaultOther, Detail: err.Error()}
	}
	cmd := j.command(outW, errW)
	started, err := j.stdin(cmd)
	if err != nil {
		return wire.Ended{Code: -1, Fault: wire.FaultOther, Detail: err.Error()}
	}
	var streams sync.WaitGroup
	streams.Go(func() { j.forward(wire.KindStdout, outR) })
	streams.Go(func() { j.forward(wire.KindStderr, errR) })
	_ = j.out.WriteIndexed(wire.KindStarted, j.cmd.Index, nil)
	began := time.Now()
	err = cmd.Start()
	outW.Close()
	errW.Close()
	started()
	if err != nil {
		streams.Wait()
		return j.notStarted(err)
	}
	// Where memory runs out, the command is to die, not this helper.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", cmd.Process.Pid), []byte("500"), 0)
	e := j.wait(cmd)
	e.Wall = time.Since(began)
	drain(&streams, outR, errR)
	return e
}

func (j *job) command(stdout, stderr *os.File) *exec.Cmd {
	env := append(os.Environ(), j.cmd.Env...)
	return &exec.Cmd{
		Path: lookPath(j.cmd.Argv[0], env), Args: j.cmd.Argv, Dir: j.dir, Env: env,
		Stdout: stdout, Stderr: stderr,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
}

// lookPath finds a program in the PATH that the command will have; a name that
// is not found is left as it is, so that starting it fails with a clear error.
func lookPath(name string, env []string) string {
	if strings.Contains(name, "/") {
		return name
	}
	dirs := ""
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			dirs = v
		}
	}
	for _, dir := range filepath.SplitList(dirs) {
		full := filepath.Join(dir, name)
		if st, err := os.Stat(full); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return full
		}
	}
	return name
}

func (j *job) notStarted(err error) wire.Ended {
	code := codeNotRunnable
	if errors.Is(err, os.ErrNotExist) {
		code = codeNotFound
	}
	_ = j.out.WriteIndexed(wire.KindStderr, j.cmd.Index, []byte("cannot start: "+err.Error()+"\n"))
	return wire.Ended{Code: code}
}

// wait waits for the command, for as long as its time limit allows.
func (j *job) wait(cmd *exec.Cmd) wire.Ended {
	if j.cmd.Timeout > 0 {
		over := make(chan struct{})
		t := time.AfterFunc(j.cmd.Timeout, func() {
			defer close(over)
			j.expired.Store(true)
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			if j.alone {
				killOthers()
			}
		})
		defer func() {
			if !t.Stop() {
				<-over // it kills everybody, and must not meet the next command
			}
		}()
	}
	state, err := cmd.Process.Wait()
	if err != nil {
		return wire.Ended{Code: -1, Fault: wire.FaultOther, Detail: err.Error()}
	}
	if !j.alone {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its group, at least
	} else {
		killOthers()
	}
	e := wire.Ended{Code: state.ExitCode()}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = ws.Signal().String()
		e.TimedOut = j.expired.Load()
	}
	return e
}

// stdin connects the command's standard input to the frames that follow, or to
// nothing. The returned function lets go of the command's end.
func (j *job) stdin(cmd *exec.Cmd) (func(), error) {
	if !j.cmd.Stdin {
		return func() {}, nil // os/exec opens the null device
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, j.pumping = r, true
	j.pumped.Go(func() {
		defer w.Close()
		j.pump(w)
	})
	return func() { r.Close() }, nil
}

// drained returns when the frames of standard input have been read, also those
// of a command that could not be tried.
func (j *job) drained() {
	j.pumped.Wait()
	if !j.pumping {
		j.pump(io.Discard)
	}
}

func (j *job) pump(w io.Writer) {
	for {
		f, err := j.in.Next()
		if err != nil || f.Kind != wire.KindData {
			return
		}
		_, _ = w.Write(f.Payload) // a command need not read its input
	}
}

// forward sends a stream up to its cap and drops the rest, so that the command
// never waits for a reader.
func (j *job) forward(k wire.Kind, r *os.File) {
	left := j.cmd.MaxOutput
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if keep := min(int64(n), left); keep > 0 {
			_ = j.out.WriteIndexed(k, j.cmd.Index, buf[:keep])
			left -= keep
			n -= int(keep)
		}
		if n > 0 {
			j.truncated.Store(true)
		}
		if err != nil {
			return
		}
	}
}

// drain waits for both streams to end and closes them, by force when a process
// that was left behind keeps them open.
func drain(streams *sync.WaitGroup, files ...*os.File) {
	done := make(chan struct{})
	go func() { streams.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(drainTime):
	}
	for _, f := range files {
		f.Close()
	}
	<-done
}
