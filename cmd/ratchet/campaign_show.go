package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/internal/control"
	"ratchet/internal/model"
	"ratchet/internal/store"
)

func (a *app) campaignShow() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "show NAME", Short: "Show where a campaign stands, what it used, and who steered it", Args: exactly("NAME"),
		Example: "  ratchet campaign show sharper-agent",
		RunE: func(c *cobra.Command, args []string) error {
			return a.read(c.Context(), func(s *store.Store) error { return a.showCampaign(c.Context(), s, args[0]) })
		},
	})
}

// campaignView is everything about a campaign but its generations.
type campaignView struct {
	campaignLine
	Bare     string                `json:"bare_repo"`
	Branch   string                `json:"branch"`
	Base     string                `json:"base_commit"`
	Best     string                `json:"best_commit"`
	Image    string                `json:"image"`
	Detail   string                `json:"detail"`
	Baseline *model.Score          `json:"baseline_score"`
	Current  *model.Score          `json:"current_score"`
	Parent   string                `json:"parent"`    // campaign that it was forked from
	ForkedAt string                `json:"forked_at"` // commit there
	Forks    []string              `json:"forks"`     // campaigns forked from it
	Budget   budgetView            `json:"budget"`
	Events   []model.CampaignEvent `json:"events"` // audit trail
}

// viewCampaign reads what a campaign's rows say of it.
func viewCampaign(ctx context.Context, s *store.Store, c model.Campaign) (campaignView, control.Allowance, error) {
	v := campaignView{
		campaignLine: lineOf(c), Bare: c.Repo, Branch: strings.TrimPrefix(c.Branch, "refs/heads/"),
		Base: c.Base, Best: c.Best, Image: c.Image, Detail: c.Detail, Baseline: c.Baseline, Current: c.Current,
		Parent: c.Parent, ForkedAt: c.ForkedAt, Forks: []string{},
	}
	b, err := control.Budget(ctx, s, c.Name)
	if err != nil {
		return v, b, err
	}
	v.Budget = viewBudget(b)
	forks, err := control.Forks(ctx, s, c.Name)
	if err != nil {
		return v, b, err
	}
	for _, f := range forks {
		v.Forks = append(v.Forks, f.Name)
	}
	events, err := s.CampaignEvents(ctx, c.Name)
	v.Events = append([]model.CampaignEvent{}, events...)
	return v, b, err
}

func (a *app) showCampaign(ctx context.Context, s *store.Store, name string) error {
	c, err := a.campaignRow(ctx, s, name)
	if err != nil {
		return err
	}
	v, b, err := viewCampaign(ctx, s, c)
	if err != nil {
		return err
	}
	if a.json {
		return a.print(v)
	}
	rows, err := a.lastTurn(ctx, s, c.Name)
	if err != nil {
		return err
	}
	if err := a.table("campaign\t"+c.Name, append(campaignRows(c, v), rows...)); err != nil {
		return err
	}
	a.say("")
	if err := a.table("budget\tspent\tlimit", budgetRows(b)); err != nil {
		return err
	}
	a.trail(v.Events)
	return nil
}

// lastTurn is how the latest generation ended, and where its candidates are read
// when none of them landed.
func (a *app) lastTurn(ctx context.Context, s *store.Store, name string) ([]string, error) {
	g, err := s.LastGeneration(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows := []string{fmt.Sprintf("generation %d\t%s: %s", g.N, g.Outcome, cell(g.Reason))}
	if g.Outcome == model.OutcomeRejected {
		rows = append(rows, "its candidates\t"+a.seeAttempts(name, g.N))
	}
	return rows, nil
}

// campaignRows are a campaign for people.
func campaignRows(c model.Campaign, v campaignView) []string {
	rows := []string{
		"score\t" + gain(v.campaignLine), "repository\t" + c.Source,
		"bare repository\t" + c.Repo, "branch\t" + v.Branch, "base\t" + c.Base, "best\t" + c.Best, "image\t" + c.Image,
	}
	if c.Parent != "" {
		rows = append(rows, fmt.Sprintf("fork of\t%s at %s", c.Parent, c.ForkedAt))
	}
	if len(v.Forks) > 0 {
		rows = append(rows, "forks\t"+listed(v.Forks))
	}
	if c.Current != nil {
		rows = append(rows, "failing\t"+listed(c.Current.Failing), "flaky\t"+listed(c.Baseline.Flaky))
	}
	if c.Stopped != "" {
		return append(rows, fmt.Sprintf("stopped\t%s: %s", c.Stopped, c.Detail))
	}
	return append(rows, "phase\t"+c.Phase)
}

// trail prints who did what to a campaign.
func (a *app) trail(events []model.CampaignEvent) {
	if len(events) == 0 {
		return
	}
	a.say("")
	for _, e := range events {
		line := fmt.Sprintf("%s  %s by %s", e.At.Format("2006-01-02 15:04:05"), e.Kind, e.By)
		for _, more := range []string{e.Text, e.Why} {
			if more != "" {
				line += ": " + more
			}
		}
		a.say("%s", line)
	}
}
