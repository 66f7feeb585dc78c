package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/estimate"
	"ratchet/internal/model"
	"ratchet/internal/store"
	"ratchet/workers"
)

const llmLines = `endpoints: [{name: local, url: "http://127.0.0.1:9/v1", model: m, key_env: LOCAL_KEY, price: {input: 1, output: 4}}]
proposers: [{kind: llm, samples: 2, max_tokens: 3000, prompt_tokens: 6000}]
search: {generations: 5, candidates: 8}`

func TestEstimateStartsNothing(t *testing.T) {
	c := newCLI(t)
	t.Setenv("DOCKER_HOST", "unix://"+c.dir+"/none.sock") // not even that is needed
	commit := c.repository("good.git", "main", clampModule())
	file := c.campaign("good", "./good.git", llmLines, "budget: {tokens: 30000}")
	var p estimate.Plan
	c.document(&p, "run", file, "--estimate")
	require.Equal(t, commit, p.Commit)
	require.Equal(t, 5, p.Problems)
	require.Equal(t, 40, p.Candidates)
	require.Equal(t, estimate.Tally{Likely: 15, Most: 25}, p.Model.Calls)
	require.EqualValues(t, 6000, p.Model.Prompt.Most)
	source := float64(len(clampCode) + len(clampTest))
	require.InDelta(t, 1500+source/3.5, p.Model.Prompt.Likely, 1)
	require.EqualValues(t, 1000, p.Model.Answer.Likely)
	require.InDelta(t, 25*(6000+4*3000)/1e6, p.Model.Cost.Most, 1e-9)
	require.Equal(t, "budget.tokens", p.First)

	out := c.ok("run", file, "--estimate")
	for _, text := range []string{
		"estimate of campaign good on " + c.dir + "/good.git at " + commit[:10] + " (main): 5 problems; nothing is started",
		"at the prices of endpoint local", "nothing has run on this repository yet", "by these guesses budget.tokens ends the campaign",
		"budget.tokens may allow less than one generation", "budget.cost sets no limit",
	} {
		require.Contains(t, out, text)
	}
	require.Regexp(t, `(?m)^model calls +15 +25 +samples`, out)
	require.Regexp(t, `(?m)^answer tokens a call +1000 +3000 `, out)
	require.Regexp(t, `(?m)^sandbox time +\? +4h `, out)
	require.NoDirExists(t, c.data(), "nothing was stored")
}

func TestEstimateWithoutAModel(t *testing.T) {
	c := newCLI(t)
	out := c.ok("run", c.good(), "--estimate")
	require.NotContains(t, out, "tokens")
	require.NotContains(t, out, "cost")
	require.Contains(t, out, "wall time")
}

func TestEstimateFromEarlierRuns(t *testing.T) {
	c := newCLI(t)
	c.repository("good.git", "main", clampModule())
	file := c.campaign("good", "./good.git", "search: {generations: 4}")
	source := c.dir + "/good.git"
	score := model.Score{Score: 0.5, Problems: 5}
	c.withStore(func(ctx context.Context, s *store.Store) {
		b := model.Benchmark{Name: "good", Repo: source, Started: time.Now(), Runs: []model.RunSummary{{Sandbox: 4 * time.Second}, {Sandbox: 6 * time.Second}}}
		_, err := s.SaveBenchmark(ctx, b)
		require.NoError(t, err)
		_, err = s.SaveBenchmark(ctx, model.Benchmark{Name: "other", Repo: "/elsewhere", Started: time.Now(), Runs: []model.RunSummary{{Sandbox: time.Hour}}})
		require.NoError(t, err)
	})
	var p estimate.Plan
	c.document(&p, "run", file, "--estimate")
	require.Contains(t, p.Sandbox.Source, "1 benchmark")
	require.InDelta(t, 4*5+4*(1+24+4)*5, p.Sandbox.Likely, 1e-6)

	c.withStore(func(ctx context.Context, s *store.Store) {
		for _, name := range []string{"before", "good"} {
			require.NoError(t, s.CreateCampaign(ctx, model.Campaign{
				Name: name, Spec: []byte(`{}`), Source: source, Phase: "x", Baseline: &score, Cost: model.Cost{Sandbox: 4 * time.Minute},
			}))
		}
		require.NoError(t, s.CreateCampaign(ctx, model.Campaign{Name: "far", Spec: []byte(`{}`), Source: "/elsewhere", Phase: "x"}))
		for n, campaign := range []string{"before", "before", "good", "far"} {
			cost := model.Cost{Sandbox: time.Duration(n+1) * time.Minute, Wall: time.Minute}
			require.NoError(t, s.SaveGeneration(ctx, store.Fence{}, model.Generation{Campaign: campaign, N: n + 1, Outcome: model.OutcomeNone, Cost: cost}))
		}
	})
	before := c.storeFile()
	c.document(&p, "run", file, "--estimate")
	require.Contains(t, p.Sandbox.Source, "3 generations of earlier campaigns")
	require.Equal(t, 120.0, p.Sandbox.Generation)
	require.Equal(t, 1, p.Done)
	require.Equal(t, 3, p.Generations)
	require.Equal(t, 360.0, p.Sandbox.Likely, "its baseline is behind it")
	require.Contains(t, c.ok("run", file, "--estimate"), "search.generations, 1 are done")
	require.Equal(t, before, c.storeFile())
}

// storeFile is the content of the store's file.
func (c *cli) storeFile() []byte {
	c.t.Helper()
	data, err := os.ReadFile(workers.StorePath(c.data()))
	require.NoError(c.t, err)
	return data
}

func TestEstimateOfWrongInput(t *testing.T) {
	c := newCLI(t)
	file := c.good()
	for _, flag := range []string{"--dev", "--detach", "--push"} {
		c.fails(exitUsage, []string{"--estimate and " + flag + " exclude each other"}, "run", file, "--estimate", flag)
	}
	c.fails(exitUsage, []string{"--estimate and --ui-port"}, "run", file, "--estimate", "--ui-port", "9")
	c.fails(exitUsage, []string{"no such file"}, "run", "none.yaml", "--estimate")
	c.write("bad.yaml", "name: x\nrepo: ./x\nseed: many\n")
	c.fails(exitUsage, []string{"bad.yaml:3:"}, "run", "bad.yaml", "--estimate")
	c.fails(exitUsage, []string{"no git repository"}, "run", c.campaign("gone", "./gone.git"), "--estimate")
	c.withStore(func(context.Context, *store.Store) {})
	require.NoError(t, os.WriteFile(workers.StorePath(c.data()), []byte(fmt.Sprintf("%4096d", 1)), 0o600))
	c.fails(exitEnvironment, []string{"damaged or is no store"}, "run", file, "--estimate")
}
