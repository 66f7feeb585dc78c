package docker

import (
	"context"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"ratchet/sandbox"
	"ratchet/sandbox/sandboxtest"
)

// engine returns an engine of a stack of its own, whose boxes are all gone at
// the end of the test. Without Docker the test is skipped, in CI it fails.
func engine(t testing.TB) *Engine {
	t.Helper()
	e, err := New(context.Background(), Config{Stack: "test-" + uuid.NewString()[:8], Epoch: 1, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil && os.Getenv("CI") == "" {
		t.Skipf("needs Docker (apt-get install docker.io, then start it): %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		next, err := New(context.Background(), Config{Stack: e.cfg.Stack, Epoch: 1 << 40})
		require.NoError(t, err)
		defer next.Close()
		n, err := next.Reap(context.Background())
		require.NoError(t, err)
		require.Zero(t, n, "boxes were left behind")
		require.NoError(t, e.Close())
	})
	return e
}

func hostGo(t testing.TB, e *Engine) Image {
	t.Helper()
	img, err := e.Prepare(context.Background(), Target{Image: HostGo}, func(s string) { t.Log(s) })
	require.NoError(t, err)
	return img
}

func TestContract(t *testing.T) {
	e := engine(t)
	l, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	sandboxtest.Run(t, sandboxtest.Harness{
		Provider: e, Image: hostGo(t, e).ID,
		Unreachable: []string{"127.0.0.1:" + port, "172.17.0.1:" + port, "169.254.169.254:80"},
	})
}

func command(argv ...string) sandbox.Command {
	return sandbox.Command{Argv: argv, Timeout: 2 * time.Minute}
}
