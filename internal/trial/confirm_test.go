package trial_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/decision"
	"ratchet/internal/model"
	"ratchet/internal/trial"
)

func fix(ids ...string) []decision.Claim {
	var cs []decision.Claim
	for _, id := range ids {
		cs = append(cs, decision.Claim{Problem: id, Bet: 0.75})
	}
	return cs
}

func input(level float64, claims []decision.Claim, ps []model.Problem) trial.ConfirmInput {
	return trial.ConfirmInput{Problems: ps, Claims: claims, Level: level}
}

func TestConfirmKeepsATrueFix(t *testing.T) {
	ps := problems(1, "a", "b", "c")
	parent, candidate := newBench(1, map[string]float64{"a": 0}), newBench(2, nil)
	v, err := trial.Confirm(context.Background(), parent, candidate, input(decision.Level(0.05, 50), fix("a"), ps), nil)
	require.NoError(t, err)
	require.True(t, v.Keep)
	require.Equal(t, string(decision.Keep), v.Status)
	require.GreaterOrEqual(t, v.EValue, 1/v.Level)
	require.LessOrEqual(t, v.Rounds, 15)
	require.Equal(t, []string{"a"}, v.Fixed)
	require.Empty(t, v.Broken)
	require.InDelta(t, 2./3, v.ParentScore.Score, 1e-12)
	require.Equal(t, 1., v.Score.Score)
	require.Len(t, v.Claims[0].Candidate, v.Rounds)
	// One full round, then the claim alone, in a process of its own.
	require.Equal(t, call{3, false}, parent.calls[0])
	for _, c := range parent.calls[1:] {
		require.Equal(t, call{1, true}, c)
	}
	require.Len(t, parent.calls, v.Rounds+1)
	require.Len(t, candidate.calls, v.Rounds+1)
	require.EqualValues(t, 2*(v.Rounds+1), v.Sandbox)
}

func TestConfirmAlternatesTheSides(t *testing.T) {
	var order []string
	note := func(side string) func(int, *model.Run) error {
		return func(int, *model.Run) error { order = append(order, side); return nil }
	}
	parent, candidate := newBench(1, map[string]float64{"a": 0}), newBench(2, nil)
	parent.edit, candidate.edit = note("p"), note("c")
	_, err := trial.Confirm(context.Background(), parent, candidate, input(0.1, fix("a"), problems(0, "a")), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"p", "c", "c", "p", "p", "c", "c", "p"}, order[:8])
}

func TestConfirmRefusesWhatGotWorse(t *testing.T) {
	ps := problems(1, "a", "b", "c")
	parent, candidate := newBench(1, map[string]float64{"a": 0}), newBench(2, map[string]float64{"c": 0})
	v, err := trial.Confirm(context.Background(), parent, candidate, input(decision.Level(0.05, 1), fix("a"), ps), nil)
	require.NoError(t, err)
	require.False(t, v.Keep)
	require.Equal(t, string(decision.Worse), v.Status)
	require.Equal(t, []string{"c"}, v.Broken)
	require.LessOrEqual(t, v.Rounds, 8)
	require.Contains(t, v.Reason, "c")
}

func TestConfirmRefusesTampering(t *testing.T) {
	for _, at := range []int{1, 4} {
		parent, candidate := newBench(1, map[string]float64{"a": 0}), newBench(2, nil)
		candidate.edit = func(n int, r *model.Run) error {
			if n == at {
				*r = model.Run{Tampered: "the canary did not fail"}
			}
			return nil
		}
		stored := 0
		v, err := trial.Confirm(context.Background(), parent, candidate, input(0.001, fix("a"), problems(0, "a")), func(trial.Round) error { stored++; return nil })
		require.NoError(t, err)
		require.False(t, v.Keep)
		require.Equal(t, string(decision.Tampered), v.Status)
		require.Equal(t, "the canary did not fail", v.Tampered)
		require.Equal(t, at, stored)
	}
}

func TestConfirmWithoutClaimsRunsNothing(t *testing.T) {
	parent, candidate := newBench(1, nil), newBench(2, nil)
	v, err := trial.Confirm(context.Background(), parent, candidate, input(0.001, nil, problems(0, "a")), nil)
	require.NoError(t, err)
	require.Equal(t, string(decision.Futile), v.Status)
	require.Empty(t, parent.calls)
	require.NotEmpty(t, v.Reason)
}

func TestConfirmErrorsAreNoVerdicts(t *testing.T) {
	boom := errors.New("the engine is gone")
	ps := problems(0, "a", "b")
	for name, c := range map[string]struct {
		parent, candidate func(int, *model.Run) error
		emit              func(trial.Round) error
		in                func(*trial.ConfirmInput)
		want              error
	}{
		"parent bench":         {parent: func(n int, _ *model.Run) error { return when(n == 2, boom) }, want: boom},
		"candidate bench":      {candidate: func(n int, _ *model.Run) error { return when(n == 2, boom) }, want: boom},
		"tampered parent":      {parent: func(_ int, r *model.Run) error { r.Tampered = "odd"; return nil }, want: trial.ErrTampered},
		"incomplete parent":    {parent: func(_ int, r *model.Run) error { r.Results = r.Results[1:]; return nil }, want: trial.ErrIncomplete},
		"incomplete candidate": {candidate: func(_ int, r *model.Run) error { r.Results[0].Problem = "x"; return nil }, want: trial.ErrIncomplete},
		"emit":                 {emit: func(trial.Round) error { return boom }, want: boom},
		"claim of no problem":  {in: func(in *trial.ConfirmInput) { in.Claims = fix("z") }, want: trial.ErrInput},
		"no problems":          {in: func(in *trial.ConfirmInput) { in.Problems = nil }, want: trial.ErrInput},
		"two with one id":      {in: func(in *trial.ConfirmInput) { in.Problems = append(ps[:2:2], ps[0]) }, want: trial.ErrInput},
		"level":                {in: func(in *trial.ConfirmInput) { in.Level = 0 }, want: decision.ErrLevel},
		"a gap in the rounds":  {in: func(in *trial.ConfirmInput) { in.Have = []trial.Round{{N: 1}} }, want: trial.ErrRounds},
	} {
		t.Run(name, func(t *testing.T) {
			parent, candidate := newBench(1, map[string]float64{"a": 0}), newBench(2, nil)
			parent.edit, candidate.edit = c.parent, c.candidate
			in := input(0.001, fix("a"), ps)
			if c.in != nil {
				c.in(&in)
			}
			v, err := trial.Confirm(context.Background(), parent, candidate, in, c.emit)
			require.ErrorIs(t, err, c.want)
			require.Zero(t, v)
		})
	}
}

