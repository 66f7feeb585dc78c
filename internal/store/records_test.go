package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func TestCreateCampaignAgain(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		c := model.Campaign{Name: "c", Spec: []byte(`{"seed":1}`), Phase: "new"}
		require.NoError(t, s.CreateCampaign(ctx, c))
		c.Phase = "other"
		require.NoError(t, s.CreateCampaign(ctx, c))
		stored, err := s.Campaign(ctx, "c")
		require.NoError(t, err)
		require.Equal(t, "new", stored.Phase)
		c.Spec = []byte(`{"seed":2}`)
		require.ErrorIs(t, s.CreateCampaign(ctx, c), ErrExists)
		require.ErrorIs(t, s.CreateCampaign(ctx, model.Campaign{}), ErrInvalid)
	})
}

func TestSaveRunAgain(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		keys := []RunKey{{"c", "x", "candidate", 1}, {"c", "x", "parent", 1}, {"c", "x", "candidate", 2}, {"c", "y", "candidate", 1}}
		for i, k := range keys {
			added, err := s.SaveRun(ctx, Fence{}, k, "tree", someRun(i+20)) // more than one batch
			require.NoError(t, err)
			require.True(t, added)
			added, err = s.SaveRun(ctx, Fence{}, k, "tree", someRun(1))
			require.NoError(t, err)
			require.False(t, added)
		}
		_, err := s.SaveRun(ctx, Fence{}, keys[0], "another tree", someRun(1))
		require.ErrorIs(t, err, ErrConflict)
		runs, err := s.Runs(ctx, "c", "x")
		require.NoError(t, err)
		require.Equal(t, []StoredRun{{keys[0], "tree", someRun(20)}, {keys[1], "tree", someRun(21)}, {keys[2], "tree", someRun(22)}}, runs)
	})
}

func TestAttemptsOfAProposalAgain(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		proposed, err := s.Proposed(ctx, "c", 1)
		require.NoError(t, err)
		require.False(t, proposed)

		first, err := storeAttempts(ctx, s, Fence{}, "c", 1, []model.Attempt{{Key: "b", Order: 2}, {Key: "a", Order: 1}, {Key: "b", Order: 3}})
		require.NoError(t, err)
		require.Len(t, first, 2, "one row a key")
		require.Equal(t, []string{"a", "b"}, []string{first[0].Key, first[1].Key})
		again, err := storeAttempts(ctx, s, Fence{}, "c", 1, []model.Attempt{{Key: "other"}})
		require.NoError(t, err)
		require.Equal(t, first, again)

		none, err := storeAttempts(ctx, s, Fence{}, "c", 2, nil)
		require.NoError(t, err)
		require.Empty(t, none)
		proposed, err = s.Proposed(ctx, "c", 2)
		require.NoError(t, err)
		require.True(t, proposed, "none is an answer too")
		late, err := storeAttempts(ctx, s, Fence{}, "c", 2, []model.Attempt{{Key: "late"}})
		require.NoError(t, err)
		require.Empty(t, late)

		first[0].Status, first[0].Reason = model.AttemptFailed, "no gain"
		require.NoError(t, s.UpdateAttempt(ctx, Fence{}, first[0]))
		require.NoError(t, s.UpdateAttempt(ctx, Fence{}, first[0]))
		stored, err := s.Attempts(ctx, "c", 1)
		require.NoError(t, err)
		require.Equal(t, first, stored)
	})
}

// storeAttempts stores a proposal that is nothing but its attempts.
func storeAttempts(ctx context.Context, s *Store, f Fence, campaign string, generation int, attempts []model.Attempt) ([]model.Attempt, error) {
	p, err := s.AddProposal(ctx, f, campaign, generation, model.Proposal{Attempts: attempts})
	return p.Attempts, err
}

// A proposal that is stored again comes back with all that the first one said.
func TestAddProposalAgain(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		want := filled[model.Proposal]()
		for i := range want.Attempts {
			want.Attempts[i].Campaign, want.Attempts[i].Generation = "c", 3
		}
		for _, p := range []model.Proposal{want, {}, {Notes: []string{"another"}}} {
			got, err := s.AddProposal(ctx, Fence{}, "c", 3, p)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		got, err := s.Proposal(ctx, "c", 3)
		require.NoError(t, err)
		require.Equal(t, want, got)
		_, err = s.Proposal(ctx, "c", 4)
		require.ErrorIs(t, err, ErrNotFound)
		none, err := s.AddProposal(ctx, Fence{}, "c", 4, model.Proposal{})
		require.NoError(t, err)
		require.Equal(t, model.Proposal{Attempts: []model.Attempt{}, Notes: []string{}}, none)
	})
}

