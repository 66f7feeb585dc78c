package store

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// Every field of every record comes back as it was stored.
func TestRecordsComeBackWhole(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()

		c := filled[model.Campaign]()
		require.NoError(t, s.CreateCampaign(ctx, c))
		gotCampaign, err := s.Campaign(ctx, c.Name)
		require.NoError(t, err)
		require.Equal(t, c, gotCampaign)

		p := filled[model.Problem]()
		require.NoError(t, s.SaveProblems(ctx, Fence{}, c.Name, []model.Problem{p}))
		gotProblems, err := s.Problems(ctx, c.Name)
		require.NoError(t, err)
		require.Equal(t, []model.Problem{p}, gotProblems)

		run := filled[StoredRun]()
		run.Campaign = c.Name
		added, err := s.SaveRun(ctx, Fence{}, run.RunKey, run.Tree, run.Run)
		require.NoError(t, err)
		require.True(t, added)
		gotRuns, err := s.Runs(ctx, c.Name, run.Scope)
		require.NoError(t, err)
		require.Equal(t, []StoredRun{run}, gotRuns)

		a := filled[model.Attempt]()
		a.Campaign = c.Name
		gotAttempts, err := storeAttempts(ctx, s, Fence{}, c.Name, a.Generation, []model.Attempt{a})
		require.NoError(t, err)
		require.Equal(t, []model.Attempt{a}, gotAttempts)

		g := filled[model.Generation]()
		g.Campaign = c.Name
		require.NoError(t, s.SaveGeneration(ctx, Fence{}, g))
		gotGeneration, err := s.Generation(ctx, c.Name, g.N)
		require.NoError(t, err)
		require.Equal(t, g, gotGeneration)

		b := filled[model.Benchmark]()
		_, err = s.SaveBenchmark(ctx, b)
		require.NoError(t, err)
		gotBenchmark, err := s.Benchmark(ctx, b.ID)
		require.NoError(t, err)
		require.Equal(t, b, gotBenchmark)
	})
}

func TestDecisionsAndEventsComeBackWhole(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		c := filled[model.Change]()
		c.State = model.ChangeProposed
		require.NoError(t, s.CreateChange(ctx, Fence{}, c, "somebody", "because"))
		gotChange, err := s.Change(ctx, c.ID)
		require.NoError(t, err)
		require.Equal(t, c, gotChange)
		events, err := s.ChangeEvents(ctx, c.ID)
		require.NoError(t, err)
		require.Equal(t, []model.ChangeEvent{{Change: c.ID, Seq: 1, State: model.ChangeProposed, By: "somebody", Why: "because", At: c.Created}}, events)

		r := filled[model.Receipt]()
		r.Change = c.ID
		require.NoError(t, s.SaveReceipt(ctx, Fence{}, r))
		gotReceipt, err := s.Receipt(ctx, c.ID)
		require.NoError(t, err)
		require.Equal(t, r, gotReceipt)

		f := filled[model.Failure]()
		seq, added, err := s.AddFailure(ctx, f)
		require.NoError(t, err)
		require.True(t, added)
		f.Seq = seq
		gotFailures, err := s.Failures(ctx, FailureFilter{})
		require.NoError(t, err)
		require.Equal(t, []model.Failure{f}, gotFailures)
	})
}

// What is missing or empty comes back as such, lists as empty ones.
func TestZeroRecords(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		c, err := s.Campaign(ctx, "c")
		require.NoError(t, err)
		require.Nil(t, c.Baseline)
		require.Nil(t, c.Current)

		require.NoError(t, s.SaveGeneration(ctx, Fence{}, model.Generation{Campaign: "c", N: 1, Outcome: model.OutcomeNone}))
		g, err := s.Generation(ctx, "c", 1)
		require.NoError(t, err)
		require.True(t, g.Started.IsZero())
		require.Equal(t, []string{}, g.Fixed)

		require.NoError(t, s.CreateChange(ctx, Fence{}, model.Change{ID: "x"}, "", ""))
		x, err := s.Change(ctx, "x")
		require.NoError(t, err)
		require.Nil(t, x.Deadline)
	})
}

