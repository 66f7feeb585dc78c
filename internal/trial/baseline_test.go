package trial_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
	"ratchet/internal/trial"
)

func TestBaseline(t *testing.T) {
	ps := problems(1, "a", "b", "c")
	b := newBench(1, map[string]float64{"a": 0, "b": 0.5})
	var stored []model.Run
	emit := func(n int, r model.Run) error {
		stored = append(stored, r)
		require.Len(t, stored, n, "counted from 1")
		return nil
	}
	runs, err := trial.Baseline(context.Background(), b, ps, 3, nil, emit)
	require.NoError(t, err)
	require.Equal(t, stored, runs)
	require.Equal(t, []call{{3, false}, {3, false}, {3, false}}, b.calls)

	one, err := trial.Baseline(context.Background(), newBench(1, nil), ps, 1, nil, nil)
	require.NoError(t, err)
	require.Len(t, one, 2, "one round cannot show that a problem is flaky")

	rest := newBench(1, nil)
	stored = stored[:2]
	again, err := trial.Baseline(context.Background(), rest, ps, 3, stored[:2:2], emit)
	require.NoError(t, err)
	require.Len(t, rest.calls, 1, "it goes on after the rounds it has")
	require.Equal(t, runs[:2], again[:2])
	full, err := trial.Baseline(context.Background(), nil, ps, 2, again, nil)
	require.NoError(t, err)
	require.Equal(t, again, full, "nothing is run when all is there")
}

func TestBaselineErrors(t *testing.T) {
	boom := errors.New("the engine is gone")
	ps := problems(0, "a", "b")
	run := func(edit func(int, *model.Run) error, have []model.Run, emit func(int, model.Run) error) error {
		b := newBench(1, nil)
		b.edit = edit
		runs, err := trial.Baseline(context.Background(), b, ps, 2, have, emit)
		require.Nil(t, runs)
		return err
	}
	require.ErrorIs(t, run(func(int, *model.Run) error { return boom }, nil, nil), boom)
	require.ErrorIs(t, run(nil, nil, func(int, model.Run) error { return boom }), boom)
	require.ErrorIs(t, run(func(_ int, r *model.Run) error { r.Tampered = "canary"; return nil }, nil, nil), trial.ErrTampered)
	require.ErrorIs(t, run(func(_ int, r *model.Run) error { r.Results = nil; return nil }, nil, nil), trial.ErrIncomplete)
	require.ErrorIs(t, run(nil, []model.Run{{}}, nil), trial.ErrIncomplete, "a stored round is checked too")
	_, err := trial.Baseline(context.Background(), newBench(1, nil), nil, 2, nil, nil)
	require.ErrorIs(t, err, trial.ErrInput)
	var typed *trial.Error
	require.ErrorAs(t, err, &typed)
	require.Equal(t, "baseline", typed.Op)
}
