package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"ratchet/internal/control"
	"ratchet/internal/devstack"
	"ratchet/internal/store"
	"ratchet/workers"
)

// session is a command's hold on a stack: one that runs already in another
// process, or one that is started for the call.
type session struct {
	info    devstack.Info
	store   *store.Store
	control *control.Controller
	own     *workers.Stack // nil when the stack belongs to another process
	close   func() error
}

// attach reaches the services that the environment names, else the stack of the
// data folder, which it starts for the call when it does not run.
func (a *app) attach(ctx context.Context) (*session, error) {
	if sv, err := a.services(); err != nil || sv != nil {
		if err != nil {
			return nil, err
		}
		return a.joinServices(ctx, sv)
	}
	info, running, err := devstack.ReadInfo(a.data)
	if err != nil && !errors.Is(err, devstack.ErrNoInfo) {
		return nil, err
	}
	if running {
		return a.join(ctx, info)
	}
	return a.start(ctx, stackFlags{})
}

// join connects to a stack in another process.
func (a *app) join(ctx context.Context, info devstack.Info) (*session, error) {
	s, err := store.Open(ctx, store.Config{Path: workers.StorePath(a.data)})
	if err != nil {
		return nil, environment(err)
	}
	c, err := client.DialContext(ctx, client.Options{
		HostPort: info.TemporalAddress, Namespace: info.Namespace, Logger: log.NewStructuredLogger(a.logger()),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to the stack of process %d at %s: %w", info.Pid, info.TemporalAddress, err), s.Close())
	}
	return &session{info: info, store: s, control: control.New(c, s), close: func() error {
		c.Close()
		return s.Close()
	}}, nil
}

// stackFlags are what commands want of a stack of their own.
type stackFlags struct {
	ui, lasting bool // lasting: it runs until it is stopped, and not only for one command
	uiPort      int
}

// start opens a stack in this process.
func (a *app) start(ctx context.Context, f stackFlags) (*session, error) {
	if err := a.refuseServices("this command"); err != nil {
		return nil, err
	}
	if err := a.makeData(); err != nil {
		return nil, err
	}
	st, err := workers.Open(ctx, workers.StackConfig{Data: a.data, UI: f.ui, UIPort: f.uiPort, Transient: !f.lasting, Logger: a.logger(), Getenv: a.getenv})
	var file *fs.PathError
	if errors.As(err, &file) {
		return nil, environment(err)
	}
	if err != nil {
		return nil, err
	}
	return &session{info: st.Info, store: st.Store, control: st.Control, own: st, close: func() error {
		return st.Close(context.WithoutCancel(ctx))
	}}, nil
}

// usualUIPort is where the Temporal Web UI is put when nothing else is asked for
// and the port is free.
const usualUIPort = 8233

// withUIPort adds the flag that places the Web UI.
func withUIPort(c *cobra.Command, port *int) {
	c.Flags().IntVar(port, "ui-port", 0, "port of the Web UI, from 1 to 65535 (default 8233, or any that is free)")
	c.PreRunE = func(*cobra.Command, []string) error {
		if *port < 0 || *port > 65535 {
			return usage("--ui-port is %d: give a port from 1 to 65535", *port)
		}
		return nil
	}
}

// uiPort is the port to use: the one asked for, else the usual one, else any.
func uiPort(asked int) int {
	if asked != 0 {
		return asked
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(usualUIPort)))
	if err != nil {
		return 0
	}
	if err := l.Close(); err != nil {
		return 0
	}
	return usualUIPort
}

// openStore opens the store that there is, alone.
func (a *app) openStore(ctx context.Context) (*store.Store, error) {
	sv, err := a.services()
	if err != nil {
		return nil, err
	}
	where := store.Config{Path: workers.StorePath(a.data)}
	if sv != nil {
		where = sv.Store
	}
	s, err := store.Open(ctx, where)
	return s, environment(err)
}

// makeData makes the data folder when it does not exist.
func (a *app) makeData() error {
	if err := os.MkdirAll(a.data, 0o700); err != nil {
		return environment(fmt.Errorf("make the data folder %s: %w (choose another with --data)", a.data, err))
	}
	return nil
}

// read runs f on the store alone. Where there is none, f gets an empty one that is
// gone afterwards: reading leaves no trace in a data folder, nor makes one.
func (a *app) read(ctx context.Context, f func(*store.Store) error) error {
	has, err := a.hasStore()
	if err != nil {
		return err
	}
	if !has {
		return a.readNothing(ctx, f)
	}
	s, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.Close())
}

func (a *app) readNothing(ctx context.Context, f func(*store.Store) error) error {
	a.bare = true
	dir, err := os.MkdirTemp("", "ratchet-empty-")
	if err != nil {
		return environment(fmt.Errorf("read the data folder %s, which holds no data: %w", a.data, err))
	}
	s, err := store.Open(ctx, store.Config{Path: workers.StorePath(dir)})
	if err != nil {
		return environment(errors.Join(err, os.RemoveAll(dir)))
	}
	err = f(s)
	if err == nil {
		fmt.Fprintf(a.stderr, "there is no data in the data folder %s\n", a.data)
	}
	return errors.Join(err, s.Close(), os.RemoveAll(dir))
}

// drive runs f on a stack.
func (a *app) drive(ctx context.Context, f func(*session) error) error {
	s, err := a.attach(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.close())
}
