package activities

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"ratchet/internal/campaign"
	"ratchet/internal/llm"
	"ratchet/internal/llm/llmtest"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
	"ratchet/internal/store"
)

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}

// commitOn lands a commit on a campaign's branch.
func commitOn(t *testing.T, c *target, path, text string) string {
	t.Helper()
	branch := protocol.BranchRef(c.row.Name)
	tip, err := c.repo.Ref(t.Context(), branch)
	require.NoError(t, err)
	made, err := c.repo.Commit(t.Context(), repo.CommitSpec{
		Parent: tip, Edits: []model.Edit{{Path: path, Data: []byte(text)}}, Subject: "Mend", When: time.Unix(1_700_000_001, 0),
	})
	require.NoError(t, err)
	require.NoError(t, c.repo.SetRef(t.Context(), branch, tip, made.Hash))
	return made.Hash
}

// byProposer counts attempts as proposer/status.
func byProposer(rows []model.Attempt) map[string]int {
	out := map[string]int{}
	for _, r := range rows {
		out[r.Proposer+"/"+string(r.Status)]++
	}
	return out
}

func kindOfFailure(t *testing.T, err error) (kind string, final bool) {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	return app.Type(), app.NonRetryable()
}

func TestProposersShareTheCandidates(t *testing.T) {
	s := server(t, llmtest.Queue(llmtest.Say(mend("a")), llmtest.Say(mend("b"))))
	var asked []int
	l := newLab(t, func(c *campaign.Spec) { asking(c, s.V1(), true) }, beside(scripted{ideas: 100, asked: &asked}))
	out, err := l.propose(1)
	require.NoError(t, err)
	rows := l.attempts(1)
	got := byProposer(rows)
	require.Equal(t, 4, out.Candidates)
	require.Equal(t, 4, got["search/proposed"]+got["llm/proposed"], "every place is taken: %v", got)
	require.Positive(t, got["search/proposed"])
	require.Positive(t, got["llm/proposed"])
	require.Empty(t, out.Notes)
	require.NotEmpty(t, out.Spans)

	calls, before := s.Stats().Calls, len(asked)
	again, err := l.propose(1)
	require.NoError(t, err)
	require.Equal(t, 4, again.Candidates)
	require.Equal(t, rows, l.attempts(1), "the stored proposal is returned")
	require.Equal(t, []int{calls, before}, []int{s.Stats().Calls, len(asked)}, "nobody is asked again")
	l.clean()
}

// An attempt that died after the model had answered asks no question twice.
func TestProposalThatDiedBeforeItWasStored(t *testing.T) {
	s := server(t, llmtest.Queue(llmtest.Say(mend("a")), llmtest.Say(mend("b")), llmtest.Say("never asked for")))
	l := modelLab(t, s, nil)
	t1, err := l.acts.load(t.Context(), "lab")
	require.NoError(t, err)
	defer t1.close()
	ref := l.diagnosed(1)
	in := protocol.ProposeCandidatesInput{Campaign: "lab", Generation: 1, Brief: ref, Candidates: 4}
	d := l.draft(t1, in)
	p := &pulse{host: newHost()}
	require.NoError(t, d.fromProposers(t.Context(), store.Fence{}, p, &protocol.ProposeCandidatesResult{}))
	require.Len(t, d.attempts, 2, "and nothing of it is stored")
	calls := s.Stats().Calls

	l.restart()
	out, err := l.propose(1)
	require.NoError(t, err)
	require.Equal(t, 2, out.Candidates)
	require.Equal(t, calls, s.Stats().Calls)
	for i, r := range l.attempts(1) {
		require.Equal(t, d.attempts[i].Key, r.Key)
	}
}

// Places that a model leaves empty go to whoever has more ideas.
func TestPlacesThatAModelLeavesGoToTheSearch(t *testing.T) {
	s := server(t, llmtest.Prose())
	var asked []int
	l := newLab(t, func(c *campaign.Spec) { asking(c, s.V1(), true) }, beside(scripted{ideas: 100, asked: &asked}))
	out, err := l.propose(1)
	require.NoError(t, err)
	got := byProposer(l.attempts(1))
	require.Equal(t, 4, got["search/proposed"], "%v", got)
	require.Len(t, asked, 2)
	require.Positive(t, got["llm/refused"], "answers that are none are told of: %v", got)
	require.Equal(t, got["llm/refused"], out.Refused)
	for _, r := range l.attempts(1) {
		if r.Proposer == "llm" {
			require.Equal(t, "answer", r.Stage)
			require.NotEmpty(t, r.Reason)
		}
	}
	_, err = l.propose(2)
	require.NoError(t, err)
	require.Positive(t, byProposer(l.attempts(2))["llm/refused"], "the same answer again counts again")
}

// Places that the search leaves empty go to the model, as far as it may be asked.
func TestPlacesThatTheSearchLeavesGoToAModel(t *testing.T) {
	s := server(t, llmtest.Queue(llmtest.Say(mend("a")), llmtest.Say(mend("b"))))
	var asked []int
	l := newLab(t, func(c *campaign.Spec) { asking(c, s.V1(), true) }, beside(scripted{asked: &asked}))
	_, err := l.propose(1)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"llm/proposed": 2}, byProposer(l.attempts(1)))
	require.Len(t, asked, 1, "one that gave less than it was asked for has no more ideas")
}

func TestModelThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		script   llmtest.Script
		searches bool
		ideas    int
		kind     string // of the error; empty for none
		final    bool
	}{
		"away, and the search goes on":          {llmtest.ServerError(), true, 10, "", false},
		"away, and the search has no idea":      {llmtest.ServerError(), true, 0, protocol.ErrUnavailable, false},
		"away, and alone":                       {llmtest.ServerError(), false, 0, protocol.ErrUnavailable, false},
		"no such model, and the search goes on": {llmtest.NoModel(), true, 10, "", false},
		"no such model, beside a search":        {llmtest.NoModel(), true, 0, "", false},
		"no such model, and alone":              {llmtest.NoModel(), false, 0, protocol.ErrBadInput, true},
		"no key, and alone":                     {llmtest.Unauthorized(), false, 0, protocol.ErrBadInput, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server(t, c.script)
			var asked []int
			l := newLab(t, func(spec *campaign.Spec) { asking(spec, s.V1(), c.searches) }, beside(scripted{ideas: c.ideas, asked: &asked}))
			out, err := l.propose(1)
			stored, lookup := l.store.Proposed(t.Context(), "lab", 1)
			require.NoError(t, lookup)
			l.clean()
			if c.kind != "" {
				kind, final := kindOfFailure(t, err)
				require.Equal(t, c.kind, kind)
				require.Equal(t, c.final, final)
				require.False(t, stored, "it is proposed anew when it is tried again")
				return
			}
			require.NoError(t, err)
			require.True(t, stored)
			require.Equal(t, min(c.ideas, 4), out.Candidates)
			require.NotEmpty(t, out.Notes)
			require.Contains(t, out.Notes[0], "llm")
			l.sameAgain(out)
		})
	}
}

func TestProposalWithoutBudgetSaysSo(t *testing.T) {
	s := server(t, llmtest.Say(mend("a")))
	l := modelLab(t, s, func(c *campaign.Spec) { c.Budget.Tokens = 10 })
	out, err := l.propose(1)
	require.NoError(t, err, "a budget that is used up ends a campaign in good order")
	require.True(t, out.Exhausted)
	require.Zero(t, out.Candidates)
	l.sameAgain(out)
	require.Zero(t, s.Stats().Calls)
}

// sameAgain requires of a proposal that is made again, after its rows were written
// and its result was lost, that it says what it has said.
func (l *lab) sameAgain(first protocol.ProposeCandidatesResult) {
	l.t.Helper()
	l.restart()
	again, err := l.propose(1)
	require.NoError(l.t, err)
	first.Spans, again.Spans = nil, nil
	require.Equal(l.t, first, again)
}

func (l *lab) draft(t *target, in protocol.ProposeCandidatesInput) *draft {
	l.t.Helper()
	d, err := l.acts.newDraft(l.t.Context(), t, in, l.brief(in.Brief))
	require.NoError(l.t, err)
	return d
}

// A proposal that was stored takes from the queue only what is in it.
func TestQueueKeepsWhatAStoredProposalDidNotTake(t *testing.T) {
	var asked []int
	l := newLab(t, nil, beside(scripted{ideas: 9, asked: &asked}))
	_, err := l.propose(1)
	require.NoError(t, err)
	for i, r := range l.attempts(1) {
		r.Status, r.Score = model.AttemptPassed, float64(i)/10
		require.NoError(t, l.store.UpdateAttempt(t.Context(), store.Fence{}, r))
	}
	l.spec.Search.Candidates = 2
	for range 2 {
		out, err := l.propose(2)
		require.NoError(t, err)
		require.Equal(t, 2, out.Candidates)
	}
	require.Equal(t, map[string]int{"search/passed": 2, "search/superseded": 2}, byProposer(l.attempts(1)))
}

func TestShareOfTheBudgets(t *testing.T) {
	r := model.ProposerRecord{Sandbox: time.Hour, Tokens: 500, Money: 2}
	for name, c := range map[string]struct {
		caps model.Budget
		want float64
	}{
		"no limits":               {model.Budget{}, 0},
		"boxes":                   {model.Budget{Sandbox: 4 * time.Hour}, 0.25},
		"boxes and tokens":        {model.Budget{Sandbox: 4 * time.Hour, Tokens: 1000}, 0.75},
		"the tighter one of both": {model.Budget{Tokens: 1000, Money: 2.5}, 0.8},
	} {
		require.InDelta(t, c.want, share(r, c.caps), 1e-9, name)
	}
}

// What a model wrote shares a box with nothing, whatever its proposer is called.
func TestSharedBoxesAreForTheSearchAlone(t *testing.T) {
	spec := campaign.Spec{Proposers: []campaign.Proposer{{Kind: campaign.ProposerSearch, Name: "mutants"}, {Kind: campaign.ProposerLLM, Name: "search"}, {Kind: campaign.ProposerLLM}}}
	for name, want := range map[string]bool{"mutants": true, "search": false, "llm": false, "unknown": false, "": false} {
		require.Equal(t, want, shared(spec, name), name)
	}
}

func TestErrorsOfModelsAreMapped(t *testing.T) {
	for _, kind := range []error{llm.ErrUnavailable, llm.ErrOverloaded, llm.ErrDeadline, llm.ErrTruncated, llm.ErrMalformed} {
		require.Equal(t, protocol.ErrUnavailable, kindOf(&llm.Error{Kind: kind}), kind)
	}
	for _, kind := range []error{llm.ErrAuth, llm.ErrNoModel, llm.ErrRequest, llm.ErrContext, llm.ErrBudget} {
		require.Equal(t, protocol.ErrBadInput, kindOf(&llm.Error{Kind: kind}), kind)
	}
}
