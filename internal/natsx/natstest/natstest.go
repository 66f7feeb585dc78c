// Package natstest runs a NATS server with JetStream for tests.
package natstest

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// Server is a NATS server that can be stopped and started again on the same data
// and port.
type Server struct {
	URL string

	dir  string
	port int
	s    *server.Server
}

// Start starts a server on a free port of the loopback interface, which ends with
// the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{dir: t.TempDir(), port: server.RANDOM_PORT}
	s.Restart(t)
	t.Cleanup(s.Stop)
	return s
}

// Stop stops the server; its data stay.
func (s *Server) Stop() {
	s.s.Shutdown()
	s.s.WaitForShutdown()
}

// Restart starts the server again after Stop.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	ns, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: s.port, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: s.dir,
	})
	require.NoError(t, err)
	go ns.Start()
	require.True(t, ns.ReadyForConnections(30*time.Second), "NATS did not start")
	s.s, s.URL = ns, ns.ClientURL()
	_, port, err := net.SplitHostPort(ns.Addr().String())
	require.NoError(t, err)
	s.port, err = strconv.Atoi(port)
	require.NoError(t, err)
}
