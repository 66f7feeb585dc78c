package docker

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"ratchet/sandbox"
	"ratchet/sandbox/docker/internal/wire"
)

const (
	unreachable = "start the Docker engine, or set DOCKER_HOST; `docker info` shows whether it answers"
	forbidden   = "let this user use the engine: `sudo usermod -aG docker $USER` and log in again, or run a rootless engine and set DOCKER_HOST"
)

// reachHint says what to do about an engine that cannot be reached.
func reachHint(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return forbidden
	}
	return unreachable
}

// wrap sorts an error of Docker's client into the kinds of the contract. nil
// stays nil; a *sandbox.Error and the end of a context stay what they are.
func (e *Engine) wrap(op, object string, err error) error {
	var known *sandbox.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &sandbox.Error{Op: op, Object: object, Err: err}
	case isUnreachable(err):
		return &sandbox.Error{Op: op, Object: object, Err: both(sandbox.ErrUnavailable, err), Hint: reachHint(err)}
	case errors.Is(err, syscall.ENOSPC), strings.Contains(err.Error(), "no space left on device"):
		return &sandbox.Error{Op: op, Object: object, Err: both(sandbox.ErrNoSpace, err), Hint: "free disk space for the Docker engine"}
	}
	return &sandbox.Error{Op: op, Object: object, Err: err}
}

func isUnreachable(err error) bool {
	var netErr net.Error
	return client.IsErrConnectionFailed(err) || cerrdefs.IsUnavailable(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.As(err, &netErr) || strings.Contains(err.Error(), "Cannot connect to the Docker daemon")
}

// both has the kind for errors.Is and the cause for people.
func both(kind, cause error) error { return &caused{kind, cause} }

type caused struct{ kind, cause error }

func (c *caused) Error() string   { return c.kind.Error() + ": " + c.cause.Error() }
func (c *caused) Unwrap() []error { return []error{c.kind, c.cause} }

// ErrTooLarge is returned by Get for a file beyond the limit.
var ErrTooLarge = errors.New("the file is larger than the limit")

func faultError(op, object string, f wire.Fault, detail string) error {
	if f == "" {
		return nil
	}
	kind := map[wire.Fault]error{
		wire.FaultPath: sandbox.ErrPath, wire.FaultSpace: sandbox.ErrNoSpace,
		wire.FaultMissing: sandbox.ErrMissing, wire.FaultDenied: sandbox.ErrDenied, wire.FaultTooLarge: ErrTooLarge,
	}[f]
	cause := errors.New(detail)
	if kind != nil {
		cause = both(kind, cause)
	}
	err := &sandbox.Error{Op: op, Object: object, Err: cause}
	if f == wire.FaultSpace {
		err.Hint = "raise the limit on disk or file size"
	}
	return err
}
