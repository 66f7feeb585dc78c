package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// errSkipped says that an endpoint was not asked, because its breaker is open.
var errSkipped = errors.New("the endpoint is left alone for a while")

// final is an error after which no other endpoint is asked.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// unsettled is a final error: what a call has cost could not be written down.
type unsettled struct{ error }

func (u unsettled) Unwrap() error { return u.error }

// attempt makes one call to one endpoint: a place at the server, the breaker's
// leave, the meter's ticket, the call. A hedge comes with the first two.
func (q *question) attempt(ctx context.Context, f *flight) (Answer, error) {
	s, leave := f.spot, f.leave
	if leave == nil {
		var err error
		if leave, err = q.admitted(ctx, s); err != nil {
			return Answer{}, err
		}
	}
	answer, err := q.metered(ctx, f)
	s.server.breaker.done(leave, s.server.outcomeOf(err))
	s.server.limiter.release(verdictOf(err), s.endpoint.Parallel)
	q.client.pool.announce()
	return answer, err
}

// admitted waits for a place at a server, and asks its breaker.
func (q *question) admitted(ctx context.Context, s *spot) (*pass, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	if err := q.queue(ctx, s); err != nil {
		return nil, err
	}
	// The queue may have been long: the breaker is asked behind it.
	leave, wait := q.client.pool.admit(ctx, s)
	if leave == nil {
		s.server.limiter.release(neutral, s.endpoint.Parallel)
		return nil, q.skip(wait)
	}
	return leave, nil
}

// queue waits for a place at a server that is not left alone.
func (q *question) queue(ctx context.Context, s *spot) error {
	quit, wait := s.server.breaker.look()
	if quit == nil {
		return q.skip(wait)
	}
	err := s.server.limiter.acquire(ctx, s.endpoint.Parallel, quit)
	if errors.Is(err, errSkipped) {
		_, wait = s.server.breaker.status()
		return q.skip(wait)
	}
	if err != nil {
		return final{err}
	}
	return nil
}

// admit asks a breaker. Callers that wait are told of a check's end, and of nothing
// less: they would wake each other for ever.
func (p *Pool) admit(ctx context.Context, s *spot) (*pass, time.Duration) {
	checked := false
	leave, wait := s.server.breaker.admit(ctx, func(ctx context.Context) error {
		checked = true
		return p.alive(ctx, s)
	})
	if checked && leave == nil {
		p.announce()
	}
	return leave, wait
}

// skip remembers the shortest time after which a skipped endpoint may be asked.
func (q *question) skip(wait time.Duration) error {
	if wait > 0 && (q.wait == 0 || wait < q.wait) {
		q.wait = wait
	}
	return errSkipped
}

// metered makes the call under a ticket, which is settled whatever happens.
func (q *question) metered(ctx context.Context, f *flight) (Answer, error) {
	s := f.spot
	ticket, err := q.reserve(ctx, f)
	if err != nil {
		return Answer{}, final{fmt.Errorf("reserve a call to %s: %w", s.endpoint.Name, err)}
	}
	answer, err := f.ask(ctx, q.request)
	q.log(ctx, s, answer, err)
	if ticket == nil {
		return answer, err
	}
	if bad := ticket.Settle(context.WithoutCancel(ctx), outcomeFor(answer, err)); bad != nil {
		return Answer{}, final{unsettled{errors.Join(fmt.Errorf("settle a call to %s: %w", s.endpoint.Name, bad), err)}}
	}
	return answer, err
}

// reserve has the meter admit a call. A hedge does not wait long: what it waits for
// may be the call that it is to help.
func (q *question) reserve(ctx context.Context, f *flight) (Ticket, error) {
	if q.meter == nil {
		return nil, nil
	}
	if f.leader != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, hedgeAdmission)
		defer cancel()
	}
	return q.meter.Reserve(ctx, f.spot.endpoint, f.spot.server.tokens.Estimate(q.request))
}

func outcomeFor(answer Answer, err error) Outcome {
	if err == nil {
		return Outcome{Answer: answer, Usage: answer.Usage}
	}
	o := Outcome{Err: err}
	if e := (*Error)(nil); errors.As(err, &e) {
		o.Usage = e.Usage
	}
	return o
}

func (q *question) log(ctx context.Context, s *spot, answer Answer, err error) {
	log := q.client.pool.cfg.Logger
	if err != nil {
		level := slog.LevelWarn
		if errors.Is(err, context.Canceled) {
			level = slog.LevelDebug // nobody waits for it any more
		}
		log.LogAttrs(ctx, level, "a model call failed", slog.String("endpoint", s.endpoint.Name), slog.String("error", err.Error()))
		return
	}
	log.LogAttrs(ctx, slog.LevelDebug, "a model answered", slog.String("endpoint", s.endpoint.Name), slog.String("model", answer.Model),
		slog.Int64("input", answer.Usage.Input), slog.Int64("output", answer.Usage.Output), slog.Duration("wall", answer.Wall))
}

// verdictOf is what a call says about how much the server can bear.
func verdictOf(err error) verdict {
	switch {
	case err == nil:
		return good
	case errors.Is(err, ErrOverloaded), errors.Is(err, ErrDeadline):
		return crowded
	}
	return neutral
}

// outcomeOf is what a call says about whether the server works. Overload lowers the
// limit first, and is a failure only of a server that cannot bear one call. What
// the server refuses to this caller shows that it works.
func (s *server) outcomeOf(err error) outcome {
	e := &Error{}
	errors.As(err, &e)
	switch {
	case errors.As(err, new(final)), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return outcome{nothing: true}
	case errors.Is(err, ErrDeadline):
		return outcome{weight: weightStall}
	case errors.Is(err, ErrOverloaded) && !s.limiter.atFloor():
		return outcome{nothing: true}
	case errors.Is(err, ErrOverloaded), errors.Is(err, ErrUnavailable), errors.Is(err, ErrTruncated), errors.Is(err, ErrMalformed):
		return outcome{weight: weightFailure, retryAfter: e.RetryAfter}
	}
	return outcome{}
}
