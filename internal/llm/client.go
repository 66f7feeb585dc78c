package llm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Client asks endpoints in order of preference. Neighbours in that order with one
// model at one price are replicas: the one with the fewest calls is asked first. A
// server that takes fewer calls than it may, since it was overloaded or stalled, has
// nobody wait for it while another has room. It is safe for concurrent use and needs no closing; its pool does.
type Client struct {
	pool  *Pool
	spots []*spot
}

// Complete answers a request. Each attempt at an endpoint is admitted by m, which
// may be nil. It tries an endpoint again, a few times and after a pause, when it is
// overloaded, unavailable, too slow, or its answer broke off; then the next one. A
// call that is silent for much longer than its server was of late is hedged: the
// question goes to another endpoint that could take it at once, too, as an attempt
// of its own, and the first good answer ends the other call.
// Prompts that are too long go on to endpoints with more room only. While breakers
// of all endpoints are open it waits for one to be tried again, as long as
// RetryConfig.Patience. Its errors wrap one of the kinds, or what ended ctx; when
// all endpoints failed, the *Error of the most telling one, and name them all.
func (c *Client) Complete(ctx context.Context, r Request, m Meter) (Answer, error) {
	if err := r.Validate(); err != nil {
		return Answer{}, err
	}
	inner, leave, err := c.pool.enter(ctx)
	if err != nil {
		return Answer{}, err
	}
	defer leave()
	q := &question{client: c, request: r, meter: m, ends: make([]end, len(c.spots))}
	return q.ask(inner)
}

// question is one request on its way through the endpoints.
type question struct {
	client  *Client
	request Request
	meter   Meter
	ends    []end         // by endpoint
	wait    time.Duration // until the first of the skipped endpoints may be asked
}

// end is how far a question got at an endpoint.
type end struct {
	tries int
	err   error // the last one
	over  bool  // it is not asked again
}

// ask goes through the endpoints until one answers or all are done with. Those that
// were skipped are come back to.
func (q *question) ask(ctx context.Context) (Answer, error) {
	patience := time.NewTimer(q.client.pool.cfg.Retry.Patience)
	defer patience.Stop()
	for {
		changed := q.client.pool.changes()
		q.wait = 0
		for _, i := range q.client.order() {
			answer, err := q.at(ctx, i)
			if err == nil {
				return answer, nil
			}
			if ctx.Err() != nil || errors.As(err, new(final)) {
				return Answer{}, q.ended(ctx, err)
			}
		}
		if q.done() {
			return Answer{}, q.failure()
		}
		if err := q.await(ctx, changed, patience.C); err != nil {
			return Answer{}, err
		}
	}
}

// order is the numbers of the endpoints in the order in which they are asked now.
func (c *Client) order() []int {
	order, load := make([]int, len(c.spots)), make([]int, len(c.spots))
	for i, s := range c.spots {
		_, inflight, waiting := s.server.limiter.load()
		order[i], load[i] = i, inflight+waiting
	}
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && replicas(c.spots[from].endpoint, c.spots[to].endpoint) {
			to++
		}
		slices.SortStableFunc(order[from:to], func(i, j int) int { return load[i] - load[j] })
		from = to
	}
	return c.relieved(order)
}

