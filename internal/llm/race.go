package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// hedgeAdmission is how long a hedge may wait for a budget. It keeps a place at its
// server meanwhile, which others could use.
const hedgeAdmission = 2 * time.Second

// flight is an attempt under way.
type flight struct {
	number int // of the endpoint
	spot   *spot
	leave  *pass   // of a hedge, which has its place and its breaker's leave already
	leader *flight // of a hedge
	beat   beat
	good   atomic.Bool // it has an answer, which may not be settled yet
	began  time.Time
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when answer and err are set

	answer Answer
	err    error
}

// beaten is the cause with which an attempt is ended when another answered first.
type beaten struct {
	by     string        // endpoint
	silent time.Duration // for how long the loser has been, if it is taken for stalled
}

func (b *beaten) Error() string { return b.by + " answered first" }

// launch begins an attempt, a hedge when there is a leader. It must be joined.
func (q *question) launch(ctx context.Context, i int, leave *pass, leader *flight) *flight {
	now := q.client.pool.cfg.Now
	f := &flight{number: i, spot: q.client.spots[i], leave: leave, leader: leader, began: now(), done: make(chan struct{})}
	f.beat = beat{now: now, heard: silences{bytes: q.request.Bytes()}}
	ctx, f.cancel = context.WithCancelCause(ctx)
	go func() {
		defer close(f.done)
		defer f.cancel(nil)
		f.answer, f.err = q.attempt(ctx, f)
	}()
	return f
}

// ask makes the call, unless that would be for nothing: the end of the leader may be
// what has let the hedge into a budget. What a good call was like is part of its
// server's pace.
func (f *flight) ask(ctx context.Context, r Request) (Answer, error) {
	if f.leader != nil && f.leader.good.Load() {
		why := &beaten{by: f.leader.spot.endpoint.Name}
		return Answer{}, &Error{Op: "complete", Endpoint: f.spot.endpoint.Name, Kind: context.Canceled, Detail: why.Error()}
	}
	f.beat.send()
	answer, err := f.spot.backend.Complete(ctx, r, f.beat.token)
	if err != nil {
		return answer, beatenBy(ctx, err)
	}
	f.good.Store(true)
	f.spot.server.pace.observe(f.beat.end())
	return answer, nil
}

// join ends a flight, which may be nil, and waits for it. The error is that its cost
// could not be settled.
func (f *flight) join(cause error) error {
	if f == nil {
		return nil
	}
	f.cancel(cause)
	<-f.done
	if errors.As(f.err, new(unsettled)) {
		return f.err
	}
	return nil
}

// ended is closed when a flight has ended; nil for none.
func (f *flight) ended() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.done
}

// race is an attempt at an endpoint, the leader, and at times a hedge: the same
// question, asked elsewhere because the leader is silent for longer than its server
// was of late. The first good answer wins. A hedge whose leader fails leads.
type race struct {
	*question
	number        int // of the endpoint that was asked first
	leader, hedge *flight
	alone         bool // the budget has no room for two
}

// run makes an attempt at an endpoint, and notes how it and its hedges failed. No
// flight is under way when it returns.
func (q *question) run(ctx context.Context, i int) (Answer, error) {
	r := &race{question: q, number: i, leader: q.launch(ctx, i, nil, nil)}
	timer := time.NewTimer(r.watch(ctx))
	defer timer.Stop()
	for {
		select {
		case <-r.leader.done:
			if answer, err, over := r.led(ctx); over {
				return answer, err
			}
		case <-r.hedge.ended():
			if answer, err, over := r.hedged(ctx); over {
				return answer, err
			}
		case <-timer.C:
		}
		timer.Reset(r.watch(ctx))
	}
}

// led takes the end of the leader, and says whether it is that of the race.
func (r *race) led(ctx context.Context) (Answer, error, bool) {
	f := r.leader
	lasting := f.err == nil || ctx.Err() != nil || errors.As(f.err, new(unsettled))
	if lasting {
		if err := r.hedge.join(&beaten{by: f.spot.endpoint.Name}); err != nil && f.err == nil {
			return Answer{}, err, true
		}
		return f.answer, f.err, true
	}
	r.note(f)
	if r.hedge != nil {
		r.leader, r.hedge = r.hedge, nil
		return Answer{}, nil, false
	}
	if f.leader != nil { // a hedge that led: who was asked first is told of its own end
		return Answer{}, r.ends[r.number].err, true
	}
	return Answer{}, f.err, true
}

