package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"ratchet/sandbox"
	"ratchet/sandbox/docker/internal/wire"
)

// run carries the state of one Exec or Batch.
type run struct {
	box      *box
	user     sandbox.User
	commands []sandbox.Command
	parallel int
	exec     bool // the host's clock alone limits the command
	emit     func(int, sandbox.Outcome)

	states  []state // the reader's alone
	pending []int   // commands of the present connection, by their index there
	refused bool    // the caller's writer did not take the output

	stopped atomic.Bool // by the caller
	expired atomic.Bool // the box was killed because a command took too long

	mu      sync.Mutex
	session *session // the present connection, for stop
}

// state is what is known of one command.
type state struct {
	started time.Time
	ended   bool
	stdout  capped
	stderr  capped
}

func (st *state) running() bool { return !st.started.IsZero() && !st.ended }

func (r *run) check() error {
	r.states = make([]state, len(r.commands))
	for i, c := range r.commands {
		if err := r.checkOne(c); err != nil {
			return &sandbox.Error{Op: "run", Object: fmt.Sprintf("command %d", i), Err: err}
		}
		n := c.MaxOutput
		if n <= 0 {
			n = defaultOutput
		}
		r.states[i].stdout.max, r.states[i].stderr.max = n, n
		r.states[i].stdout.to = c.Stdout
	}
	return nil
}

func (r *run) checkOne(c sandbox.Command) error {
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return errors.New("no program named")
	case c.Timeout <= 0:
		return errors.New("no time limit")
	case (c.Stdin != nil || c.Stdout != nil) && !r.exec:
		return errors.New("a stream in a batch")
	case (len(c.Files) > 0 || c.Input != nil) && r.exec:
		return errors.New("files or input outside a batch")
	case len(c.Files) > 0:
		_, err := announce(dirOf(c), c.Files)
		return err
	}
	return nil
}

func dirOf(c sandbox.Command) string {
	if c.Dir == "" {
		return sandbox.WorkDir
	}
	return c.Dir
}

// stop ends the run early, without harm to the box.
func (r *run) stop() {
	r.stopped.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.session != nil {
		r.session.close()
	}
}

// all runs commands until every one has ended. Code under test can kill the
// helper; that ends its own command, and a new helper goes on with the rest.
func (r *run) all(ctx context.Context) error {
	for r.remaining() && !r.stopped.Load() {
		if err := r.once(ctx); err != nil {
			return err
		}
	}
	return nil
}

// remaining lists the commands that have not ended in pending.
func (r *run) remaining() bool {
	r.pending = r.pending[:0]
	for i := range r.states {
		if !r.states[i].ended {
			r.pending = append(r.pending, i)
		}
	}
	return len(r.pending) > 0
}

// once runs the pending commands with one helper, for as long as that lives.
func (r *run) once(ctx context.Context) error {
	b := r.box
	s, err := b.session(ctx, r.user)
	if err != nil {
		return b.noHelper(ctx, "start the helper in", b.id, r.user, err)
	}
	r.mu.Lock()
	r.session = s
	r.mu.Unlock()
	defer b.closeWhenDone(ctx, r.user, s)()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if err := r.send(s); err != nil {
			s.close()
		}
	}()
	if err = r.receive(s); err != nil {
		s.close()
	}
	if !r.hasStdin() { // a reader of the caller's may never return
		<-sent
	}
	if err == nil {
		return nil
	}
	return r.broken(ctx, err)
}

func (r *run) hasStdin() bool { return r.exec && r.commands[0].Stdin != nil }