func addAttempts(t *testing.T, s *Store, generation int, attempts ...model.Attempt) {
	t.Helper()
	_, err := storeAttempts(context.Background(), s, Fence{}, "c", generation, attempts)
	require.NoError(t, err)
}

func TestTriedKeys(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		campaign(t, s, "c")
		addAttempts(t, s, 1,
			model.Attempt{Key: "refused", ParentTree: "t", Status: model.AttemptRefused},
			model.Attempt{Key: "failed", ParentTree: "t", Status: model.AttemptFailed},
			model.Attempt{Key: "tampered", ParentTree: "t", Status: model.AttemptTampered},
			model.Attempt{Key: "landed", ParentTree: "t", Status: model.AttemptLanded},
			model.Attempt{Key: "passed", ParentTree: "t", Status: model.AttemptPassed},
			model.Attempt{Key: "proposed", ParentTree: "t", Status: model.AttemptProposed},
			model.Attempt{Key: "superseded", ParentTree: "t", Status: model.AttemptSuperseded},
			model.Attempt{Key: "elsewhere", ParentTree: "u", Status: model.AttemptFailed})
		addAttempts(t, s, 2, model.Attempt{Key: "failed", ParentTree: "t", Status: model.AttemptLanded})
		tried, err := s.TriedKeys(context.Background(), "c", "t")
		require.NoError(t, err)
		require.Equal(t, map[string]model.AttemptStatus{
			"refused": model.AttemptRefused, "failed": model.AttemptLanded, "tampered": model.AttemptTampered, "landed": model.AttemptLanded,
		}, tried)
	})
}

func TestQueue(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		campaign(t, s, "c")
		passed := func(key string, score float64) model.Attempt {
			return model.Attempt{Key: key, Score: score, Status: model.AttemptPassed}
		}
		addAttempts(t, s, 1, passed("old", 0.9), passed("again", 0.8), passed("landed later", 0.7), model.Attempt{Key: "failed", Status: model.AttemptFailed})
		addAttempts(t, s, 2, passed("low", 0.1), passed("high", 0.3), passed("again", 0.2), model.Attempt{Key: "landed later", Status: model.AttemptLanded},
			model.Attempt{Key: "taken up", Status: model.AttemptSuperseded})
		for n, want := range map[int][]string{
			0: {}, 2: {"high/2", "again/2"}, 9: {"high/2", "again/2", "low/2", "old/1"},
		} {
			got, err := s.Queue(context.Background(), "c", n)
			require.NoError(t, err)
			keys := []string{}
			for _, a := range got {
				keys = append(keys, fmt.Sprintf("%s/%d", a.Key, a.Generation))
			}
			require.Equal(t, want, keys)
		}
	})
}

func TestSaveGenerationAgain(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		g := model.Generation{Campaign: "c", N: 1, Outcome: model.OutcomePending, Score: 0.5}
		require.NoError(t, s.SaveGeneration(ctx, Fence{}, g))
		g.Outcome, g.Score, g.Fixed = model.OutcomeKept, 0.75, []string{"p"}
		require.NoError(t, s.SaveGeneration(ctx, Fence{}, g))
		require.NoError(t, s.SaveGeneration(ctx, Fence{}, g))
		changed := g
		changed.Score = 0.8
		require.ErrorIs(t, s.SaveGeneration(ctx, Fence{}, changed), ErrConflict)
		changed.Outcome = model.OutcomePending
		require.ErrorIs(t, s.SaveGeneration(ctx, Fence{}, changed), ErrConflict)
		require.NoError(t, s.SaveGeneration(ctx, Fence{}, model.Generation{Campaign: "c", N: 2, Outcome: model.OutcomeNone}))
		all, err := s.Generations(ctx, "c")
		require.NoError(t, err)
		require.Len(t, all, 2)
		require.Equal(t, 0.75, all[0].Score)
		last, err := s.LastGeneration(ctx, "c")
		require.NoError(t, err)
		require.Equal(t, all[1], last)
		require.ErrorIs(t, s.SaveGeneration(ctx, Fence{}, model.Generation{Campaign: "c", Outcome: model.OutcomeNone}), ErrInvalid)
		require.ErrorIs(t, s.SaveGeneration(ctx, Fence{}, model.Generation{Campaign: "c", N: 3}), ErrInvalid)
	})
}

