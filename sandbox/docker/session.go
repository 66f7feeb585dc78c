package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"

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

// maxDials bounds how often a helper is started for one call.
const maxDials = 10

// dial starts a helper and waits until it listens. hello says what it found. As long
// as it has not said that, a helper before it or code under test may kill it: both are
// of the same user, and at work until this one has killed them. It then tries again.
func (e *Engine) dial(ctx context.Context, id string, user sandbox.User) (s *session, hello wire.Hello, err error) {
	for range maxDials {
		if s, hello, err = e.dialOnce(ctx, id, user); ctx.Err() != nil || !errors.Is(err, io.EOF) {
			break
		}
	}
	return s, hello, err
}

func (e *Engine) dialOnce(ctx context.Context, id string, user sandbox.User) (*session, wire.Hello, error) {
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

// close drops the connection. The helper ends when it reads that, which may be after
// the commands that it has; the next one of its user kills it with all that it started.
func (s *session) close() {
	s.conn.Close()
	_ = s.pipe.Close()
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
