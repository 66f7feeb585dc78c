package docker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
	units "github.com/docker/go-units"
	"github.com/google/uuid"

	"ratchet/sandbox"
	"ratchet/sandbox/docker/internal/wire"
)

// Labels on every box. On an image they are set to nothing, since a container
// inherits those of its image.
const (
	labelStack    = "ratchet.stack"
	labelEpoch    = "ratchet.epoch"
	labelDeadline = "ratchet.deadline" // RFC 3339
	labelPurpose  = "ratchet.purpose"
)

// startTime bounds how long a started box may take until it can be used.
const startTime = time.Minute

// cleanupTime bounds removing a box when the caller's context is done.
const cleanupTime = 30 * time.Second

// Small writable areas besides the work area.
const (
	tmpSize = 64 << 20
	shmSize = 64 << 20
)

// Open creates, hardens and starts a container, and refuses to hand it out
// unless the kernel shows every limit that was asked for.
func (e *Engine) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	return e.open(ctx, spec, false)
}

// open with writable leaves the root file system writable, for set-up.
func (e *Engine) open(ctx context.Context, spec sandbox.Spec, writable bool) (*box, error) {
	spec.Limits = withDefaults(spec.Limits)
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	cfg, host := e.containerConfig(spec)
	host.ReadonlyRootfs = !writable
	name := "ratchet-" + e.cfg.Stack + "-" + uuid.NewString()[:13]
	created, err := e.api.ContainerCreate(ctx, cfg, host, nil, nil, name)
	if err != nil {
		return nil, e.createError(spec, err)
	}
	b := newBox(e, created.ID, spec)
	if err := e.start(ctx, b, created.Warnings, !writable); err != nil {
		if cerr := b.Close(ctx); cerr != nil {
			err = errors.Join(err, cerr)
		}
		return nil, err
	}
	return b, nil
}

func withDefaults(l sandbox.Limits) sandbox.Limits {
	d := sandbox.DefaultLimits
	if l.CPUs == 0 {
		l.CPUs = d.CPUs
	}
	if l.Memory == 0 {
		l.Memory = d.Memory
	}
	if l.Pids == 0 {
		l.Pids = d.Pids
	}
	if l.Disk == 0 {
		l.Disk = d.Disk
	}
	if l.FileSize == 0 {
		l.FileSize = d.FileSize
	}
	if l.Lifetime == 0 {
		l.Lifetime = d.Lifetime
	}
	return l
}

// The helper itself needs some threads and memory.
const (
	minPids   = 64
	minMemory = 16 << 20
	minDisk   = 1 << 20
)

func checkSpec(s sandbox.Spec) error {
	l := s.Limits
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(l.CPUs < 0.01 || math.IsNaN(l.CPUs), "cpus %v is below 0.01", l.CPUs)
	bad(l.Memory < minMemory, "memory %d is below %d bytes", l.Memory, minMemory)
	bad(l.Pids < minPids, "pids %d is below %d", l.Pids, minPids)
	bad(l.Disk < minDisk, "disk %d is below %d bytes", l.Disk, minDisk)
	bad(l.FileSize < minDisk, "file size %d is below %d bytes", l.FileSize, minDisk)
	bad(l.Lifetime < time.Second, "lifetime %v is below a second", l.Lifetime)
	if len(errs) > 0 {
		return &sandbox.Error{Op: "open", Object: s.Image, Err: both(sandbox.ErrLimit, errors.Join(errs...))}
	}
	switch s.Network {
	case sandbox.NetworkNone, sandbox.NetworkOpen, "":
	default:
		return &sandbox.Error{Op: "open", Object: s.Image, Err: fmt.Errorf("unknown network %q", s.Network)}
	}
	if s.Image == "" {
		return &sandbox.Error{Op: "open", Object: "box", Err: sandbox.ErrNoImage, Hint: "prepare an image first"}
	}
	return nil
}

func (e *Engine) containerConfig(spec sandbox.Spec) (*container.Config, *container.HostConfig) {
	l := spec.Limits
	cfg := &container.Config{
		Image:      spec.Image,
		Hostname:   "box",
		User:       ids(sandbox.Builder),
		Entrypoint: []string{wire.Helper, "hold", l.Lifetime.String()},
		Cmd:        []string{},
		Env:        append(environ(spec.Env), "HOME="+home(sandbox.Builder)),
		WorkingDir: sandbox.WorkDir,
		Labels: map[string]string{
			labelStack: e.cfg.Stack, labelEpoch: strconv.FormatInt(e.cfg.Epoch, 10),
			labelDeadline: time.Now().Add(l.Lifetime + time.Minute).UTC().Format(time.RFC3339),
			labelPurpose:  spec.Purpose,
		},
		AttachStdout: true,
		Healthcheck:  &container.HealthConfig{Test: []string{"NONE"}}, // the image's would run beside the code under test
	}
	host := &container.HostConfig{
		AutoRemove:  true,
		NetworkMode: "none",
		IpcMode:     "private",
		CapDrop:     []string{"ALL"},
		SecurityOpt: []string{"no-new-privileges"},
		LogConfig:   container.LogConfig{Type: "none"},
		ShmSize:     min(shmSize, l.Disk),
		Tmpfs: map[string]string{
			sandbox.WorkDir: tmpfs(l.Disk),
			"/tmp":          tmpfs(min(tmpSize, l.Disk)),
		},
		Resources: container.Resources{
			Memory: l.Memory, MemorySwap: l.Memory,
			NanoCPUs: int64(l.CPUs * 1e9), PidsLimit: &l.Pids,
			Ulimits: []*units.Ulimit{
				{Name: "fsize", Soft: l.FileSize, Hard: l.FileSize},
				{Name: "nofile", Soft: 4096, Hard: 4096},
				{Name: "core"},
			},
		},
	}
	if spec.Network == sandbox.NetworkOpen {
		host.NetworkMode = "bridge"
	}
	return cfg, host
}

