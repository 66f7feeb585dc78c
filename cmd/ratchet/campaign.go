package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ratchet/internal/devstack"
	"ratchet/internal/model"
	"ratchet/internal/report"
	"ratchet/internal/store"
)

func (a *app) campaignCommand() *cobra.Command {
	return group("campaign", "List, watch, steer and report campaigns",
		"  ratchet campaign list\n  ratchet campaign watch sharper-agent\n  ratchet campaign report sharper-agent --json",
		a.campaignList(), a.campaignShow(), a.campaignWatch(), a.campaignReport(), a.campaignAttempts(), a.campaignRecover(),
		a.campaignUpdate("pause", "Hold a campaign after the generation under way", "pauses after the generation under way"),
		a.campaignUpdate("resume", "Let a paused campaign go on", "goes on"),
		a.campaignHint(), a.campaignBudget(), a.campaignFork(),
		a.campaignUpdate("stop", "End a campaign; a change under test is undone", "has stopped"),
	)
}

func (a *app) campaignList() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "list", Short: "List campaigns", Args: noCommand,
		Example: "  ratchet campaign list",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.read(c.Context(), func(s *store.Store) error { return a.listCampaigns(c.Context(), s) })
		},
	})
}

// campaignLine is one campaign in a list.
type campaignLine struct {
	Name     string    `json:"name"`
	Repo     string    `json:"repo"`
	Phase    string    `json:"phase"`
	Stopped  string    `json:"stopped"`
	Baseline *float64  `json:"baseline"`
	Score    *float64  `json:"score"`
	Created  time.Time `json:"created"`
}

func lineOf(c model.Campaign) campaignLine {
	l := campaignLine{Name: c.Name, Repo: c.Source, Phase: c.Phase, Stopped: string(c.Stopped), Created: c.Created}
	if c.Baseline != nil && c.Current != nil {
		l.Baseline, l.Score = &c.Baseline.Score, &c.Current.Score
	}
	return l
}

func (a *app) listCampaigns(ctx context.Context, s *store.Store) error {
	rows, err := s.Campaigns(ctx)
	if err != nil {
		return err
	}
	lines := make([]campaignLine, len(rows))
	text := make([]string, len(rows))
	for i, r := range rows {
		l := lineOf(r)
		lines[i], text[i] = l, fmt.Sprintf("%s\t%s\t%s\t%s", l.Name, gain(l), l.Phase, l.Repo)
	}
	if a.json {
		return a.print(lines)
	}
	return a.list("name\tscore\tphase\trepository", text, "no campaigns yet; start one with: "+a.command("run FILE"))
}

func gain(l campaignLine) string {
	if l.Score == nil {
		return "not measured"
	}
	return fmt.Sprintf("%.1f%% → %.1f%%", 100**l.Baseline, 100**l.Score)
}

func (a *app) campaignReport() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "report NAME", Short: "Report what a campaign kept, and why", Args: exactly("NAME"),
		Example: "  ratchet campaign report sharper-agent --json",
		RunE: func(c *cobra.Command, args []string) error {
			return a.read(c.Context(), func(s *store.Store) error {
				r, err := report.Build(c.Context(), s, args[0])
				if err != nil {
					return a.absent(err, "campaign", args[0], "campaign list")
				}
				if a.json {
					return a.print(r)
				}
				return a.printReport(c.Context(), s, r)
			})
		},
	})
}

func (a *app) campaignWatch() *cobra.Command {
	c := &cobra.Command{
		Use: "watch NAME", Short: "Follow a campaign until it ends", Args: exactly("NAME"),
		Example: "  ratchet campaign watch sharper-agent\n  ratchet campaign watch sharper-agent --json",
		RunE: func(c *cobra.Command, args []string) error {
			return a.read(c.Context(), func(s *store.Store) error { return a.watch(c.Context(), s, args[0]) })
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON Lines: one document for each thing that happens")
	return c
}

// watch reads the store until the campaign has stopped; it needs no stack.
func (a *app) watch(ctx context.Context, s *store.Store, name string) error {
	row, err := a.campaignRow(ctx, s, name)
	if err != nil {
		return err
	}
	if _, running, err := devstack.ReadInfo(a.data); row.Stopped == "" && !running && (err == nil || errors.Is(err, devstack.ErrNoInfo)) {
		fmt.Fprintf(a.stderr, "nothing runs campaign %s at present; it goes on when this runs: %s\n", name, a.command("dev"))
	}
	w := newWatcher(s, name, a.line)
	if a.json {
		w.emit = a.jsonLine
	}
	err = poll(ctx, func() (bool, error) {
		err := w.look(ctx)
		return w.stopped, err
	})
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

func (a *app) campaignRecover() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "recover NAME",
		Short: "Start a campaign again from the store and its branch, when its workflow is gone",
		Long: `recover rebuilds a campaign whose workflow is gone: the Temporal database was deleted,
its retention has passed, or it ended with an error that has been mended. It goes on
from the rows in the store and the refs of the campaign's repository.`,
		Example: "  ratchet campaign recover sharper-agent",
		Args:    exactly("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.read(c.Context(), func(s *store.Store) error {
				_, err := a.campaignRow(c.Context(), s, args[0])
				return err
			}); err != nil {
				return err
			}
			return a.drive(c.Context(), func(s *session) error { return a.recover(c.Context(), s, args[0]) })
		},
	})
}

func (a *app) recover(ctx context.Context, s *session, name string) error {
	started, err := s.control.Recover(ctx, name)
	if err != nil {
		return err
	}
	if s.own != nil { // nobody else would carry it on
		if err := a.follow(ctx, s, name); err != nil {
			return a.interrupted(ctx, s, name, err)
		}
		return a.outcome(ctx, s, name)
	}
	if a.json {
		return a.print(map[string]any{"campaign": name, "started": started})
	}
	if started {
		a.say("campaign %s goes on in process %d", name, s.info.Pid)
	} else {
		a.say("campaign %s runs already", name)
	}
	return nil
}
