package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"ratchet/benchmarks"
	"ratchet/internal/campaign"
	"ratchet/internal/model"
	"ratchet/internal/store"
)

// attemptFlags choose which candidates are listed.
type attemptFlags struct {
	generation int
	latest     bool // generation was not given
	proposer   string
}

func (a *app) campaignAttempts() *cobra.Command {
	var f attemptFlags
	c := &cobra.Command{
		Use: "attempts NAME", Short: "List the candidates of a generation, and what became of each",
		Long: `attempts lists what was proposed in one generation, the latest when none is named: who
proposed it, how far it got, and why no further. A candidate is refused before any sandbox
runs it; it has failed when a sandbox did, in the stage that is named.`,
		Example: "  ratchet campaign attempts sharper-agent\n  ratchet campaign attempts sharper-agent --generation 3 --proposer llm --json",
		Args:    exactly("NAME"),
	}
	c.Flags().IntVar(&f.generation, "generation", 0, "number of the generation (default: the latest)")
	c.Flags().StringVar(&f.proposer, "proposer", "", "only those of one proposer")
	c.RunE = func(c *cobra.Command, args []string) error {
		f.latest = !c.Flags().Changed("generation")
		return a.read(c.Context(), func(s *store.Store) error { return a.attempts(c.Context(), s, args[0], f) })
	}
	return a.withJSON(c)
}

// attemptsView is what was proposed in one generation, in its public form.
// Generation is 0 and the lists are empty when nothing was proposed yet.
type attemptsView struct {
	Campaign   string         `json:"campaign"`
	Generation int            `json:"generation"`
	Outcome    string         `json:"outcome"` // empty while the generation runs
	Reason     string         `json:"reason"`
	Notes      []string       `json:"notes"` // which proposer could not work, and why
	Attempts   []attemptView  `json:"attempts"`
	Proposers  []proposerCost `json:"proposers"`
}

// attemptView is one candidate.
type attemptView struct {
	Key            string   `json:"key"`
	Proposer       string   `json:"proposer"`
	Status         string   `json:"status"`
	Stage          string   `json:"stage"` // the last that it reached
	Score          *float64 `json:"score"` // over the search problems; null unless all of them ran
	Targets        []string `json:"targets"`
	Hypothesis     string   `json:"hypothesis"`
	ExpectedGain   float64  `json:"expected_gain"`
	Reason         string   `json:"reason"`
	Fixed          []string `json:"fixed"`
	Broken         []string `json:"broken"`
	Change         string   `json:"change"` // that it became; empty for most
	SandboxSeconds float64  `json:"sandbox_seconds"`
}

// proposerCost is what the candidates of one proposer have cost in the generation.
// Calls to models are counted once they have ended.
type proposerCost struct {
	Proposer       string  `json:"proposer"`
	Candidates     int     `json:"candidates"`
	Tokens         int64   `json:"tokens"`
	Money          float64 `json:"money"` // in the currency of the endpoints' prices
	SandboxSeconds float64 `json:"sandbox_seconds"`
}

func (a *app) attempts(ctx context.Context, s *store.Store, name string, f attemptFlags) error {
	row, err := a.campaignRow(ctx, s, name)
	if err != nil {
		return err
	}
	n, err := a.proposedIn(ctx, s, name, f)
	if err != nil {
		return err
	}
	v, err := viewAttempts(ctx, s, name, n)
	if err != nil {
		return err
	}
	if f.proposer != "" {
		if err := v.only(row, f.proposer); err != nil {
			return err
		}
	}
	if a.json {
		return a.print(v)
	}
	return a.printAttempts(v)
}

// proposedIn is the generation that is meant: the one asked for, or the latest
// that has been proposed for; 0 when there is none.
func (a *app) proposedIn(ctx context.Context, s *store.Store, name string, f attemptFlags) (int, error) {
	last, err := latestGeneration(ctx, s, name)
	switch {
	case err != nil || f.latest:
		return last, err
	case last == 0:
		return 0, usage("campaign %s has no generation %d: it has not proposed anything yet", name, f.generation)
	case f.generation < 1 || f.generation > last:
		return 0, usage("campaign %s has no generation %d: its generations are 1 to %d", name, f.generation, last)
	}
	return f.generation, nil
}

// latestGeneration is the last generation with a record, or the one under way when
// it has its candidates.
func latestGeneration(ctx context.Context, s *store.Store, name string) (int, error) {
	g, err := s.LastGeneration(ctx, name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	under, err := s.Proposed(ctx, name, g.N+1)
	if under {
		return g.N + 1, err
	}
	return g.N, err
}

func viewAttempts(ctx context.Context, s *store.Store, name string, n int) (attemptsView, error) {
	v := attemptsView{Campaign: name, Generation: n, Notes: []string{}, Attempts: []attemptView{}, Proposers: []proposerCost{}}
	if n == 0 {
		return v, nil
	}
	g, err := s.Generation(ctx, name, n)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return v, err
	}
	v.Outcome, v.Reason = string(g.Outcome), g.Reason
	p, err := s.Proposal(ctx, name, n)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return v, err
	}
	v.Notes = orEmpty(p.Notes)
	changes, err := s.Changes(ctx, store.ChangeFilter{Campaign: name})
	if err != nil {
		return v, err
	}
	became := map[string]string{}
	for _, c := range changes {
		if c.Generation == n {
			became[c.Attempt] = c.ID
		}
	}
	for _, r := range p.Attempts {
		v.Attempts = append(v.Attempts, viewAttempt(r, became[r.Key]))
	}
	v.Proposers, err = turnCosts(ctx, s, name, n)
	return v, err
}