func saveReceipt(t testing.TB, s *Store, r model.Receipt) {
	t.Helper()
	require.NoError(t, s.CreateChange(context.Background(), Fence{}, model.Change{ID: r.Change, Campaign: r.Campaign}, "", ""))
	require.NoError(t, s.SaveReceipt(context.Background(), Fence{}, r))
}

func TestReceipts(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		one := model.Receipt{Change: "x1", Campaign: "c", Decision: model.DecisionKeep, Commit: "abcd1111", At: at, Claims: []model.ClaimData{{Problem: "p", Parent: []float64{0}, Candidate: []float64{1}}}}
		two := model.Receipt{Change: "x2", Campaign: "c", Decision: model.DecisionRevert, Commit: "abcd2222", RevertCommit: "beef3333"}
		other := model.Receipt{Change: "x3", Campaign: "d", Commit: "f00d4444"}
		for _, r := range []model.Receipt{one, two, other} {
			saveReceipt(t, s, r)
			require.NoError(t, s.SaveReceipt(ctx, Fence{}, r), "the same again")
		}
		changed := one
		changed.Decision = model.DecisionRevert
		require.ErrorIs(t, s.SaveReceipt(ctx, Fence{}, changed), ErrConflict)

		all, err := s.Receipts(ctx, "c")
		require.NoError(t, err)
		require.Equal(t, []string{"x1", "x2"}, []string{all[0].Change, all[1].Change})
		last, err := s.LastReceipt(ctx, "c")
		require.NoError(t, err)
		require.Equal(t, "x2", last.Change)
		for name, want := range map[string]int{"c": 2, "d": 1, "e": 0} {
			n, err := s.CountConfirmations(ctx, name)
			require.NoError(t, err)
			require.Equal(t, want, n, "retries and conflicts are not counted")
		}
		for prefix, want := range map[string]string{"abcd1": "x1", "abcd2222": "x2", "BEEF": "x2", "f00d": "x3"} {
			r, err := s.ReceiptByCommit(ctx, prefix)
			require.NoError(t, err, prefix)
			require.Equal(t, want, r.Change)
		}
		_, err = s.ReceiptByCommit(ctx, "abcd")
		require.ErrorIs(t, err, ErrConflict)
		require.ErrorContains(t, err, "abcd2222")
		for _, bad := range []string{"", "abc", "abcdg", "abcd%", "HEAD~"} {
			_, err = s.ReceiptByCommit(ctx, bad)
			require.ErrorIs(t, err, ErrInvalid, bad)
		}
		_, err = s.ReceiptByCommit(ctx, "abcd22221")
		require.ErrorIs(t, err, ErrNotFound)
	})
}

