package store

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func TestDiscardCampaign(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		campaign(t, s, "other")
		for _, name := range []string{"c", "other"} {
			key := RunKey{Campaign: name, Scope: "baseline", Round: 1}
			run := model.Run{Results: []model.Result{{Problem: "p", Score: 1, Outcome: model.Pass}}}
			_, err := s.SaveRun(ctx, Fence{}, key, "tree", run)
			require.NoError(t, err)
			require.NoError(t, s.SaveProblems(ctx, Fence{}, name, []model.Problem{{ID: "p"}}))
			require.NoError(t, s.SaveReport(ctx, Fence{}, name, []byte(`{}`)))
			require.NoError(t, s.ReserveCall(ctx, Fence{}, model.Call{ID: "of " + name, Campaign: name}, model.Budget{}))
			_, err = s.AddCampaignEvent(ctx, model.CampaignEvent{Campaign: name, Key: "k", Kind: model.EventHint})
			require.NoError(t, err)
			_, err = s.SaveReflection(ctx, Fence{}, model.Reflection{Campaign: name, Generation: 1})
			require.NoError(t, err)
		}
		require.ErrorIs(t, s.DiscardCampaign(ctx, "c"), ErrConflict, "it runs")

		stop(t, s, "c", &model.Score{Score: 1})
		require.ErrorIs(t, s.DiscardCampaign(ctx, "c"), ErrConflict, "it has a baseline")
		runs, err := s.Runs(ctx, "c", "baseline")
		require.NoError(t, err)
		require.Len(t, runs, 1, "nothing was deleted")

		stop(t, s, "c", nil)
		require.NoError(t, s.DiscardCampaign(ctx, "c"))
		_, err = s.Campaign(ctx, "c")
		require.ErrorIs(t, err, ErrNotFound)
		require.NoError(t, s.DiscardCampaign(ctx, "c"), "again")

		runs, err = s.Runs(ctx, "other", "baseline")
		require.NoError(t, err)
		require.Len(t, runs, 1, "other campaigns keep theirs")
		campaign(t, s, "c")
		runs, err = s.Runs(ctx, "c", "baseline")
		require.NoError(t, err)
		require.Empty(t, runs, "the next of the name begins anew")
		for _, name := range []string{"calls", "campaign_events", "reflections"} {
			var c, other int
			require.NoError(t, s.readers.QueryRow(`SELECT SUM(CASE WHEN campaign = 'c' THEN 1 ELSE 0 END), COUNT(*) FROM `+name).Scan(&c, &other))
			require.Equal(t, []int{0, 1}, []int{c, other}, name)
		}
	})
}

// A table with rows of campaigns is either emptied with them or has rows only
// once there is a baseline, which no campaign loses.
func TestDiscardKnowsEveryTable(t *testing.T) {
	s := open(t, Config{Path: t.TempDir() + "/x.db"})
	rows, err := s.readers.Query(`SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'campaign' ORDER BY 1`)
	require.NoError(t, err)
	defer rows.Close()
	later := []string{"attempts", "changes", "generations", "proposals", "receipts"}
	known := 0
	for rows.Next() {
		var table string
		require.NoError(t, rows.Scan(&table))
		deleted := slices.ContainsFunc(discarded, func(q string) bool { return strings.HasPrefix(q, "DELETE FROM "+table+" WHERE") })
		require.True(t, deleted != slices.Contains(later, table), table)
		known++
	}
	require.NoError(t, rows.Err())
	require.Greater(t, known, len(later))
}

func stop(t *testing.T, s *Store, name string, baseline *model.Score) {
	t.Helper()
	_, err := s.UpdateCampaign(context.Background(), Fence{}, name, func(c *model.Campaign) error {
		c.Stopped, c.Baseline = model.StopError, baseline
		return nil
	})
	require.NoError(t, err)
}
