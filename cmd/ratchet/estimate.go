package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"ratchet/activities"
	"ratchet/internal/campaign"
	"ratchet/internal/estimate"
	"ratchet/internal/model"
	"ratchet/internal/store"
	"ratchet/workers"
)

// runOrEstimate runs a campaign, or says what it would cost.
func (a *app) runOrEstimate(ctx context.Context, file string, o runOptions) error {
	if !o.estimate {
		return a.runFile(ctx, file, o)
	}
	if err := o.checkEstimate(); err != nil {
		return err
	}
	return a.estimate(ctx, file)
}

// checkEstimate refuses what would start something.
func (o runOptions) checkEstimate() error {
	for _, x := range []struct {
		flag  string
		given bool
	}{{"--dev", o.dev}, {"--detach", o.detach}, {"--push", o.push}, {"--ui-port", o.uiPort != 0}} {
		if x.given {
			return usage("--estimate and %s exclude each other: an estimate starts nothing", x.flag)
		}
	}
	return nil
}

// estimate says what a campaign will cost, and starts and stores nothing.
func (a *app) estimate(ctx context.Context, file string) error {
	spec, err := a.spec(file)
	if err != nil {
		return err
	}
	found, err := a.preflight(ctx, spec)
	if err != nil {
		return err
	}
	facts := factsOf(spec, found)
	if err := a.lookBack(ctx, &facts); err != nil {
		return err
	}
	p := estimate.Make(facts)
	if a.json {
		return a.print(p)
	}
	return a.printPlan(spec, p)
}

func factsOf(spec campaign.Spec, found activities.Checkout) estimate.Facts {
	f := estimate.Facts{Spec: spec, Commit: found.Commit, Problems: len(found.Problems), Unlisted: found.Unlisted}
	for _, file := range found.Tree.Files {
		if spec.Paths.Allowed(file.Path) {
			f.SourceBytes += int64(len(file.Data))
		}
	}
	return f
}

// lookBack adds what the store knows of earlier runs. A store that a newer or
// older ratchet wrote is left alone, and tells nothing.
func (a *app) lookBack(ctx context.Context, f *estimate.Facts) error {
	if has, err := a.hasStore(); err != nil || !has {
		return err
	}
	sv, err := a.services()
	if err != nil {
		return err
	}
	cfg := store.Config{Path: workers.StorePath(a.data)}
	if sv != nil {
		cfg = sv.Store
	}
	cfg.ReadOnly = true
	s, err := store.Open(ctx, cfg)
	if errors.Is(err, store.ErrOlder) || errors.Is(err, store.ErrNewer) {
		a.progressLine(fmt.Sprintf("warning: earlier runs cannot be read: %v", err))
		return nil
	}
	if err != nil {
		return environment(err)
	}
	return errors.Join(readPast(ctx, s, f), s.Close())
}

func readPast(ctx context.Context, s *store.Store, f *estimate.Facts) error {
	list, err := s.Campaigns(ctx)
	if err != nil {
		return err
	}
	var past pastCampaigns
	for _, c := range list {
		if c.Source != f.Spec.Repo && c.Name != f.Spec.Name {
			continue
		}
		gens, err := s.Generations(ctx, c.Name)
		if err != nil {
			return err
		}
		if c.Name == f.Spec.Name {
			f.Begun, f.Done = &c, len(gens)
		}
		past.add(c, gens)
	}
	f.Past = past.mean()
	return readRounds(ctx, s, f)
}

// pastCampaigns sums up campaigns that have run.
type pastCampaigns struct {
	generations, baselines  int
	sandbox, wall, baseline time.Duration
}

func (p *pastCampaigns) add(c model.Campaign, gens []model.Generation) {
	rest := c.Cost.Sandbox
	for _, g := range gens {
		p.generations++
		p.sandbox, p.wall = p.sandbox+g.Cost.Sandbox, p.wall+g.Cost.Wall
		rest -= g.Cost.Sandbox
	}
	if c.Baseline != nil && rest > 0 {
		p.baselines, p.baseline = p.baselines+1, p.baseline+rest
	}
}

func (p *pastCampaigns) mean() estimate.Past {
	n, b := time.Duration(max(1, p.generations)), time.Duration(max(1, p.baselines))
	return estimate.Past{Generations: p.generations, Sandbox: p.sandbox / n, Wall: p.wall / n, Baseline: p.baseline / b}
}

