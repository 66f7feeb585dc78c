package devstack_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/devstack"
)

// Nothing that the stack listens on can be reached from another machine.
func TestListensOnLoopbackOnly(t *testing.T) {
	start(t, devstack.Config{Dir: t.TempDir(), UI: true})
	own := ownSockets(t)
	found := 0
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		data, err := os.ReadFile(table)
		if os.IsNotExist(err) {
			continue // a kernel without IPv6
		}
		require.NoError(t, err)
		for _, line := range strings.Split(string(data), "\n")[1:] {
			f := strings.Fields(line)
			const listening = "0A"
			if len(f) < 10 || f[3] != listening || !own["socket:["+f[9]+"]"] {
				continue
			}
			found++
			require.Regexp(t, "^0100007F:", f[1], "a listener of this process, from %s", table)
		}
	}
	require.GreaterOrEqual(t, found, 6, "four Temporal services, the Web UI and NATS")
}

func ownSockets(t *testing.T) map[string]bool {
	fds, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	sockets := make(map[string]bool)
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil {
			sockets[target] = true
		}
	}
	return sockets
}
