package ratelimit

import (
	"testing"
	"time"
)

// clock is a time that moves only when it is told to.
type clock struct{ time.Time }

func (c *clock) now() time.Time          { return c.Time }
func (c *clock) advance(d time.Duration) { c.Time = c.Add(d) }

func bucket(rate, burst float64) (*Bucket, *clock) {
	c := &clock{time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	return New(rate, burst, c.now), c
}

func take(t *testing.T, b *Bucket, n float64, want bool) {
	t.Helper()
	if got := b.Take(n); got != want {
		t.Errorf("Take(%v) = %v, want %v", n, got, want)
	}
}

func TestStartsFull(t *testing.T) {
	b, _ := bucket(1, 3)
	take(t, b, 3, true)
	take(t, b, 1, false)
}

func TestRefusedTakesNothing(t *testing.T) {
	b, _ := bucket(1, 3)
	take(t, b, 4, false)
	take(t, b, 3, true)
}

func TestRefillsOnePerSecond(t *testing.T) {
	b, c := bucket(1, 3)
	take(t, b, 3, true)
	c.advance(2 * time.Second)
	take(t, b, 2, true)
	take(t, b, 1, false)
}

func TestRefillsFast(t *testing.T) {
	b, c := bucket(10, 20)
	take(t, b, 20, true)
	c.advance(time.Second)
	take(t, b, 10, true)
	take(t, b, 1, false)
}

func TestRefillsSlowly(t *testing.T) {
	b, c := bucket(0.5, 20)
	take(t, b, 20, true)
	c.advance(4 * time.Second)
	take(t, b, 3, false)
	take(t, b, 2, true)
}

func TestBurstIsTheMost(t *testing.T) {
	b, c := bucket(1, 3)
	c.advance(time.Hour)
	take(t, b, 4, false)
	take(t, b, 3, true)
}

func TestWaitForMissingTokens(t *testing.T) {
	b, _ := bucket(2, 4)
	take(t, b, 3, true)
	if got := b.Wait(4); got != 1500*time.Millisecond {
		t.Errorf("got %v, want 1.5s", got)
	}
}

func TestNoWaitWhenTheyAreThere(t *testing.T) {
	b, _ := bucket(2, 4)
	if got := b.Wait(4); got != 0 {
		t.Errorf("got %v, want 0", got)
	}
}