// readRounds adds what benchmarks of the repository took; those of agents work on
// something else.
func readRounds(ctx context.Context, s *store.Store, f *estimate.Facts) error {
	list, err := s.Benchmarks(ctx, "")
	if err != nil {
		return err
	}
	rounds, total := 0, time.Duration(0)
	for _, b := range list {
		if b.Repo != f.Spec.Repo || b.Agent != "" {
			continue
		}
		f.Past.Benchmarks++
		for _, r := range b.Runs {
			rounds, total = rounds+1, total+r.Sandbox
		}
	}
	f.Past.Round = total / time.Duration(max(1, rounds))
	return nil
}

// printPlan writes the estimate for people.
func (a *app) printPlan(spec campaign.Spec, p estimate.Plan) error {
	problems := plural(p.Problems, "problem")
	if len(p.Unlisted) > 0 {
		problems += ", and those of " + strings.Join(p.Unlisted, ", ") + ", which only a sandbox can list"
	}
	a.say("estimate of campaign %s on %s at %.10s (%s): %s; nothing is started", p.Campaign, p.Repo, p.Commit, spec.Base, problems)
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "\nwhat\tlikely\tat most\tbecause")
	row := func(what, likely, most, why string) { fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", what, likely, most, why) }
	row("generations", "", strconv.Itoa(p.Generations), doneBefore(p))
	row("candidates", "", strconv.Itoa(p.Candidates), fmt.Sprintf("%d a generation", spec.Search.Candidates))
	if p.Model != nil {
		printCalls(row, *p.Model)
	}
	row("sandbox time", seconds(p.Sandbox.Likely), seconds(p.Sandbox.Most), p.Sandbox.Source)
	row("wall time", seconds(p.Wall.Likely), seconds(p.Wall.Most), p.Wall.Source)
	fmt.Fprintln(w, "\ncap\tlimit\tspent\tallows")
	for _, c := range p.Caps {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Name, capText(c, c.Limit), capText(c, c.Spent), allows(c))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	a.say("\nby these guesses %s ends the campaign, unless it reaches score %v or keeps nothing in %s in a row first",
		p.First, spec.Search.Stop.Score, plural(spec.Search.Stop.Stale, "generation"))
	a.say("what is likely is a guess: all generations run, no answer needs a repair; what is at most follows from the file,\nand calls that fail and are made again come on top until a budget ends them")
	for _, warning := range p.Warnings {
		a.say("warning: %s", warning)
	}
	return nil
}

func doneBefore(p estimate.Plan) string {
	if p.Done == 0 {
		return "search.generations"
	}
	return fmt.Sprintf("search.generations, %d are done", p.Done)
}

func printCalls(row func(what, likely, most, why string), c estimate.Calls) {
	tally := func(what string, t estimate.Tally, why string) {
		row(what, strconv.FormatInt(t.Likely, 10), strconv.FormatInt(t.Most, 10), why)
	}
	tally("model calls", c.Calls, "samples and a repair of each, and one reflection a generation")
	tally("prompt tokens a call", c.Prompt, "the size of the repository; prompt_tokens, or the context")
	tally("answer tokens a call", c.Answer, "a third of max_tokens; max_tokens")
	tally("tokens", c.Tokens, "")
	if !c.Priced {
		row("cost", "0", "0", "no endpoint has a price")
		return
	}
	why := "at the prices of endpoint " + c.Endpoint
	if c.FallbackMost > c.Cost.Most {
		why += "; at most " + amount(c.FallbackMost) + " at its fallbacks"
	}
	row("cost", amount(c.Cost.Likely), amount(c.Cost.Most), why)
}

// seconds writes a time, "?" for one that is not known.
func seconds(s float64) string {
	if s == 0 {
		return "?"
	}
	d := time.Duration(s * float64(time.Second))
	return campaign.Duration(d.Round(cmp.Or(roundTo(d), time.Millisecond))).String()
}

func roundTo(d time.Duration) time.Duration {
	switch {
	case d >= time.Hour:
		return time.Minute
	case d >= 10*time.Second:
		return time.Second
	}
	return 0
}

// amount writes money; what two digits would not show gets four.
func amount(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x < 0.1:
		return strconv.FormatFloat(x, 'f', 4, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

func capText(c estimate.Cap, x float64) string {
	switch c.Name {
	case "budget.wall", "budget.sandbox":
		if x == 0 {
			return "0s"
		}
		return seconds(x)
	case "budget.cost":
		return amount(x)
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}

func allows(c estimate.Cap) string {
	generations := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	switch {
	case c.Likely == nil:
		return "not known"
	case c.Least == nil || *c.Least == *c.Likely:
		return generations(*c.Likely) + " generations"
	}
	return generations(*c.Likely) + " generations, at least " + generations(*c.Least)
}
