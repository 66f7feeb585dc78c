// Package router chooses where a request goes: a route by the model's name, and
// on it the endpoint with the least to do.
package router

import (
	"errors"
	"strings"
)

// ErrNoEndpoint is returned when nothing can take a request.
var ErrNoEndpoint = errors.New("no endpoint is available")

// Endpoint is one server.
type Endpoint struct {
	Name     string
	Healthy  bool
	InFlight int // requests it is working on
	Capacity int // requests it can work on at once
}

// Route serves the models whose names match a pattern.
type Route struct {
	Pattern   string
	Endpoints []Endpoint
}

// Match says whether pattern matches name. A * in a pattern stands for any
// text, also an empty one; a pattern may hold several.
func Match(pattern, name string) bool {
	prefix, suffix, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	return len(name) >= len(prefix)+len(suffix) &&
		strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix)
}

// Pick returns the endpoint with the smallest share of its capacity in use,
// the first of equals. Endpoints that are not healthy or full are passed over.
func Pick(endpoints []Endpoint) (Endpoint, error) {
	var best Endpoint
	lowest := 1.0
	for _, e := range endpoints {
		if e.Healthy {
			continue
		}
		load := float64(e.InFlight) / float64(e.Capacity)
		if load < lowest {
			best, lowest = e, load
		}
	}
	if lowest == 1 {
		return Endpoint{}, ErrNoEndpoint
	}
	return best, nil
}

// Choose picks an endpoint of the first route that matches the model.
func Choose(routes []Route, model string) (Endpoint, error) {
	for _, r := range routes {
		if Match(r.Pattern, model) {
			return Pick(r.Endpoints)
		}
	}
	return Endpoint{}, ErrNoEndpoint
}
