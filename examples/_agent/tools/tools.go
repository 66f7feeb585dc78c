// Package tools holds the tools that a model may call, by name.
package tools

import (
	"context"
	"fmt"
)

// Func runs a tool with the arguments of a call and returns what it has to say.
type Func func(ctx context.Context, args map[string]string) (string, error)

// UnknownError says that there is no tool of a name, and which one was
// probably meant.
type UnknownError struct{ Name, Closest string }

func (e *UnknownError) Error() string {
	if e.Closest == "" {
		return fmt.Sprintf("there is no tool %q", e.Name)
	}
	return fmt.Sprintf("there is no tool %q, did you mean %q?", e.Name, e.Closest)
}

// Set is a set of tools. It is not safe for concurrent use.
type Set struct{ byName map[string]Func }

// Add adds a tool, in place of one of the same name.
func (s *Set) Add(name string, run Func) {
	if s.byName == nil {
		s.byName = map[string]Func{}
	}
	s.byName[name] = run
}

// Run runs the tool of that name; *UnknownError when there is none.
func (s *Set) Run(ctx context.Context, name string, args map[string]string) (string, error) {
	run, ok := s.byName[name]
	if !ok {
		return "", &UnknownError{Name: name, Closest: s.Closest(name)}
	}
	return run(ctx, args)
}

// Closest returns the tool whose name shares the longest beginning with name,
// "" when none shares any.
func (s *Set) Closest(name string) string {
	closest, longest := "", 0
	for candidate := range s.byName {
		if n := common(candidate, name); n > longest {
			closest, longest = candidate, n
		}
	}
	return closest
}

// common counts the bytes with which a and b both begin.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
