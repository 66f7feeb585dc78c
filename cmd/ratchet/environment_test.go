package main

import (
	"context"
	"database/sql"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/devstack"
	"ratchet/internal/store"
	"ratchet/workers"
)

// good makes a repository that a campaign can work on, and its campaign file.
func (c *cli) good() (file string) {
	c.t.Helper()
	c.repository("good.git", "main", module(map[string]string{"clamp_test.go": okTest}))
	return c.campaign("good", "./good.git")
}

func TestNoDocker(t *testing.T) {
	c := newCLI(t)
	file := c.good()
	dead := "unix://" + filepath.Join(c.dir, "docker.sock")
	t.Setenv("DOCKER_HOST", dead)
	texts := []string{"reach docker", "not reachable", dead, "start the Docker engine, or set DOCKER_HOST"}
	for _, args := range [][]string{
		{"demo"}, {"demo", "--json"}, {"dev"}, {"run", file}, {"run", file, "--dev", "--json"}, {"run", file, "--detach"},
		{"iterate", file}, {"benchmark", "run", file},
	} {
		c.fails(exitEnvironment, texts, args...)
	}
	c.ok("validate", file)
	var list []campaignLine
	c.document(&list, "campaign", "list")
	require.Empty(t, list, "no campaign was stored")
}

func TestDataFolderThatCannotBeUsed(t *testing.T) {
	c := newCLI(t)
	file := c.good()
	c.write("occupied", "a file")
	for _, args := range [][]string{{"campaign", "list"}, {"run", file}, {"demo"}, {"dev"}, {"receipt", "abcd"}} {
		c.fails(exitEnvironment, []string{"data folder", filepath.Join(c.dir, "occupied", "data"), "--data"}, append(args, "--data", "occupied/data")...)
	}
	if os.Getuid() == 0 {
		return // nothing is forbidden to root
	}
	require.NoError(t, os.Mkdir(filepath.Join(c.dir, "sealed"), 0o500))
	c.fails(exitEnvironment, []string{"data folder", "permission denied", "--data"}, "dev", "--data", "sealed/data")
	c.fails(exitEnvironment, []string{filepath.Join(c.dir, "sealed")}, "dev", "--data", "sealed")
}

func TestTwoProcessesOnOneDataFolder(t *testing.T) {
	c := newCLI(t)
	file := c.good()
	lock, err := devstack.Acquire(c.data())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lock.Release()) })
	for _, args := range [][]string{{"dev"}, {"demo"}, {"run", file}, {"run", file, "--dev"}} {
		c.fails(exitEnvironment, []string{c.data(), "is held by process " + strconv.Itoa(os.Getpid()), "stop that process, or use another data folder"}, args...)
	}
	c.ok("campaign", "list")
}

func TestStoreOfANewerVersion(t *testing.T) {
	c := newCLI(t)
	file := c.good()
	c.withStore(func(context.Context, *store.Store) {})
	path := workers.StorePath(c.data())
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.Exec(`INSERT INTO schema_version (version_id, is_applied) VALUES (99999, 1)`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	for _, args := range [][]string{{"campaign", "list"}, {"campaign", "list", "--json"}, {"run", file}, {"campaign", "show", "x"}} {
		c.fails(exitEnvironment, []string{path, "newer ratchet"}, args...)
	}
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after, "the store was not touched")
}

func TestDamagedStore(t *testing.T) {
	c := newCLI(t)
	require.NoError(t, os.MkdirAll(c.data(), 0o700))
	require.NoError(t, os.WriteFile(workers.StorePath(c.data()), []byte(strings.Repeat("no database ", 1000)), 0o600))
	c.fails(exitEnvironment, []string{workers.StorePath(c.data()), "damaged or is no store", "restore the file from a copy"}, "campaign", "list")
}

func TestBusyPort(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	file := c.good()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	for _, args := range [][]string{{"dev"}, {"run", file, "--dev"}, {"demo", "--json"}} {
		c.fails(exitEnvironment, []string{"Web UI cannot listen on 127.0.0.1:" + port, "address already in use", "choose another"},
			append(args, "--ui-port", port)...)
	}
	var list []campaignLine
	c.document(&list, "campaign", "list")
	require.Empty(t, list, "no campaign was stored")
}
