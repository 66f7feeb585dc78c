package activities

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"ratchet/internal/artifact"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
	"ratchet/internal/store"
	"ratchet/internal/trial"
	"ratchet/sandbox"
)

func TestMap(t *testing.T) {
	tests := map[string]struct {
		err     error
		attempt int32
		kind    string
		final   bool
	}{
		"bad input":             {&BadInput{Op: "o", Object: "x", Cause: "c"}, 1, protocol.ErrBadInput, true},
		"no repository":         {&repo.Error{Op: "import", Object: "x", Err: repo.ErrNotFound}, 1, protocol.ErrBadInput, true},
		"no image":              {&sandbox.Error{Op: "open", Object: "x", Err: sandbox.ErrNoImage}, 1, protocol.ErrBadInput, true},
		"a moved ref":           {&repo.Error{Op: "set ref", Object: "x", Err: repo.ErrConflict}, 1, protocol.ErrConflict, true},
		"a damaged artifact":    {&artifact.Error{Op: "get", Object: "x", Err: artifact.ErrCorrupt}, 1, protocol.ErrConflict, true},
		"a tampered base":       {&trial.Error{Op: "baseline", Object: "x", Err: trial.ErrTampered}, 1, protocol.ErrTampered, true},
		"Docker away":           {&sandbox.Error{Op: "open", Object: "x", Err: sandbox.ErrUnavailable}, 50, protocol.ErrUnavailable, false},
		"disk full":             {&store.Error{Op: "save", Object: "x", Err: store.ErrNoSpace}, 50, protocol.ErrUnavailable, false},
		"a newer attempt":       {&store.Error{Op: "save", Object: "x", Err: store.ErrFenced}, 50, protocol.ErrFenced, false},
		"unknown, at first":     {errors.New("odd"), 1, "Unknown", false},
		"unknown, again":        {errors.New("odd"), unknownAttempts, "Unknown", true},
		"wrapped by the caller": {fmt.Errorf("land: %w", &repo.Error{Op: "set ref", Object: "x", Err: repo.ErrConflict}), 1, protocol.ErrConflict, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var app *temporal.ApplicationError
			require.ErrorAs(t, Map(tt.err, tt.attempt), &app)
			require.Equal(t, tt.kind, app.Type())
			require.Equal(t, tt.final, app.NonRetryable())
			require.Equal(t, tt.err.Error(), app.Message())
		})
	}
}

func TestMapLeavesTheRestAlone(t *testing.T) {
	require.NoError(t, Map(nil, 1))
	require.ErrorIs(t, Map(context.Canceled, 1), context.Canceled)
	mapped := Map(errors.New("odd"), 1)
	require.Equal(t, mapped, Map(mapped, 9), "an error is mapped once")
}
