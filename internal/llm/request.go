package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"time"
)

// Defaults of an endpoint's terms where they are not given.
const (
	DefaultParallel   = 4
	DefaultFirstToken = 2 * time.Minute
	DefaultStall      = 45 * time.Second
	DefaultTotal      = 10 * time.Minute
)

// mostPrice is more than anybody asks for, and little enough to be added up.
const mostPrice = 1e9

// schemaName is what every protocol takes as the name of a schema or of a tool.
var schemaName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Validate returns an error of kind ErrRequest when no server could answer.
func (r Request) Validate() error {
	switch {
	case len(r.Messages) == 0:
		return badRequest("it has no message", "")
	case r.MaxTokens <= 0:
		return badRequest(fmt.Sprintf("MaxTokens is %d", r.MaxTokens), "without a bound on the answer no budget can admit it")
	case r.Temperature < 0 || r.Temperature > 2 || math.IsNaN(r.Temperature):
		return badRequest(fmt.Sprintf("the temperature %v is out of range", r.Temperature), "it is from 0 to 2")
	}
	for i, m := range r.Messages {
		if m.Role != RoleSystem && m.Role != RoleUser && m.Role != RoleAssistant {
			return badRequest(fmt.Sprintf("message %d has the unknown role %q", i+1, m.Role), "")
		}
	}
	return r.Schema.validate()
}

func (s *Schema) validate() error {
	if s == nil {
		return nil
	}
	if !schemaName.MatchString(s.Name) {
		return badRequest(fmt.Sprintf("%q cannot name a schema", s.Name), "use letters, digits, _ and -, at most 64")
	}
	var object map[string]any
	if err := json.Unmarshal(s.JSON, &object); err != nil {
		return badRequest(fmt.Sprintf("schema %s is not a JSON object: %v", s.Name, err), "")
	}
	return nil
}

func badRequest(detail, hint string) error {
	return &Error{Op: "check", Endpoint: "the request", Kind: ErrRequest, Detail: detail, Hint: hint}
}

// WithDefaults returns e with the defaults in place of what is zero.
func (e Endpoint) WithDefaults() Endpoint {
	fill := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	fill(&e.FirstToken, DefaultFirstToken)
	fill(&e.Stall, DefaultStall)
	fill(&e.Total, DefaultTotal)
	if e.Parallel == 0 {
		e.Parallel = DefaultParallel
	}
	return e
}

// Validate says what is wrong with an endpoint, everything at once.
func (e Endpoint) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf("endpoint %q: "+format, append([]any{e.Name}, args...)...))
		}
	}
	bad(e.Name == "", "it has no name")
	bad(e.Model == "", "it names no model")
	bad(e.Parallel < 0, "parallel is %d; it is at least 1", e.Parallel)
	bad(e.Context < 0, "context is %d; it is a number of tokens", e.Context)
	bad(e.FirstToken < 0 || e.Stall < 0 || e.Total < 0, "a deadline is negative")
	for _, p := range []float64{e.Price.Input, e.Price.Cached, e.Price.Output} {
		bad(!(p >= 0 && p <= mostPrice), "the price %v is none: it is from 0 to %g for a million tokens", p, mostPrice)
	}
	bad(!serverURL(e.URL), "its URL is not the base URL of a server; write it like http://127.0.0.1:8000/v1, without a user, password or query")
	return errors.Join(errs...)
}

// serverURL says whether s is a base URL, or empty for the protocol's own.
func serverURL(s string) bool {
	if s == "" {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}
