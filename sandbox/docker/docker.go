// Package docker is the sandbox on a Docker engine, and the one package that
// imports Docker's client.
//
// Every box is a container whose first process is a small helper program of
// ours (the folder box). The host speaks to it through the standard streams of
// one exec a user, in the frames of internal/wire, so that after the first
// call a command costs little more than its own run.
package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"

	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"ratchet/sandbox"
)

// Config says whose boxes an engine opens and where.
type Config struct {
	// Stack identifies the installation that owns the boxes: [a-z0-9_-], 1 to 64.
	Stack string
	// Epoch grows each time an owner of the stack starts; boxes of an older one
	// are orphans. At least 1.
	Epoch int64
	// Host is the engine's address, such as "unix:///var/run/docker.sock"; empty
	// takes it from the environment as the docker command does.
	Host string
	// GoRoot is the Go tool chain on this host that the helper is compiled with
	// and that the image "host-go" is made from; empty asks the go command.
	GoRoot string
	// Logger reports what an engine does by itself; nil discards it.
	Logger *slog.Logger
}

var stackName = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

func (c Config) validate() error {
	var errs []error
	if !stackName.MatchString(c.Stack) {
		errs = append(errs, fmt.Errorf("stack %q is not 1 to 64 of [a-z0-9_-]", c.Stack))
	}
	if c.Epoch < 1 {
		errs = append(errs, fmt.Errorf("epoch %d is below 1", c.Epoch))
	}
	return errors.Join(errs...)
}

// Engine opens boxes on one Docker engine. It is safe for concurrent use.
type Engine struct {
	cfg  Config
	api  *client.Client
	log  *slog.Logger
	arch string // GOARCH of the engine
	cpus int    // of the engine

	mu       sync.Mutex // guards building
	building map[string]*build
}

var _ sandbox.Provider = (*Engine)(nil)

// New connects to the engine and checks that it can enforce every limit. Its
// errors are *sandbox.Error: ErrUnavailable when there is no engine, ErrLimit
// when the engine cannot keep the contract.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	if err := cfg.validate(); err != nil {
		return nil, &sandbox.Error{Op: "configure", Object: "docker", Err: err}
	}
	e, err := connect(cfg)
	if err != nil {
		return nil, err
	}
	if err := e.check(ctx); err != nil {
		_ = e.api.Close()
		return nil, err
	}
	return e, nil
}

func orDiscard(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}

// Ping says whether the engine answers; its error is a *sandbox.Error.
func (e *Engine) Ping(ctx context.Context) error {
	_, err := e.api.Ping(ctx)
	return e.wrap("reach", "docker", err)
}

// Close lets go of the connections. Boxes that are open stay; close them first.
func (e *Engine) Close() error { return e.api.Close() }

func (e *Engine) check(ctx context.Context) error {
	info, err := e.api.Info(ctx)
	if err != nil {
		return e.wrap("reach", "docker", err)
	}
	if info.OSType != "linux" {
		return &sandbox.Error{Op: "use", Object: "docker", Err: fmt.Errorf("the engine runs %s containers", info.OSType), Hint: "switch it to Linux containers"}
	}
	e.arch, e.cpus = goArch(info.Architecture), info.NCPU
	return missingLimits(info)
}

// lacking names the limits of every box that the engine cannot enforce.
func lacking(info system.Info) (missing []string) {
	for _, l := range []struct {
		name  string
		there bool
	}{{"memory", info.MemoryLimit}, {"pids", info.PidsLimit}, {"CPU quota", info.CPUCfsQuota}} {
		if !l.there {
			missing = append(missing, l.name)
		}
	}
	return missing
}

func missingLimits(info system.Info) error {
	missing := lacking(info)
	if len(missing) == 0 {
		return nil
	}
	return &sandbox.Error{Op: "use", Object: "docker", Err: fmt.Errorf("%w: the engine lacks %v", sandbox.ErrLimit, missing),
		Hint: "enable these cgroup controllers on the host; a rootless engine needs cgroup v2 delegation"}
}

func goArch(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return machine
}
