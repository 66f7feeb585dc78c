package activities

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/store"
)

func TestVeil(t *testing.T) {
	tg := &target{problems: []model.Problem{
		{ID: "unit/a/TestOpen", Name: "TestOpen", Split: model.SplitSearch},
		{ID: "unit/b/TestOpen", Name: "TestOpen", Split: model.SplitHeldout},
		{ID: "unit/b/TestShut", Name: "TestShut", Split: model.SplitHeldout},
		{ID: "unit/b/TestShutTwice", Name: "TestShutTwice", Split: model.SplitSearch},
	}}
	v := tg.veil()
	require.Equal(t, "it makes a held-out problem and unit/a/TestOpen worse", v.over("it makes unit/b/TestShut and unit/a/TestOpen worse"))
	require.Equal(t, "a held-out problem fails, TestOpen and TestShutTwice pass", v.over("TestShut fails, TestOpen and TestShutTwice pass"))
	require.Equal(t, "a held-out problem", v.over("unit/b/TestOpen"))
	require.Equal(t, []string{"unit/a/TestOpen", unseen}, v.list([]string{"unit/a/TestOpen", "unit/b/TestOpen", "unit/b/TestShut"}))
	require.Equal(t, "as it was", (&target{}).veil().over("as it was"))
}

func TestFateOfWhatLanded(t *testing.T) {
	ctx := t.Context()
	st, err := store.Open(ctx, store.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	require.NoError(t, st.CreateCampaign(ctx, model.Campaign{Name: "a", Spec: []byte("{}")}))
	landed := func(generation int) model.Attempt {
		return model.Attempt{Campaign: "a", Key: "k", Generation: generation, Status: model.AttemptLanded}
	}
	for i, r := range []model.Receipt{
		{Decision: model.DecisionRevert, Reason: "worse", Broken: []string{"x"}, Fixed: []string{}},
		{Decision: model.DecisionKeep, Reason: "better", Broken: []string{}, Fixed: []string{"y"}},
	} {
		r.Campaign, r.Generation, r.Change = "a", i+1, changeID("a", i+1, "k")
		require.NoError(t, st.CreateChange(ctx, store.Fence{}, model.Change{ID: r.Change, Campaign: "a", Generation: i + 1, Attempt: "k", State: model.ChangeProposed}, byRatchet, "best"))
		require.NoError(t, st.SaveReceipt(ctx, store.Fence{}, r))
	}
	a := &Activities{store: st}
	first, second, third := landed(1), landed(2), landed(3)
	for _, at := range []*model.Attempt{&first, &second, &third} {
		require.NoError(t, a.decide(ctx, at))
	}
	require.Equal(t, []any{fateReverted, "worse", []string{"x"}}, []any{first.Status, first.Reason, first.Broken})
	require.Equal(t, []any{fateKept, "better", []string{"y"}}, []any{second.Status, second.Reason, second.Fixed})
	require.Equal(t, landed(3), third, "nothing is decided")
}

// Names end in brackets, stand in one another, and beside any character.
func TestVeilOverNamesWithParameters(t *testing.T) {
	tg := &target{problems: []model.Problem{
		{ID: "py/tests/test_a.py::test_open[1]", Name: "tests/test_a.py::test_open[1]", Split: model.SplitHeldout},
		{ID: "py/tests/test_a.py::test_shut[größe]", Name: "tests/test_a.py::test_shut[größe]", Split: model.SplitHeldout},
		{ID: "py/tests/test_a.py::test_cut", Name: "tests/test_a.py::test_cut", Split: model.SplitHeldout},
		{ID: "py/tests/test_a.py::test_cut_all", Name: "tests/test_a.py::test_cut_all", Split: model.SplitSearch},
		{ID: "py/tests/test_ö", Name: "tests/test_ö", Split: model.SplitHeldout},
	}}
	v := tg.veil()
	for _, p := range tg.split(model.SplitHeldout) {
		for _, text := range []string{"%", "it breaks %", "it breaks % and more", "% fails", "(%), %; %.", "%\n%"} {
			text = strings.ReplaceAll(text, "%", p.ID)
			require.NotContains(t, v.over(text), "test_", text)
		}
		require.Equal(t, []string{unseen}, v.list([]string{p.ID}))
	}
	require.Empty(t, v.over(""))
	require.Equal(t, "py/tests/test_a.py::test_cut_all", v.over("py/tests/test_a.py::test_cut_all"))
}
