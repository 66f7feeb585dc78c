package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"ratchet/sandbox"
	"ratchet/sandbox/docker/internal/wire"
)

// session is a helper that serves one user of a box, and the connection to it.
// One request is under way at a time.
type session struct {
	conn types.HijackedResponse
	in   *wire.Reader
	out  *wire.Writer
	pipe *io.PipeReader
	done chan struct{} // closed when the demultiplexer has ended
}

// dial starts a helper and waits until it listens. hello says what it found.
func (e *Engine) dial(ctx context.Context, id string, user sandbox.User) (*session, wire.Hello, error) {
	var hello wire.Hello
	created, err := e.api.ContainerExecCreate(ctx, id, container.ExecOptions{
		User: ids(user), AttachStdin: true, AttachStdout: true, AttachStderr: true,
		Env: []string{"HOME=" + home(user)}, WorkingDir: sandbox.WorkDir,
		Cmd: []string{wire.Helper, "serve"},
	})
	if err != nil {
		return nil, hello, err
	}
	conn, err := e.api.ContainerExecAttach(ctx, created.ID, container.ExecAttachOptions{})
	if err != nil {
		return nil, hello, err
	}
	s := newSession(conn)
	stop := context.AfterFunc(ctx, s.close)
	defer stop()
	b, err := s.in.Expect(wire.KindHello)
	if err == nil {
		err = json.Unmarshal(b, &hello)
	}
	if err != nil {
		s.close()
		return nil, hello, errors.Join(ctx.Err(), fmt.Errorf("helper: %w", err))
	}
	return s, hello, nil
}

func newSession(conn types.HijackedResponse) *session {
	r, w := io.Pipe()
	s := &session{conn: conn, pipe: r, in: wire.NewReader(r), out: wire.NewWriter(conn.Conn), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		var stderr tail
		_, err := stdcopy.StdCopy(w, &stderr, conn.Reader)
		if err == nil || errors.Is(err, net.ErrClosed) {
			err = io.EOF
		}
		if stderr.n > 0 {
			err = fmt.Errorf("%w: %s", err, stderr.bytes())
		}
		_ = w.CloseWithError(err)
	}()
	return s
}

// close drops the connection; the helper then kills what it started and ends.
func (s *session) close() {
	s.conn.Close()
	_ = s.pipe.Close()
}

// endWait bounds how long a helper that is told to end is waited for.
const endWait = 2 * time.Second

// finish ends the helper and returns when it is gone: on its way out it kills what
// runs as its user, which must not be the helper that comes after it. One that
// does not end in time is left to the next one, which kills it.
func (s *session) finish() {
	late := time.AfterFunc(endWait, s.close)
	defer late.Stop()
	if err := s.conn.CloseWrite(); err != nil {
		s.close()
	}
	<-s.done
	s.close()
}

func (s *session) send(r wire.Request) error { return s.out.WriteJSON(wire.KindRequest, r) }

// reply reads frames up to the reply, handing KindBytes to data.
func (s *session) reply(data func([]byte) error) (wire.Reply, error) {
	var r wire.Reply
	for {
		f, err := s.in.Next()
		if err != nil {
			return r, err
		}
		switch {
		case f.Kind == wire.KindReply:
			return r, json.Unmarshal(f.Payload, &r)
		case f.Kind == wire.KindBytes && data != nil:
			if err := data(f.Payload); err != nil {
				return r, err
			}
		default:
			return r, fmt.Errorf("%w: unexpected %q", wire.ErrFrame, f.Kind)
		}
	}
}

// tail keeps the first bytes written to it, for error messages.
type tail struct {
	buf [512]byte
	n   int
}

func (t *tail) Write(b []byte) (int, error) {
	t.n += copy(t.buf[t.n:], b)
	return len(b), nil
}

func (t *tail) bytes() []byte { return t.buf[:t.n] }
