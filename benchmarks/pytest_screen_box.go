package benchmarks

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
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

// ready makes the box hold what was put and a server run in it.
func (b *forkBox) ready(ctx context.Context, python []string, env map[string]string) error {
	if b.server != nil {
		done, err := b.lay(ctx)
		if err == nil && done {
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), b.drop(ctx))
		}
		if err != nil { // the server ended between two programs
			if err := b.drop(ctx); err != nil {
				return err
			}
		}
	}
	if err := b.restore(ctx); err != nil {
		return err
	}
	server, err := startFork(ctx, b.current(), python, env, b.fork)
	if err != nil {
		return errors.Join(err, b.drop(ctx))
	}
	b.server = server
	return nil
}

// lay has the server make the box hold what was put. It reports false when that
// needs more than the server can do.
func (b *forkBox) lay(ctx context.Context) (bool, error) {
	request := forkLay{Op: "lay", Heal: b.stale}
	for p, l := range b.laid {
		switch {
		case l.wanted && l.present:
		case l.user != sandbox.Runner || l.file.Mode == model.ModeSymlink:
			return false, nil
		case l.wanted:
			request.Files = append(request.Files, forkFile{p, filePerm(l.file.Mode), l.file.Data})
		default:
			request.Delete = append(request.Delete, p)
		}
	}
	reply, err := b.server.ask(ctx, request, forkStart, 0)
	if err == nil && len(reply.Spoiled) > 0 {
		for _, p := range reply.Spoiled {
			l := b.laid[p]
			if l == nil || l.user != sandbox.Runner || l.file.Mode == model.ModeSymlink {
				return false, nil
			}
			request.Files = append(request.Files, forkFile{p, filePerm(l.file.Mode), l.file.Data})
		}
		reply, err = b.server.ask(ctx, request, forkStart, 0)
	}
	if err != nil || reply.Error != "" || len(reply.Spoiled) > 0 {
		return false, err
	}
	b.settled()
	return true, nil
}

func filePerm(mode uint32) uint32 {
	if mode == model.ModeExec {
		return 0o755
	}
	return 0o644
}

// settled notes that the box holds what was put.
func (b *forkBox) settled() {
	for p, l := range b.laid {
		if !l.wanted {
			delete(b.laid, p)
		}
		l.present = true
	}
	b.stale = false
}

// restore makes the box hold what was put, without a server: in another box when
// this one has ended.
func (b *forkBox) restore(ctx context.Context) error {
	used := b.server != nil || b.stale
	b.stop()
	err := b.fill(ctx, used)
	if !errors.Is(err, sandbox.ErrDead) || ctx.Err() != nil {
		return err
	}
	if err := b.drop(ctx); err != nil {
		return err
	}
	return b.fill(ctx, false)
}

// fill lays everything in, after what was there is removed.
func (b *forkBox) fill(ctx context.Context, reset bool) error {
	in, err := b.reopen(ctx)
	if err != nil {
		return err
	}
	if reset {
		if err := in.Reset(ctx); err != nil {
			return err
		}
	}
	type place struct {
		dir  string
		user sandbox.User
	}
	files := map[place][]model.File{}
	for _, l := range b.laid {
		if l.wanted {
			at := place{l.dir, l.user}
			files[at] = append(files[at], l.file)
		}
	}
	for at, list := range files {
		slices.SortFunc(list, func(x, y model.File) int { return strings.Compare(x.Path, y.Path) })
		if err := in.Put(ctx, at.dir, at.user, list); err != nil {
			return err
		}
	}
	b.settled()
	return nil
}

// reopen returns the box, or another in its place when it was dropped.
func (b *forkBox) reopen(ctx context.Context) (sandbox.Box, error) {
	if in := b.current(); in != nil {
		return in, nil
	}
	in, err := b.boxes.Open(ctx, b.spec)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errors.Join(&sandbox.Error{Op: "open", Object: "box", Err: sandbox.ErrDead, Hint: "it was closed"}, in.Close(ctx))
	}
	b.inner = in
	return in, nil
}

// stop ends the server, if one runs. What it dies of, the box tells who uses it next.
func (b *forkBox) stop() {
	if b.server != nil {
		_ = b.server.stop()
		b.server = nil
	}
}

// drop closes the box; another is opened when something is to run.
func (b *forkBox) drop(ctx context.Context) error {
	b.mu.Lock()
	in := b.inner
	b.inner = nil
	b.mu.Unlock()
	var err error
	if in != nil {
		err = in.Close(ctx)
	}
	b.stop()
	for _, l := range b.laid {
		l.present = false
	}
	return err
}

// Close removes the box.
func (b *forkBox) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	return b.drop(ctx)
}

// errForkSlow says that a server did not answer in time.
var errForkSlow = errors.New("the fork server does not answer")

// forkServer is a running fork server and the streams to it.
type forkServer struct {
	token string
	in    *io.PipeWriter
	out   *io.PipeReader
	kill  context.CancelFunc
	ended chan error // receives once
}

// startFork starts a server and waits until it is ready.
func startFork(ctx context.Context, box sandbox.Box, python []string, env map[string]string, f forkSpec) (*forkServer, error) {
	secret := make([]byte, forkToken/2)
	if _, err := rand.Read(secret); err != nil {
		return nil, err
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	s := &forkServer{token: hex.EncodeToString(secret), in: inW, out: outR, kill: kill, ended: make(chan error, 1)}
	cmd := sandbox.Command{
		Argv: append(slices.Clone(python), f.server), Env: env, User: sandbox.Runner,
		Stdin: inR, Stdout: outW, Timeout: forkEver, MaxOutput: 1 << 60,
	}
	go func() {
		o, err := box.Exec(life, cmd)
		if err == nil && len(o.Stderr) > 0 {
			err = errors.New(tailOf(o.Stderr))
		}
		_ = outW.CloseWithError(io.EOF)
		_ = inR.CloseWithError(io.ErrClosedPipe)
		s.ended <- err
	}()
	hello := forkHello{Token: s.token, Program: f.program, Folder: sandbox.WorkDir, Source: f.source,
		Roots: []string{sandbox.WorkDir, "/tmp", "/dev/shm"}}
	if _, err := s.ask(ctx, hello, forkStart, 0); err != nil {
		return nil, &sandbox.Error{Op: "start", Object: "the fork server", Err: errors.Join(err, s.stop()),
			Hint: "the image needs Python 3.7 or later"}
	}
	return s, nil
}

// ask sends a request and reads its reply. After an error the server is of no use.
func (s *forkServer) ask(ctx context.Context, request any, limit time.Duration, most int64) (forkReply, error) {
	slow := time.AfterFunc(limit, func() { s.abandon(errForkSlow) })
	defer slow.Stop()
	stop := context.AfterFunc(ctx, func() { s.abandon(context.Cause(ctx)) })
	defer stop()
	if err := writeForkRequest(s.in, request); err != nil {
		return forkReply{}, err
	}
	return readForkReply(s.out, s.token, most)
}

// abandon makes whatever waits for the server fail with err.
func (s *forkServer) abandon(err error) {
	_ = s.in.CloseWithError(io.EOF)
	_ = s.out.CloseWithError(err)
}

// stop ends the server, with its box when it does not end by itself, and returns
// what it had to say, if that is an error.
func (s *forkServer) stop() error {
	defer s.kill()
	s.abandon(io.ErrClosedPipe)
	patience := time.AfterFunc(forkGrace, s.kill)
	defer patience.Stop()
	return <-s.ended
}
