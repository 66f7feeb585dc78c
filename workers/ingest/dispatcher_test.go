package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/failures"
)

// recorder is a Waker that keeps the last cursor of each target. Wake first calls
// before, when there is one.
type recorder struct {
	before func(call int) error

	mu          sync.Mutex
	calls       int
	outstanding map[string]int
	overlapped  bool
	cursors     map[string]int64
}

func (r *recorder) Wake(_ context.Context, agent, repo string, cursor int64) error {
	key := agent + " " + repo
	r.enter(key)
	defer r.leave(key)
	if r.before != nil {
		if err := r.before(r.count()); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cursors[key] = cursor
	return nil
}

func (r *recorder) enter(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cursors == nil {
		r.cursors, r.outstanding = make(map[string]int64), make(map[string]int)
	}
	r.calls++
	r.outstanding[key]++
	r.overlapped = r.overlapped || r.outstanding[key] > 1
}

func (r *recorder) leave(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outstanding[key]--
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

func (r *recorder) require(t *testing.T, want map[string]int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return maps.Equal(want, r.cursors)
	}, patience, 5*time.Millisecond)
	require.False(t, r.overlapped, "two wake-ups of one target were outstanding")
}

func TestWakeUpsAreCoalescedPerTarget(t *testing.T) {
	p := newPlane(t)
	entered, release := make(chan struct{}, 100), make(chan struct{})
	w := &recorder{before: func(int) error { entered <- struct{}{}; <-release; return nil }}
	p.ingest(t, p.store, w)
	p.publish(t, event("0"))
	<-entered // the first is outstanding while the others arrive
	var more []failures.Event
	for i := range 20 {
		more = append(more, event(fmt.Sprint(i+1)))
	}
	other := event("other")
	other.Repo = "./another"
	p.publish(t, append(more, other)...)
	p.requireStored(t, 22)
	close(release)
	w.require(t, map[string]int64{"team/bot ./agent": 21, "team/bot ./another": 22})
	require.Equal(t, 3, w.count(), "one for the first event, one for the twenty, one for the other repository")
}

func TestWakeUpsAreRetried(t *testing.T) {
	p := newPlane(t)
	w := &recorder{before: func(call int) error {
		if call <= 3 {
			return errors.New("Temporal is away")
		}
		return nil
	}}
	p.ingest(t, p.store, w)
	p.publish(t, event("1"))
	w.require(t, map[string]int64{"team/bot ./agent": 1})
	require.Equal(t, 4, w.count())
}

// stuck is a Waker that never comes back by itself.
type stuck struct{ entered chan struct{} }

func (s stuck) Wake(ctx context.Context, _, _ string, _ int64) error {
	close(s.entered)
	<-ctx.Done()
	return ctx.Err()
}

func TestStopEndsAWakeUpThatHangs(t *testing.T) {
	p := newPlane(t)
	w := stuck{make(chan struct{})}
	s := p.ingest(t, p.store, w)
	p.publish(t, event("1"))
	<-w.entered
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, s.Stop(ctx))
}
