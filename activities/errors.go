package activities

import (
	"context"
	"errors"
	"slices"

	"go.temporal.io/sdk/temporal"

	"ratchet/internal/artifact"
	"ratchet/internal/llm"
	"ratchet/internal/protocol"
	"ratchet/internal/repo"
	"ratchet/internal/store"
	"ratchet/internal/trial"
	"ratchet/sandbox"
)

// unknownAttempts is after how many attempts an error of unknown kind is final.
const unknownAttempts = 5

// BadInput is an error in what the user gave: no retry mends it.
type BadInput struct {
	Op     string // what was to be done
	Object string // to what
	Cause  string
	Hint   string
}

func (e *BadInput) Error() string {
	s := e.Op + " " + e.Object + ": " + e.Cause
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Map turns an error of any package into one that Temporal and the retry policy
// understand. It is the only place that does. attempt counts from 1.
func Map(err error, attempt int32) error {
	if err == nil || errors.Is(err, context.Canceled) || temporal.IsCanceledError(err) {
		return err
	}
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return err
	}
	kind := kindOf(err)
	switch kind {
	case protocol.ErrBadInput, protocol.ErrConflict, protocol.ErrTampered:
		return temporal.NewNonRetryableApplicationError(err.Error(), kind, err)
	case "":
		if attempt >= unknownAttempts {
			return temporal.NewNonRetryableApplicationError(err.Error(), "Unknown", err)
		}
		return temporal.NewApplicationErrorWithCause(err.Error(), "Unknown", err)
	}
	return temporal.NewApplicationErrorWithCause(err.Error(), kind, err)
}

// kindOf sorts errors; the empty string is an error that nobody has classed.
func kindOf(err error) string {
	var bad *BadInput
	var cheat *tampered
	switch {
	case errors.As(err, &cheat), errors.Is(err, trial.ErrTampered):
		return protocol.ErrTampered
	case errors.As(err, &bad), errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrExists),
		errors.Is(err, sandbox.ErrNoImage), errors.Is(err, sandbox.ErrLimit),
		errors.Is(err, repo.ErrNotFound), errors.Is(err, repo.ErrNoRef),
		errors.Is(err, repo.ErrEmpty), errors.Is(err, repo.ErrUnsupported), errors.Is(err, repo.ErrInvalid),
		errors.Is(err, repo.ErrSignIn):
		return protocol.ErrBadInput
	case modelAway(err), errors.Is(err, store.ErrWait):
		return protocol.ErrUnavailable
	case modelRefuses(err), errors.Is(err, llm.ErrBudget), errors.Is(err, store.ErrNoBudget):
		return protocol.ErrBadInput
	case errors.Is(err, store.ErrFenced):
		return protocol.ErrFenced
	case errors.Is(err, repo.ErrConflict), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNewer),
		errors.Is(err, repo.ErrCorrupt), errors.Is(err, store.ErrCorrupt), errors.Is(err, artifact.ErrCorrupt):
		return protocol.ErrConflict
	case errors.Is(err, sandbox.ErrUnavailable), errors.Is(err, sandbox.ErrDead),
		errors.Is(err, sandbox.ErrNoSpace), errors.Is(err, store.ErrNoSpace), errors.Is(err, artifact.ErrNoSpace),
		errors.Is(err, store.ErrBusy), errors.Is(err, repo.ErrLocked):
		return protocol.ErrUnavailable
	}
	return ""
}

// modelAway says that a model server cannot be used now, and may be later.
func modelAway(err error) bool {
	return isAny(err, llm.ErrUnavailable, llm.ErrOverloaded, llm.ErrDeadline, llm.ErrTruncated, llm.ErrMalformed)
}

// modelRefuses says that a model server will not answer as things are configured.
func modelRefuses(err error) bool {
	return !modelAway(err) && isAny(err, llm.ErrAuth, llm.ErrNoModel, llm.ErrRequest, llm.ErrContext)
}

func isAny(err error, kinds ...error) bool {
	return slices.ContainsFunc(kinds, func(k error) bool { return errors.Is(err, k) })
}
