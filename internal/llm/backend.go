package llm

import (
	"net/http"
	"sync"
)

// BackendConfig is what a backend works with. Backends of one server share
// Learned and Tokens.
type BackendConfig struct {
	Endpoint  Endpoint
	Key       Secret
	Transport http.RoundTripper // nil: http.DefaultTransport
	Learned   *Learned          // nil: one of its own
	Tokens    *Calibration      // nil: one of its own
}

// WithDefaults returns c with the defaults in place of what is missing.
func (c BackendConfig) WithDefaults() BackendConfig {
	c.Endpoint = c.Endpoint.WithDefaults()
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	if c.Learned == nil {
		c.Learned = &Learned{}
	}
	if c.Tokens == nil {
		c.Tokens = &Calibration{}
	}
	return c
}

// NewBackend makes the backend of an endpoint. It does not call the server.
type NewBackend func(BackendConfig) (Backend, error)

// Learned is what calls have taught of a server: which form of a feature it takes.
// A feature starts at its best form, 0. It is safe for concurrent use; the zero
// value has learned nothing.
type Learned struct {
	mu    sync.Mutex
	forms map[string]int
}

// Form is the form of a feature that the server is not known to refuse.
func (l *Learned) Form(feature string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.forms[feature]
}

// Refused tells that the server does not take a form. Calls under way may tell the
// same thing more than once.
func (l *Learned) Refused(feature string, form int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.forms == nil {
		l.forms = map[string]int{}
	}
	l.forms[feature] = max(l.forms[feature], form+1)
}
