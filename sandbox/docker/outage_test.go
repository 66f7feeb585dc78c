package docker

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"ratchet/sandbox"
)

// relay stands between a client and the engine and can be cut, as when the
// engine is stopped and started again.
type relay struct {
	path, engine string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
	busy     sync.WaitGroup
}

func newRelay(t *testing.T, e *Engine) *relay {
	t.Helper()
	host, isUnix := strings.CutPrefix(e.api.DaemonHost(), "unix://")
	if !isUnix {
		t.Skip("the engine is not on a unix socket")
	}
	dir, err := os.MkdirTemp("", "relay") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &relay{path: filepath.Join(dir, "s"), engine: host}
	r.start(t)
	t.Cleanup(r.cut)
	return r
}

func (r *relay) start(t *testing.T) {
	l, err := net.Listen("unix", r.path)
	require.NoError(t, err)
	r.mu.Lock()
	r.listener = l
	r.mu.Unlock()
	r.busy.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.forward(c)
		}
	})
}

func (r *relay) forward(c net.Conn) {
	d, err := net.Dial("unix", r.engine)
	if err != nil {
		c.Close()
		return
	}
	r.mu.Lock()
	r.conns = append(r.conns, c, d)
	r.mu.Unlock()
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		if u, ok := to.(*net.UnixConn); ok {
			_ = u.CloseWrite()
		}
	}
	r.busy.Go(func() { pipe(c, d) })
	r.busy.Go(func() { pipe(d, c) })
}

func (r *relay) cut() {
	r.mu.Lock()
	r.listener.Close()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
	r.mu.Unlock()
	r.busy.Wait()
}

func TestWithoutAnEngine(t *testing.T) {
	_, err := New(t.Context(), Config{Stack: "nobody", Epoch: 1, Host: "unix:///no/such/socket"})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	var typed *sandbox.Error
	require.ErrorAs(t, err, &typed)
	require.NotEmpty(t, typed.Hint)
}

func TestAnEngineThatGoesAway(t *testing.T) {
	direct := engine(t)
	img := hostGo(t, direct)
	r := newRelay(t, direct)
	ctx := t.Context()
	e, err := New(ctx, Config{Stack: direct.cfg.Stack, Epoch: 1, Host: "unix://" + r.path})
	require.NoError(t, err)
	defer e.Close()

	b, err := e.Open(ctx, sandbox.Spec{Image: img.ID})
	require.NoError(t, err)
	_, err = b.Exec(ctx, command("go", "version"))
	require.NoError(t, err)

	err = b.Batch(ctx, sandbox.Batch{Commands: []sandbox.Command{command("go", "version"), command("go", "version")}}, func(int, sandbox.Outcome) error {
		r.cut()
		return nil
	})
	if err != nil { // both may have ended before the cut
		require.ErrorIs(t, err, sandbox.ErrUnavailable)
	}
	_, err = b.Exec(ctx, command("go", "version"))
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	require.ErrorIs(t, b.Put(ctx, "/box", sandbox.Builder, nil), sandbox.ErrUnavailable)
	require.ErrorIs(t, e.Ping(ctx), sandbox.ErrUnavailable)
	_, err = e.Open(ctx, sandbox.Spec{Image: img.ID})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	_, err = e.Reap(ctx)
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	_, err = e.Prepare(ctx, Target{Image: HostGo}, nil)
	require.ErrorIs(t, err, sandbox.ErrUnavailable)

	r.start(t)
	require.NoError(t, e.Ping(ctx))
	o, err := b.Exec(ctx, command("go", "version"))
	require.NoError(t, err)
	require.True(t, o.OK())
	require.NoError(t, b.Close(ctx))
}

func TestABoxThatCouldNotBeClosedCanBeClosedLater(t *testing.T) {
	direct := engine(t)
	img := hostGo(t, direct)
	r := newRelay(t, direct)
	e, err := New(t.Context(), Config{Stack: "test-" + uuid.NewString()[:8], Epoch: 1, Host: "unix://" + r.path})
	require.NoError(t, err)
	defer e.Close()
	b, err := e.Open(t.Context(), sandbox.Spec{Image: img.ID})
	require.NoError(t, err)
	r.cut()
	require.ErrorIs(t, b.Close(t.Context()), sandbox.ErrUnavailable)
	r.start(t)
	require.NoError(t, b.Close(context.Background()))
	require.Empty(t, boxes(t, e))
}
