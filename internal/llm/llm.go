// Package llm asks models. It holds what every protocol shares: requests,
// answers, usage, prices and the kinds of error. The folders below it speak the
// protocols; Client in this package picks an endpoint, keeps deadlines, retries.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Role says who speaks in a message.
type Role string

const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is one turn of a conversation.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text"`
}

// Schema is the form that an answer should have. Endpoints that cannot hold a
// model to it get the messages alone, so they must describe the form too.
type Schema struct {
	Name string          `json:"name"` // letters, digits, _ and -
	JSON json.RawMessage `json:"json"` // a JSON Schema; objects forbid further properties
}

// Request is one question. Equal requests are the same question.
type Request struct {
	Messages    []Message `json:"messages"`
	Schema      *Schema   `json:"schema,omitempty"`
	Temperature float64   `json:"temperature"`
	Seed        int64     `json:"seed"` // for servers that take one
	MaxTokens   int       `json:"max_tokens"`
}

// Usage is what a call used up, in tokens.
type Usage struct {
	Input  int64 // prompt, with what was cached
	Cached int64 // part of Input that the server had in its cache
	Output int64
	// Guessed means that the server did not say, or not in the end: the numbers are
	// rather too large than too small.
	Guessed bool
}

// Answer is what an endpoint answered, whole.
type Answer struct {
	Text     string
	Usage    Usage
	Endpoint string // its name
	Model    string // as the server names it
	// Cut means that the answer ended at MaxTokens, or was ended by the server, and
	// not by itself.
	Cut        bool
	FirstToken time.Duration // from the request until the first token
	Wall       time.Duration
}

// Price is the cost of a million tokens of each sort, in any one currency.
type Price struct {
	Input, Cached, Output float64
}

// Cost is what a usage costs. Cached input without a price of its own costs what
// other input does.
func (p Price) Cost(u Usage) float64 {
	cached := p.Cached
	if cached == 0 {
		cached = p.Input
	}
	return (float64(u.Input-u.Cached)*p.Input + float64(u.Cached)*cached + float64(u.Output)*p.Output) / 1e6
}

// Endpoint is a model server and the terms on which it is used.
type Endpoint struct {
	Name     string
	Protocol string // "openai" or "anthropic"
	URL      string // base URL; empty for the protocol's own
	Model    string
	KeyEnv   string // environment variable that holds the key; empty for none
	Context  int    // tokens of prompt and answer together; 0: ask the server
	Parallel int    // most calls at once
	Price    Price

	FirstToken time.Duration // deadline of the first token
	Stall      time.Duration // deadline between two tokens
	Total      time.Duration // deadline of the whole call
}

// Kinds of error, for errors.Is.
var (
	ErrContext     = errors.New("the prompt is too long for the model")       // shrink it
	ErrAuth        = errors.New("the server refused the key")                 // 401, 403
	ErrNoModel     = errors.New("the server has no such model or route")      // 404
	ErrRequest     = errors.New("the server does not accept the request")     // 400, 422
	ErrOverloaded  = errors.New("the server is overloaded")                   // 429, 503
	ErrUnavailable = errors.New("the server cannot be used")                  // 500, no connection
	ErrDeadline    = errors.New("the server took too long")                   // first token, stall, total
	ErrTruncated   = errors.New("the answer broke off")                       // no finish reason, an error in mid-stream
	ErrMalformed   = errors.New("the server's answer is not of its protocol") // not JSON
	ErrBudget      = errors.New("the budget has no room for the call")
)

// Error says which endpoint could not answer and why. It never holds a key.
type Error struct {
	Op         string // what was asked of the endpoint
	Endpoint   string
	Kind       error         // one of the kinds above
	Status     int           // of HTTP; 0 for none
	RetryAfter time.Duration // what the server asked for; 0 for nothing
	Detail     string        // the server's words, cut and without keys
	Hint       string
	// Usage is what the failed call may have used up; zero when nothing was computed.
	Usage Usage
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s %s: %v", e.Op, e.Endpoint, e.Kind)
	if e.Status != 0 {
		s += fmt.Sprintf(": HTTP %d", e.Status)
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap gives the kind.
func (e *Error) Unwrap() error { return e.Kind }

// Estimate is what a call is likely to use up, and what it can at most.
type Estimate struct {
	Likely, Most Usage
}

// Meter admits attempts before they are made and is told what they cost. It must
// be safe for concurrent use.
type Meter interface {
	// Reserve admits one attempt at an endpoint. It may wait until attempts in
	// flight are settled, and returns ErrBudget when there is no room and none in
	// flight could make any.
	Reserve(ctx context.Context, e Endpoint, est Estimate) (Ticket, error)
}

// Ticket is an admitted attempt. Settle is called exactly once, also when ctx of
// the attempt has ended.
type Ticket interface {
	Settle(ctx context.Context, o Outcome) error
}

// Outcome is how an attempt ended: with an answer or with an error.
type Outcome struct {
	Answer Answer
	Usage  Usage
	Err    error
}

// Backend speaks one protocol to one endpoint: one attempt, no retries, with the
// endpoint's deadlines. It is safe for concurrent use. Errors are *Error.
type Backend interface {
	// Complete streams one answer, and calls token, which may be nil, as tokens come;
	// it must be quick. An answer without an end mark of the protocol is ErrTruncated.
	Complete(ctx context.Context, r Request, token func()) (Answer, error)
	// Check asks whether the server is up and has the model, without computing a token.
	Check(ctx context.Context) (ModelInfo, error)
}

// ModelInfo is what a server says of the endpoint's model.
type ModelInfo struct {
	Model   string
	Context int // tokens; 0 when the server does not say
}
