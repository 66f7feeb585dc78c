package devstack

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	temporallog "go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// maxServerLog is the size in bytes at which the log is set aside on start.
const maxServerLog = 8 << 20

// serverLog is the file that the servers log to, from warnings upwards.
type serverLog struct {
	*slog.Logger
	io.Closer
}

// openServerLog opens the log for appending. A log that has grown large is kept
// once, as path.1.
func openServerLog(path string) (*serverLog, error) {
	if st, err := os.Stat(path); err == nil && st.Size() > maxServerLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("set aside the log %s: %w", path, err)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	h := slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelWarn})
	return &serverLog{slog.New(h), f}, nil
}

// fatalError is what the Temporal server would have ended the process with.
type fatalError struct{ msg string }

func (e fatalError) Error() string { return e.msg }

// temporalLogger writes the Temporal server's log to slog. It does not end the
// process on Fatal but panics with a fatalError, which start-up turns into an
// error; later ones are bugs of the server, for which a panic is right as well.
type temporalLogger struct{ l *slog.Logger }

var (
	_ temporallog.Logger     = temporalLogger{}
	_ temporallog.WithLogger = temporalLogger{}
)

func (t temporalLogger) Debug(msg string, tags ...tag.Tag) { t.log(slog.LevelDebug, msg, tags) }
func (t temporalLogger) Info(msg string, tags ...tag.Tag)  { t.log(slog.LevelInfo, msg, tags) }
func (t temporalLogger) Warn(msg string, tags ...tag.Tag)  { t.log(slog.LevelWarn, msg, tags) }
func (t temporalLogger) Error(msg string, tags ...tag.Tag) { t.log(slog.LevelError, msg, tags) }

// DPanic only logs: it panics in the server's own development builds alone.
func (t temporalLogger) DPanic(msg string, tags ...tag.Tag) { t.log(slog.LevelError, msg, tags) }

func (t temporalLogger) Panic(msg string, tags ...tag.Tag) {
	t.log(slog.LevelError, msg, tags)
	panic(t.fatal(msg, tags))
}

func (t temporalLogger) Fatal(msg string, tags ...tag.Tag) {
	t.log(slog.LevelError, msg, tags)
	panic(t.fatal(msg, tags))
}

func (t temporalLogger) fatal(msg string, tags []tag.Tag) fatalError {
	for _, x := range tags {
		msg += fmt.Sprintf(", %s=%v", x.Key(), x.Value())
	}
	return fatalError{msg}
}

// With implements the server's WithLogger.
func (t temporalLogger) With(tags ...tag.Tag) temporallog.Logger {
	args := make([]any, 0, len(tags))
	for _, x := range tags {
		args = append(args, slog.Any(x.Key(), x.Value()))
	}
	return temporalLogger{t.l.With(args...)}
}

// SLog gives the server the logger beneath, for its own SDK clients.
func (t temporalLogger) SLog() *slog.Logger { return t.l }

func (t temporalLogger) log(level slog.Level, msg string, tags []tag.Tag) {
	ctx := context.Background()
	if !t.l.Enabled(ctx, level) {
		return
	}
	r := slog.NewRecord(time.Now(), level, msg, 0)
	for _, x := range tags {
		r.AddAttrs(slog.Any(x.Key(), x.Value()))
	}
	// A log that cannot be written must not disturb the server.
	_ = t.l.Handler().Handle(ctx, r)
}
