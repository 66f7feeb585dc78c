package main

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/llm/llmtest"
)

// A campaign that ends for its budget says how it goes on, goes on when a person
// has given it more, and ends then for a reason of its own.
func TestCampaignGoesOnWithALargerBudget(t *testing.T) {
	needDocker(t)
	server := llmtest.Start(t, llmtest.Config{Script: scriptedModel(patchAnswer(
		"The upper bound is compared the wrong way", edit{"clamp.go", "\tif x < hi {\n\t\treturn hi\n", "\tif x > hi {\n\t\treturn hi\n"}))})
	c := newCLI(t)
	c.background("Ctrl-C stops the stack", "dev")
	c.repository("more.git", "main", clampModule())
	file := c.campaign("more", "./more.git",
		"endpoints: [{name: local, url: "+strconv.Quote(server.V1())+", model: test-model}]",
		"proposers: [{kind: llm, name: coder, samples: 1, max_tokens: 1000}]",
		"search: {generations: 4, candidates: 1, parallel: 1}", "budget: {tokens: 50}")

	out := c.ok("run", file)
	for _, text := range []string{"stopped (budget)", "of 50 tokens", "ratchet campaign budget more", "ratchet campaign resume more"} {
		require.Contains(t, out, text)
	}
	require.Empty(t, server.Requests(), "no call fits")
	r := c.report("more")
	require.Equal(t, []any{"budget", 0}, []any{r.Stopped, r.Kept})
	before := len(r.Generations)

	c.fails(exitUsage, []string{"it has ended (budget)", "ratchet campaign budget more"}, "run", file)
	c.fails(exitUsage, []string{"it has ended (budget)"}, "campaign", "resume", "more")
	require.Contains(t, c.ok("campaign", "budget", "more", "--tokens", "1e6", "--why", "it is worth it"), "go on with: ratchet campaign resume more")
	require.Contains(t, c.ok("campaign", "resume", "more"), "campaign more goes on")
	c.ok("campaign", "watch", "more")

	r = c.report("more")
	require.Equal(t, []any{"score", 1}, []any{r.Stopped, r.Kept})
	require.Len(t, r.Generations, before+1, "nothing is done twice")
	require.NotEmpty(t, server.Requests())
	require.Positive(t, r.Cost.Tokens)
	c.fails(exitUsage, []string{"it has ended (score)"}, "campaign", "resume", "more")
}
