package cache

import (
	"testing"
	"time"
)

type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func newCache(size int) (*Cache, *clock) {
	c := &clock{time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	return New(size, time.Minute, c.now), c
}

func holds(t *testing.T, c *Cache, key, want string) {
	t.Helper()
	if got, ok := c.Get(key); !ok || got != want {
		t.Errorf("Get(%q) = %q, %v; want %q", key, got, ok, want)
	}
}

func lacks(t *testing.T, c *Cache, key string) {
	t.Helper()
	if got, ok := c.Get(key); ok {
		t.Errorf("Get(%q) = %q, want nothing", key, got)
	}
}

func TestGetFromEmptyCache(t *testing.T) {
	c, _ := newCache(2)
	lacks(t, c, "a")
}

func TestGetWhatWasPut(t *testing.T) {
	c, _ := newCache(5)
	c.Put("a", "1")
	holds(t, c, "a", "1")
}

func TestPutReplaces(t *testing.T) {
	c, _ := newCache(5)
	c.Put("a", "1")
	c.Put("a", "2")
	holds(t, c, "a", "2")
	if c.Len() != 1 {
		t.Errorf("got %d entries, want 1", c.Len())
	}
}

func TestHoldsItsSize(t *testing.T) {
	c, _ := newCache(2)
	c.Put("a", "1")
	c.Put("b", "2")
	holds(t, c, "a", "1")
	holds(t, c, "b", "2")
}

func TestForgetsTheLeastRecentlyUsed(t *testing.T) {
	c, _ := newCache(3)
	c.Put("a", "1")
	c.Put("b", "2")
	c.Put("c", "3")
	holds(t, c, "a", "1")
	c.Put("d", "4")
	lacks(t, c, "b")
	holds(t, c, "a", "1")
	holds(t, c, "d", "4")
}

func TestNeverGrows(t *testing.T) {
	c, _ := newCache(2)
	for _, key := range []string{"a", "b", "c", "d"} {
		c.Put(key, "answer to "+key)
	}
	if c.Len() > 2 {
		t.Errorf("got %d entries, want 2 at most", c.Len())
	}
	lacks(t, c, "a")
	lacks(t, c, "b")
	holds(t, c, "d", "answer to d")
}

func TestAnswersExpire(t *testing.T) {
	c, clock := newCache(5)
	c.Put("a", "1")
	clock.Time = clock.Add(time.Minute + time.Second)
	lacks(t, c, "a")
	if c.Len() != 0 {
		t.Errorf("got %d entries, want 0", c.Len())
	}
}

func TestAnswersAreGoodForTheirTime(t *testing.T) {
	c, clock := newCache(5)
	c.Put("a", "1")
	clock.Time = clock.Add(time.Minute)
	holds(t, c, "a", "1")
}
