package activities

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"ratchet/internal/model"
	"ratchet/internal/protocol"
)

// beatEvery is how often a heartbeat is sent while a step is within its limit.
const beatEvery = 3 * time.Second

// pulse sends heartbeats with the last progress that was told, and notes when a
// sandbox or a proposer was at work. Heartbeats stop when nothing was told for
// the step's limit, so that a hung loop is noticed.
type pulse struct {
	host     *host // nil: nothing is waited for
	mu       sync.Mutex
	progress string
	until    time.Time
	spans    []protocol.Span
	stop     context.CancelFunc
	done     chan struct{}
}

// startPulse begins; the caller must end it. limit is the longest time that may
// pass between two calls of tell.
func (a *Activities) startPulse(ctx context.Context, limit time.Duration, first string) *pulse {
	ctx, stop := context.WithCancel(ctx)
	p := &pulse{host: a.host, stop: stop, done: make(chan struct{})}
	p.tell(limit, "%s", first)
	go p.beat(ctx)
	return p
}

func (p *pulse) beat(ctx context.Context) {
	defer close(p.done)
	t := time.NewTicker(beatEvery)
	defer t.Stop()
	for {
		if progress, alive := p.read(); alive {
			activity.RecordHeartbeat(ctx, progress)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

func (p *pulse) read() (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.progress, time.Now().Before(p.until)
}

// tell records progress and how long it may take until the next.
func (p *pulse) tell(limit time.Duration, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress, p.until = fmt.Sprintf(format, args...), time.Now().Add(limit)
}

// busy runs f as work of a sandbox or proposer, beside that of others.
func (p *pulse) busy(ctx context.Context, f func() error) error {
	return p.host.share(ctx, func() error { return p.work(f) })
}

// measure runs f as work that must not be disturbed when problems are numbers,
// and like busy otherwise.
func (p *pulse) measure(ctx context.Context, problems []model.Problem, f func() error) error {
	if !measures(problems) {
		return p.busy(ctx, f)
	}
	return p.host.alone(ctx, func() error { return p.work(f) })
}

// work runs f and notes when.
func (p *pulse) work(f func() error) error {
	start := time.Now()
	err := f()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spans = append(p.spans, protocol.Span{Start: start, End: time.Now()})
	return err
}

// end stops the heartbeats and returns the spans of work.
func (p *pulse) end() []protocol.Span {
	p.stop()
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spans
}
