package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/campaign"
	"ratchet/internal/diagnose"
	"ratchet/internal/model"
	"ratchet/internal/protocol"
	"ratchet/internal/store"
)

func (l *lab) steer(key string, in protocol.SteerCampaignInput) model.Budget {
	l.t.Helper()
	var out protocol.SteerCampaignResult
	in.Campaign, in.Key = l.spec.Name, key
	require.NoError(l.t, l.run(l.acts.RegisterMain, protocol.SteerCampaign, in, &out))
	return out.Budget
}

func TestSteerCampaignSetsTheBudgetOnce(t *testing.T) {
	l := newLab(t, nil, nil)
	tokens, wall, none := int64(5000), 20*time.Hour, int64(0)
	raise := protocol.SteerCampaignInput{Kind: model.EventBudget, By: "ann", Why: "more", Budget: &protocol.BudgetChange{Tokens: &tokens, Wall: &wall}}
	want := model.Budget{Wall: wall, Sandbox: 4 * time.Hour, Tokens: 5000}
	require.Equal(t, want, l.steer("k1", raise))
	lower := protocol.SteerCampaignInput{Kind: model.EventBudget, By: "bob", Budget: &protocol.BudgetChange{Tokens: &none}}
	require.Equal(t, model.Budget{Wall: wall, Sandbox: 4 * time.Hour}, l.steer("k2", lower))
	require.Equal(t, model.Budget{Wall: wall, Sandbox: 4 * time.Hour}, l.steer("k1", raise), "the same request again does not undo a later one")

	events, err := l.store.CampaignEvents(t.Context(), "lab")
	require.NoError(t, err)
	require.Len(t, events, 2)
	require.Equal(t, "wall 8h → 20h, tokens no limit → 5000", events[0].Text)
	require.Equal(t, "tokens 5000 → no limit", events[1].Text)
	require.Equal(t, []string{"ann", "more"}, []string{events[0].By, events[0].Why})
	out := l.opened("lab")
	require.Equal(t, []any{wall, 4 * time.Hour, int64(0)}, []any{out.BudgetWall, out.BudgetSand, out.BudgetToken})
}

func TestSteerCampaignRefusesABudgetWithoutItsKind(t *testing.T) {
	l := newLab(t, nil, nil)
	for _, in := range []protocol.SteerCampaignInput{
		{Campaign: "lab", Key: "k", Kind: model.EventHint, Budget: &protocol.BudgetChange{}}, {Campaign: "lab", Key: "k", Kind: model.EventBudget},
	} {
		err := l.run(l.acts.RegisterMain, protocol.SteerCampaign, in, nil)
		require.ErrorContains(t, err, "kind budget")
	}
	events, err := l.store.CampaignEvents(t.Context(), "lab")
	require.NoError(t, err)
	require.Empty(t, events)
}

func TestOpenCampaignSaysWhetherItIsPaused(t *testing.T) {
	l := newLab(t, nil, nil)
	for i, step := range []struct {
		kind model.CampaignEventKind
		want bool
	}{{model.EventHint, false}, {model.EventPaused, true}, {model.EventHint, true}, {model.EventResumed, false}, {model.EventPaused, true}} {
		l.steer(string(rune('a'+i)), protocol.SteerCampaignInput{Kind: step.kind, By: "ann"})
		require.Equal(t, step.want, l.opened("lab").Paused, "after %d, %s", i, step.kind)
	}
}

// A brief holds the latest words of people and of earlier generations.
func TestBriefHoldsHintsAndReflections(t *testing.T) {
	l := newLab(t, nil, nil)
	for i := range 7 {
		key := string(rune('a' + i))
		l.steer(key, protocol.SteerCampaignInput{Kind: model.EventHint, By: "ann", Text: "hint " + key, Now: time.Unix(int64(i), 0)})
		_, err := l.store.SaveReflection(t.Context(), store.Fence{}, model.Reflection{Campaign: "lab", Generation: i + 1, Learn: "lesson " + key})
		require.NoError(t, err)
	}
	l.steer("p", protocol.SteerCampaignInput{Kind: model.EventPaused, By: "ann", Why: "no hint"})
	var b diagnose.Brief
	require.NoError(t, l.acts.getJSON(t.Context(), l.diagnosed(8), &b))
	require.Len(t, b.Hints, 5)
	require.Equal(t, []string{"hint g", "hint c", "ann"}, []string{b.Hints[0].Text, b.Hints[4].Text, b.Hints[0].By})
	require.Len(t, b.Reflections, 5)
	require.Equal(t, []string{"lesson g", "lesson c"}, []string{b.Reflections[0].Learn, b.Reflections[4].Learn})
}

// A fork begins in its parent's repository, at a commit that the source does not have.
func TestForkBeginsAtACommitOfItsParent(t *testing.T) {
	l := newLab(t, nil, nil)
	parent, err := l.acts.load(t.Context(), "lab")
	require.NoError(t, err)
	defer parent.close()
	land := commitOn(t, parent, "p/a.txt", "good\n")

	s := l.spec
	s.Name = "fork"
	out := l.create(s, model.Campaign{Parent: "lab", ForkedAt: land})
	require.Equal(t, land, out.Base)
	fork, err := l.acts.load(t.Context(), "fork")
	require.NoError(t, err)
	defer fork.close()
	require.Equal(t, l.spec.Repo, fork.row.Source, "failures and pushes go by the source")
	require.NotEqual(t, parent.row.Repo, fork.row.Repo)
	f, _ := fork.trusted.Find("p/a.txt")
	require.Equal(t, "good\n", string(f.Data))
	for _, ref := range []string{protocol.BestRef("fork"), protocol.BranchRef("fork")} {
		at, err := fork.repo.Ref(t.Context(), ref)
		require.NoError(t, err)
		require.Equal(t, land, at)
	}

	s.Name = "orphan"
	data := model.Campaign{Name: "orphan", Spec: mustJSON(t, s), Source: s.Repo, Parent: "lab"}
	require.NoError(t, l.store.CreateCampaign(t.Context(), data))
	err = l.run(l.acts.RegisterMain, protocol.OpenCampaign, protocol.OpenCampaignInput{Campaign: "orphan"}, nil)
	require.ErrorContains(t, err, "commit to start from")
}

func TestOpenCampaignNamesProposersAndCountsCalls(t *testing.T) {
	l := newLab(t, func(s *campaign.Spec) {
		asking(s, "http://127.0.0.1:1/v1", true)
		s.Proposers[1].Name = "writer"
		s.Budget.Tokens, s.Budget.Cost = 1000, 2.5
	}, nil)
	require.NoError(t, l.store.ReserveCall(t.Context(), store.Fence{}, model.Call{ID: "x", Campaign: "lab", Generation: 1, Input: 30, Money: 1}, model.Budget{}))
	_, err := l.store.LoseCalls(t.Context(), store.Fence{}, "lab", 1)
	require.NoError(t, err)
	out := l.opened("lab")
	require.True(t, out.Model)
	require.Equal(t, []string{"search", "writer"}, out.Proposers)
	require.Equal(t, []any{int64(1000), 2.5}, []any{out.BudgetToken, out.BudgetMoney})
	require.Equal(t, []any{int64(30), 1.0, int64(1)}, []any{out.Cost.Tokens, out.Cost.Money, out.Cost.Calls}, "their generation was never recorded")
}
