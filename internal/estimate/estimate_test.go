package estimate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/model"
)

// spec reads a campaign file with more lines.
func spec(t *testing.T, more string) campaign.Spec {
	t.Helper()
	s, err := campaign.Parse([]byte("name: x\nrepo: /src\n"+more), campaign.ParseOptions{})
	require.NoError(t, err)
	return s
}

const models = `
endpoints:
  - {name: near, url: "http://127.0.0.1:1/v1", model: m, context: 10000, price: {input: 1, output: 2}}
  - {name: far, url: "http://127.0.0.1:2/v1", model: m, price: {input: 10, output: 20}}
proposers:
  - {kind: search}
  - {kind: llm, samples: 4, max_tokens: 3000, prompt_tokens: 8000}
search: {generations: 10, candidates: 6}
`

func TestCallsTokensAndCost(t *testing.T) {
	p := Make(Facts{Spec: spec(t, models), Problems: 3, SourceBytes: 7000})
	require.Equal(t, 10, p.Generations)
	require.Equal(t, 60, p.Candidates)
	m := p.Model
	require.Equal(t, "near", m.Endpoint)
	require.Equal(t, Tally{10 * (4 + 1), 10 * (2*4 + 1)}, m.Calls, "samples, repairs, and one reflection")
	require.Equal(t, Tally{1500 + 2001, 7000}, m.Prompt, "by the source, and by what the context leaves")
	require.Equal(t, Tally{1000, 3000}, m.Answer)
	require.Equal(t, Tally{50 * 4501, 90 * 10000}, m.Tokens)
	require.InDelta(t, 50*(3501*1+1000*2)/1e6, m.Cost.Likely, 1e-9)
	require.InDelta(t, 90*(7000*1+3000*2)/1e6, m.Cost.Most, 1e-9)
	require.InDelta(t, 90*(8000*10+3000*20)/1e6, m.FallbackMost, 1e-9, "whose prompts may be longer")
	require.True(t, m.Priced)
	require.Equal(t, "search.generations", p.First)
	require.Contains(t, p.Warnings[0], "budget.cost sets no limit")
}

func TestALongRepositoryFillsThePrompt(t *testing.T) {
	p := Make(Facts{Spec: spec(t, models), SourceBytes: 1 << 30})
	require.Equal(t, p.Model.Prompt.Most, p.Model.Prompt.Likely)
}

func TestSeveralProposers(t *testing.T) {
	p := Make(Facts{Spec: spec(t, `
endpoints: [{name: a, url: "http://127.0.0.1:1/v1", model: m}, {name: b, url: "http://127.0.0.1:2/v1", model: m, price: {input: 1, output: 1}}]
proposers: [{kind: llm, name: one, samples: 2, endpoints: [a]}, {kind: llm, name: two, samples: 3, endpoints: [b], max_tokens: 8000}]
search: {generations: 1}
`)})
	require.Equal(t, "a", p.Model.Endpoint)
	require.Equal(t, Tally{2 + 3 + 1, 4 + 6 + 1}, p.Model.Calls, "one reflection for both")
	require.EqualValues(t, 8000, p.Model.Answer.Most)
	require.InDelta(t, 6*(16384+8000)/1e6, p.Model.Cost.Most, 1e-9, "only b has a price")
	require.Equal(t, p.Model.Cost.Most, p.Model.FallbackMost)
}

func TestWithoutAModel(t *testing.T) {
	p := Make(Facts{Spec: spec(t, "search: {generations: 3}")})
	require.Nil(t, p.Model)
	require.Contains(t, p.Sandbox.Source, "nothing has run on this repository")
	require.Zero(t, p.Sandbox.Likely)
	require.Equal(t, (4 * time.Hour).Seconds(), p.Sandbox.Most)
	require.Equal(t, (8 * time.Hour).Seconds(), p.Wall.Most)
	require.Equal(t, "search.generations", p.First)
	require.Empty(t, p.Warnings)
	for _, c := range p.Caps[1:] {
		require.Nil(t, c.Likely, "%s: nothing is known", c.Name)
	}
}

