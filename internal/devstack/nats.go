package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Limits of JetStream on one machine, in bytes.
const (
	natsMaxMemory = 64 << 20
	natsMaxStore  = 4 << 30
)

// natsServer is a running NATS server with JetStream.
type natsServer struct {
	url    string
	server *server.Server
	fatal  chan string // what the server would have ended the process with
}

func startNATS(ctx context.Context, cfg Config, log *slog.Logger) (*natsServer, error) {
	port := cfg.NATSPort
	if port == 0 {
		port = server.RANDOM_PORT
	} else if _, err := reservePorts("NATS", port); err != nil {
		return nil, err
	}
	s, err := server.NewServer(&server.Options{
		ServerName:         "ratchet",
		Host:               loopback,
		Port:               port,
		NoSigs:             true, // signals belong to the command
		JetStream:          true,
		StoreDir:           filepath.Join(cfg.Dir, "nats"),
		JetStreamMaxMemory: natsMaxMemory,
		JetStreamMaxStore:  natsMaxStore,
		// The default syncs every two minutes: an acknowledged event could be lost.
		SyncAlways: true,
	})
	if err != nil {
		return nil, fmt.Errorf("set up NATS: %w", err)
	}
	n := &natsServer{server: s, fatal: make(chan string, 1)}
	s.SetLoggerV2(natsLogger{log, n.fatal}, false, false, false)
	go s.Start() // ends with Shutdown
	if err := n.waitReady(ctx); err != nil {
		return nil, errors.Join(err, n.stop(context.WithoutCancel(ctx)))
	}
	n.url = s.ClientURL()
	return n, nil
}

func (n *natsServer) waitReady(ctx context.Context) error {
	deadline := time.Now().Add(startTimeout)
	for !n.server.ReadyForConnections(100 * time.Millisecond) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for NATS: %w", ctx.Err())
		case why := <-n.fatal:
			return fmt.Errorf("start NATS: %s", why)
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("NATS was not ready after %s: see temporal.log in the data folder", startTimeout)
		}
	}
	return nil
}

func (n *natsServer) stop(ctx context.Context) error {
	return within(ctx, func() error {
		n.server.Shutdown()
		n.server.WaitForShutdown()
		return nil
	})
}

// natsLogger writes the NATS server's log to slog; a fatal line does not end the
// process but is handed to start-up.
type natsLogger struct {
	l     *slog.Logger
	fatal chan<- string
}

func (n natsLogger) Noticef(format string, v ...any) { n.log(slog.LevelInfo, format, v) }
func (n natsLogger) Warnf(format string, v ...any)   { n.log(slog.LevelWarn, format, v) }
func (n natsLogger) Errorf(format string, v ...any)  { n.log(slog.LevelError, format, v) }
func (n natsLogger) Debugf(format string, v ...any)  { n.log(slog.LevelDebug, format, v) }
func (n natsLogger) Tracef(format string, v ...any)  { n.log(slog.LevelDebug, format, v) }

func (n natsLogger) Fatalf(format string, v ...any) {
	n.log(slog.LevelError, format, v)
	select {
	case n.fatal <- fmt.Sprintf(format, v...):
	default: // one is enough
	}
}

func (n natsLogger) log(level slog.Level, format string, v []any) {
	if ctx := context.Background(); n.l.Enabled(ctx, level) {
		n.l.Log(ctx, level, "NATS: "+fmt.Sprintf(format, v...))
	}
}
