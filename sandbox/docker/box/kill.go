package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A box has one helper of each user at a time, and the latest counts: before it
// greets the host it kills every process of its user, helpers that came before
// included. One of those may be at work still, because the host let go of it in the
// middle of a batch. It must then not kill its successor, so it looks for one before
// it kills anything. Code under test cannot pass for one: only a process that the
// engine has started in the box has its parent outside.

// takeOver kills every process of this user but this one and the first, and returns
// when none is left alive.
func takeOver() {
	for {
		_ = syscall.Kill(-1, syscall.SIGKILL)
		if len(others()) == 0 {
			return
		}
		pause()
	}
}

// killOthers is takeOver for a helper that is at work already. It does not return
// when there is a successor.
func killOthers() {
	for {
		if slices.ContainsFunc(others(), process.helper) {
			os.Exit(0)
		}
		_ = syscall.Kill(-1, syscall.SIGKILL)
		if len(others()) == 0 {
			return
		}
		pause()
	}
}

func pause() { time.Sleep(100 * time.Microsecond) }

// process is what /proc/PID/status says.
type process struct {
	parent  string // 0 when that is outside the box
	user    string
	state   string
	threads string
}

func (p process) helper() bool { return p.parent == "0" }

// alive says whether any thread can still run: the state is that of the first, which
// may have ended before the rest.
func (p process) alive() bool {
	return p.state != "Z" && p.state != "X" || p.threads != "1"
}

// others lists the living processes of this user besides this one and the first. The
// owner of a folder in /proc would not tell whose one is: it is root for a process
// that made itself untraceable.
func others() []process {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var out []process
	self, user := os.Getpid(), strconv.Itoa(os.Getuid())
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == 1 || pid == self {
			continue
		}
		status, err := os.ReadFile("/proc/" + name + "/status")
		if p := readStatus(string(status)); err == nil && p.user == user && p.alive() {
			out = append(out, p)
		}
	}
	return out
}

func readStatus(status string) process {
	var p process
	fields := map[string]*string{"State:": &p.state, "PPid:": &p.parent, "Uid:": &p.user, "Threads:": &p.threads}
	for line := range strings.Lines(status) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		if to := fields[f[0]]; to != nil {
			*to = f[1]
		}
	}
	return p
}