func TestNothingThere(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		calls := map[string]func() error{
			"Campaign":        func() error { _, err := s.Campaign(ctx, "x"); return err },
			"UpdateCampaign":  func() error { _, err := s.UpdateCampaign(ctx, Fence{}, "x", nil); return err },
			"UpdateAttempt":   func() error { return s.UpdateAttempt(ctx, Fence{}, model.Attempt{Campaign: "x", Key: "k"}) },
			"Change":          func() error { _, err := s.Change(ctx, "x"); return err },
			"MoveChange":      func() error { _, err := move(s, "x", model.ChangeApproved); return err },
			"EditChange":      func() error { _, err := s.EditChange(ctx, Fence{}, "x", nil); return err },
			"Failure":         func() error { _, err := s.Failure(ctx, "s", "x"); return err },
			"Receipt":         func() error { _, err := s.Receipt(ctx, "x"); return err },
			"LastReceipt":     func() error { _, err := s.LastReceipt(ctx, "x"); return err },
			"ReceiptByCommit": func() error { _, err := s.ReceiptByCommit(ctx, "abcd"); return err },
			"Generation":      func() error { _, err := s.Generation(ctx, "x", 1); return err },
			"LastGeneration":  func() error { _, err := s.LastGeneration(ctx, "x"); return err },
			"Report":          func() error { _, err := s.Report(ctx, "x"); return err },
			"Benchmark":       func() error { _, err := s.Benchmark(ctx, ""); return err },
			// and what belongs to something that is not there
			"SaveProblems": func() error { return s.SaveProblems(ctx, Fence{}, "x", nil) },
			"SaveRun":      func() error { _, err := s.SaveRun(ctx, Fence{}, RunKey{Campaign: "x"}, "t", model.Run{}); return err },
			"AddProposal":  func() error { _, err := storeAttempts(ctx, s, Fence{}, "x", 1, nil); return err },
			"SaveGeneration": func() error {
				return s.SaveGeneration(ctx, Fence{}, model.Generation{Campaign: "x", N: 1, Outcome: "none"})
			},
			"SaveReport":   func() error { return s.SaveReport(ctx, Fence{}, "x", []byte("{}")) },
			"SaveReceipt":  func() error { return s.SaveReceipt(ctx, Fence{}, model.Receipt{Change: "x"}) },
			"ReserveCall":  func() error { return s.ReserveCall(ctx, Fence{}, model.Call{ID: "i", Campaign: "x"}, model.Budget{}) },
			"SettleCall":   func() error { return s.SettleCall(ctx, model.Call{ID: "i", Status: model.CallFailed}) },
			"LoseCalls":    func() error { _, err := s.LoseCalls(ctx, Fence{}, "x", 1); return err },
			"AnsweredCall": func() error { _, err := s.AnsweredCall(ctx, "x", 1, "p", "k"); return err },
			"AddCampaignEvent": func() error {
				_, err := s.AddCampaignEvent(ctx, model.CampaignEvent{Campaign: "x", Key: "k", Kind: model.EventHint})
				return err
			},
			"SaveReflection": func() error { _, err := s.SaveReflection(ctx, Fence{}, model.Reflection{Campaign: "x"}); return err },
			"Reflection":     func() error { _, err := s.Reflection(ctx, "x", 1); return err },
		}
		for name, call := range calls {
			err := call()
			require.ErrorIs(t, err, ErrNotFound, name)
			var known *Error
			require.ErrorAs(t, err, &known, name)
		}
		n, err := s.CountConfirmations(ctx, "x")
		require.NoError(t, err)
		require.Zero(t, n)
		cursor, err := s.FailureCursor(ctx)
		require.NoError(t, err)
		require.Zero(t, cursor)
		all, err := s.Campaigns(ctx)
		require.NoError(t, err)
		require.Empty(t, all)
	})
}

