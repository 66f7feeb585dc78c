// Package doctor runs checks of the surroundings side by side, each in its own
// time, and collects what they found. It looks at nothing itself.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Status is how a check ended.
type Status string

const (
	OK      Status = "ok"
	Warning Status = "warning" // it works, but not well or not for long
	Failed  Status = "failed"
	Skipped Status = "skipped" // there was nothing to look at, or no way to
)

// Finding is what one look at one thing found.
type Finding struct {
	Status  Status
	Found   string   // one line
	Hint    string   // how to mend it, one line; required unless OK
	Details []string // more lines, such as every error of a file
	// Input says that what failed is the caller's input and not the surroundings.
	Input bool
}

// Fine reports that all is well.
func Fine(format string, args ...any) Finding {
	return Finding{Status: OK, Found: fmt.Sprintf(format, args...)}
}

// Warn reports something that works, but not well or not for long.
func Warn(hint, format string, args ...any) Finding {
	return Finding{Status: Warning, Found: fmt.Sprintf(format, args...), Hint: hint}
}

// Fail reports what does not work.
func Fail(hint, format string, args ...any) Finding {
	return Finding{Status: Failed, Found: fmt.Sprintf(format, args...), Hint: hint}
}

// Skip says why there was no look, and what would make one possible.
func Skip(hint, format string, args ...any) Finding {
	return Finding{Status: Skipped, Found: fmt.Sprintf(format, args...), Hint: hint}
}

// Check is one thing to look at.
type Check struct {
	Name string
	// Limit is how long Probe may take. When it has not returned by then, the check
	// has failed and Probe is left behind with a context that has ended.
	Limit time.Duration
	// Grace is how long Probe may go on when its context has ended, to clean up what
	// it has made; a quarter of a second when 0.
	Grace time.Duration
	// Late is the hint for a probe that took too long.
	Late string
	// Probe looks. It runs beside the probes of other checks.
	Probe func(context.Context) Finding
}

// Outcome is a check with what it found.
type Outcome struct {
	Name    string   `json:"name"`
	Status  Status   `json:"status"`
	Found   string   `json:"found"`
	Hint    string   `json:"hint,omitempty"`
	Details []string `json:"details,omitempty"`
	Seconds float64  `json:"seconds"`
	Input   bool     `json:"-"`
}

// Report is what all checks found, in the order in which they were given.
type Report struct {
	OK     bool      `json:"ok"` // no check has failed
	Checks []Outcome `json:"checks"`
}

// Failed lists the names of the checks that failed; with input only those whose
// input was wrong, else only the others.
func (r Report) Failed(input bool) (names []string) {
	for _, o := range r.Checks {
		if o.Status == Failed && o.Input == input {
			names = append(names, o.Name)
		}
	}
	return names
}

// Run runs all checks at once and returns when each has ended or is beyond its
// limit, or ctx has ended. most caps every limit unless it is 0. Secrets are cut
// out of whatever was found.
func Run(ctx context.Context, checks []Check, most time.Duration, secrets ...string) Report {
	r := Report{OK: true, Checks: make([]Outcome, len(checks))}
	var busy sync.WaitGroup
	for i, c := range checks {
		if most > 0 && c.Limit > most {
			c.Limit = most
		}
		busy.Go(func() { r.Checks[i] = c.run(ctx) })
	}
	busy.Wait()
	clean := redactor(secrets)
	for i := range r.Checks {
		r.Checks[i].clean(clean)
		r.OK = r.OK && r.Checks[i].Status != Failed
	}
	return r
}

func (c Check) run(ctx context.Context) Outcome {
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	start := time.Now()
	done := make(chan Finding, 1)
	go func() { done <- c.Probe(ctx) }() // its owner is the probe's context
	var f Finding
	select {
	case f = <-done:
	case <-ctx.Done():
		f = c.late(ctx, done)
	}
	return Outcome{
		Name: c.Name, Status: f.Status, Found: f.Found, Hint: f.Hint, Details: f.Details,
		Seconds: time.Since(start).Round(time.Millisecond).Seconds(), Input: f.Input,
	}
}

// shortGrace is enough to say what a probe was waiting for.
const shortGrace = 250 * time.Millisecond

// late gives a probe that heeds its context the time to say so, which tells more,
// and to leave nothing behind.
func (c Check) late(ctx context.Context, done <-chan Finding) Finding {
	t := time.NewTimer(cmp.Or(c.Grace, shortGrace))
	defer t.Stop()
	select {
	case f := <-done:
		return f
	case <-t.C:
	}
	if context.Cause(ctx) != context.DeadlineExceeded {
		return Skip("run it again", "it was interrupted")
	}
	return Fail(c.Late, "no answer within %s", c.Limit)
}

// clean makes each text one line, without secrets.
func (o *Outcome) clean(r *strings.Replacer) {
	line := func(s string) string {
		return r.Replace(strings.Join(strings.FieldsFunc(s, func(c rune) bool { return c == '\n' || c == '\r' }), "; "))
	}
	o.Found, o.Hint = line(o.Found), line(o.Hint)
	for i, d := range o.Details {
		o.Details[i] = line(d)
	}
}

func redactor(secrets []string) *strings.Replacer {
	var pairs []string
	for _, s := range secrets {
		if s != "" {
			pairs = append(pairs, s, "…")
		}
	}
	return strings.NewReplacer(pairs...)
}
