package store

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"ratchet/internal/store/pgtest"
)

// shared is the one PostgreSQL server of this test process.
var shared sharedServer

type sharedServer struct {
	once   sync.Once
	server *pgtest.Server
	err    error
}

func (s *sharedServer) get() (*pgtest.Server, error) {
	s.once.Do(func() { s.server, s.err = pgtest.Start() })
	return s.server, s.err
}

func (s *sharedServer) stop() error {
	if s.server == nil {
		return nil
	}
	return s.server.Stop()
}

// TestMain is also the writer that some tests start as a second process.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := runRole(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
		code = 1
	}
	os.Exit(code)
}
