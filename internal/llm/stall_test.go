package llm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"ratchet/internal/llm"
)

// stalls has a client with short deadlines open the breaker of f.
func stalls(t *testing.T, p *llm.Pool, f *fake) {
	t.Helper()
	e := f.endpoint("hasty")
	e.FirstToken, e.Parallel = 20*time.Millisecond, 8
	if _, err := client(t, p, e).Complete(t.Context(), question(), nil); !errors.Is(err, llm.ErrDeadline) {
		t.Fatalf("error %v, want a deadline", err)
	}
}

// background asks until the test ends.
func background(t *testing.T, c *llm.Client) (end func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := c.Complete(ctx, question(), nil); done <- err }()
	return func() error { cancel(); return <-done }
}

func arrived(t *testing.T, f *fake, calls int32) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); f.calls.Load() < calls; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d calls, want %d", f.calls.Load(), calls)
		}
	}
}

// The one call that tries a stalled server out keeps no other waiting, although it
// takes the only place.
func TestNobodyWaitsBehindATrial(t *testing.T) {
	one, two := newFake(t, hang), newFake(t, ok)
	p := newPool(t)
	stalls(t, p, one)
	patient := one.endpoint("one")
	patient.Parallel = 1
	patient.FirstToken, patient.Total = time.Hour, time.Hour
	before := one.calls.Load()
	end := background(t, client(t, p, patient))
	arrived(t, one, before+1)
	fallback := two.endpoint("two")
	fallback.Price.Output = 1
	c := client(t, p, patient, fallback)
	for range 3 {
		if a, err := c.Complete(t.Context(), question(), nil); err != nil || a.Endpoint != "two" {
			t.Errorf("answer %+v, error %v", a, err)
		}
	}
	if err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("the trial ended with %v", err)
	}
}

// Who is in the queue of a server when its breaker opens goes elsewhere.
func TestNobodyStaysInTheQueueOfAStalledServer(t *testing.T) {
	one, two := newFake(t, hang), newFake(t, ok)
	p := newPool(t, func(cfg *llm.PoolConfig) { cfg.Retry.OpenLeast, cfg.Retry.OpenMost = time.Hour, time.Hour })
	patient, fallback := one.endpoint("one"), two.endpoint("two")
	patient.FirstToken, patient.Total, patient.Parallel, fallback.Price.Output = time.Hour, time.Hour, 3, 1
	hasty := patient
	hasty.FirstToken = 500 * time.Millisecond
	c := client(t, p, patient, fallback)
	ends := []func() error{background(t, c), background(t, client(t, p, hasty)), background(t, client(t, p, hasty))}
	arrived(t, one, 3)
	// It queues, unless the hasty ones have given up by now; then it is refused at once.
	if a, err := c.Complete(t.Context(), question(), nil); err != nil || a.Endpoint != "two" {
		t.Errorf("answer %+v, error %v", a, err)
	}
	for _, end := range ends {
		if err := end(); !errors.Is(err, context.Canceled) {
			t.Errorf("a call ended with %v", err)
		}
	}
}

// A server that takes fewer calls since it stalled has nobody wait for it while the
// fallback has room.
func TestNobodyWaitsForASlowedServer(t *testing.T) {
	one, two := newFake(t, hang), newFake(t, ok)
	p := newPool(t)
	patient, fallback := busyAndFallback(one, two)
	hasty := patient
	hasty.FirstToken = 500 * time.Millisecond // its request has arrived by then
	if a, err := client(t, p, hasty, fallback).Complete(t.Context(), question(), nil); err != nil || a.Endpoint != "two" {
		t.Fatalf("answer %+v, error %v", a, err)
	}
	c := client(t, p, patient, fallback)
	end := background(t, c) // it takes the one place that is left of two
	arrived(t, one, 2)
	if a, err := c.Complete(t.Context(), question(), nil); err != nil || a.Endpoint != "two" {
		t.Errorf("answer %+v, error %v", a, err)
	}
	if err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
}

// A server that is only busy is waited for: the fallback has another price.
func TestBusyServersAreWaitedFor(t *testing.T) {
	one, two := newFake(t, hang), newFake(t, ok)
	patient, fallback := busyAndFallback(one, two)
	c := client(t, newPool(t), patient, fallback)
	ends := []func() error{background(t, c), background(t, c)}
	arrived(t, one, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if a, err := c.Complete(ctx, question(), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("answer %+v, error %v", a, err)
	}
	for _, end := range ends {
		if err := end(); !errors.Is(err, context.Canceled) {
			t.Errorf("a call ended with %v", err)
		}
	}
	if n := two.calls.Load(); n != 0 {
		t.Errorf("%d calls of the fallback", n)
	}
}

// busyAndFallback are a server with two places and all the time, and another.
func busyAndFallback(one, two *fake) (patient, fallback llm.Endpoint) {
	patient, fallback = one.endpoint("one"), two.endpoint("two")
	patient.FirstToken, patient.Total, patient.Parallel, fallback.Price.Output = time.Hour, time.Hour, 2, 1
	return patient, fallback
}