func TestFailures(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		add := func(id, agent, repo string) (int64, bool) {
			seq, added, err := s.AddFailure(ctx, model.Failure{Source: "s", ID: id, Agent: agent, Repo: repo, At: at})
			require.NoError(t, err)
			return seq, added
		}
		for i, f := range [][2]string{{"shop", "r1"}, {"shop/pay", "r1"}, {"shopper", "r2"}, {"shop/pay/card", "r2"}} {
			seq, added := add(fmt.Sprint(i), f[0], f[1])
			require.True(t, added)
			require.EqualValues(t, i+1, seq)
		}
		seq, added := add("1", "other", "other")
		require.False(t, added)
		require.EqualValues(t, 2, seq)
		seq, _ = add("new", "shop", "r3")
		require.EqualValues(t, 5, seq, "a second delivery takes no number")

		for _, c := range []struct {
			filter FailureFilter
			want   []int64
		}{
			{FailureFilter{}, []int64{1, 2, 3, 4, 5}},
			{FailureFilter{Agent: "shop"}, []int64{1, 2, 4, 5}},
			{FailureFilter{Agent: "shop/pay"}, []int64{2, 4}},
			{FailureFilter{Agent: "shop%"}, []int64{}},
			{FailureFilter{Repo: "r1"}, []int64{1, 2}},
			{FailureFilter{Repo: "r2", Agent: "shop", After: 3}, []int64{4}},
			{FailureFilter{After: 1, Limit: 2}, []int64{2, 3}},
			{FailureFilter{After: 5}, []int64{}},
			{FailureFilter{Newest: 2, Limit: 1}, []int64{4, 5}},
			{FailureFilter{Repo: "r1", Newest: 1}, []int64{2}},
		} {
			got, err := s.Failures(ctx, c.filter)
			require.NoError(t, err)
			seqs := []int64{}
			for _, f := range got {
				seqs = append(seqs, f.Seq)
				require.False(t, f.Stored.IsZero())
			}
			require.Equal(t, c.want, seqs, "%+v", c.filter)
		}
		one, err := s.Failure(ctx, "s", "3")
		require.NoError(t, err)
		require.Equal(t, "shop/pay/card", one.Agent)
		cursor, err := s.FailureCursor(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 5, cursor)
		_, _, err = s.AddFailure(ctx, model.Failure{Source: "s"})
		require.ErrorIs(t, err, ErrInvalid)
	})
}

func TestBenchmarks(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		var ids []string
		for i := range 3 {
			b := model.Benchmark{Name: "unit", Started: at.Add(time.Duration(i) * time.Minute), Results: someRun(i).Results}
			b, err := s.SaveBenchmark(ctx, b)
			require.NoError(t, err)
			require.Regexp(t, "^[0-9a-v]{10}$", b.ID)
			ids = append(ids, b.ID)
			_, err = s.SaveBenchmark(ctx, b)
			require.ErrorIs(t, err, ErrExists)
		}
		require.IsIncreasing(t, ids)
		_, err := s.SaveBenchmark(ctx, model.Benchmark{ID: ids[0][:9], Name: "other", Started: at})
		require.NoError(t, err)

		all, err := s.Benchmarks(ctx, "unit")
		require.NoError(t, err)
		require.Equal(t, []string{ids[2], ids[1], ids[0]}, []string{all[0].ID, all[1].ID, all[2].ID})
		require.Empty(t, all[0].Results)
		all, err = s.Benchmarks(ctx, "")
		require.NoError(t, err)
		require.Len(t, all, 4)

		b, err := s.Benchmark(ctx, ids[2][:8])
		require.NoError(t, err)
		require.Equal(t, ids[2], b.ID)
		require.Equal(t, someRun(2).Results, b.Results)
		b, err = s.Benchmark(ctx, ids[0][:9])
		require.NoError(t, err)
		require.Equal(t, "other", b.Name, "a whole id wins over a prefix")
		_, err = s.Benchmark(ctx, ids[0][:2])
		require.ErrorIs(t, err, ErrConflict)
	})
}

func TestBaselines(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		baselines := func() (out []string) {
			all, err := s.Benchmarks(ctx, "")
			require.NoError(t, err)
			for _, b := range all {
				if b.Baseline {
					out = append(out, b.ID)
				}
			}
			return out
		}
		for i, b := range []model.Benchmark{{ID: "a1", Name: "a"}, {ID: "a2", Name: "a", Baseline: true}, {ID: "b1", Name: "b", Baseline: true}, {ID: "a3", Name: "a", Baseline: true}} {
			b.Started = time.Date(2024, 1, 1, 0, 0, i, 0, time.UTC)
			_, err := s.SaveBenchmark(ctx, b)
			require.NoError(t, err)
		}
		require.Equal(t, []string{"a3", "b1"}, baselines(), "one of each name")
		require.NoError(t, s.SetBaseline(ctx, "a1"))
		require.NoError(t, s.SetBaseline(ctx, "a1"))
		require.Equal(t, []string{"b1", "a1"}, baselines())
		require.ErrorIs(t, s.SetBaseline(ctx, "c1"), ErrNotFound)
		_, err := s.SaveBenchmark(ctx, model.Benchmark{ID: "a1", Name: "a", Baseline: true})
		require.ErrorIs(t, err, ErrExists)
		require.Equal(t, []string{"b1", "a1"}, baselines(), "what failed changed nothing")
	})
}
