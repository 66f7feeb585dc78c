package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ratchet/activities"
	"ratchet/benchmarks"
	"ratchet/failures"
	"ratchet/internal/campaign"
	"ratchet/internal/control"
	"ratchet/internal/devstack"
	"ratchet/internal/repo"
	"ratchet/internal/store"
	"ratchet/sandbox"
)

// Exit codes.
const (
	exitOK          = 0   // any end but an error
	exitError       = 1   // something failed
	exitUsage       = 2   // wrong command line or invalid input
	exitEnvironment = 3   // no Docker, a busy port, a data folder in use
	exitInterrupted = 130 // Ctrl-C
)

// usageError is a wrong command line or input.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// environmentError is something around the program that keeps it from working:
// a data folder that cannot be written, a store that cannot be opened.
type environmentError struct{ err error }

func (e *environmentError) Error() string { return e.err.Error() }
func (e *environmentError) Unwrap() error { return e.err }

// environment marks err as the environment's fault; nil stays nil.
func environment(err error) error {
	if err == nil {
		return nil
	}
	return &environmentError{err}
}

// errInterrupted ends a command after Ctrl-C; what there was to say has been said.
var errInterrupted = errors.New("interrupted")

// errFailed ends a command whose campaign ended in an error that was reported.
var errFailed = errors.New("the campaign ended with an error")

func exitCode(ctx context.Context, err error) int {
	switch {
	case errors.Is(err, errInterrupted), ctx.Err() != nil:
		return exitInterrupted
	case isEnvironment(err):
		return exitEnvironment
	case isInvalid(err):
		return exitUsage
	}
	return exitError
}

func isEnvironment(err error) bool {
	var e *environmentError
	return errors.As(err, &e) || isAny(err, sandbox.ErrUnavailable, sandbox.ErrLimit, sandbox.ErrNoSpace, store.ErrNoSpace,
		store.ErrNewer, devstack.ErrPortBusy, devstack.ErrLocked, devstack.ErrSchema)
}

func isInvalid(err error) bool {
	var u *usageError
	var file *campaign.Errors
	var bad *activities.BadInput
	return errors.As(err, &u) || errors.As(err, &file) || errors.As(err, &bad) ||
		isAny(err, control.ErrNameInUse, control.ErrRefused, store.ErrNotFound, store.ErrExists, store.ErrInvalid,
			repo.ErrNotFound, repo.ErrNoRef, repo.ErrEmpty, repo.ErrUnsupported, sandbox.ErrNoImage, benchmarks.ErrConfig, failures.ErrInvalid)
}

func isAny(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

// describe is what is printed of an error; nothing for those already told.
func describe(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, errInterrupted), errors.Is(err, errFailed):
		return ""
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return "interrupted"
	}
	return err.Error()
}

// print writes one JSON document.
func (a *app) print(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
