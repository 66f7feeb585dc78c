package workflows

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

// TestAnAnswerThatComesTooLateSaysWhoDecided: one answer counts, and none after the deadline.
func TestAnAnswerThatComesTooLateSaysWhoDecided(t *testing.T) {
	for name, x := range map[string]struct {
		first bool // somebody answered in time
		at    time.Duration
		want  string
		by    string
	}{
		"twice":              {true, time.Hour, "decided already, by ada: read it", "ada"},
		"after the deadline": {false, 24*time.Hour + time.Minute, "decided already, by deadline: nobody answered before the deadline", "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			env := alone(t, w)
			var by string
			for _, settle := range []string{protocol.KeepChange, protocol.RevertChange} { // either takes a while
				env.OnActivity(settle, anyArg, anyArg).Return(func(_ context.Context, in protocol.SettleChangeInput) (protocol.SettleChangeResult, error) {
					by = in.By
					return protocol.SettleChangeResult{State: model.ChangeKept}, nil
				}).After(time.Hour).Maybe()
			}
			var first, late updateAnswer
			env.RegisterDelayedCallback(func() {
				if x.first {
					env.UpdateWorkflow(protocol.UpdateApproveChange, "first", &first, protocol.Verdict{By: "ada", Why: "read it"})
				}
			}, time.Hour)
			env.RegisterDelayedCallback(func() {
				env.UpdateWorkflow(protocol.UpdateRejectChange, "late", &late, protocol.Verdict{By: "bob"})
			}, x.at+time.Minute)
			env.ExecuteWorkflow(Change, protocol.ChangeInput{ID: "c1", Campaign: "demo", Generation: 1, Approval: needsPerson})
			require.NoError(t, env.GetWorkflowError())
			require.NoError(t, first.rejected)
			require.ErrorContains(t, late.rejected, x.want)
			require.Equal(t, x.by, by)
		})
	}
}

// TestWhatPeopleSendIsPlainText: what would reach terminals and logs is refused.
func TestWhatPeopleSendIsPlainText(t *testing.T) {
	c := change{waiting: true}
	for _, bad := range []string{"\x1b[31mred", "two\nlines", "\u009b2J", "\u202eback"} {
		require.Error(t, c.check(protocol.Verdict{By: "ada", Why: bad}), "%q", bad)
		require.Error(t, c.check(protocol.Verdict{By: bad}), "%q", bad)
		require.Error(t, protocol.CheckHint(bad), "%q", bad)
	}
	require.NoError(t, c.check(protocol.Verdict{By: "ada", Why: "read it"}))
}

// TestTheStoryHoldsNoControlCharacters, whatever a test is called and a model says.
func TestTheStoryHoldsNoControlCharacters(t *testing.T) {
	const bad = "a\x1b[2Jb\u009bc\u202ed"
	got := markdown(protocol.Scoreboard{Campaign: "demo", Phase: bad, Hint: bad, Recent: []protocol.GenerationNote{
		{N: 1, Outcome: model.OutcomeRejected, Hypothesis: bad, Reason: bad, Proposer: bad},
	}})
	require.Equal(t, 5, strings.Count(got, "a\uFFFD[2Jb\uFFFDc\uFFFDd"))
	require.NotContains(t, got, "\x1b")
}
