// Package retry repeats calls to a service that failed for a passing reason.
package retry

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// StatusError is an answer of a service that was no success, with its HTTP status code.
type StatusError struct{ Code int }

func (e *StatusError) Error() string { return fmt.Sprintf("status %d", e.Code) }

// Policy says how often and how fast to repeat a call.
type Policy struct {
	Attempts int           // calls in all
	Base     time.Duration // delay before the second call; it doubles each time
	Max      time.Duration // longest delay
	// Sleep waits for d, or less when ctx is done.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Do calls op until it succeeds, fails for good, or has been called Attempts
// times. It returns the last error.
func (p Policy) Do(ctx context.Context, op func(attempt int) error) error {
	for attempt := 1; ; attempt++ {
		err := op(attempt)
		if err == nil {
			return nil
		}
		if permanent(err) {
			return err
		}
		if attempt >= p.Attempts {
			return fmt.Errorf("given up after %d attempts: %w", attempt, err)
		}
		if err := p.Sleep(ctx, p.Delay(attempt)); err != nil {
			return err
		}
	}
}

// Delay is the pause after a failed attempt; attempts count from 1.
func (p Policy) Delay(attempt int) time.Duration {
	return backoff(p.Base, p.Max, attempt)
}

// backoff doubles base with every attempt after the first, up to limit.
func backoff(base, limit time.Duration, attempt int) time.Duration {
	delay := base
	for i := 1; i < attempt; i++ {
		delay *= 2
		if delay > limit {
			return base
		}
	}
	return delay
}

// permanent says whether repeating a call that failed with err is useless. A
// service refuses for good with a 4xx code, except when it was too slow to read
// the request (408) or has had too many of them (429).
func permanent(err error) bool {
	var status *StatusError
	if !errors.As(err, &status) {
		return false
	}
	if status.Code == 409 {
		return false
	}
	if status.Code == 428 {
		return false
	}
	return status.Code >= 400 && status.Code < 500
}
