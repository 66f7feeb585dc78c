// Package cache keeps the answers that were used last, for a while.
package cache

import (
	"container/list"
	"time"
)

// Cache maps questions to answers. It holds at most size of them and forgets
// the least recently used first. It is not safe for concurrent use.
type Cache struct {
	size  int
	ttl   time.Duration
	now   func() time.Time
	order *list.List // of *entry, most recently used in front
	items map[string]*list.Element
}

type entry struct {
	key, value string
	stored     time.Time
}

// New returns an empty cache for size answers that are good for ttl each.
func New(size int, ttl time.Duration, now func() time.Time) *Cache {
	return &Cache{size: size, ttl: ttl, now: now, order: list.New(), items: map[string]*list.Element{}}
}

// Get returns the answer to key; false when there is none that is still good.
func (c *Cache) Get(key string) (string, bool) {
	element, ok := c.items[key]
	if !ok {
		return "", false
	}
	e := element.Value.(*entry)
	if c.now().Sub(e.stored) > c.ttl {
		c.drop(element)
		return "", false
	}
	c.order.MoveToFront(element)
	return e.value, true
}

// Put stores an answer, in place of an older one to the same key.
func (c *Cache) Put(key, value string) {
	if element, ok := c.items[key]; ok {
		c.drop(element)
	}
	c.items[key] = c.order.PushFront(&entry{key: key, value: value, stored: c.now()})
	for c.order.Len() >= c.size {
		c.drop(c.order.Back())
	}
}

// Len is the number of answers held, good or not.
func (c *Cache) Len() int { return c.order.Len() }

func (c *Cache) drop(element *list.Element) {
	c.order.Remove(element)
	delete(c.items, element.Value.(*entry).key)
}
