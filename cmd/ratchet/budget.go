package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ratchet/internal/campaign"
	"ratchet/internal/control"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
)

func (a *app) campaignBudget() *cobra.Command {
	var b protocol.BudgetChange
	c := &cobra.Command{
		Use: "budget NAME", Short: "Show what a campaign may use and has used, or set other limits",
		Long: `budget shows the limits of a campaign and what of them is used. With a flag it sets that
limit, which counts at once; 0 takes it away. A campaign that has ended for its budget
goes on with "ratchet campaign resume NAME" when there is room again. Wall time counts
from the campaign's creation, whether or not it ran.`,
		Example: "  ratchet campaign budget sharper-agent\n  ratchet campaign budget sharper-agent --tokens 2e6 --cost 5 --why \"it is worth it\"",
		Args:    exactly("NAME"),
	}
	c.Flags().StringVar(&b.By, "by", "", "who asks for this (default: the user's name)")
	c.Flags().StringVar(&b.Why, "why", "", "the reason, for the audit trail")
	withLimits(c, &b)
	c.RunE = func(c *cobra.Command, args []string) error {
		if b.Empty() {
			if b.By != "" || b.Why != "" {
				return usage("budget campaign %s: --by and --why need a limit to set: --tokens, --cost, --wall or --sandbox", args[0])
			}
			return a.read(c.Context(), func(s *store.Store) error { return a.showBudget(c.Context(), s, args[0]) })
		}
		b.By = a.person(b.By)
		return a.changeBudget(c.Context(), args[0], b)
	}
	return a.withJSON(c)
}

// withLimits adds the flags of the limits.
func withLimits(c *cobra.Command, b *protocol.BudgetChange) {
	f := c.Flags()
	f.Var(limitFlag[int64]{&b.Tokens, "number", parseTokens}, "tokens", "most tokens of prompts and answers, such as 2e6; 0 for no limit")
	f.Var(limitFlag[float64]{&b.Money, "number", parseCost}, "cost", "most cost of model calls, in the currency of the endpoints' prices; 0 for no limit")
	f.Var(limitFlag[time.Duration]{&b.Wall, "duration", parseLimitTime}, "wall", "most wall time, such as 12h; 0 for no limit")
	f.Var(limitFlag[time.Duration]{&b.Sandbox, "duration", parseLimitTime}, "sandbox", "most time in sandboxes, summed over all of them; 0 for no limit")
}

// limitFlag is a flag that is nil until it is given.
type limitFlag[T any] struct {
	into  **T
	kind  string
	parse func(string) (T, error)
}

var _ pflag.Value = limitFlag[int64]{}

func (f limitFlag[T]) String() string {
	if f.into == nil || *f.into == nil {
		return ""
	}
	return fmt.Sprint(**f.into)
}

func (f limitFlag[T]) Type() string { return f.kind }

func (f limitFlag[T]) Set(text string) error {
	v, err := f.parse(text)
	if err == nil {
		*f.into = &v
	}
	return err
}

// mostTokens is the largest whole number of which a float64 holds every one.
const mostTokens = 1 << 53

func parseTokens(text string) (int64, error) {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return 0, errors.New("write a whole number, such as 2000000 or 2e6")
	case v < 0:
		return 0, errors.New("it cannot be negative")
	case v != math.Trunc(v) || v > mostTokens:
		return 0, fmt.Errorf("it is a whole number up to %.0f", float64(mostTokens))
	}
	return int64(v), nil
}

func parseCost(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		return 0, errors.New("write a number, such as 5 or 2.5")
	case v < 0:
		return 0, errors.New("it cannot be negative")
	}
	return v, nil
}

func parseLimitTime(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	var d campaign.Duration
	if err := d.UnmarshalText([]byte(text)); err != nil {
		return 0, err
	}
	if d < 0 {
		return 0, errors.New("it cannot be negative")
	}
	return d.Std(), nil
}

// budgetView is what a campaign may use, and has used. A limit of 0 is none.
type budgetView struct {
	Limits amounts `json:"limits"`
	Spent  amounts `json:"spent"`
}

// amounts are the parts of a budget in their public form.
type amounts struct {
	WallSeconds    float64 `json:"wall_seconds"`
	SandboxSeconds float64 `json:"sandbox_seconds"`
	Tokens         int64   `json:"tokens"`
	Money          float64 `json:"money"`
}

func amountsOf(b model.Budget) amounts {
	return amounts{b.Wall.Seconds(), b.Sandbox.Seconds(), b.Tokens, b.Money}
}

func viewBudget(b control.Allowance) budgetView {
	return budgetView{Limits: amountsOf(b.Limits), Spent: amountsOf(b.Spent)}
}

func (a *app) showBudget(ctx context.Context, s *store.Store, name string) error {
	if _, err := a.campaignRow(ctx, s, name); err != nil {
		return err
	}
	b, err := control.Budget(ctx, s, name)
	if err != nil {
		return err
	}
	if a.json {
		return a.print(viewBudget(b))
	}
	return a.table("budget of "+name+"\tspent\tlimit", budgetRows(b))
}

// limitWords are limits for people, in one line.
func limitWords(b model.Budget) []string {
	rows := budgetRows(control.Allowance{Limits: b})
	for i, r := range rows {
		cells := strings.Split(r, "\t")
		rows[i] = cells[0] + " " + strings.Replace(cells[2], "none", "without limit", 1)
	}
	return rows
}

// budgetRows are a budget for people: what is used, and the limit.
func budgetRows(b control.Allowance) []string {
	return []string{
		"wall\t" + spell(b.Spent.Wall) + "\t" + limitOr(b.Limits.Wall, spell(b.Limits.Wall)),
		"sandbox\t" + spell(b.Spent.Sandbox) + "\t" + limitOr(b.Limits.Sandbox, spell(b.Limits.Sandbox)),
		fmt.Sprintf("tokens\t%d\t%s", b.Spent.Tokens, limitOr(b.Limits.Tokens, strconv.FormatInt(b.Limits.Tokens, 10))),
		fmt.Sprintf("cost\t%.4g\t%s", b.Spent.Money, limitOr(b.Limits.Money, fmt.Sprintf("%.4g", b.Limits.Money))),
	}
}

func spell(d time.Duration) string { return campaign.Duration(d.Round(time.Second)).String() }

func limitOr[T comparable](limit T, text string) string {
	var none T
	if limit == none {
		return "none"
	}
	return text
}

// changeBudget sets limits. A campaign that has ended needs no stack for that.
func (a *app) changeBudget(ctx context.Context, name string, b protocol.BudgetChange) error {
	var row model.Campaign
	err := a.read(ctx, func(s *store.Store) (err error) {
		if row, err = a.campaignRow(ctx, s, name); err != nil || row.Stopped == "" {
			return err
		}
		return a.setBudget(ctx, control.New(nil, s), s, row, b)
	})
	if err != nil || row.Stopped != "" {
		return err
	}
	return a.drive(ctx, func(s *session) error { return a.setBudget(ctx, s.control, s.store, row, b) })
}

func (a *app) setBudget(ctx context.Context, c *control.Controller, s *store.Store, row model.Campaign, b protocol.BudgetChange) error {
	if _, err := c.SetBudget(ctx, row.Name, b); err != nil {
		return err
	}
	if err := a.showBudget(ctx, s, row.Name); err != nil || a.json {
		return err
	}
	switch row.Stopped {
	case model.StopBudget:
		a.say("it has ended; go on with: %s", a.command("campaign resume "+row.Name))
	case model.StopError:
		a.say("it has ended with an error; go on with: %s", a.command("campaign recover "+row.Name))
	}
	return nil
}
