package llm

import (
	"slices"
	"sync"
	"time"
)

const (
	// paceCalls is how many good calls a server's pace is taken from, and paceFresh
	// for how long they count: servers get other machines and other company.
	paceCalls = 32
	paceFresh = 6 * time.Hour
	// paceLeast is how many must have been seen before a silence says anything.
	paceLeast = 5
	// paceFactor is how many times as long as the longest silence of late one must be
	// to be suspicious.
	paceFactor = 3
	// paceFloor is the part of a deadline that no silence below it is suspicious. With
	// the default deadlines that is 12 s before the first token and 4.5 s after it: a
	// server that schedules many calls pauses some of them for seconds.
	paceFloor = 10
)

// pace is how long a server lets callers wait for tokens, by its good calls of late.
// It is safe for concurrent use.
type pace struct {
	now func() time.Time

	mu   sync.Mutex
	seen []silences // oldest first
}

// silences are the two sorts of waiting in one call.
type silences struct {
	at    time.Time     // when the call ended
	bytes int           // of the prompt
	first time.Duration // until the first token
	gap   time.Duration // the longest after it
}

// observe takes the silences of a call that were not for ever.
func (p *pace) observe(s silences) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.at = p.now()
	if len(p.seen) == paceCalls {
		p.seen = slices.Delete(p.seen, 0, 1)
	}
	p.seen = append(p.seen, s)
}

// patience is how long a call of a prompt of so many bytes may be silent before its
// first token and after it: longer than a few times what the server was of late, at
// least a share of the endpoint's deadlines, at most these. They are 0 while too
// little is known. A prompt that is longer than all of late may take longer in
// proportion, since reading it does.
func (p *pace) patience(e Endpoint, bytes int) (first, gap time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	oldest, known, largest := p.now().Add(-paceFresh), 0, 1
	for _, s := range p.seen {
		if s.at.Before(oldest) {
			continue
		}
		known++
		first, gap, largest = max(first, s.first), max(gap, s.gap), max(largest, s.bytes)
	}
	if known < paceLeast {
		return 0, 0
	}
	longer := max(1, float64(bytes)/float64(largest))
	return within(float64(first)*longer, e.FirstToken), within(float64(gap), e.Stall)
}

func within(longest float64, deadline time.Duration) time.Duration {
	return time.Duration(min(max(paceFactor*longest, float64(deadline)/paceFloor), float64(deadline)))
}

// answered says whether the server has ended a call well since a time.
func (p *pace) answered(since time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.seen) > 0 && p.seen[len(p.seen)-1].at.After(since)
}

// beat is what is heard of one call. It is safe for concurrent use.
type beat struct {
	now func() time.Time

	mu     sync.Mutex
	last   time.Time // of the last token, or when the call was sent; zero before that
	tokens int
	heard  silences
}

// send tells that the call goes out now.
func (b *beat) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = b.now()
}

// token tells that one came.
func (b *beat) token() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listen()
	b.tokens++
	b.last = b.now()
}

// listen counts the silence up to now as one that is over. It needs the lock.
func (b *beat) listen() {
	silent := b.now().Sub(b.last)
	if b.tokens == 0 {
		b.heard.first = silent
		return
	}
	b.heard.gap = max(b.heard.gap, silent)
}

// end tells that the call ended well, and returns its silences.
func (b *beat) end() silences {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listen()
	return b.heard
}

// sofar returns the silences that are over.
func (b *beat) sofar() silences {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.heard
}

// silence is since when nothing was heard, zero for a call that was not sent, and
// how many tokens came before.
func (b *beat) silence() (since time.Time, tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last, b.tokens
}
