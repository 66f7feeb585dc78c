package workflows

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

func TestScoreboardReadsAsAStory(t *testing.T) {
	got := markdown(protocol.Scoreboard{
		Campaign: "demo", Phase: "generation 3", Baseline: 0.5, Score: 0.75, Kept: 1, Reverted: 1, Paused: true, Waiting: "c9",
		Recent: []protocol.GenerationNote{
			{N: 1, Outcome: model.OutcomeKept, Before: 0.5, After: 0.75, Hypothesis: "`<` should be\n`<=`", Reason: "proven"},
			{N: 2, Outcome: model.OutcomeReverted, Before: 0.75, After: 0.7, Hypothesis: strings.Repeat("x", 500), Reason: "it breaks TestA", Proposer: "coder"},
		},
	})
	require.Contains(t, got, "**demo**: generation 3 (paused)")
	require.Contains(t, got, "score **75.0%** (baseline 50.0%), 1 kept, 1 reverted, 0 rejected")
	require.Contains(t, got, "ratchet change approve c9")
	require.Contains(t, got, "- **1** ✔ **kept** 50.0% → 75.0%: `<` should be `<=`\n  - *proven*\n")
	require.Contains(t, got, "75.0% → 70.0% by coder: xxx")
	require.Less(t, strings.Index(got, "it breaks TestA"), strings.Index(got, "proven"), "the latest comes first")
	require.NotContains(t, got, strings.Repeat("x", 300))
}