// tmpfs bounds bytes and files; every file may be as small as a page.
func tmpfs(size int64) string {
	return fmt.Sprintf("rw,exec,nosuid,nodev,mode=1777,size=%d,nr_inodes=%d", size, max(size>>12, 1<<16))
}

func ids(u sandbox.User) string {
	id := userID(u)
	return fmt.Sprintf("%d:%d", id, id)
}

func userID(u sandbox.User) int {
	if u == sandbox.Builder {
		return wire.BuilderID
	}
	return wire.RunnerID
}

// home is apart for each user, because programs read settings from there.
func home(u sandbox.User) string { return sandbox.WorkDir + "/home-" + string(u) }

func environ(env map[string]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out
}

func (e *Engine) createError(spec sandbox.Spec, err error) error {
	switch {
	case cerrdefs.IsNotFound(err):
		return &sandbox.Error{Op: "open", Object: spec.Image, Err: both(sandbox.ErrNoImage, err), Hint: "prepare the image again: it was removed"}
	case cerrdefs.IsInvalidArgument(err) && strings.Contains(err.Error(), "CPUs"):
		return &sandbox.Error{Op: "open", Object: spec.Image, Err: both(sandbox.ErrLimit, err), Hint: "ask for fewer CPUs"}
	}
	return e.wrap("open", spec.Image, err)
}

// start starts the container and reads the helper's report.
func (e *Engine) start(ctx context.Context, b *box, warnings []string, readOnly bool) error {
	for _, w := range warnings {
		if strings.Contains(w, "limit") || strings.Contains(w, "cgroup") {
			return &sandbox.Error{Op: "open", Object: b.spec.Image, Err: both(sandbox.ErrLimit, errors.New(w))}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	conn, err := e.api.ContainerAttach(ctx, b.id, container.AttachOptions{Stream: true, Stdout: true, Stderr: true})
	if err != nil {
		return e.wrap("attach to", b.id, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, conn.Close)
	defer stop()
	if err := e.api.ContainerStart(ctx, b.id, container.StartOptions{}); err != nil {
		return e.startError(b, err)
	}
	if readOnly { // not for set-up, where Runner has no part
		b.startEarly(sandbox.Runner)
	}
	r, err := readReport(conn.Reader)
	if err != nil {
		return e.wrap("start", b.spec.Image, errors.Join(ctx.Err(), err))
	}
	if err := verify(r, b.spec, readOnly); err != nil {
		return &sandbox.Error{Op: "open", Object: b.spec.Image, Err: err,
			Hint: "this engine cannot confine untrusted code; use one with the runc runtime and cgroups"}
	}
	return nil
}

func (e *Engine) startError(b *box, err error) error {
	if strings.Contains(err.Error(), wire.Helper) {
		return &sandbox.Error{Op: "start", Object: b.spec.Image, Err: both(sandbox.ErrNoImage, err),
			Hint: "the image has no helper in it: prepare it first"}
	}
	return e.wrap("start", b.spec.Image, err)
}

func readReport(r io.Reader) (wire.Report, error) {
	out, in := io.Pipe()
	defer out.Close()
	var stderr strings.Builder
	go func() {
		_, err := stdcopy.StdCopy(in, &stderr, r)
		_ = in.CloseWithError(errors.Join(err, io.EOF))
	}()
	var report wire.Report
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return report, fmt.Errorf("the box ended at once: %v: %s", err, strings.TrimSpace(stderr.String()))
	}
	if err := json.Unmarshal(line, &report); err != nil {
		return report, err
	}
	if report.Error != "" {
		return report, errors.New(report.Error)
	}
	return report, nil
}

// verify compares what the kernel enforces with what was asked for.
func verify(r wire.Report, spec sandbox.Spec, readOnly bool) error {
	l := spec.Limits
	var errs []error
	check := func(name string, ok bool, got any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v", name, got))
		}
	}
	page := int64(64 << 10) // sizes are rounded to pages
	check("memory", r.Memory > 0 && r.Memory <= l.Memory+page, r.Memory)
	check("swap", r.Swap == 0 || r.Swap < 0 && r.SwapOff, r.Swap)
	check("pids", r.Pids > 0 && r.Pids <= l.Pids, r.Pids)
	check("cpus", r.CPUs > 0 && r.CPUs <= l.CPUs*1.01, r.CPUs)
	check("disk", r.Disk > 0 && r.Disk <= l.Disk+page, r.Disk)
	check("file size", r.FileSize >= 0 && r.FileSize <= l.FileSize, r.FileSize)
	check("capabilities", strings.Trim(r.CapEff+r.CapBnd, "0") == "", r.CapEff+" of "+r.CapBnd)
	check("no_new_privs", r.NoNewPrivs, r.NoNewPrivs)
	check("seccomp", r.Seccomp == 2, r.Seccomp)
	check("read-only root", r.ReadOnly || !readOnly, r.ReadOnly)
	check("user", r.UID == wire.BuilderID, r.UID)
	if len(errs) == 0 {
		return nil
	}
	return both(sandbox.ErrLimit, errors.Join(errs...))
}