// relieved puts servers that would have callers wait because they failed under
// their load behind the others, while one of these has room: whoever is slowed down
// by a server that is in trouble is better served by the fallback.
func (c *Client) relieved(order []int) []int {
	if !slices.ContainsFunc(order, func(i int) bool { return c.spots[i].free() }) {
		return order
	}
	slowed := func(i int) int {
		if c.spots[i].server.limiter.slowed(c.spots[i].endpoint.Parallel) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(order, func(i, j int) int { return slowed(i) - slowed(j) })
	return order
}

func replicas(a, b Endpoint) bool {
	return a.Protocol == b.Protocol && a.Model == b.Model && a.Price == b.Price
}

// at asks one endpoint, again after failures that may pass.
func (q *question) at(ctx context.Context, i int) (Answer, error) {
	end, s := &q.ends[i], q.client.spots[i]
	if end.over {
		return Answer{}, end.err
	}
	for {
		fresh := end.tries == 0
		answer, err := q.run(ctx, i)
		if !errors.Is(err, errSkipped) {
			s.server.earn(fresh)
		}
		if err == nil || errors.Is(err, errSkipped) || ctx.Err() != nil || errors.As(err, new(final)) {
			return answer, err
		}
		pause, again := q.again(i)
		if !again {
			end.over = true
			return Answer{}, err
		}
		if err := sleep(ctx, pause); err != nil {
			return Answer{}, err
		}
	}
}

// again decides whether an endpoint is asked once more, and after which pause.
func (q *question) again(i int) (pause time.Duration, again bool) {
	end, retry := q.ends[i], q.client.pool.cfg.Retry
	if errors.Is(end.err, ErrContext) {
		q.tooLong(i)
		return 0, false
	}
	if !q.passes(end.err) {
		return 0, false
	}
	most := retry.Attempts
	if errors.Is(end.err, ErrDeadline) {
		// It took minutes: once more at most, and only where there is nobody else.
		most = min(most, 2)
		if q.others(i) {
			return 0, false
		}
	}
	if end.tries >= most || !q.client.spots[i].server.retries.spend() {
		return 0, false
	}
	pause = jitter(min(retry.Backoff<<(end.tries-1), retry.MaxBackoff))
	if e := (*Error)(nil); errors.As(end.err, &e) {
		pause = max(pause, e.RetryAfter)
	}
	return pause, true
}

// passes says whether a failure may pass, before too long.
func (q *question) passes(err error) bool {
	if e := (*Error)(nil); errors.As(err, &e) && e.RetryAfter > q.client.pool.cfg.Retry.RetryAfter {
		return false
	}
	return slices.ContainsFunc([]error{ErrDeadline, ErrOverloaded, ErrUnavailable, ErrTruncated}, func(kind error) bool { return errors.Is(err, kind) })
}

// tooLong ends the question at every endpoint that has no more room than i, as far
// as that is known.
func (q *question) tooLong(i int) {
	pool := q.client.pool
	room := q.client.spots[i].known(pool)
	for j := range q.ends {
		s, end := q.client.spots[j], &q.ends[j]
		if n := s.known(pool); end.over || n > room {
			continue
		}
		end.over = true
		if end.err == nil {
			end.err = &Error{Op: "complete", Endpoint: s.endpoint.Name, Kind: ErrContext, Detail: "it has no more room, as far as is known, and was not asked", Hint: "send a shorter prompt"}
		}
	}
}

// others says whether an endpoint other than i may be asked now.
func (q *question) others(i int) bool {
	for j, end := range q.ends {
		s := q.client.spots[j]
		if state, _ := s.server.breaker.status(); j != i && !end.over && s.broken == nil && state == closed {
			return true
		}
	}
	return false
}

// done says whether no endpoint is left to ask.
func (q *question) done() bool {
	for _, end := range q.ends {
		if !end.over {
			return false
		}
	}
	return true
}

// await waits until a skipped endpoint may be worth asking.
func (q *question) await(ctx context.Context, changed <-chan struct{}, patience <-chan time.Time) error {
	var soon <-chan time.Time
	if q.wait > 0 {
		t := time.NewTimer(q.wait)
		defer t.Stop()
		soon = t.C
	}
	select {
	case <-ctx.Done():
		return q.ended(ctx, ctx.Err())
	case <-patience:
		return q.failure()
	case <-changed:
	case <-soon:
	}
	return nil
}

// ended is the error of a question that was ended from outside: by ctx, a budget, a meter.
func (q *question) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ErrBudget) {
		err = context.Cause(ctx)
	}
	if s := q.soFar(); s != "" {
		return fmt.Errorf("ask a model: %w (before that: %s)", err, s)
	}
	return fmt.Errorf("ask a model: %w", err)
}

func (q *question) soFar() string {
	var out []string
	for _, end := range q.ends {
		if end.err != nil {
			out = append(out, end.err.Error())
		}
	}
	return strings.Join(out, "; ")
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// jitter spreads calls that failed together: from half of d to all of it.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
