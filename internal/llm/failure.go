package llm

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Unanswered is the error of a question that no endpoint answered. It wraps the
// most telling error alone, so that it is of one kind: what a caller can do
// something about first, what may pass before what will not.
type Unanswered struct {
	Telling error
	Each    []error // by endpoint, in order of preference
}

func (u *Unanswered) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no endpoint of %d answered", len(u.Each))
	for i, err := range u.Each {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		b.WriteString(sep + err.Error())
	}
	return b.String()
}

// Unwrap gives the most telling error.
func (u *Unanswered) Unwrap() error { return u.Telling }

// telling orders the kinds.
var telling = []error{
	ErrContext, ErrOverloaded, ErrDeadline, ErrTruncated, ErrUnavailable, ErrMalformed, ErrAuth, ErrNoModel, ErrRequest,
}

// failure is the error of a question at the end of its endpoints or of its patience.
func (q *question) failure() error {
	u := &Unanswered{}
	for i, end := range q.ends {
		err := end.err
		if err == nil {
			err = skipped(q.client.spots[i])
		}
		u.Each = append(u.Each, err)
	}
	if len(u.Each) == 1 {
		return u.Each[0]
	}
	u.Telling = u.Each[0]
	for _, kind := range telling {
		for _, err := range u.Each {
			if errors.Is(err, kind) {
				u.Telling = err
				return u
			}
		}
	}
	return u
}

// skipped is the error of an endpoint that was not asked.
func skipped(s *spot) error {
	e := &Error{Op: "complete", Endpoint: s.endpoint.Name, Kind: ErrUnavailable, Detail: "it failed lately and was not asked", Hint: "is the server running?"}
	if s.endpoint.URL != "" {
		e.Hint = "is the server running at " + s.endpoint.URL + "?"
	}
	if _, rest := s.server.breaker.status(); rest > 0 {
		e.RetryAfter = rest
		e.Hint += fmt.Sprintf(" It is checked again in %v.", rest.Round(time.Second))
	}
	return e
}
