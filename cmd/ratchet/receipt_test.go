package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhoProposedAChange(t *testing.T) {
	c := newCLI(t)
	c.withStore(triedAndRefused(t))
	var list []authoredChange
	c.document(&list, "change", "list")
	require.Equal(t, []string{"c1", "coder"}, []string{list[0].ID, list[0].Proposer})
	require.Regexp(t, `(?m)^c1 .* coder +the bound`, c.ok("change", "list"))
	var view changeView
	c.document(&view, "change", "show", "c1")
	require.Equal(t, []string{"coder", "coder"}, []string{view.Proposer, view.Receipt.Proposer})
	require.Contains(t, c.ok("change", "show", "c1"), "proposed by coder")

	out := c.ok("receipt", "abcdef", "--json")
	var r receiptView
	decodeOne(t, out, &r)
	require.Equal(t, "coder", r.Proposer)
	require.Equal(t, []float64{1.5, 90}, []float64{r.Cost.WallSeconds, r.Cost.SandboxSeconds})
	require.NotContains(t, out, `"wall"`)
	require.NotContains(t, out, `"sandbox"`)
	require.Contains(t, c.ok("receipt", "abcdef"), "proposed by coder")
}
