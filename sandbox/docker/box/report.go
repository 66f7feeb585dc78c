package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"ratchet/sandbox/docker/internal/wire"
)

const cgroup = "/sys/fs/cgroup"

// report reads back what the kernel enforces on this process.
func report() wire.Report {
	r := wire.Report{
		Memory: firstNumber("memory.max", "memory/memory.limit_in_bytes"),
		Pids:   firstNumber("pids.max", "pids/pids.max"),
		CPUs:   cpus(), FileSize: -1, Disk: -1, UID: os.Getuid(),
		Swap: swap(), SwapOff: noSwap(),
	}
	var lim syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_FSIZE, &lim) == nil && lim.Max <= 1<<62 {
		r.FileSize = int64(lim.Max)
	}
	var st syscall.Statfs_t
	if syscall.Statfs(wire.WorkDir, &st) == nil {
		r.Disk = int64(st.Blocks) * st.Bsize
	}
	if syscall.Statfs("/", &st) == nil {
		const readOnly = 1 // ST_RDONLY
		r.ReadOnly = st.Flags&readOnly != 0
	}
	status(&r)
	return r
}

// status fills in what /proc/self/status says.
func status(r *wire.Report) {
	b, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "CapEff":
			r.CapEff = value
		case "CapBnd":
			r.CapBnd = value
		case "NoNewPrivs":
			r.NoNewPrivs = value == "1"
		case "Seccomp":
			r.Seccomp, _ = strconv.Atoi(value)
		}
	}
}

// firstNumber reads the number in the first of the cgroup files that exists
// (version 2, then version 1); -1 for none or no limit.
func firstNumber(names ...string) int64 {
	for _, name := range names {
		b, err := os.ReadFile(cgroup + "/" + name)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	return -1
}

// swap is what may be swapped out on top of the memory limit. Version 1 counts
// both together.
func swap() int64 {
	if n := firstNumber("memory.swap.max"); n >= 0 {
		return n
	}
	both := firstNumber("memory/memory.memsw.limit_in_bytes")
	if both < 0 {
		return -1
	}
	return both - firstNumber("memory/memory.limit_in_bytes")
}

func noSwap() bool {
	b, err := os.ReadFile("/proc/swaps")
	return err == nil && strings.Count(strings.TrimSpace(string(b)), "\n") == 0
}

func cpus() float64 {
	if b, err := os.ReadFile(cgroup + "/cpu.max"); err == nil {
		f := strings.Fields(string(b))
		if len(f) == 2 {
			return ratio(f[0], f[1])
		}
		return -1
	}
	quota, err1 := os.ReadFile(cgroup + "/cpu/cpu.cfs_quota_us")
	period, err2 := os.ReadFile(cgroup + "/cpu/cpu.cfs_period_us")
	if err1 != nil || err2 != nil {
		return -1
	}
	return ratio(string(quota), string(period))
}

func ratio(a, b string) float64 {
	x, err1 := strconv.ParseFloat(strings.TrimSpace(a), 64)
	y, err2 := strconv.ParseFloat(strings.TrimSpace(b), 64)
	if err1 != nil || err2 != nil || x <= 0 || y <= 0 {
		return -1
	}
	return x / y
}

// oomKills is the number of processes in this box that were killed because
// memory ran out; the kernel counts them before the process is gone.
func oomKills() int64 {
	for _, name := range []string{"/memory.events", "/memory/memory.oom_control"} {
		b, err := os.ReadFile(cgroup + name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) == 2 && f[0] == "oom_kill" {
				n, _ := strconv.ParseInt(f[1], 10, 64)
				return n
			}
		}
	}
	return 0
}
