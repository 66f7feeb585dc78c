package llm

import (
	"sync"
	"testing"
	"time"
)

func TestPatience(t *testing.T) {
	const s = time.Second
	usual := Endpoint{FirstToken: 120 * s, Stall: 40 * s}
	calls := func(n int, first, gap time.Duration) []silences {
		out := make([]silences, n)
		for i := range out {
			out[i] = silences{bytes: 1000, first: first, gap: gap}
		}
		return out
	}
	for name, c := range map[string]struct {
		seen       []silences
		later      time.Duration // since the last of them
		bytes      int
		first, gap time.Duration
	}{
		"nothing seen":                 {nil, 0, 1000, 0, 0},
		"too little seen":              {calls(4, s, s), 0, 1000, 0, 0},
		"quick":                        {calls(5, s, s/10), 0, 1000, 12 * s, 4 * s},
		"slow":                         {calls(5, 10*s, 3*s), 0, 1000, 30 * s, 9 * s},
		"slower than the deadlines":    {calls(5, 50*s, 30*s), 0, 1000, 120 * s, 40 * s},
		"once slow":                    {append(calls(20, s, s), silences{bytes: 10, first: 8 * s, gap: 5 * s}), 0, 1000, 24 * s, 15 * s},
		"slow long ago":                {append(calls(1, 20*s, 10*s), calls(32, s, s)...), 0, 1000, 12 * s, 4 * s},
		"a longer prompt":              {calls(5, 5*s, 2*s), 0, 3000, 45 * s, 6 * s},
		"a much longer prompt":         {calls(5, 5*s, 2*s), 0, 1e9, 120 * s, 6 * s},
		"a shorter prompt":             {calls(5, 5*s, 2*s), 0, 10, 15 * s, 6 * s},
		"known no more":                {calls(32, s, s), 7 * time.Hour, 1000, 0, 0},
		"still known":                  {calls(32, s, s), 5 * time.Hour, 1000, 12 * s, 4 * s},
		"prompts and calls of no size": {make([]silences, 9), 0, 0, 12 * s, 4 * s},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1e9, 0)
			p := pace{now: func() time.Time { return now }}
			for _, call := range c.seen {
				p.observe(call)
			}
			now = now.Add(c.later)
			if first, gap := p.patience(usual, c.bytes); first != c.first || gap != c.gap {
				t.Errorf("patience %v and %v, want %v and %v", first, gap, c.first, c.gap)
			}
		})
	}
}

// A silence that was taken for a stall and was none is not taken for one again.
func TestFalseAlarmsTeach(t *testing.T) {
	now := time.Unix(1e9, 0)
	p := pace{now: func() time.Time { return now }}
	e := Endpoint{FirstToken: time.Minute, Stall: time.Minute}
	for range paceCalls {
		p.observe(silences{gap: time.Second})
	}
	_, before := p.patience(e, 0)
	p.observe(silences{gap: before})
	if _, after := p.patience(e, 0); after != paceFactor*before {
		t.Errorf("patience %v after a silence of %v", after, before)
	}
	if !p.answered(now.Add(-time.Second)) || p.answered(now) {
		t.Error("the last answer is not known")
	}
}

func TestBeat(t *testing.T) {
	now := time.Unix(1e9, 0)
	b := beat{now: func() time.Time { return now }, heard: silences{bytes: 7}}
	if since, n := b.silence(); !since.IsZero() || n != 0 {
		t.Errorf("silent since %v after %d tokens before it was sent", since, n)
	}
	b.send()
	for _, ms := range []int{300, 5, 40, 10} {
		now = now.Add(time.Duration(ms) * time.Millisecond)
		b.token()
	}
	now = now.Add(time.Second)
	if since, n := b.silence(); now.Sub(since) != time.Second || n != 4 {
		t.Errorf("silent since %v after %d tokens", since, n)
	}
	want := silences{bytes: 7, first: 300 * time.Millisecond, gap: 40 * time.Millisecond}
	if got := b.sofar(); got != want {
		t.Errorf("so far %+v, want %+v", got, want)
	}
	want.gap = time.Second
	if got := b.end(); got != want {
		t.Errorf("in the end %+v, want %+v", got, want)
	}
	b = beat{now: b.now}
	b.send()
	now = now.Add(time.Minute)
	if got := b.end(); got.first != time.Minute || got.gap != 0 {
		t.Errorf("an answer without a token %+v", got)
	}
}

func TestPaceOfManyCallers(t *testing.T) {
	p := pace{now: time.Now}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				p.observe(silences{first: time.Second})
				p.patience(Endpoint{}, 1)
				p.answered(time.Time{})
			}
		})
	}
	wg.Wait()
	if len(p.seen) != paceCalls {
		t.Errorf("%d calls are kept", len(p.seen))
	}
}
