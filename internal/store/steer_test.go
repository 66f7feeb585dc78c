package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func TestModelRecordsComeBackWhole(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		c := filled[model.Call]()
		campaign(t, s, c.Campaign)
		require.NoError(t, s.ReserveCall(ctx, Fence{}, c, model.Budget{}))
		c.Status = model.CallAnswered
		require.NoError(t, s.SettleCall(ctx, c))
		calls, err := s.Calls(ctx, c.Campaign)
		require.NoError(t, err)
		require.Equal(t, []model.Call{c}, calls)

		e := filled[model.CampaignEvent]()
		campaign(t, s, e.Campaign)
		stored, err := s.AddCampaignEvent(ctx, e)
		require.NoError(t, err)
		e.Seq = 1
		require.Equal(t, e, stored)
		events, err := s.CampaignEvents(ctx, e.Campaign)
		require.NoError(t, err)
		require.Equal(t, []model.CampaignEvent{e}, events)

		r := filled[model.Reflection]()
		campaign(t, s, r.Campaign)
		saved, err := s.SaveReflection(ctx, Fence{}, r)
		require.NoError(t, err)
		require.Equal(t, r, saved)
		read, err := s.Reflection(ctx, r.Campaign, r.Generation)
		require.NoError(t, err)
		require.Equal(t, r, read)
	})
}

// Events have numbers without gaps, one for each key, also when many come at once.
func TestCampaignEventsSideBySide(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				e := model.CampaignEvent{Campaign: "c", Key: fmt.Sprint("key", i%6), Kind: model.EventHint, Text: fmt.Sprint(i)}
				stored, err := s.AddCampaignEvent(ctx, e)
				if err != nil || stored.Key != e.Key {
					t.Error(stored, err)
				}
			})
		}
		wg.Wait()
		events, err := s.CampaignEvents(ctx, "c")
		require.NoError(t, err)
		var keys []string
		for i, e := range events {
			require.Equal(t, i+1, e.Seq)
			keys = append(keys, e.Key)
		}
		slices.Sort(keys)
		require.Equal(t, []string{"key0", "key1", "key2", "key3", "key4", "key5"}, keys)
	})
}

func TestSteerCampaignIsOneStep(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		raise := func(c *model.Campaign, e *model.CampaignEvent) error {
			was := int64(0)
			if c.Budget != nil {
				was = c.Budget.Tokens
			}
			c.Budget = &model.Budget{Tokens: was + 10}
			e.Text = fmt.Sprintf("%d to %d", was, was+10)
			return nil
		}
		e := model.CampaignEvent{Campaign: "c", Key: "k", Kind: model.EventBudget, At: at}
		for range 2 {
			stored, row, err := s.SteerCampaign(ctx, e, raise)
			require.NoError(t, err)
			require.Equal(t, "0 to 10", stored.Text)
			require.EqualValues(t, 10, row.Budget.Tokens, "the same request again changes nothing")
		}
		odd := errors.New("odd")
		e.Key = "k2"
		_, _, err := s.SteerCampaign(ctx, e, func(c *model.Campaign, _ *model.CampaignEvent) error { c.Phase = "lost"; return odd })
		require.ErrorIs(t, err, odd)
		events, err := s.CampaignEvents(ctx, "c")
		require.NoError(t, err)
		require.Len(t, events, 1)
		for _, bad := range []model.CampaignEvent{{Campaign: "c", Kind: model.EventHint}, {Campaign: "c", Key: "x"}} {
			_, err = s.AddCampaignEvent(ctx, bad)
			require.ErrorIs(t, err, ErrInvalid)
		}
	})
}

func TestFirstReflectionStays(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		for n := 1; n <= 3; n++ {
			for _, words := range []string{"first", "second"} {
				got, err := s.SaveReflection(ctx, Fence{}, model.Reflection{Campaign: "c", Generation: n, Learn: words})
				require.NoError(t, err)
				require.Equal(t, "first", got.Learn)
			}
		}
		last, err := s.Reflections(ctx, "c", 2)
		require.NoError(t, err)
		require.Equal(t, []int{3, 2}, []int{last[0].Generation, last[1].Generation})
		require.Len(t, last, 2)
	})
}

// A store as the version before model calls left it is opened, and its campaign goes on.
func TestStoreOfTheVersionBeforeModels(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Config) {
		ctx := context.Background()
		before := cfg
		before.migrations = upTo(t, "00003_benchmarks.sql")
		s := open(t, before)
		_, err := s.writer.ExecContext(ctx, `INSERT INTO campaigns (name, spec, source, repo, branch, base_commit, best_commit, image, baseline, score,
			rates, settled, push, pushed, brief, phase, stopped, detail, cost, created, updated)
			VALUES ('old', '{}', '', '', '', '', '', '', NULL, NULL, '', '', 0, '', '', '', '', '', '{"tokens":0,"wall":5}', 1, 2)`)
		require.NoError(t, err)
		_, err = s.writer.ExecContext(ctx, `INSERT INTO generations (campaign, n, outcome, hypothesis, expected_gain, realised_gain, proposer, change_id,
			commit_hash, revert_commit, parent_commit, parent_score, score, fixed, broken, reason, e_value, level, rounds, candidates, screened, cost, started, ended)
			VALUES ('old', 1, 'none', '', 0, 0, '', '', '', '', '', 0, 0, '[]', '[]', '', 0, 0, 0, 0, 0, '{"tokens":0,"wall":7,"sandbox":1,"orchestration":2}', 1, 2)`)
		require.NoError(t, err)
		require.NoError(t, s.Close())

		s = open(t, cfg)
		c, err := s.Campaign(ctx, "old")
		require.NoError(t, err)
		require.Nil(t, c.Budget)
		require.Empty(t, c.Parent+c.ForkedAt)
		g, err := s.Generation(ctx, "old", 1)
		require.NoError(t, err)
		require.NoError(t, s.SaveGeneration(ctx, Fence{}, g), "its record is the same as before")
		require.NoError(t, s.ReserveCall(ctx, Fence{}, model.Call{ID: "a", Campaign: "old"}, model.Budget{Tokens: 1}))
		_, err = s.AddCampaignEvent(ctx, model.CampaignEvent{Campaign: "old", Key: "k", Kind: model.EventHint})
		require.NoError(t, err)
	})
}

// upTo is the migrations of an earlier version: those until last.
func upTo(t *testing.T, last string) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	ours, err := fs.Glob(embedded(), "*.sql")
	require.NoError(t, err)
	require.Contains(t, ours, last)
	for _, name := range ours {
		if name <= last {
			data, err := fs.ReadFile(embedded(), name)
			require.NoError(t, err)
			files[name] = &fstest.MapFile{Data: data}
		}
	}
	return files
}
