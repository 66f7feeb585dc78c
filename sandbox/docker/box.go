package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"ratchet/internal/model"
	"ratchet/sandbox"
	"ratchet/sandbox/docker/internal/wire"
)

// box is one container. op serialises the methods that use a session;
// Close may come at any time.
type box struct {
	engine *Engine
	id     string
	spec   sandbox.Spec

	life context.Context // until Close
	end  context.CancelCauseFunc

	op       sync.Mutex
	sessions map[sandbox.User]*session
	oomKills int64                         // as last heard from a helper
	early    map[sandbox.User]chan dialled // helpers that are being started ahead of their use

	mu    sync.Mutex
	ended bool // killed: no further call can work

	closing sync.Mutex
	closed  bool // the container is gone
}

var _ sandbox.Box = (*box)(nil)

func newBox(e *Engine, id string, spec sandbox.Spec) *box {
	life, end := context.WithCancelCause(context.Background())
	return &box{engine: e, id: id, spec: spec, life: life, end: end,
		sessions: map[sandbox.User]*session{}, early: map[sandbox.User]chan dialled{}}
}

// during is ctx, ended by Close as well.
func (b *box) during(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.life, func() { cancel(sandbox.ErrDead) })
	return ctx, func() { stop(); cancel(nil) }
}

// ID is the container's id.
func (b *box) ID() string { return b.id }

func (b *box) dead() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}

// kill ends every process in the box at once.
func (b *box) kill() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTime)
	defer cancel()
	if err := b.engine.api.ContainerKill(ctx, b.id, "KILL"); err != nil && !gone(err) {
		b.engine.log.Warn("a box could not be killed", "box", b.id, "error", err)
	}
}

func gone(err error) bool { return cerrdefs.IsNotFound(err) || cerrdefs.IsConflict(err) }

// Close removes the container. It may be called again: beside the first call
// it waits for that, after one that failed it tries once more.
func (b *box) Close(ctx context.Context) error {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.end(sandbox.ErrDead)
	b.closing.Lock()
	defer b.closing.Unlock()
	if b.closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	if err := b.engine.remove(ctx, b.id); err != nil {
		return err
	}
	b.closed = true
	b.op.Lock() // what was under way has lost its connection by now
	defer b.op.Unlock()
	for _, u := range []sandbox.User{sandbox.Builder, sandbox.Runner} {
		b.drop(u)
	}
	return nil
}

// remove kills and removes a container and returns when it is gone.
func (e *Engine) remove(ctx context.Context, id string) error {
	waited, failed := e.api.ContainerWait(ctx, id, container.WaitConditionRemoved)
	err := e.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	switch {
	case err == nil || cerrdefs.IsNotFound(err):
		return nil
	case !cerrdefs.IsConflict(err):
		return e.wrap("remove", id, err)
	}
	select { // its own end is already removing it
	case <-waited:
		return nil
	case err := <-failed:
		if cerrdefs.IsNotFound(err) {
			return nil
		}
		return e.wrap("remove", id, err)
	}
}

// session returns the helper of a user, starting one when there is none.
func (b *box) session(ctx context.Context, user sandbox.User) (*session, error) {
	if b.dead() {
		return nil, sandbox.ErrDead
	}
	b.take(user)
	if s := b.sessions[user]; s != nil {
		return s, nil
	}
	return b.renew(ctx, user)
}

// renew starts a helper, which kills the one before.
func (b *box) renew(ctx context.Context, user sandbox.User) (*session, error) {
	if b.dead() {
		return nil, sandbox.ErrDead
	}
	b.take(user)
	s, hello, err := b.engine.dial(ctx, b.id, user)
	if err != nil {
		return nil, err
	}
	b.drop(user)
	b.oomKills = hello.OOMKills
	b.sessions[user] = s
	return s, nil
}

type dialled struct {
	s     *session
	hello wire.Hello
}

// startEarly starts a helper that will be there when it is needed. For Runner, while
// Builder lays in a tree and compiles it, that costs nobody any time; and commands of
// a helper before it end then, whatever the box does next. Close ends it.
func (b *box) startEarly(user sandbox.User) {
	early := make(chan dialled, 1)
	b.early[user] = early
	go func() {
		ctx, cancel := context.WithTimeout(b.life, startTime)
		defer cancel()
		s, hello, err := b.engine.dial(ctx, b.id, user)
		if err != nil { // whoever needs it tries again, and hears why
			b.engine.log.Debug("a helper could not be started ahead", "box", b.id, "error", err)
		}
		early <- dialled{s, hello}
	}()
}

// take makes the helper that was started ahead the present one.
func (b *box) take(user sandbox.User) {
	early := b.early[user]
	if early == nil {
		return
	}
	d := <-early
	delete(b.early, user)
	if d.s != nil {
		b.sessions[user], b.oomKills = d.s, max(b.oomKills, d.hello.OOMKills)
	}
}

func (b *box) drop(user sandbox.User) {
	b.take(user)
	if s := b.sessions[user]; s != nil {
		s.close()
		<-s.done
		delete(b.sessions, user)
	}
}

