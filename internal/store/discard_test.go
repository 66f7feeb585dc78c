package store

import (
	"context"
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
	})
}

func stop(t *testing.T, s *Store, name string, baseline *model.Score) {
	t.Helper()
	_, err := s.UpdateCampaign(context.Background(), Fence{}, name, func(c *model.Campaign) error {
		c.Stopped, c.Baseline = model.StopError, baseline
		return nil
	})
	require.NoError(t, err)
}
