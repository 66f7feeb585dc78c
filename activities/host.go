package activities

import (
	"context"

	"golang.org/x/sync/semaphore"

	"ratchet/internal/model"
)

// host is this machine as sandboxes share it. Whatever runs in boxes shares it;
// what measures numbers, such as times, has it alone, since other work would
// change them. The zero value is not usable; nil lets everything run at once.
type host struct{ sem *semaphore.Weighted }

// everyone is more than all that can run at once.
const everyone = 1 << 30

func newHost() *host { return &host{sem: semaphore.NewWeighted(everyone)} }

// share runs f beside other work. It waits while something has the host alone,
// and fails only when ctx ends first. f must not call share or alone.
func (h *host) share(ctx context.Context, f func() error) error { return h.run(ctx, 1, f) }

// alone runs f while nothing else is run.
func (h *host) alone(ctx context.Context, f func() error) error { return h.run(ctx, everyone, f) }

func (h *host) run(ctx context.Context, weight int64, f func() error) error {
	if h == nil {
		return f()
	}
	if err := h.sem.Acquire(ctx, weight); err != nil {
		return err
	}
	defer h.sem.Release(weight)
	return f()
}

// measures says whether some of the problems are numbers, that need a quiet host.
func measures(problems []model.Problem) bool {
	for _, p := range problems {
		if p.Metric != nil {
			return true
		}
	}
	return false
}