func TestBytesThatAreNoText(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		run := model.Run{Results: []model.Result{{Problem: "p", Message: "cut \xe2\x82 and \x00"}}, BuildLog: "\xff"}
		_, err := s.SaveRun(ctx, Fence{}, RunKey{Campaign: "c"}, "t", run)
		require.NoError(t, err)
		runs, err := s.Runs(ctx, "c", "")
		require.NoError(t, err)
		require.Equal(t, "cut \uFFFD and \uFFFD", runs[0].Results[0].Message)
		require.Equal(t, "\uFFFD", runs[0].BuildLog)

		require.ErrorIs(t, s.CreateCampaign(ctx, model.Campaign{Name: "a\x00b"}), ErrInvalid)
		require.ErrorIs(t, s.CreateCampaign(ctx, model.Campaign{Name: "a", Spec: []byte("{torn")}), ErrInvalid)
		_, _, err = s.AddFailure(ctx, model.Failure{Source: "s", ID: "i", Context: []byte(`{"a":`)})
		require.ErrorIs(t, err, ErrInvalid)
		_, _, err = s.AddFailure(ctx, model.Failure{Source: "s", ID: "\xff"})
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorIs(t, s.SaveReport(ctx, Fence{}, "c", []byte("{")), ErrInvalid)
	})
}

func TestNumbersAtTheEdge(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		g := model.Generation{Campaign: "c", N: 1, Outcome: model.OutcomeKept, EValue: math.Inf(1), Level: math.SmallestNonzeroFloat64, ParentScore: 1}
		require.NoError(t, s.SaveGeneration(ctx, Fence{}, g))
		got, err := s.Generation(ctx, "c", 1)
		require.NoError(t, err)
		require.Equal(t, math.Inf(1), got.EValue)
		require.Equal(t, math.SmallestNonzeroFloat64, got.Level)
		require.Equal(t, 1.0, got.ParentScore)
		require.NoError(t, s.SaveGeneration(ctx, Fence{}, g), "the same again")
		g.N, g.EValue = 2, math.NaN()
		require.ErrorIs(t, s.SaveGeneration(ctx, Fence{}, g), ErrInvalid)
	})
}

func TestUpdateCampaign(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		got, err := s.UpdateCampaign(ctx, Fence{}, "c", func(c *model.Campaign) error { c.Phase = "baseline"; return nil })
		require.NoError(t, err)
		require.Equal(t, "baseline", got.Phase)
		require.True(t, got.Updated.After(at), "set to now")
		stored, err := s.Campaign(ctx, "c")
		require.NoError(t, err)
		require.Equal(t, got, stored)

		_, err = s.UpdateCampaign(ctx, Fence{}, "c", func(c *model.Campaign) error { c.Phase = "lost"; return context.DeadlineExceeded })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = s.UpdateCampaign(ctx, Fence{}, "c", func(c *model.Campaign) error { c.Name = "other"; return nil })
		require.ErrorIs(t, err, ErrInvalid)
		later := at.Add(time.Hour)
		got, err = s.UpdateCampaign(ctx, Fence{}, "c", func(c *model.Campaign) error { c.Updated = later; return nil })
		require.NoError(t, err)
		require.Equal(t, "baseline", got.Phase, "a failed edit changed nothing")
		require.Equal(t, later, got.Updated)
	})
}

func TestProblemsAndReportsAreReplaced(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		campaign(t, s, "c")
		for _, ids := range [][]string{{"b", "a", "c"}, {"d"}} {
			var problems []model.Problem
			for _, id := range ids {
				problems = append(problems, model.Problem{ID: id})
			}
			require.NoError(t, s.SaveProblems(ctx, Fence{}, "c", problems))
			require.NoError(t, s.SaveReport(ctx, Fence{}, "c", []byte(`{"n": "`+ids[0]+`"}`)))
		}
		problems, err := s.Problems(ctx, "c")
		require.NoError(t, err)
		require.Equal(t, []model.Problem{{ID: "d"}}, problems)
		report, err := s.Report(ctx, "c")
		require.NoError(t, err)
		require.Equal(t, `{"n": "d"}`, string(report))

		err = s.SaveProblems(ctx, Fence{}, "c", []model.Problem{{ID: "x"}, {ID: "x"}})
		require.ErrorIs(t, err, ErrConflict)
		again, err := s.Problems(ctx, "c")
		require.NoError(t, err)
		require.Equal(t, problems, again, "a refused set leaves the old one")
	})
}
