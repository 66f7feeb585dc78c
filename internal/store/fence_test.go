package store

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

func TestClaim(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		for _, c := range []struct {
			run     string
			attempt int
			want    error
		}{
			{"r1", 2, nil}, {"r1", 2, nil}, {"r1", 1, ErrFenced}, {"r1", 3, nil}, {"r1", 2, ErrFenced},
			{"r2", 1, nil}, // another run takes over, whatever its attempt
			{"r2", 0, ErrFenced}, {"r1", 1, nil},
		} {
			err := s.Claim(ctx, Fence{"scope", c.run, c.attempt})
			if c.want == nil {
				require.NoError(t, err, "%+v", c)
			} else {
				require.ErrorIs(t, err, c.want, "%+v", c)
			}
		}
		require.NoError(t, s.Claim(ctx, Fence{"other", "r1", 1}), "scopes are separate")
		require.ErrorIs(t, s.Claim(ctx, Fence{}), ErrInvalid)
		require.ErrorIs(t, s.Claim(ctx, Fence{Scope: "s"}), ErrInvalid)
	})
}

// fencedWrites calls every method that takes a fence, with work that succeeds
// in the store that seed prepares.
func fencedWrites(ctx context.Context, s *Store, f Fence) map[string]func() error {
	return map[string]func() error{
		"UpdateCampaign": func() error {
			_, err := s.UpdateCampaign(ctx, f, "c", func(c *model.Campaign) error { c.Detail = f.Run; return nil })
			return err
		},
		"SaveProblems": func() error { return s.SaveProblems(ctx, f, "c", []model.Problem{{ID: f.Run}}) },
		"SaveReport":   func() error { return s.SaveReport(ctx, f, "c", []byte(`"`+f.Run+`"`)) },
		"SaveRun": func() error {
			_, err := s.SaveRun(ctx, f, RunKey{Campaign: "c", Scope: f.Run}, "t", model.Run{})
			return err
		},
		"AddProposal":   func() error { _, err := storeAttempts(ctx, s, f, "c", 7, nil); return err },
		"UpdateAttempt": func() error { return s.UpdateAttempt(ctx, f, model.Attempt{Campaign: "c", Generation: 1, Key: "k"}) },
		"CreateChange":  func() error { return s.CreateChange(ctx, f, model.Change{ID: "new"}, "", "") },
		"MoveChange": func() error {
			_, err := s.MoveChange(ctx, f, "x", nil, model.ChangeApproved, "", "", at, nil)
			return err
		},
		"EditChange":     func() error { _, err := s.EditChange(ctx, f, "x", func(*model.Change) {}); return err },
		"SaveReceipt":    func() error { return s.SaveReceipt(ctx, f, model.Receipt{Change: "x", Campaign: "c"}) },
		"SaveGeneration": func() error { return s.SaveGeneration(ctx, f, model.Generation{Campaign: "c", N: 1, Outcome: "none"}) },
		"ReserveCall":    func() error { return s.ReserveCall(ctx, f, model.Call{ID: f.Run, Campaign: "c"}, model.Budget{}) },
		"LoseCalls":      func() error { _, err := s.LoseCalls(ctx, f, "c", 1); return err },
		"SaveReflection": func() error { _, err := s.SaveReflection(ctx, f, model.Reflection{Campaign: "c"}); return err },
	}
}

func seed(t *testing.T, s *Store) {
	t.Helper()
	ctx := context.Background()
	campaign(t, s, "c")
	_, err := storeAttempts(ctx, s, Fence{}, "c", 1, []model.Attempt{{Key: "k"}})
	require.NoError(t, err)
	require.NoError(t, s.CreateChange(ctx, Fence{}, model.Change{ID: "x"}, "", ""))
}

