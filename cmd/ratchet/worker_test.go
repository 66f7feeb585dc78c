package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/devstack"
	"ratchet/internal/report"
	"ratchet/internal/store/pgtest"
)

// installation runs a Temporal, a NATS and a PostgreSQL that are nobody's data
// folder, and names them in the environment.
func (c *cli) installation() {
	c.t.Helper()
	pg, err := pgtest.Start()
	if errors.Is(err, pgtest.ErrMissing) && os.Getenv("CI") == "" {
		c.t.Skip("PostgreSQL is not installed: apt-get install postgresql")
	}
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, pg.Stop()) })
	dsn, err := pg.Schema(c.t.Context())
	require.NoError(c.t, err)
	// Without search attributes: the worker adds them.
	servers, err := devstack.Start(c.t.Context(), devstack.Config{Dir: c.t.TempDir(), Stack: "elsewhere"})
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, servers.Stop(context.Background())) })
	c.env[envStore], c.env[envNATS] = dsn, servers.NATSURL()
	c.env["TEMPORAL_ADDRESS"], c.env["TEMPORAL_NAMESPACE"] = servers.TemporalAddress(), servers.Namespace()
}

func TestWorkerOfAnInstallation(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	c.installation()
	c.background("data folder: ", "worker")
	c.repository("agent.git", "main", clampModule())
	file := c.campaign("agent", "./agent.git", small)
	c.ok("validate", file)
	require.Contains(t, c.ok("run", file, "--detach"), "runs in the workers of "+c.env["TEMPORAL_ADDRESS"])
	c.ok("campaign", "watch", "agent")
	var r report.Report
	c.document(&r, "campaign", "report", "agent")
	require.Equal(t, 1, r.Kept)
	require.Equal(t, "score", r.Stopped)
	require.Contains(t, c.ok("failure", "publish", "--agent", "a", "--task", "t", "--actual", "x", "--id", "one"), "failure one is stored")
	c.fails(exitUsage, []string{"runs servers of its own", envStore}, "dev")
	c.fails(exitUsage, []string{"runs servers of its own"}, "run", file, "--dev")
	require.NoFileExists(t, c.data()+"/ratchet.db", "rows are in PostgreSQL alone")
}

func TestWorkerWithoutServices(t *testing.T) {
	c := newCLI(t)
	c.fails(exitUsage, []string{envStore, "ratchet dev"}, "worker")
	c.env[envStore] = "postgres://grace:canary-word@127.0.0.1:1/none?connect_timeout=1"
	c.fails(exitEnvironment, []string{envNATS}, "worker")
	c.env[envNATS] = "nats://127.0.0.1:1"
	r := c.run("worker")
	require.Equal(t, exitEnvironment, r.code, r.stderr)
	require.Contains(t, r.stderr, "127.0.0.1")
	require.False(t, strings.Contains(r.stderr, "canary-word"), "a password was printed")
}