// hedged takes the end of the hedge, and says whether it is that of the race.
func (r *race) hedged(ctx context.Context) (Answer, error, bool) {
	f := r.hedge
	r.hedge = nil
	switch {
	case f.err == nil:
		err := r.overtake(f)
		return f.answer, err, true
	case errors.As(f.err, new(unsettled)):
		_ = r.leader.join(&beaten{by: f.spot.endpoint.Name})
		return Answer{}, f.err, true
	case errors.As(f.err, new(final)):
		r.alone = true
		r.leader.spot.server.hedges.refund()
	case ctx.Err() == nil:
		r.note(f)
	}
	return Answer{}, nil, false
}

// overtake ends the leader, whom a hedge has beaten. One that has been silent ever
// since the hedge began is stalled, as far as anybody can tell. One that spoke again
// was not, and its server's pace learns how long it can be silent.
func (r *race) overtake(hedge *flight) error {
	f, why := r.leader, &beaten{by: hedge.spot.endpoint.Name}
	since, _ := f.beat.silence()
	if stalled := since.Before(hedge.began); stalled {
		why.silent = f.beat.now().Sub(since)
	} else {
		f.spot.server.pace.observe(f.beat.sofar())
	}
	return f.join(why)
}

// note writes down how a flight failed.
func (q *question) note(f *flight) {
	if errors.Is(f.err, errSkipped) || errors.As(f.err, new(final)) {
		return
	}
	end := &q.ends[f.number]
	end.tries, end.err = end.tries+1, f.err
	if f.leader != nil && !q.passes(f.err) {
		end.over = true
	}
}

// watch starts a hedge when the leader is silent for too long, and says after how
// long to look again.
func (r *race) watch(ctx context.Context) time.Duration {
	f := r.leader
	often := max(f.spot.endpoint.Stall/paceFloor, time.Millisecond)
	rest, known := r.suspicious(f)
	switch {
	case !known || r.hedge != nil || r.alone || ctx.Err() != nil:
	case rest > 0:
		return min(rest, often) // the first token may come, and gaps are shorter
	default:
		r.hedge = r.second(ctx)
	}
	return often
}

// suspicious is after how long the silence of a flight will be suspicious, if that
// is known.
func (q *question) suspicious(f *flight) (rest time.Duration, known bool) {
	since, tokens := f.beat.silence()
	limit, gap := f.spot.server.pace.patience(f.spot.endpoint, q.request.Bytes())
	if tokens > 0 {
		limit = gap
	}
	if since.IsZero() || limit == 0 {
		return 0, false
	}
	return limit - f.beat.now().Sub(since), true
}

// second asks elsewhere, if anybody could take the call at once and the server whose
// silence is the reason has not been hedged too often; else it returns nil.
func (r *race) second(ctx context.Context) *flight {
	hedges := &r.leader.spot.server.hedges
	if !hedges.spend() {
		return nil
	}
	for _, i := range r.elsewhere() {
		if leave := r.client.spots[i].seize(); leave != nil {
			return r.launch(ctx, i, leave, r.leader)
		}
	}
	hedges.refund()
	return nil
}

// elsewhere is the endpoints that a hedge may go to, in order: those that the
// question has not failed at. The last is the leader's own, which may be several
// servers behind one address, if it has answered others during the silence: one that
// has not would leave a second call alone, too.
func (r *race) elsewhere() []int {
	own := r.leader.number
	order := slices.DeleteFunc(r.client.order(), func(i int) bool {
		return i == own || r.ends[i].over || r.ends[i].tries > 0 || !r.fits(i)
	})
	since, _ := r.leader.beat.silence()
	if r.ends[own].tries == 0 && r.leader.spot.server.pace.answered(since) {
		order = append(order, own)
	}
	return order
}

// fits says whether an endpoint has room for the question, as far as is known.
func (q *question) fits(i int) bool {
	s := q.client.spots[i]
	room := s.known(q.client.pool)
	return room == 0 || s.server.tokens.Estimate(q.request).Likely.Input+int64(q.request.MaxTokens) <= int64(room)
}

// seize takes a place at a server that has one and works; nil when it has not.
func (s *spot) seize() *pass {
	if s.broken != nil || !s.server.limiter.try(s.endpoint.Parallel) {
		return nil
	}
	leave := s.server.breaker.pass()
	if leave == nil {
		s.server.limiter.release(neutral, s.endpoint.Parallel)
	}
	return leave
}

// beatenBy is the error of a call that another has beaten, else err as it is. A call
// that is taken for stalled is one that took too long.
func beatenBy(ctx context.Context, err error) error {
	var why *beaten
	e := (*Error)(nil)
	if !errors.As(context.Cause(ctx), &why) || !errors.As(err, &e) || !errors.Is(err, context.Canceled) {
		return err
	}
	out := *e
	out.Detail = why.Error()
	if why.silent > 0 {
		out.Kind, out.Detail = ErrDeadline, fmt.Sprintf("no token for %v, and %v", why.silent.Round(time.Millisecond), why)
	}
	return &out
}
