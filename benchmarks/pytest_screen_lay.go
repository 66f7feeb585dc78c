package benchmarks

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

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
