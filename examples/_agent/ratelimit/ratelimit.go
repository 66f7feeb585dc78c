// Package ratelimit bounds how often a service is called, with a token bucket:
// a call takes a token, tokens come back at a steady rate, and a full bucket
// allows a burst.
package ratelimit

import "time"

// Bucket is a token bucket. It is not safe for concurrent use.
type Bucket struct {
	rate   float64 // tokens a second
	burst  float64 // most tokens it holds
	tokens float64
	last   time.Time
	now    func() time.Time
}

// New returns a full bucket that reads the time from now.
func New(rate, burst float64, now func() time.Time) *Bucket {
	return &Bucket{rate: rate, burst: burst, tokens: burst, last: now(), now: now}
}

// Take takes n tokens, or none and returns false when there are not enough.
func (b *Bucket) Take(n float64) bool {
	b.refill()
	if b.tokens < n {
		return false
	}
	b.tokens -= n
	return true
}

// Wait is how long it takes until n tokens are there; 0 when they are.
func (b *Bucket) Wait(n float64) time.Duration {
	b.refill()
	missing := n - b.tokens
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing / b.rate * float64(time.Second))
}

// refill adds the tokens that came back since it was last called.
func (b *Bucket) refill() {
	now := b.now()
	elapsed := now.Sub(b.last).Seconds()
	b.last = now
	b.tokens += elapsed / b.rate
	if b.tokens > b.burst {
		b.tokens = b.burst
	}
}