func viewAttempt(r model.Attempt, change string) attemptView {
	v := attemptView{
		Key: r.Key, Proposer: r.Proposer, Status: string(r.Status), Stage: r.Stage, Targets: orEmpty(r.Targets),
		Hypothesis: r.Hypothesis, ExpectedGain: r.ExpectedGain, Reason: r.Reason, Fixed: orEmpty(r.Fixed), Broken: orEmpty(r.Broken),
		Change: change, SandboxSeconds: r.Sandbox.Seconds(),
	}
	if r.Stage == benchmarks.StageSearch {
		v.Score = &r.Score
	}
	return v
}

// orEmpty is never null in JSON.
func orEmpty(s []string) []string { return append([]string{}, s...) }

// turnCosts is what each proposer has cost in generation n, by name.
func turnCosts(ctx context.Context, s *store.Store, name string, n int) ([]proposerCost, error) {
	before, err := s.ProposerRecords(ctx, name, n)
	if err != nil {
		return nil, err
	}
	after, err := s.ProposerRecords(ctx, name, n+1)
	if err != nil {
		return nil, err
	}
	was := map[string]model.ProposerRecord{}
	for _, r := range before {
		was[r.Proposer] = r
	}
	out := []proposerCost{}
	for _, r := range after {
		old := was[r.Proposer]
		c := proposerCost{
			Proposer: r.Proposer, Candidates: r.Candidates - old.Candidates, Tokens: r.Tokens - old.Tokens,
			Money: r.Money - old.Money, SandboxSeconds: (r.Sandbox - old.Sandbox).Seconds(),
		}
		if c.Candidates > 0 || c.Tokens > 0 {
			out = append(out, c)
		}
	}
	return out, nil
}

// only leaves out what other proposers proposed.
func (v *attemptsView) only(row model.Campaign, proposer string) error {
	known := map[string]bool{}
	spec, err := campaign.FromJSON(row.Spec)
	if err != nil {
		return err
	}
	for _, p := range spec.Proposers {
		known[p.ID()] = true
	}
	for _, x := range v.Attempts {
		known[x.Proposer] = true
	}
	if !known[proposer] {
		return usage("campaign %s has no proposer %q: it has %s", row.Name, proposer, listed(slices.Sorted(maps.Keys(known))))
	}
	v.Attempts = slices.DeleteFunc(v.Attempts, func(x attemptView) bool { return x.Proposer != proposer })
	v.Proposers = slices.DeleteFunc(v.Proposers, func(x proposerCost) bool { return x.Proposer != proposer })
	return nil
}

// cellLength is how many characters of a reason or of targets a table shows.
const cellLength = 100

func (a *app) printAttempts(v attemptsView) error {
	if v.Generation == 0 {
		a.say("campaign %s has not proposed anything yet", v.Campaign)
		return nil
	}
	head := fmt.Sprintf("generation %d of campaign %s", v.Generation, v.Campaign)
	if v.Outcome != "" {
		head += fmt.Sprintf(": %s %s: %s", mark(v.Outcome), v.Outcome, cell(v.Reason))
	}
	a.say("%s", head)
	cut := false
	rows := make([]string, 0, 2*len(v.Attempts))
	for _, x := range v.Attempts {
		targets, reason, idea := listed(x.Targets), cmp.Or(x.Reason, "-"), x.Hypothesis
		for _, s := range []string{targets, reason, idea} {
			cut = cut || short(s) != cell(s)
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%.1f s\t%s\t%s", cell(x.Proposer), x.Status, cmp.Or(x.Stage, "-"), scoreOf(x),
			x.SandboxSeconds, short(targets), short(reason)), "\t\t\t\t\t\tof: "+short(idea))
	}
	if err := a.list("by\tstatus\tstage\tscore\tsandbox\ttargets\treason", rows, "it has no candidates"); err != nil {
		return err
	}
	for _, n := range v.Notes {
		a.say("note: %s", cell(n))
	}
	for _, c := range v.Proposers {
		if c.Tokens > 0 {
			a.say("the models of %s: %s", cell(c.Proposer), modelCost(float64(c.Tokens), c.Money))
		}
	}
	if cut {
		a.say("texts are cut; they are whole in: %s", a.command(fmt.Sprintf("campaign attempts %s --generation %d --json", v.Campaign, v.Generation)))
	}
	return nil
}

func scoreOf(x attemptView) string {
	if x.Score == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100**x.Score)
}

// short is a text cut to fit a table.
func short(s string) string {
	s = cell(s)
	if r := []rune(s); len(r) > cellLength {
		return string(r[:cellLength-1]) + "…"
	}
	return s
}

// seeAttempts says where it is read why candidates got no further.
func (a *app) seeAttempts(campaign string, generation int) string {
	return a.command(fmt.Sprintf("campaign attempts %s --generation %d", campaign, generation))
}
