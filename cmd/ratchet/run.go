package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/activities"
	"ratchet/internal/campaign"
	"ratchet/internal/control"
	"ratchet/internal/model"
	"ratchet/internal/repo"
	"ratchet/internal/report"
	"ratchet/internal/store"
)

// runOptions are the flags of run.
type runOptions struct {
	dev, detach, push bool
	estimate          bool // only say what it would cost
	uiPort            int
	turns             int
}

func (a *app) runCommand() *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a campaign, or go on with one that was cut off",
		Example: `  ratchet run campaign.yaml --dev       with the Temporal Web UI, in this process
  ratchet run campaign.yaml --detach    hand it to the stack that "ratchet dev" runs
  ratchet run campaign.yaml --estimate  say what it will cost, and start nothing`,
		Args: exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error { return a.runOrEstimate(c.Context(), args[0], o) },
	}
	c.Flags().BoolVar(&o.dev, "dev", false, "start the stack with its Web UI in this process")
	c.Flags().BoolVar(&o.detach, "detach", false, "hand the campaign over and return")
	c.Flags().BoolVar(&o.estimate, "estimate", false, "say what the campaign will cost at most and what is likely, and start nothing")
	c.Flags().BoolVar(&o.push, "push", false, "publish kept commits to the repository when the campaign ends")
	withUIPort(c, &o.uiPort)
	return a.withJSON(c)
}

func (a *app) iterateCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:     "iterate FILE",
		Short:   "Run exactly one generation",
		Example: "  ratchet iterate campaign.yaml --json",
		Args:    exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.runFile(c.Context(), args[0], runOptions{turns: 1})
		},
	})
}

func (a *app) runFile(ctx context.Context, file string, o runOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	spec, err := a.spec(file)
	if err != nil {
		return err
	}
	known, err := a.known(ctx, spec)
	if err != nil {
		return err
	}
	if !known {
		if _, err := a.preflight(ctx, spec); err != nil {
			return err
		}
	}
	s, err := a.stackFor(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(a.campaign(ctx, s, spec, o), s.close())
}

// check refuses flags that exclude each other.
func (o runOptions) check() error {
	if o.dev && o.detach {
		return usage("--dev and --detach exclude each other: --dev keeps the stack in this process (use ratchet dev in another terminal, then --detach)")
	}
	if o.uiPort != 0 && !o.dev {
		return usage("--ui-port needs --dev: without it no Web UI is started")
	}
	return nil
}

func (a *app) stackFor(ctx context.Context, o runOptions) (*session, error) {
	if o.dev {
		return a.start(ctx, stackFlags{ui: true, uiPort: uiPort(o.uiPort)})
	}
	return a.attach(ctx)
}

// spec reads and checks a campaign file.
func (a *app) spec(file string) (campaign.Spec, error) {
	path := a.absolute(file)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return campaign.Spec{}, usage("read the campaign file %s: there is no such file", file)
	}
	if err != nil {
		return campaign.Spec{}, usage("read the campaign file %s: %v", file, err)
	}
	return campaign.Parse(data, campaign.ParseOptions{File: file, Dir: filepath.Dir(path)})
}

// known says that the campaign is stored with this file and is past its
// baseline: it goes on from its own copy, whatever has become of the source.
func (a *app) known(ctx context.Context, spec campaign.Spec) (known bool, err error) {
	if has, err := a.hasStore(); err != nil || !has {
		return false, err
	}
	data, err := campaign.JSON(spec)
	if err != nil {
		return false, err
	}
	err = a.read(ctx, func(s *store.Store) error {
		row, err := s.Campaign(ctx, spec.Name)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		known = err == nil && row.Baseline != nil && bytes.Equal(row.Spec, data)
		return err
	})
	return known, err
}

// preflight finds what would stop a campaign at once, before anything is stored.
func (a *app) preflight(ctx context.Context, spec campaign.Spec) (activities.Checkout, error) {
	dir, err := os.MkdirTemp("", "ratchet-preflight-")
	if err != nil {
		return activities.Checkout{}, environment(fmt.Errorf("look at the repository: %w", err))
	}
	c, err := activities.Preflight(ctx, spec, filepath.Join(dir, "repo.git"))
	if lfs := repo.LFSPointers(c.Tree); len(lfs) > 0 {
		fmt.Fprintf(a.stderr, "warning: %s in Git LFS, such as %s; problems that read one see the pointer\n", plural(len(lfs), "file"), lfs[0])
	}
	return c, errors.Join(err, os.RemoveAll(dir))
}