func TestTimesOfEarlierCampaigns(t *testing.T) {
	f := Facts{Spec: spec(t, "search: {generations: 10}\nbudget: {sandbox: 1h, wall: 2h}"),
		Past: Past{Generations: 5, Sandbox: 5 * time.Minute, Wall: 4 * time.Minute, Baseline: 10 * time.Minute, Benchmarks: 3, Round: time.Hour}}
	p := Make(f)
	require.Contains(t, p.Sandbox.Source, "5 generations of earlier campaigns")
	require.Equal(t, 300.0, p.Sandbox.Generation)
	require.Equal(t, 3600.0, p.Sandbox.Likely, "60 minutes, of which the budget allows as many")
	require.Equal(t, 50*60.0, p.Wall.Likely)
	require.Equal(t, 10.0, *capOf(t, p, "budget.sandbox").Likely, "50 minutes after the baseline")
	require.Equal(t, "search.generations", p.First)

	f.Begun, f.Done = &model.Campaign{Cost: model.Cost{Sandbox: 40 * time.Minute}}, 4
	p = Make(f)
	require.Equal(t, 6, p.Generations)
	require.Equal(t, 30*60.0, p.Sandbox.Likely, "without the baseline")
	require.Equal(t, 4.0, *capOf(t, p, "budget.sandbox").Likely)
	require.Equal(t, "budget.sandbox", p.First)

	f.Begun.Budget = &model.Budget{Sandbox: 40 * time.Minute} // somebody has lowered it, and lifted the others
	p = Make(f)
	require.Contains(t, p.Warnings, "budget.sandbox allows less than one generation: raise it")
	require.Len(t, p.Caps, 2)

	f.Done = 10
	require.Contains(t, Make(f).Warnings[0], "all generations of the file have been run")
}

func TestTimesOfBenchmarks(t *testing.T) {
	p := Make(Facts{Spec: spec(t, "search: {generations: 2, candidates: 5, parallel: 2}"), Past: Past{Benchmarks: 1, Round: 10 * time.Second}})
	require.Contains(t, p.Sandbox.Source, "1 benchmark, as if")
	require.Equal(t, 40+2*100.0, p.Sandbox.Likely)
	require.Equal(t, 40+2*50.0, p.Wall.Likely)
}

func TestCapsThatEndItEarly(t *testing.T) {
	for name, x := range map[string]struct {
		budget string
		first  string
		warns  string
	}{
		"tokens that last":      {"{tokens: 10000000, cost: 100}", "search.generations", ""},
		"tokens for three":      {"{tokens: 67515, cost: 100}", "budget.tokens", "budget.tokens may allow less than one generation"},
		"less than one":         {"{tokens: 20000, cost: 100}", "budget.tokens", "budget.tokens allows less than one generation"},
		"less than one call":    {"{tokens: 9000, cost: 100}", "budget.tokens", "less than the 10000 tokens that one call may use"},
		"money for a half":      {"{cost: 0.01}", "budget.cost", "budget.cost allows less than one generation"},
		"money by guesses only": {"{cost: 0.05}", "budget.cost", "budget.cost may allow less than one generation"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Make(Facts{Spec: spec(t, models+"budget: "+x.budget+"\n"), SourceBytes: 7000})
			require.Equal(t, x.first, p.First)
			if x.warns == "" {
				require.Empty(t, p.Warnings)
				return
			}
			text := ""
			for _, w := range p.Warnings {
				text += w + "\n"
			}
			require.Contains(t, text, x.warns)
		})
	}
	p := Make(Facts{Spec: spec(t, models+"budget: {tokens: 67515}\n"), SourceBytes: 7000})
	c := capOf(t, p, "budget.tokens")
	require.Equal(t, 3.0, *c.Likely)
	require.Equal(t, 0.75, *c.Least)
}

func capOf(t *testing.T, p Plan, name string) Cap {
	t.Helper()
	for _, c := range p.Caps {
		if c.Name == name {
			return c
		}
	}
	require.Fail(t, "no cap "+name)
	return Cap{}
}