// send sends the batch with the bytes of its files and its standard input.
func (r *run) send(s *session) error {
	if err := s.send(wire.Request{Op: wire.OpBatch, Count: len(r.pending), Parallel: r.parallel}); err != nil {
		return err
	}
	for n, i := range r.pending {
		c := r.commands[i]
		files, err := announce(dirOf(c), c.Files)
		if err != nil {
			return err
		}
		req := wire.Request{Op: wire.OpRun, Dir: dirOf(c), Files: files, Run: &wire.Command{
			Index: n, Argv: c.Argv, Env: environ(c.Env), MaxOutput: r.states[i].stdout.max, Stdin: c.Stdin != nil || c.Input != nil,
		}}
		if !r.exec {
			req.Run.Timeout = c.Timeout
		}
		if err := s.sendFiles(req, c.Files); err != nil {
			return err
		}
		if c.Stdin != nil {
			return s.sendStdin(c.Stdin)
		}
		if c.Input != nil {
			if err := s.sendStdin(bytes.NewReader(c.Input)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) sendStdin(in io.Reader) error {
	buf := make([]byte, wire.Chunk)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			if werr := s.out.Write(wire.KindData, buf[:n]); werr != nil {
				return werr
			}
		}
		if err != nil { // the command sees the end of what could be read
			return s.out.Write(wire.KindEOF, nil)
		}
	}
}

// receive reads what the helper reports, up to its reply.
func (r *run) receive(s *session) error {
	watch := newWatch(func() {
		r.expired.Store(true)
		r.box.kill()
		s.close()
	})
	defer watch.stop()
	if r.exec {
		watch.set(0, r.commands[0].Timeout)
	}
	for {
		f, err := s.in.Next()
		if err != nil {
			return err
		}
		if f.Kind == wire.KindReply {
			return nil
		}
		if err := r.frame(f, watch); err != nil {
			return err
		}
		if f.Kind == wire.KindEnded && r.hasStdin() {
			return nil // its reply waits for the end of the input
		}
	}
}

func (r *run) frame(f wire.Frame, watch *watch) error {
	if f.Kind == wire.KindEnded {
		return r.end(f.Payload, watch)
	}
	n, data, err := wire.Index(f.Payload, len(r.pending))
	if err != nil {
		return err
	}
	i := r.pending[n]
	st := &r.states[i]
	switch {
	case f.Kind == wire.KindStarted && st.started.IsZero():
		st.started = time.Now()
		if !r.exec {
			watch.set(i, r.commands[i].Timeout+grace)
		}
	case f.Kind == wire.KindStdout && st.running():
		if err := st.stdout.add(data); err != nil {
			r.refused = true
			return &sandbox.Error{Op: "hand on the output of", Object: r.commands[i].Argv[0], Err: err}
		}
	case f.Kind == wire.KindStderr && st.running():
		return st.stderr.add(data)
	default:
		return fmt.Errorf("%w: unexpected %q for command %d", wire.ErrFrame, f.Kind, i)
	}
	return nil
}

func (r *run) end(payload []byte, watch *watch) error {
	var e wire.Ended
	if err := json.Unmarshal(payload, &e); err != nil {
		return fmt.Errorf("%w: %v", wire.ErrFrame, err)
	}
	if e.Index < 0 || e.Index >= len(r.pending) {
		return fmt.Errorf("%w: index %d", wire.ErrFrame, e.Index)
	}
	i := r.pending[e.Index]
	if r.states[i].ended {
		return fmt.Errorf("%w: command %d ended twice", wire.ErrFrame, i)
	}
	watch.clear(i)
	r.box.oomKills = e.OOMKills
	if e.Fault != "" {
		return faultError("run", r.commands[i].Argv[0], e.Fault, e.Detail)
	}
	r.finish(i, sandbox.Outcome{ExitCode: e.Code, Signal: e.Signal, TimedOut: e.TimedOut, OutOfMemory: e.OOM, Truncated: e.Truncated, Wall: e.Wall})
	return nil
}

// finish completes an outcome with what was collected and hands it on.
func (r *run) finish(i int, o sandbox.Outcome) {
	st := &r.states[i]
	st.ended = true
	o.Stdout, o.Stderr = st.stdout.data, st.stderr.data
	o.Truncated = o.Truncated || st.stdout.cut || st.stderr.cut
	if o.Wall == 0 && !st.started.IsZero() { // nobody inside could take the time
		o.Wall = time.Since(st.started)
	}
	r.emit(i, o)
}

// broken deals with a connection that ended before the batch did.
func (r *run) broken(ctx context.Context, err error) error {
	b := r.box
	var known *sandbox.Error
	switch {
	case r.stopped.Load():
		return nil
	case errors.As(err, &known):
		b.drop(r.user)
		return err
	case r.expired.Load():
		b.drop(r.user)
		return r.abort(sandbox.Outcome{ExitCode: -1, TimedOut: true})
	}
	before := b.oomKills
	failed := b.failure(ctx, "run in", b.id, r.user, err)
	switch {
	case ctx.Err() != nil || errors.Is(failed, sandbox.ErrUnavailable): // ended by the caller, or nobody to ask
		return failed
	case errors.Is(failed, sandbox.ErrDead):
		if b.engine.sawOOM(b.id) {
			return r.abort(sandbox.Outcome{ExitCode: -1, OutOfMemory: true})
		}
		return failed
	}
	if _, err := b.session(ctx, r.user); err != nil { // its hello counts who ran out of memory
		return b.noHelper(ctx, "start the helper in", b.id, r.user, err)
	}
	if !r.killed(b.oomKills > before) {
		return failed // nothing was running: trying again would not help
	}
	return nil
}

// killed ends the commands that were running when their helper was killed.
func (r *run) killed(oom bool) bool {
	any := false
	for i := range r.states {
		if r.states[i].running() {
			r.finish(i, sandbox.Outcome{ExitCode: -1, Signal: "killed", OutOfMemory: oom})
			any = true
		}
	}
	return any
}

// abort ends what was running when the box was killed; ErrDead when there is
// more that can no longer run.
func (r *run) abort(o sandbox.Outcome) error {
	for i := range r.states {
		if r.states[i].running() || r.exec {
			r.finish(i, o)
		}
	}
	if r.remaining() {
		return &sandbox.Error{Op: "run in", Object: r.box.id, Err: sandbox.ErrDead}
	}
	return nil
}