func when(b bool, err error) error {
	if b {
		return err
	}
	return nil
}

func TestConfirmStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	parent, candidate := newBench(1, map[string]float64{"a": 0}), newBench(2, nil)
	_, err := trial.Confirm(ctx, parent, candidate, input(0.001, fix("a"), problems(0, "a")), func(r trial.Round) error {
		if r.N == 3 {
			cancel()
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
}

// A confirmation that was cut off after any round goes on from the stored
// rounds and ends exactly as an undisturbed one.
func TestConfirmReplays(t *testing.T) {
	ids := []string{"a", "b", "c", "d", "e", "f"}
	outcomes := map[string]int{}
	for seed := range uint64(60) {
		ps := problems(2, ids...)
		pass := map[string]float64{"a": 0, "b": 0.5, "c": 0.5, "d": 0.8, "e": 0.9}
		better := map[string]float64{"a": 0.9, "b": 0.6, "c": 0.7, "d": 0.8, "e": 0.9}
		if seed%3 == 1 {
			better["f"] = 0.4
		}
		if seed%3 == 2 {
			better = pass
		}
		in := input(decision.Level(0.05, 1+int(seed)%50), fix("a", "b"), ps)
		var rounds []trial.Round
		whole, err := trial.Confirm(context.Background(), newBench(seed, pass), newBench(seed+1000, better), in, func(r trial.Round) error {
			rounds = append(rounds, r)
			return nil
		})
		require.NoError(t, err)
		outcomes[whole.Status]++
		for cut := range len(rounds) + 1 {
			// The benches of the second attempt give what the first one's gave.
			in.Have = rounds[:cut]
			again, err := trial.Confirm(context.Background(), tape{rounds, true, new(cut)}, tape{rounds, false, new(cut)}, in, nil)
			require.NoError(t, err)
			require.Equal(t, whole, again, "seed %d, cut after %d", seed, cut)
		}
		in.Have = append(rounds[:len(rounds):len(rounds)], trial.Round{N: len(rounds)})
		_, err = trial.Confirm(context.Background(), nil, nil, in, nil)
		require.ErrorIs(t, err, trial.ErrRounds, "a round after the decision")
	}
	for _, s := range []decision.Status{decision.Keep, decision.Futile, decision.Worse} {
		require.NotZero(t, outcomes[string(s)], fmt.Sprint("no case ended as ", s, ": ", outcomes))
	}
}

// tape plays back one side of stored rounds, from a given one on.
type tape struct {
	rounds []trial.Round
	parent bool
	at     *int
}

func (t tape) Run(context.Context, []model.Problem, bool) (model.Run, error) {
	r := t.rounds[*t.at]
	*t.at++
	if t.parent {
		return r.Parent, nil
	}
	return r.Candidate, nil
}

// A change that mends many problems is confirmed on a few of them; with what is
// known of the parent the verdict names the others too, but no flaky one.
func TestVerdictNamesUnclaimedFixes(t *testing.T) {
	ps := problems(2, "a", "b", "n", "h", "x")
	pass := map[string]float64{"a": 0, "b": 0, "n": 0.5, "h": 0}
	known := map[string]trial.Rate{"a": {Runs: 2}, "b": {Runs: 2}, "n": {Passed: 1, Runs: 2}, "h": {Runs: 2}, "x": {Passed: 2, Runs: 2}}
	in := input(decision.Level(0.05, 1), fix("a"), ps)
	in.Known = known
	for seed := range uint64(30) {
		v, err := trial.Confirm(context.Background(), newBench(seed, pass), newBench(seed+100, map[string]float64{"n": 0.5}), in, nil)
		require.NoError(t, err)
		require.True(t, v.Keep)
		require.Equal(t, []string{"a", "b", "h"}, v.Fixed)
		require.Contains(t, v.Reason, "a improved")
	}
}

func TestReasonsAreSentences(t *testing.T) {
	same := map[string]float64{"a": 0}
	v, err := trial.Confirm(context.Background(), newBench(1, same), newBench(2, same), input(decision.Level(0.05, 1), fix("a"), problems(0, "a")), nil)
	require.NoError(t, err)
	require.Equal(t, "the gain did not repeat and would not be shown in the rounds left: evidence 1 of the 220 needed after 6 rounds", v.Reason)
	v, err = trial.Confirm(context.Background(), newBench(1, same), newBench(2, nil), input(decision.Level(0.05, 1), fix("a"), problems(0, "a")), nil)
	require.NoError(t, err)
	require.Regexp(t, `^a improved, and nothing is proven worse: evidence \d+ of the 220 needed after 9 rounds$`, v.Reason)
}
