package docker

import (
	"context"
	"errors"
	"time"

	"ratchet/sandbox"
)

// defaultOutput is kept of each stream when a command does not say.
const defaultOutput = 1 << 20

// grace is how much longer than a command's own limit the host waits for the
// helper to have killed it, before it kills the box.
const grace = 10 * time.Second

// Exec runs one command; see sandbox.Box. The host's clock alone limits it.
func (b *box) Exec(ctx context.Context, cmd sandbox.Command) (sandbox.Outcome, error) {
	b.op.Lock()
	defer b.op.Unlock()
	ctx, release := b.during(ctx)
	defer release()
	var out sandbox.Outcome
	r := &run{box: b, user: orRunner(cmd.User), commands: []sandbox.Command{cmd}, parallel: 1, exec: true,
		emit: func(_ int, o sandbox.Outcome) { out = o }}
	if err := r.check(); err != nil {
		return out, err
	}
	if err := r.all(ctx); err != nil {
		if r.refused {
			_, gone := b.session(ctx, r.user) // a new helper kills what still runs
			err = errors.Join(err, gone)
		}
		return sandbox.Outcome{}, err
	}
	if out.TimedOut || out.OutOfMemory {
		b.kill()
	}
	if cmd.Stdin != nil {
		b.drop(r.user) // the sender may still wait for its reader
	}
	return out, nil
}

// Batch runs several commands; see sandbox.Box.
func (b *box) Batch(ctx context.Context, batch sandbox.Batch, emit func(int, sandbox.Outcome) error) error {
	b.op.Lock()
	defer b.op.Unlock()
	ctx, release := b.during(ctx)
	defer release()
	// The reader never waits for emit, or a slow emit would falsify the times.
	type result struct {
		i int
		o sandbox.Outcome
	}
	results := make(chan result, len(batch.Commands))
	r := &run{box: b, user: orRunner(batch.User), commands: batch.Commands, parallel: max(batch.Parallel, 1),
		emit: func(i int, o sandbox.Outcome) { results <- result{i, o} }}
	if err := r.check(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		defer close(results)
		ended <- r.all(ctx)
	}()
	var failed error
	for x := range results {
		if failed != nil {
			continue
		}
		if failed = emit(x.i, x.o); failed != nil {
			r.stop()
		}
	}
	if err := <-ended; failed == nil {
		return err
	}
	b.drop(r.user)
	b.startEarly(r.user) // it kills what still runs
	return failed
}
