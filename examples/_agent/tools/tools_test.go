package tools

import (
	"context"
	"errors"
	"testing"
)

func set(names ...string) *Set {
	s := &Set{}
	for _, name := range names {
		s.Add(name, func(_ context.Context, args map[string]string) (string, error) {
			return name + ":" + args["x"], nil
		})
	}
	return s
}

func TestRunATool(t *testing.T) {
	got, err := set("read", "write").Run(context.Background(), "write", map[string]string{"x": "1"})
	if err != nil || got != "write:1" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAddReplacesATool(t *testing.T) {
	s := set("read")
	s.Add("read", func(context.Context, map[string]string) (string, error) { return "new", nil })
	if got, err := s.Run(context.Background(), "read", nil); err != nil || got != "new" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestRunUnknownTool(t *testing.T) {
	_, err := set("search", "read_file").Run(context.Background(), "read", nil)
	var unknown *UnknownError
	if !errors.As(err, &unknown) || unknown.Closest != "read_file" {
		t.Errorf("got %v", err)
	}
}

func TestClosestToNothing(t *testing.T) {
	if got := set("search").Closest("write"); got != "" {
		t.Errorf("got %q, want none", got)
	}
	var empty Set
	if got := empty.Closest("write"); got != "" {
		t.Errorf("got %q, want none", got)
	}
}

func TestClosestOfEqualNames(t *testing.T) {
	if got := set("read_file", "read_page").Closest("read_line"); got != "read_file" {
		t.Errorf("got %q, want the first, read_file", got)
	}
}