// closeWhenDone closes a session at the end of ctx, until the returned function is
// called. What was closed is not used again, even when it had answered by then.
func (b *box) closeWhenDone(ctx context.Context, user sandbox.User, s *session) func() {
	stop := context.AfterFunc(ctx, s.close)
	return func() {
		if !stop() && b.sessions[user] == s {
			b.drop(user)
		}
	}
}

// failure explains why a call on a session failed: the box may be dead, the
// engine away, or only the helper gone.
func (b *box) failure(ctx context.Context, op, object string, user sandbox.User, err error) error {
	dead := b.dead()
	if !dead && ctx.Err() != nil {
		b.kill() // whatever was under way must not go on
	}
	b.drop(user)
	if dead {
		return &sandbox.Error{Op: op, Object: object, Err: sandbox.ErrDead}
	}
	if ctx.Err() != nil {
		return &sandbox.Error{Op: op, Object: object, Err: context.Cause(ctx)}
	}
	probe, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	state, ierr := b.engine.api.ContainerInspect(probe, b.id)
	switch {
	case ierr != nil && !cerrdefs.IsNotFound(ierr):
		return b.engine.wrap(op, object, ierr)
	case ierr != nil || state.State == nil || !state.State.Running:
		b.mu.Lock()
		b.ended = true
		b.mu.Unlock()
		return &sandbox.Error{Op: op, Object: object, Err: both(sandbox.ErrDead, err)}
	}
	return &sandbox.Error{Op: op, Object: object, Err: err}
}

// endTime is how long a container that refuses a new process is given to end.
const endTime = 2 * time.Second

// noHelper explains why a helper could not be started: most likely the box is
// about to end, while the engine still calls it running.
func (b *box) noHelper(ctx context.Context, op, object string, user sandbox.User, err error) error {
	if !b.dead() && ctx.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, endTime)
		ended, failed := b.engine.api.ContainerWait(wait, b.id, container.WaitConditionNotRunning)
		select {
		case <-ended:
		case <-failed:
		}
		cancel()
	}
	return b.failure(ctx, op, object, user, err)
}

// call sends one request that is neither a command nor a batch.
func (b *box) call(ctx context.Context, object string, user sandbox.User, r wire.Request, files []model.File, data func([]byte) error) error {
	b.op.Lock()
	defer b.op.Unlock()
	ctx, release := b.during(ctx)
	defer release()
	op := string(r.Op)
	helper := b.session
	if r.Op == wire.OpReset {
		helper = b.renew
	}
	s, err := helper(ctx, user)
	if err != nil {
		return b.noHelper(ctx, op, object, user, err)
	}
	defer b.closeWhenDone(ctx, user, s)()
	sent := make(chan error, 1)
	go func() { sent <- s.sendFiles(r, files) }()
	reply, err := s.reply(data)
	if err != nil {
		s.conn.Close() // ends the sender
	}
	if err := errors.Join(err, <-sent); err != nil {
		return b.failure(ctx, op, object, user, err)
	}
	return faultError(op, object, reply.Fault, reply.Detail)
}

// filesAtOnce keeps the list of files in one frame.
const filesAtOnce = 4096

// Put lays files in; see sandbox.Box.
func (b *box) Put(ctx context.Context, dir string, user sandbox.User, files []model.File) error {
	announced, err := announce(dir, files)
	if err != nil {
		return &sandbox.Error{Op: "put", Object: dir, Err: err}
	}
	shared := user == sandbox.Shared
	if shared {
		user = sandbox.Builder
	}
	for first := true; first || len(files) > 0; first = false {
		n := min(len(files), filesAtOnce)
		r := wire.Request{Op: wire.OpPut, Dir: dir, Files: announced[:n], Shared: shared}
		if err := b.call(ctx, dir, orRunner(user), r, files[:n], nil); err != nil {
			return err
		}
		files, announced = files[n:], announced[n:]
	}
	return nil
}

// Get reads one file; see sandbox.Box. It reads as Runner, so that whatever
// the path leads to, the code under test could have read it too.
func (b *box) Get(ctx context.Context, path string, limit int64) ([]byte, error) {
	var out []byte
	collect := func(p []byte) error {
		if int64(len(out)+len(p)) > limit {
			return fmt.Errorf("%w: more bytes than asked for", wire.ErrFrame)
		}
		out = append(out, p...)
		return nil
	}
	if err := b.call(ctx, path, sandbox.Runner, wire.Request{Op: wire.OpGet, Path: path, Limit: limit}, nil, collect); err != nil {
		return nil, err
	}
	return out, nil
}

// Reset has a new helper do it, since code that ran as Runner may have
// slowed the old one down for good (priority, limits).
func (b *box) Reset(ctx context.Context) error {
	return b.call(ctx, b.id, sandbox.Runner, wire.Request{Op: wire.OpReset}, nil, nil)
}

func orRunner(u sandbox.User) sandbox.User {
	if u == "" {
		return sandbox.Runner
	}
	return u
}
