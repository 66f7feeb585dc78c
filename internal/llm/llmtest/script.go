package llmtest

import (
	"strings"
	"sync"
)

// Script decides what a call is answered. A server asks its script one call at a
// time, in the order in which calls come. It must not block: hold replies back with
// a Gate. All scripts of this package may serve several servers at once.
type Script interface {
	Decide(Request) Reply
}

// Func is a function as a Script.
type Func func(Request) Reply

// Decide calls the function.
func (f Func) Decide(r Request) Reply { return f(r) }

// Queue goes on by one step at each call; the last step repeats.
func Queue(steps ...Script) Script {
	if len(steps) == 0 {
		return Unscripted("the queue is empty")
	}
	next := counter()
	return Func(func(r Request) Reply { return steps[min(next(), len(steps))-1].Decide(r) })
}

// Repeat is a step n times, for use in a Queue.
func Repeat(n int, step Script) []Script {
	out := make([]Script, n)
	for i := range out {
		out[i] = step
	}
	return out
}

// Every answers each nth call (the nth, the 2nth, …) with one script, and all others
// with another.
func Every(n int, nth, others Script) Script {
	next := counter()
	return Func(func(r Request) Reply {
		if next()%max(n, 1) == 0 {
			return nth.Decide(r)
		}
		return others.Decide(r)
	})
}

// counter counts calls from 1.
func counter() func() int {
	var mu sync.Mutex
	n := 0
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		n++
		return n
	}
}

// Match says whether a rule is for a request.
type Match func(Request) bool

// Rule is a script for some of the requests.
type Rule struct {
	Match Match
	Do    Script
}

// When matches conversations that contain each of the texts; with none, all.
func When(texts ...string) Match {
	return func(r Request) bool { return r.Contains(texts...) }
}

// Sends matches requests whose body has the parameter.
func Sends(parameter string) Match { return func(r Request) bool { return r.Sends(parameter) } }

// Then makes a Rule of a Match.
func (m Match) Then(s Script) Rule { return Rule{Match: m, Do: s} }

// And matches what both do.
func (m Match) And(n Match) Match { return func(r Request) bool { return m(r) && n(r) } }

// Not matches what m does not.
func (m Match) Not() Match { return func(r Request) bool { return !m(r) } }

// Otherwise is a rule for every request; it belongs at the end.
func Otherwise(s Script) Rule { return When().Then(s) }

// First answers by the first rule that matches. A request without one is refused
// with HTTP 400, and its Reply says "unscripted".
func First(rules ...Rule) Script {
	return Func(func(r Request) Reply {
		for _, rule := range rules {
			if rule.Match(r) {
				return rule.Do.Decide(r)
			}
		}
		return Unscripted("no rule matches " + strings.ToValidUTF8(r.Last()[:min(len(r.Last()), 200)], ""))
	})
}

// Hold has all replies of a script wait at a gate.
func Hold(g *Gate, s Script) Script {
	return Func(func(r Request) Reply { return s.Decide(r).At(g) })
}

// Gate holds replies back until it is opened. It is safe for concurrent use.
// Stats.Held counts who waits.
type Gate struct {
	once sync.Once
	open chan struct{}
}

// NewGate returns a closed gate.
func NewGate() *Gate { return &Gate{open: make(chan struct{})} }

// Open lets all pass, now and later. It may be called again.
func (g *Gate) Open() { g.once.Do(func() { close(g.open) }) }