func TestEveryWriteIsFenced(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		seed(t, s)
		old, now := Fence{"scope", "r", 1}, Fence{"scope", "r", 2}
		require.NoError(t, s.Claim(ctx, old))
		require.NoError(t, s.Claim(ctx, now))
		for _, f := range []Fence{old, {"scope", "another", 2}, {"scope", "r", 3}} {
			for name, write := range fencedWrites(ctx, s, f) {
				require.ErrorIs(t, write(), ErrFenced, "%s as %+v", name, f)
			}
		}
		c, err := s.Campaign(ctx, "c")
		require.NoError(t, err)
		require.Empty(t, c.Detail)
		_, err = s.Change(ctx, "new")
		require.ErrorIs(t, err, ErrNotFound)
		for name, write := range fencedWrites(ctx, s, now) {
			require.NoError(t, write(), name)
		}
	})
}

func TestUnclaimedScopeIsTakenByItsFirstWrite(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		edit := func(*model.Campaign) error { return nil }
		_, err := s.UpdateCampaign(ctx, Fence{"scope", "r", 1}, "c", edit)
		require.NoError(t, err)
		_, err = s.UpdateCampaign(ctx, Fence{"scope", "r", 2}, "c", edit)
		require.ErrorIs(t, err, ErrFenced)
	})
}

// After Claim has returned, nothing of an older attempt is committed any more.
func TestClaimStopsWritersInFlight(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		old := Fence{"scope", "r", 1}
		require.NoError(t, s.Claim(ctx, old))
		var writers sync.WaitGroup
		wrote := make(chan struct{}, 1000)
		last := make(chan error, 4)
		for range 4 {
			writers.Go(func() {
				for {
					if err := addToken(ctx, s, old); err != nil {
						last <- err
						return
					}
					select {
					case wrote <- struct{}{}:
					default:
					}
				}
			})
		}
		<-wrote
		require.NoError(t, s.Claim(ctx, Fence{"scope", "r", 2}))
		taken, err := s.Campaign(ctx, "c")
		require.NoError(t, err)
		writers.Wait()
		for range 4 {
			require.ErrorIs(t, <-last, ErrFenced)
		}
		after, err := s.Campaign(ctx, "c")
		require.NoError(t, err)
		require.Positive(t, taken.Cost.Tokens)
		require.Equal(t, taken, after)
	})
}

func addToken(ctx context.Context, s *Store, f Fence) error {
	_, err := s.UpdateCampaign(ctx, f, "c", func(c *model.Campaign) error { c.Cost.Tokens++; return nil })
	return err
}

func TestConcurrentUpdatesAllCount(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		errs := make(chan error, 8)
		for i := range 8 {
			go func() {
				var err error
				for range 10 {
					if err == nil {
						err = addToken(ctx, s, Fence{fmt.Sprint("scope", i%2), "r", 1}) // two writers share a fence
					}
				}
				errs <- err
			}()
		}
		for range 8 {
			require.NoError(t, <-errs)
		}
		c, err := s.Campaign(ctx, "c")
		require.NoError(t, err)
		require.EqualValues(t, 80, c.Cost.Tokens)
	})
}

// Writers of one key at once: one of them is stored, and all see that one.
func TestConcurrentFirstWrites(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		type answer struct {
			attempts []model.Attempt
			added    bool
			seq      int64
			err      error
		}
		answers := make(chan answer, 8)
		for i := range 8 {
			go func() {
				var a answer
				a.attempts, a.err = storeAttempts(ctx, s, Fence{}, "c", 1, []model.Attempt{{Key: fmt.Sprint("k", i)}})
				if a.err == nil {
					_, a.err = s.SaveRun(ctx, Fence{}, RunKey{Campaign: "c"}, "t", someRun(i))
				}
				if a.err == nil {
					a.seq, a.added, a.err = s.AddFailure(ctx, model.Failure{Source: "s", ID: "i"})
				}
				answers <- a
			}()
		}
		added := 0
		stored, err := answer{}, error(nil)
		for range 8 {
			a := <-answers
			require.NoError(t, a.err)
			require.EqualValues(t, 1, a.seq)
			if a.added {
				added++
			}
			if stored.attempts == nil {
				stored = a
			}
			require.Equal(t, stored.attempts, a.attempts)
		}
		require.Equal(t, 1, added)
		runs, err := s.Runs(ctx, "c", "")
		require.NoError(t, err)
		require.Len(t, runs, 1)
	})
}
