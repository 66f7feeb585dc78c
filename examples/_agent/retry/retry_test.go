package retry

import (
	"context"
	"errors"
	"testing"
	"time"
)

// recorder is a policy whose delays are recorded and take no time.
func recorder(attempts int) (Policy, *[]time.Duration) {
	var delays []time.Duration
	return Policy{
		Attempts: attempts, Base: time.Second, Max: 10 * time.Second,
		Sleep: func(ctx context.Context, d time.Duration) error {
			delays = append(delays, d)
			return ctx.Err()
		},
	}, &delays
}

// calls runs a call that fails with err until the n-th attempt, and counts.
func calls(t *testing.T, p Policy, n int, err error) (count int, result error) {
	t.Helper()
	result = p.Do(context.Background(), func(attempt int) error {
		count++
		if attempt >= n {
			return nil
		}
		return err
	})
	return count, result
}

func TestDoReturnsAfterSuccess(t *testing.T) {
	p, delays := recorder(3)
	if n, err := calls(t, p, 1, nil); n != 1 || err != nil || len(*delays) != 0 {
		t.Errorf("got %d calls, %v, delays %v", n, err, *delays)
	}
}

func TestDoRetriesServerErrors(t *testing.T) {
	p, _ := recorder(5)
	if n, err := calls(t, p, 3, &StatusError{Code: 503}); n != 3 || err != nil {
		t.Errorf("got %d calls, %v; want 3 and success", n, err)
	}
}

func TestDoRetriesConnectionErrors(t *testing.T) {
	p, _ := recorder(5)
	if n, err := calls(t, p, 2, errors.New("connection reset")); n != 2 || err != nil {
		t.Errorf("got %d calls, %v; want 2 and success", n, err)
	}
}

func TestDoRetriesWhenThrottled(t *testing.T) {
	p, _ := recorder(5)
	if n, err := calls(t, p, 3, &StatusError{Code: 429}); n != 3 || err != nil {
		t.Errorf("got %d calls, %v; want 3 and success", n, err)
	}
}

func TestDoRetriesAfterTimeout(t *testing.T) {
	p, _ := recorder(5)
	if n, err := calls(t, p, 2, &StatusError{Code: 408}); n != 2 || err != nil {
		t.Errorf("got %d calls, %v; want 2 and success", n, err)
	}
}

func TestDoStopsWhenRefusedForGood(t *testing.T) {
	p, delays := recorder(5)
	for _, code := range []int{400, 401, 404, 422, 499} {
		n, err := calls(t, p, 4, &StatusError{Code: code})
		var status *StatusError
		if n != 1 || !errors.As(err, &status) || status.Code != code {
			t.Errorf("status %d: got %d calls, %v; want 1 and the error", code, n, err)
		}
	}
	if len(*delays) != 0 {
		t.Errorf("slept %v", *delays)
	}
}

func TestDoGivesUp(t *testing.T) {
	p, delays := recorder(3)
	cause := &StatusError{Code: 500}
	n, err := calls(t, p, 9, cause)
	if n != 3 || !errors.Is(err, cause) || len(*delays) != 2 {
		t.Errorf("got %d calls, %v, delays %v", n, err, *delays)
	}
}

func TestDoStopsWhenCancelled(t *testing.T) {
	p, _ := recorder(3)
	ctx, cancel := context.WithCancel(context.Background())
	count := 0
	err := p.Do(ctx, func(int) error { count++; cancel(); return errors.New("broken") })
	if count != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("got %d calls, %v", count, err)
	}
}

func TestDelayDoubles(t *testing.T) {
	p, _ := recorder(3)
	for i, want := range []time.Duration{1, 2, 4, 8} {
		if got := p.Delay(i + 1); got != want*time.Second {
			t.Errorf("attempt %d: got %v, want %v", i+1, got, want*time.Second)
		}
	}
}

func TestDelayIsCapped(t *testing.T) {
	p, _ := recorder(3)
	if got := p.Delay(5); got != p.Max {
		t.Errorf("got %v, want %v", got, p.Max)
	}
}

func TestDelayStaysCapped(t *testing.T) {
	p, _ := recorder(3)
	for _, attempt := range []int{6, 20, 100} {
		if got := p.Delay(attempt); got != p.Max {
			t.Errorf("attempt %d: got %v, want %v", attempt, got, p.Max)
		}
	}
}
