package suites

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/internal/model"
	"ratchet/sandbox"
)

// Runner measures an agent.
type Runner struct {
	Boxes sandbox.Provider
	Spec  sandbox.Spec // the agent's box; it never has a network
	// Specs are boxes in the place of Spec, by the kind of a problem's checker.
	Specs  map[string]sandbox.Spec
	Agent  Agent
	Grader *Grader
	// Time is the limit for each problem, the problem's own when zero.
	Time time.Duration
	// Parallel is how many problems are worked on at once, 1 when less.
	Parallel int
	// Progress is told of each result, from one goroutine at a time; it may be nil.
	Progress func(Result)
}

// Result is what one run of an agent on one problem gave.
type Result struct {
	Problem  string // its id
	Score    float64
	Outcome  model.Outcome
	Tokens   int64         // as the agent reports them; 0 when it does not
	Wall     time.Duration // of the agent's command
	TimedOut bool
	Message  string        // why it scored no more, and what the agent printed last
	Sandbox  time.Duration // for which boxes were in use
}

// Model is the result as it is stored.
func (r Result) Model() model.Result {
	return model.Result{
		Problem: r.Problem, Score: r.Score, Outcome: r.Outcome, Wall: r.Wall,
		Tokens: r.Tokens, TimedOut: r.TimedOut, Message: r.Message,
	}
}

// Run lets the agent work on each problem once and grades what it left behind.
// The results are in the order of the problems. An error, such as ErrAgent or
// that of a sandbox, means that the run is worth nothing.
func (r *Runner) Run(ctx context.Context, problems []Problem) ([]Result, error) {
	out := make([]Result, len(problems))
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(r.Parallel, 1))
	for i, p := range problems {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			res, err := r.one(ctx, p)
			if err != nil {
				return fmt.Errorf("problem %s: %w", p.ID, err)
			}
			mu.Lock()
			defer mu.Unlock()
			out[i] = res
			if r.Progress != nil {
				r.Progress(res)
			}
			return nil
		})
	}
	return out, g.Wait()
}

func (r *Runner) limit(p Problem) time.Duration {
	if r.Time > 0 {
		return r.Time
	}
	return p.Limits.Time
}

// one lets the agent work on a problem, and grades it.
func (r *Runner) one(ctx context.Context, p Problem) (Result, error) {
	started := time.Now()
	w, err := r.attempt(ctx, p)
	if err != nil {
		return Result{}, err
	}
	res := Result{
		Problem: p.ID, Outcome: model.Fail, Tokens: w.tokens, Wall: w.outcome.Wall,
		TimedOut: w.outcome.TimedOut, Sandbox: time.Since(started),
	}
	why := w.refused
	switch {
	case w.outcome.TimedOut:
		res.Outcome, why = model.Timeout, "the agent took longer than "+r.limit(p).String()
	case w.outcome.OutOfMemory:
		res.Outcome, why = model.OutOfMemory, "the agent used more memory than its box has"
	case w.refused == "":
		g, err := r.Grader.Grade(ctx, p, w.tree, w.answer)
		if err != nil {
			return Result{}, err
		}
		res.Outcome, why = g.Outcome, g.Message
		res.Sandbox += g.Sandbox
		if g.Solved {
			res.Score = 1
		}
	}
	res.Message = message(why, w)
	return res, nil
}

// message puts together what there is to say, at most model.MaxMessage bytes:
// the verdict from its beginning, the agent's output from its end.
func message(why string, w work) string {
	var b strings.Builder
	parts := []string{clip(why, model.MaxMessage/2)}
	if o := w.outcome; !o.OK() && !o.TimedOut && !o.OutOfMemory {
		parts = append(parts, fmt.Sprintf("the agent ended with exit code %d %s", o.ExitCode, o.Signal))
	}
	parts = append(parts, clip(w.note, 200))
	for _, s := range parts {
		if s = strings.TrimSpace(s); s != "" {
			b.WriteString(s + "\n")
		}
	}
	output := strings.TrimSpace(string(w.outcome.Stdout) + "\n" + string(w.outcome.Stderr))
	if output != "" {
		head := "what the agent printed last:\n"
		if w.outcome.Truncated {
			head = fmt.Sprintf("what the agent printed last of the first %d bytes:\n", maxOutput)
		}
		room := model.MaxMessage - b.Len() - len(head)
		b.WriteString(head + tail(output, room))
	}
	return strings.TrimSpace(b.String())
}

// tail keeps the last n bytes of s, as valid text.
func tail(s string, n int) string {
	if len(s) > n {
		s = s[len(s)-n:]
	}
	return strings.ToValidUTF8(s, "")
}
