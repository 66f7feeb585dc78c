package docker

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
)

// capped keeps the first max bytes of a stream, or hands them on to a writer.
type capped struct {
	to   io.Writer // may be nil
	data []byte
	n    int64 // bytes so far
	max  int64
	cut  bool
}

func (c *capped) add(b []byte) error {
	if room := c.max - c.n; int64(len(b)) > room {
		b, c.cut = b[:room], true
	}
	c.n += int64(len(b))
	if c.to == nil {
		c.data = append(c.data, b...)
		return nil
	}
	if len(b) == 0 {
		return nil
	}
	_, err := c.to.Write(b)
	return err
}

// watch calls expire once, when a deadline that was set passes before it is
// cleared.
type watch struct {
	expire func()

	mu     sync.Mutex
	timers map[int]*time.Timer
	over   bool
	busy   sync.WaitGroup
}

func newWatch(expire func()) *watch {
	return &watch{expire: sync.OnceFunc(expire), timers: map[int]*time.Timer{}}
}

func (w *watch) set(i int, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timers[i] = time.AfterFunc(d, func() {
		w.mu.Lock()
		_, waiting := w.timers[i]
		if !waiting || w.over {
			w.mu.Unlock()
			return
		}
		w.busy.Add(1)
		w.mu.Unlock()
		defer w.busy.Done()
		w.expire()
	})
}

func (w *watch) clear(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.timers[i]; t != nil {
		t.Stop()
		delete(w.timers, i)
	}
}

// stop clears every deadline and waits for an expire that has begun.
func (w *watch) stop() {
	w.mu.Lock()
	w.over = true
	for _, t := range w.timers {
		t.Stop()
	}
	w.mu.Unlock()
	w.busy.Wait()
}

// oomWait bounds how long the event of an out-of-memory kill may trail behind
// the end of the container.
const oomWait = 2 * time.Second

// sawOOM says whether a box that has ended ran out of memory: the engine
// reports that as an event, but not in the exit code. It waits for the event
// that the container died, which comes after.
func (e *Engine) sawOOM(id string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), oomWait)
	defer cancel()
	messages, failed := e.api.Events(ctx, events.ListOptions{
		Since: time.Now().Add(-24 * time.Hour).Format(time.RFC3339),
		Filters: filters.NewArgs(filters.Arg("container", id),
			filters.Arg("event", "oom"), filters.Arg("event", "die")),
	})
	for {
		select {
		case m := <-messages:
			if m.Action == events.ActionOOM {
				return true
			}
			if m.Action == events.ActionDie {
				return false
			}
		case <-failed:
			return false
		}
	}
}
