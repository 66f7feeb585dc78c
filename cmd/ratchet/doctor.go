package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ratchet/internal/campaign"
	"ratchet/internal/doctor"
	"ratchet/internal/llm/backends"
	"ratchet/workers/checkup"
)

func (a *app) doctorCommand() *cobra.Command {
	var most time.Duration
	c := &cobra.Command{
		Use:   "doctor [FILE]",
		Short: "Say what is wrong with Docker, disk, servers and models, and how to mend it",
		Long: `Look at everything that a campaign needs: Docker and its limits, memory, disk,
ports, the data folder and its store, Temporal, NATS, clocks; with a campaign FILE
also its image, its repository, and its model servers, each of which is asked for
one token. Nothing is changed. Exit code 0: nothing failed; 2: FILE, or what it
names, is wrong; 3: the surroundings fail.`,
		Example: `  ratchet doctor                 before the first campaign
  ratchet doctor campaign.yaml   before this one`,
		Args: atMost("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if most < 0 {
				return usage("--timeout is %s: give a length of time such as 10s", most)
			}
			return a.doctor(c.Context(), strings.Join(args, ""), most)
		},
	}
	c.Flags().DurationVar(&most, "timeout", 0, "most time for each check (default: as long as each may need, at most 2m)")
	return a.withJSON(c)
}

func (a *app) doctor(ctx context.Context, file string, most time.Duration) error {
	r := checkup.Run(ctx, a.patient(file, most))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	print := a.printDoctor
	if a.json {
		print = func(r doctor.Report) error { return a.print(r) }
	}
	return errors.Join(print(r), verdict(r))
}

// patient is what the doctor looks at.
func (a *app) patient(file string, most time.Duration) checkup.Config {
	cfg := checkup.Config{
		Data: a.data, UIPort: usualUIPort, File: file, Getenv: a.getenv, Backends: backends.All(), Most: most,
	}
	cfg.Services, cfg.WrongServices = a.services()
	if file == "" {
		return cfg
	}
	if cfg.Spec, cfg.Wrong = a.spec(file); cfg.Wrong != nil {
		cfg.Spec = campaign.Spec{}
	}
	return cfg
}

// verdict is the error that gives the exit code; nil when nothing failed.
func verdict(r doctor.Report) error {
	input, around := r.Failed(true), r.Failed(false)
	all := append(append([]string{}, input...), around...)
	switch {
	case len(input) > 0:
		return usage("doctor: failed: %s", strings.Join(all, ", "))
	case len(around) > 0:
		return environment(fmt.Errorf("doctor: failed: %s", strings.Join(all, ", ")))
	}
	return nil
}

// printDoctor writes a line for each check, and below it what to do; what several
// checks that were skipped wait for is said once.
func (a *app) printDoctor(r doctor.Report) error {
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	said := map[string]bool{}
	for _, c := range r.Checks {
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.Status, c.Name, c.Found)
		for _, d := range c.Details {
			fmt.Fprintf(w, "\t\t  %s\n", d)
		}
		if c.Hint != "" && !(c.Status == doctor.Skipped && said[c.Hint]) {
			said[c.Hint] = true
			fmt.Fprintf(w, "\t\t→ %s\n", c.Hint)
		}
	}
	return w.Flush()
}
