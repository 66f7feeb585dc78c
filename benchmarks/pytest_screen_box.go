package benchmarks

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"sync"
	"syscall"
	"time"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

const (
	// forkGrace is how much longer than a program's own limit the host waits for
	// the server to have killed it, before it kills the box.
	forkGrace = 10 * time.Second
	// forkStart is how long a server may take to start, or to lay files in.
	forkStart = time.Minute
	// forkEver is the limit of a server, which the box does not outlive.
	forkEver = 365 * 24 * time.Hour
)

// forkSpec says how programs are forked instead of started.
type forkSpec struct {
	server  string // path of the server in the box
	program string // path of the program in the box
	source  string // folder of the code under test
}

// forkBox is a box in which one Python program is forked from a server that has
// imported what each run of it needs, where another box starts it afresh. Files
// are laid in only where they differ from what is there. A program that breaks the
// server or the box costs only itself: what was laid in is laid into another.
//
// It keeps the contract of sandbox.Box, but that files cannot be laid in without
// the next Batch saying so.
type forkBox struct {
	boxes sandbox.Provider
	spec  sandbox.Spec
	fork  forkSpec

	laid  map[string]*forkLaid // by absolute path
	stale bool                 // something ran, or Reset was called, since the last lay

	server *forkServer // nil when none runs

	mu     sync.Mutex
	inner  sandbox.Box // nil when there is none
	closed bool
}

// forkLaid is a file that was laid in, or is to be.
type forkLaid struct {
	dir     string
	user    sandbox.User
	file    model.File
	present bool // in the box
	wanted  bool // since the last Reset
}

// openFork opens a box in which fork.program can be forked.
func openFork(ctx context.Context, boxes sandbox.Provider, spec sandbox.Spec, fork forkSpec) (*forkBox, error) {
	inner, err := boxes.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &forkBox{boxes: boxes, spec: spec, fork: fork, inner: inner, laid: map[string]*forkLaid{}}, nil
}

var _ sandbox.Box = (*forkBox)(nil)

func (b *forkBox) current() sandbox.Box {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inner
}

func (b *forkBox) ID() string {
	if in := b.current(); in != nil {
		return in.ID()
	}
	return "closed"
}

// Put notes files, which are laid in when something is to run.
func (b *forkBox) Put(_ context.Context, dir string, user sandbox.User, files []model.File) error {
	for _, f := range files {
		p := path.Join(dir, f.Path)
		old := b.laid[p]
		if old != nil && old.user == user && old.file.Mode == f.Mode && same(old.file.Data, f.Data) {
			old.wanted = true
			continue
		}
		b.laid[p] = &forkLaid{dir: dir, user: user, file: f, wanted: true}
	}
	return nil
}

// same compares contents, which mostly are one and the same slice.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || bytes.Equal(a, b))
}

// Reset forgets Runner's files; those that are put again are left where they are.
func (b *forkBox) Reset(context.Context) error {
	for _, l := range b.laid {
		if l.user == sandbox.Runner {
			l.wanted = false
		}
	}
	b.stale = true
	return nil
}

func (b *forkBox) Get(ctx context.Context, p string, limit int64) ([]byte, error) {
	if err := b.bare(ctx); err != nil {
		return nil, err
	}
	return b.current().Get(ctx, p, limit)
}

func (b *forkBox) List(ctx context.Context, dir string, limit int) ([]sandbox.Entry, bool, error) {
	if err := b.bare(ctx); err != nil {
		return nil, false, err
	}
	return b.current().List(ctx, dir, limit)
}

func (b *forkBox) Exec(ctx context.Context, cmd sandbox.Command) (sandbox.Outcome, error) {
	if err := b.bare(ctx); err != nil {
		return sandbox.Outcome{}, err
	}
	b.stale = true
	return b.current().Exec(ctx, cmd)
}

// bare ends the server, so that the box can be used without it, and lays in what
// was put.
func (b *forkBox) bare(ctx context.Context) error {
	return b.restore(ctx)
}

// Batch forks the program for each command that runs it; others are started in
// the box without the server.
func (b *forkBox) Batch(ctx context.Context, batch sandbox.Batch, emit func(int, sandbox.Outcome) error) error {
	for i, cmd := range batch.Commands {
		o, err := b.one(ctx, batch.User, cmd)
		if err != nil {
			return err
		}
		if err := emit(i, o); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (b *forkBox) one(ctx context.Context, user sandbox.User, cmd sandbox.Command) (o sandbox.Outcome, err error) {
	if len(cmd.Files) > 0 {
		if err := b.Put(ctx, orWorkDir(cmd.Dir), user, cmd.Files); err != nil {
			return o, err
		}
	}
	at := slices.Index(cmd.Argv, b.fork.program)
	if at < 1 || user == sandbox.Builder {
		if err := b.bare(ctx); err != nil {
			return o, err
		}
		b.stale = true
		cmd.Files = nil
		err = b.current().Batch(ctx, sandbox.Batch{Commands: []sandbox.Command{cmd}, User: user}, func(_ int, x sandbox.Outcome) error {
			o = x
			return nil
		})
		return o, err
	}
	if err := b.ready(ctx, cmd.Argv[:at], cmd.Env); err != nil {
		return o, err
	}
	b.stale = true
	return b.run(ctx, cmd, cmd.Argv[at+1:])
}

func orWorkDir(dir string) string {
	if dir == "" {
		return sandbox.WorkDir
	}
	return dir
}

// run has a program forked. A server that does not answer has been broken by the
// program; the next one runs in a new box.
func (b *forkBox) run(ctx context.Context, cmd sandbox.Command, args []string) (sandbox.Outcome, error) {
	limit := cmd.MaxOutput
	if limit <= 0 {
		limit = 1 << 20
	}
	start := time.Now()
	reply, err := b.server.ask(ctx, forkRun{
		Op: "run", Args: args, Env: cmd.Env, Dir: orWorkDir(cmd.Dir), Limit: cmd.Timeout.Seconds(), Max: limit,
	}, cmd.Timeout+forkGrace, limit)
	o := sandbox.Outcome{Wall: time.Since(start), ExitCode: -1}
	if err != nil {
		if ctx.Err() != nil {
			return o, errors.Join(ctx.Err(), b.drop(ctx))
		}
		o.TimedOut = errors.Is(err, errForkSlow)
		if !o.TimedOut {
			o.Signal = "killed"
		}
		return o, b.drop(ctx)
	}
	o.Stdout, o.Stderr, o.Truncated = reply.Stdout, reply.Stderr, reply.Truncated
	o.ExitCode, o.TimedOut, o.OutOfMemory = reply.Code, reply.TimedOut && !reply.OOM, reply.OOM
	if reply.Signal != 0 {
		o.ExitCode, o.Signal = -1, syscall.Signal(reply.Signal).String()
	}
	return o, nil
}
