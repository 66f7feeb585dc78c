package router

import (
	"errors"
	"testing"
)

func picks(t *testing.T, want string, endpoints ...Endpoint) {
	t.Helper()
	if got, err := Pick(endpoints); err != nil || got.Name != want {
		t.Errorf("got %q, %v; want %q", got.Name, err, want)
	}
}

func matches(t *testing.T, pattern, name string, want bool) {
	t.Helper()
	if got := Match(pattern, name); got != want {
		t.Errorf("Match(%q, %q) = %v, want %v", pattern, name, got, want)
	}
}

func TestMatchExactly(t *testing.T) {
	matches(t, "small", "small", true)
	matches(t, "small", "smaller", false)
}

func TestMatchPrefix(t *testing.T) {
	matches(t, "code-*", "code-7b", true)
	matches(t, "code-*", "chat-7b", false)
}

func TestMatchSuffix(t *testing.T) {
	matches(t, "*-7b", "code-7b", true)
	matches(t, "*-7b", "code-70b", false)
}

func TestMatchDoesNotOverlap(t *testing.T) {
	matches(t, "ab*ba", "aba", false)
	matches(t, "ab*ba", "abba", true)
}

func TestMatchSeveralStars(t *testing.T) {
	matches(t, "code-*-*-chat", "code-7b-v2-chat", true)
	matches(t, "*b*", "code-7b-v2", true)
	matches(t, "*b*", "code-7-v2", false)
	matches(t, "a*b*c", "acb", false)
	matches(t, "a*b*c", "abbcbc", true)
}

func TestMatchStarsInARow(t *testing.T) {
	matches(t, "a**c", "abc", true)
	matches(t, "a**c", "ac", true)
	matches(t, "a**c", "ab", false)
}

func TestPickTheLeastLoaded(t *testing.T) {
	picks(t, "b",
		Endpoint{Name: "a", Healthy: true, InFlight: 3, Capacity: 4},
		Endpoint{Name: "b", Healthy: true, InFlight: 1, Capacity: 4},
		Endpoint{Name: "c", Healthy: true, InFlight: 2, Capacity: 4})
}

func TestPickByShareOfCapacity(t *testing.T) {
	picks(t, "large",
		Endpoint{Name: "small", Healthy: true, InFlight: 1, Capacity: 2},
		Endpoint{Name: "large", Healthy: true, InFlight: 4, Capacity: 16})
}

func TestPickPassesOverTheUnhealthy(t *testing.T) {
	picks(t, "up",
		Endpoint{Name: "down", InFlight: 0, Capacity: 4},
		Endpoint{Name: "up", Healthy: true, InFlight: 3, Capacity: 4})
}

func TestPickNothingWhenFull(t *testing.T) {
	_, err := Pick([]Endpoint{{Name: "a", Healthy: true, InFlight: 4, Capacity: 4}})
	if !errors.Is(err, ErrNoEndpoint) {
		t.Errorf("got %v, want %v", err, ErrNoEndpoint)
	}
}

func TestPickFromNothing(t *testing.T) {
	if _, err := Pick(nil); !errors.Is(err, ErrNoEndpoint) {
		t.Errorf("got %v, want %v", err, ErrNoEndpoint)
	}
}

func TestChooseTheFirstRoute(t *testing.T) {
	up := func(name string) []Endpoint { return []Endpoint{{Name: name, Healthy: true, Capacity: 1}} }
	routes := []Route{{"code-*", up("coder")}, {"*", up("general")}}
	for model, want := range map[string]string{"code-7b": "coder", "chat-7b": "general"} {
		if got, err := Choose(routes, model); err != nil || got.Name != want {
			t.Errorf("%s: got %q, %v; want %q", model, got.Name, err, want)
		}
	}
}

func TestChooseWithoutRoute(t *testing.T) {
	if _, err := Choose([]Route{{Pattern: "code-*"}}, "chat"); !errors.Is(err, ErrNoEndpoint) {
		t.Errorf("got %v, want %v", err, ErrNoEndpoint)
	}
}