// campaign starts a campaign on a stack.
func (a *app) campaign(ctx context.Context, s *session, spec campaign.Spec, o runOptions) error {
	if s.own != nil && !o.detach {
		a.warnOfKeys(spec)
	}
	resumed, err := s.control.Start(ctx, spec, control.Options{Push: o.push, Turns: o.turns})
	if err != nil {
		return err
	}
	return a.carry(ctx, s, spec.Name, resumed, o)
}

// warnOfKeys names the model servers that this process has no key for, before the
// baseline is waited for: their first call is made after it.
func (a *app) warnOfKeys(spec campaign.Spec) {
	for _, e := range spec.Endpoints {
		if e.KeyEnv != "" && strings.TrimSpace(a.getenv(e.KeyEnv)) == "" {
			fmt.Fprintf(a.stderr, "warning: the environment variable %s is not set: endpoint %s cannot be called (stop this, export it, and give the same command again)\n", e.KeyEnv, e.Name)
		}
	}
}

// carry follows a campaign that has been started to its end, unless it is detached.
func (a *app) carry(ctx context.Context, s *session, name string, resumed bool, o runOptions) error {
	if s.own != nil && s.info.UIURL != "" {
		a.say("Temporal UI: %s", s.info.UIURL)
	}
	if o.detach {
		return a.detached(s, name, resumed)
	}
	a.begun(ctx, s, name, resumed)
	if err := a.follow(ctx, s, name); err != nil {
		return a.interrupted(ctx, s, name, err)
	}
	return a.outcome(ctx, s, name)
}

// begun says that a campaign runs, or why it does not move.
func (a *app) begun(ctx context.Context, s *session, name string, resumed bool) {
	if !resumed {
		a.say("campaign %s started", name)
		return
	}
	a.say("campaign %s goes on", name)
	// The board is advice: a campaign that cannot answer yet is shown by its rows.
	if b, err := s.control.Scoreboard(ctx, name); err == nil && b.Paused {
		a.say("it is paused; let it go on with: %s", a.command("campaign resume "+name))
	}
}

func (a *app) detached(s *session, name string, resumed bool) error {
	if s.own == nil && s.info.Transient {
		fmt.Fprintf(a.stderr, "process %d runs one command and its stack ends with that: if campaign %s has not ended by then, it goes on when this runs: %s\n", s.info.Pid, name, a.command("dev"))
	}
	if a.json {
		return a.print(map[string]any{"campaign": name, "resumed": resumed, "running": s.own == nil})
	}
	if s.own != nil {
		a.say("campaign %s is stored; it goes on when this runs: %s", name, a.command("dev"))
		return nil
	}
	a.say("campaign %s runs %s; see it with: %s", name, s.where(), a.command("campaign watch "+name))
	return nil
}

// interrupted says how to go on after Ctrl-C.
func (a *app) interrupted(ctx context.Context, s *session, name string, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if s.own == nil {
		fmt.Fprintf(a.stderr, "\ncampaign %s goes on %s; end it with: %s\n", name, s.where(), a.command("campaign stop "+name))
		return errInterrupted
	}
	fmt.Fprintf(a.stderr, "\ncampaign %s is checkpointed; go on with %s\n", name, a.goOn())
	return errInterrupted
}

// outcome prints the report of a campaign that has ended.
func (a *app) outcome(ctx context.Context, s *session, name string) error {
	r, err := report.Build(ctx, s.store, name)
	if err != nil {
		return err
	}
	if a.json {
		err = a.print(r)
	} else {
		err = a.printReport(ctx, s.store, r)
	}
	if err == nil && r.Stopped == string(model.StopError) {
		fmt.Fprintf(a.stderr, "ratchet: campaign %s: %s\n", name, r.Detail)
		return errFailed
	}
	return err
}
